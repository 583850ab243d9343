package mcp

import (
	"github.com/chainaccess/gateway/service"
)

type convertInput struct {
	Op       string `json:"op" enum:"checksum,convert,selector,keccak" doc:"checksum: an address in the capitals of EIP-55; convert: an amount between units of ether; selector: of a signature; keccak: Keccak-256 of a text"`
	Input    string `json:"input" maxLength:"8192" doc:"what to work on: an address, a decimal amount, a signature like transfer(address,uint256), or a text" example:"1.5"`
	From     string `json:"from,omitempty" maxLength:"16" doc:"with op convert, and needed there: the amount's unit, like wei, gwei or eth" example:"eth"`
	To       string `json:"to,omitempty" maxLength:"16" doc:"with op convert, and needed there: the unit of the result, like wei, gwei or eth" example:"wei"`
	Encoding string `json:"encoding,omitempty" enum:"utf8,hex" default:"utf8" doc:"with op keccak: utf8 hashes the text itself, hex the bytes that 0x and hexadecimal digits write"`
}

type signatureInput struct {
	Mode      string `json:"mode" enum:"personal,siwe" doc:"personal: any message signed with personal_sign (EIP-191); siwe: a sign-in message (EIP-4361), judged with its times"`
	Message   string `json:"message" maxLength:"16384" doc:"the exact text that was signed, character by character, line feeds included" example:"hello"`
	Signature string `json:"signature" maxLength:"16386" doc:"what the wallet gave: 0x and hexadecimal digits, 65 bytes for a key" example:"0xf16ea9a3478698f695fd1401bfe27e9e4a7e8e3da94aa72b021125e31fa899cc573c48ea3fe1d4ab61a9db10c19032026e3ed2dbccba5a178235ac27f945043111b"`
	Address   string `json:"address,omitempty" pattern:"^0x[0-9a-fA-F]{40}$" doc:"with mode personal: who is expected to have signed" example:"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"`
	Chain     string `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"the chain on which a contract wallet is asked" example:"base_mainnet"`
	Encoding  string `json:"encoding,omitempty" enum:"utf8,hex" default:"utf8" doc:"with mode personal: hex when the message is bytes, written as 0x and hexadecimal digits"`
}

// offlineTools are the tools that call no chain, except for the signatures of contract wallets.
func offlineTools(c *service.Registry) []*tool {
	input := func(theirs string) map[string]string { return map[string]string{"input": theirs} }
	return []*tool{
		{
			name: "convert_evm", title: "EVM conversions", input: convertInput{}, selector: "op",
			hints: readOnly | idempotent,
			ways: []way{
				{of: c.ChecksumAddress, when: "checksum", names: input("address")},
				{of: c.ConvertUnits, when: "convert", names: input("value")},
				{of: c.ComputeSelector, when: "selector", names: input("signature")},
				{of: c.HashKeccak, when: "keccak", names: input("text")},
			},
			about: about{
				Purpose: "Works on EVM values exactly and offline: address checksums, units of ether, function " +
					"selectors and event topics, Keccak-256.",
				Use: "Whenever you would compute such a value yourself: no digit is rounded and no case is " +
					"guessed.",
				Instead: "decode_calldata goes from calldata to a signature; resolve_ens from a name to an address; " +
					"get_prices to dollars.",
				Cost: "1 unit.",
				Limits: "Input up to 8,192 characters (an amount 160, a signature 2,048). Offline: it does not look " +
					"whether anything is at an address.",
				Fails: meteredFails + "-32602 the input does not fit the op, with what is wrong.",
				Again: "Safe; the same input gives the same answer for ever.",
			},
		},
		{
			name: "verify_signature", title: "Verify a signature", input: signatureInput{}, selector: "mode",
			hints: readOnly | idempotent, ways: []way{
				{of: c.VerifySignature, when: "personal"}, {of: c.VerifySIWE, when: "siwe"},
			},
			about: about{
				Purpose: "Says which wallet signed a message, and whether it is the expected one; for sign-in " +
					"messages also whether they count now.",
				Use:     "You were given a signed message and must decide whether to trust it.",
				Instead: "bind_key_complete and claim_agent_complete verify the messages of this service themselves.",
				Cost:    "1 unit.",
				Limits: "Messages up to 16,384 characters. EIP-191 and EIP-4361; not typed data (EIP-712), not " +
					"transactions. Nothing is signed here.",
				Fails: meteredFails + contractWallet +
					"-32602 a parameter or the sign-in message is malformed. A signature that does not hold is an " +
					"answer with valid false.",
				Again: "Safe. Take each nonce of a sign-in once yourself: this does not.",
			},
		},
	}
}

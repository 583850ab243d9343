package tools

import (
	"context"
	"net/http"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// chainFailsWith are the reasons with which a verification that reads a chain fails.
var chainFailsWith = []fault.Reason{fault.NoUpstream, fault.UpstreamTimeout}

// VerifySignatureInput is a signed message.
type VerifySignatureInput struct {
	Message   string           `json:"message" maxLength:"16384" doc:"the exact text that was signed, character by character, up to 16,384 bytes" example:"hello"`
	Signature string           `json:"signature" maxLength:"16386" doc:"what the wallet gave: 0x and hexadecimal digits; a key's has 65 bytes, or 64 (EIP-2098)" example:"0xf16ea9a3478698f695fd1401bfe27e9e4a7e8e3da94aa72b021125e31fa899cc573c48ea3fe1d4ab61a9db10c19032026e3ed2dbccba5a178235ac27f94504311c"`
	Address   string           `json:"address,omitempty" pattern:"^0x[0-9a-fA-F]{40}$" doc:"who is expected to have signed; without it any key's signature is valid" example:"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"`
	Chain     chain.ID         `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"the chain on which address is asked when its key did not sign: it may be a contract wallet (EIP-1271, also one that is not deployed yet, EIP-6492). Without it contract wallets are not valid. Solana has no such signatures" example:"eth_mainnet"`
	Encoding  offline.Encoding `json:"encoding,omitempty" enum:"utf8,hex" default:"utf8" doc:"utf8 takes the message as text, even one like 0x12; hex takes the bytes that 0x and hexadecimal digits spell" example:"utf8"`

	signed *offline.Personal
}

// OnChain returns the chain that the input names.
func (in *VerifySignatureInput) OnChain() chain.ID { return in.Chain }

// Check validates the input and fills in defaults.
func (in *VerifySignatureInput) Check() *fault.Error {
	if in.Chain != "" && in.Address == "" {
		return operation.RefuseField("chain",
			"It is asked about address, which is missing. Name the wallet there, or leave chain out.")
	}
	message, refusal := in.Encoding.Decode("message", in.Message)
	if refusal == nil {
		in.signed, refusal = offline.NewPersonal(message, in.Signature, in.Address)
	}
	return refusal
}

func (h *handlers) verifySignature() *operation.Operation[VerifySignatureInput, offline.SignatureVerdict] {
	return operation.Define(h.Runner, util(operation.Meta{
		Name: "verify_signature", Title: "Verify a signed message",
		Route: operation.Route{Method: http.MethodPost, Path: "/toolbox/utils/verify-signature"},
		Description: "Says which wallet signed a message with personal_sign (EIP-191), and whether it is the " +
			"expected one. Nothing is signed here, and no key is held. A signature of any other form is an answer " +
			"with valid false and the reason in note: one in a high-s form too, which anybody can make of another " +
			"(EIP-2). With address and chain a contract wallet is asked; when that chain does not answer, the call " +
			"fails and costs nothing. Sign-in messages, with their times, are judged by /toolbox/utils/verify-siwe. " +
			"Typed data (EIP-712) and transactions are not judged.",
		Fails: chainFailsWith,
	}), h.runVerifySignature)
}

func (h *handlers) runVerifySignature(ctx context.Context, _ *operation.Call,
	in VerifySignatureInput,
) (offline.SignatureVerdict, error) {
	v, err := in.signed.Verify(ctx, h.walletsIf(in.Chain))
	return v, wallet.Refuse(fault.FieldRefused, err)
}

// VerifySIWEInput is a signed sign-in message (EIP-4361).
type VerifySIWEInput struct {
	Message   string   `json:"message" maxLength:"16384" doc:"the exact EIP-4361 message that was signed, with its line feeds" example:"app.example wants you to sign in with your Ethereum account:\n0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\n\nSign in to the example.\n\nURI: https://app.example/sign-in\nVersion: 1\nChain ID: 1\nNonce: 32891757abcd\nIssued At: 2026-01-02T03:04:05.000Z"`
	Signature string   `json:"signature" maxLength:"16386" doc:"what the wallet gave: 0x and hexadecimal digits; a key's has 65 bytes, or 64 (EIP-2098)" example:"0x0818bc529dc4c23259b495ba9560c89944788469d847f30d1ba59c2594df5ae951ed6084efa6be8259a75ad03fdcda3cc627acc812bb8470ac4404c34a27dce01c"`
	Chain     chain.ID `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"the chain that the message names by its Chain ID, on which its address is asked when its key did not sign: it may be a contract wallet (EIP-1271, EIP-6492). Without it contract wallets are not valid. Solana has no such signatures" example:"eth_mainnet"`

	signed *offline.SignIn
}

// OnChain returns the chain that the input names.
func (in *VerifySIWEInput) OnChain() chain.ID { return in.Chain }

// Check validates the input and fills in defaults.
func (in *VerifySIWEInput) Check() (refusal *fault.Error) {
	in.signed, refusal = offline.NewSignIn(in.Message, in.Signature)
	return refusal
}

func (h *handlers) verifySIWE() *operation.Operation[VerifySIWEInput, offline.SignInVerdict] {
	return operation.Define(h.Runner, util(operation.Meta{
		Name: "verify_siwe", Title: "Verify a sign-in with Ethereum",
		Route: operation.Route{Method: http.MethodPost, Path: "/toolbox/utils/verify-siwe"},
		Description: "Says whether the address of a sign-in message (EIP-4361) signed it, and whether the message " +
			"counts now by its Expiration Time and Not Before; gives its fields as well. Whether domain and nonce " +
			"are yours is not judged: compare domain and uri with your own, and take each nonce once. A text that is " +
			"no message of EIP-4361 is refused with the number of its first wrong line. With chain a contract wallet " +
			"is asked; when that chain does not answer, the call fails and costs nothing. Other messages are judged " +
			"by /toolbox/utils/verify-signature.",
		Fails: chainFailsWith,
	}), h.runVerifySIWE)
}

func (h *handlers) runVerifySIWE(ctx context.Context, _ *operation.Call,
	in VerifySIWEInput,
) (offline.SignInVerdict, error) {
	if in.Chain != "" { // contract wallets are verified on the message's own chain (EIP-4361)
		if id, _ := h.Toolbox.Node.ChainID(in.Chain); id != in.signed.ChainID() {
			return offline.SignInVerdict{},
				operation.RefuseField("chain",
					"The message's Chain ID is %d, and that of %s is %d. Name the message's chain, or leave chain out.",
					in.signed.ChainID(), in.Chain, id)
		}
	}
	v, err := in.signed.Verify(ctx, h.walletsIf(in.Chain), h.Now())
	return v, wallet.Refuse(fault.FieldRefused, err)
}

// walletsIf is wallets for an optional chain.
func (h *handlers) walletsIf(on chain.ID) wallet.ChainCaller {
	if on == "" {
		return nil
	}
	return h.Toolbox.Node.Wallets(on)
}

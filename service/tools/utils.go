package tools

import (
	"context"
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox/offline"
)

// util sets what all EVM utilities have in common. They cost a unit and are not cached, because
// computing is cheaper than a lookup.
func util(m operation.Meta) operation.Meta { //nolint:gocritic // read once at the start
	m.Access, m.Reads, m.Service, m.Units = operation.KeyHolders, true, account.Utils, plan.Unit
	m.Route.Status = http.StatusOK
	m.Computes = len(m.Fails) == 0 // an operation that may read a chain lists how that fails
	m.Description += " It costs 1 unit, each time: nothing is kept. What is refused costs nothing."
	return m
}

// ChecksumInput is a text that may be an address.
type ChecksumInput struct {
	Address string `json:"address" maxLength:"256" doc:"the address to look at; any text up to 256 characters gets an answer" example:"0xd8da6bf26964af9d7eed9e03e53415d37aa96045"`
}

func (h *handlers) checksumAddress() *operation.Operation[ChecksumInput, offline.CheckedAddress] {
	return operation.Define(h.Runner, util(operation.Meta{
		Name: "checksum_address", Title: "Check an address",
		Route: operation.Route{Method: http.MethodGet, Path: "/toolbox/utils/checksum/{address}"},
		Description: "Says whether a text is an EVM address, and writes it in the capitals of EIP-55, which are its " +
			"checksum. An address in one case carries no checksum and is valid; one in mixed capitals that are not " +
			"those of EIP-55 is not valid, as in ethers and viem, because a character may be mistyped. It does not " +
			"look whether anything is at the address; names like someone.eth are resolved by " +
			"/toolbox/ens/resolve/{name}.",
	}), func(_ context.Context, _ *operation.Call, in ChecksumInput) (offline.CheckedAddress, error) {
		return offline.Checksum(in.Address), nil
	})
}

// ConvertInput is an amount and two units.
type ConvertInput struct {
	Value string `json:"value" maxLength:"160" doc:"the amount: a decimal like 1.5 or -20, or a whole number like 0x1bc1, up to 160 characters; without spaces, plus sign, exponent or separators" example:"1.5"`
	From  string `json:"from" maxLength:"16" doc:"its unit: wei, kwei (babbage), mwei (lovelace), gwei (shannon, nanoeth), szabo (microether), finney (milliether), eth (ether), kether (grand), mether, gether or tether, in capitals or not" example:"gwei"`
	To    string `json:"to" maxLength:"16" doc:"the unit of the result, one of the same" example:"eth"`

	made offline.Conversion
}

// Check validates the input and fills in defaults.
func (in *ConvertInput) Check() (refusal *fault.Error) {
	in.made, refusal = offline.Convert(in.Value, in.From, in.To)
	return refusal
}

func (h *handlers) convertUnits() *operation.Operation[ConvertInput, offline.Conversion] {
	return operation.Define(h.Runner, util(operation.Meta{
		Name: "convert_units", Title: "Convert between units of ether",
		Route: operation.Route{Method: http.MethodGet, Path: "/toolbox/utils/convert"},
		Description: "Converts an amount between wei, gwei, eth and the units between and beyond, exactly: no digit " +
			"is rounded, and the result is a decimal string without an exponent. A fraction of a wei is converted " +
			"too, with a note that no chain holds it. For tokens with other decimals, and for prices in dollars, see " +
			"/toolbox/prices.",
	}), func(_ context.Context, _ *operation.Call, in ConvertInput) (offline.Conversion, error) {
		return in.made, nil
	})
}

// SelectorInput is the signature of a function, an event or an error.
type SelectorInput struct {
	Signature string `json:"signature" maxLength:"2048" doc:"name and types, like transfer(address,uint256); names of parameters, the words function, event and error in front, modifiers and what is returned may stand in it; structs are tuples like (uint256,address)[]" example:"transfer(address to, uint amount)"`

	made offline.Selector
}

// Check validates the input and fills in defaults.
func (in *SelectorInput) Check() (refusal *fault.Error) {
	in.made, refusal = offline.Select(in.Signature)
	return refusal
}

func (h *handlers) computeSelector() *operation.Operation[SelectorInput, offline.Selector] {
	return operation.Define(h.Runner, util(operation.Meta{
		Name: "compute_selector", Title: "Compute a selector and a topic",
		Route: operation.Route{Method: http.MethodGet, Path: "/toolbox/utils/selector"},
		Description: "Brings the signature of a function, an event or an error into its canonical form (uint becomes " +
			"uint256, names are dropped) and gives its four-byte selector and its first topic. A type that the " +
			"contract ABI does not have is refused by its name; tuples may stand inside each other 16 deep. The way " +
			"back, from calldata to a signature, is /toolbox/decode/{chain}/{address}.",
	}), func(_ context.Context, _ *operation.Call, in SelectorInput) (offline.Selector, error) {
		return in.made, nil
	})
}

// KeccakInput is a text, or bytes as hexadecimal digits.
type KeccakInput struct {
	Text     string           `json:"text" maxLength:"8192" doc:"what to hash, up to 8,192 characters; an empty text has a hash too. In a query, percent-encode it: a + there is a space" example:"hello"`
	Encoding offline.Encoding `json:"encoding,omitempty" enum:"utf8,hex" default:"utf8" doc:"utf8 hashes the text itself, even one like 0x12; hex hashes the bytes that 0x and hexadecimal digits spell" example:"utf8"`

	data []byte
}

// Check validates the input and fills in defaults.
func (in *KeccakInput) Check() (refusal *fault.Error) {
	in.data, refusal = in.Encoding.Decode("text", in.Text)
	return refusal
}

func (h *handlers) hashKeccak() *operation.Operation[KeccakInput, offline.Digest] {
	return operation.Define(h.Runner, util(operation.Meta{
		Name: "hash_keccak", Title: "Hash with Keccak-256",
		Route: operation.Route{Method: http.MethodGet, Path: "/toolbox/utils/keccak"},
		Description: "Hashes a text, or bytes in hexadecimal digits with encoding=hex, with Keccak-256 as Ethereum " +
			"does; that is not SHA3-256. For selectors and topics use /toolbox/utils/selector, which brings the " +
			"signature into its canonical form first.",
	}), func(_ context.Context, _ *operation.Call, in KeccakInput) (offline.Digest, error) {
		return offline.Keccak(in.Text, in.data), nil
	})
}

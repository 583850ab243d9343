package wallet

import (
	"bytes"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// counterfactual is a signature with the call that deploys or prepares its wallet (EIP-6492).
type counterfactual struct {
	wrapped     bool // false for a plain signature; factory is zero then
	factory     common.Address
	factoryData []byte
	signature   []byte
}

// ending is the suffix of a signature of EIP-6492, whose wallet may have no code yet: 0x6492,
// sixteen times.
var ending = bytes.Repeat([]byte{0x64, 0x92}, 16)

var wrapping = abi.Arguments{{Type: mustType("address")}, {Type: mustType("bytes")}, {Type: mustType("bytes")}}

func mustType(name string) abi.Type {
	t, err := abi.NewType(name, "", nil)
	if err != nil {
		panic(err)
	}
	return t
}

// BringsWallet reports whether a signature includes how its wallet is deployed (EIP-6492), so that
// the wallet may have no code yet.
func BringsWallet(signature []byte) bool { return bytes.HasSuffix(signature, ending) }

// unwrap decodes (address factory, bytes factoryData, bytes signature) in front of the suffix of
// EIP-6492. A signature without the suffix is returned as it is. When the wrapping cannot be
// decoded it returns ErrSignatureForm.
func unwrap(signature []byte) (counterfactual, error) {
	inner, found := bytes.CutSuffix(signature, ending)
	if !found {
		return counterfactual{signature: signature}, nil
	}
	unreadable := ErrSignatureForm.about(
		"It ends as signatures of EIP-6492 do, but what is in front of that is not (address, bytes, bytes).")
	values, err := wrapping.Unpack(inner)
	if err != nil || len(values) != 3 {
		return counterfactual{}, unreadable
	}
	factory, isAddress := values[0].(common.Address)
	data, isData := values[1].([]byte)
	raw, isRaw := values[2].([]byte)
	if !isAddress || !isData || !isRaw {
		return counterfactual{}, unreadable
	}
	return counterfactual{wrapped: true, factory: factory, factoryData: data, signature: raw}, nil
}

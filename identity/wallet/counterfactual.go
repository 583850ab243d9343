package wallet

import (
	"bytes"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// counterfactual is a signature with what deploys its wallet, or prepares it.
type counterfactual struct {
	wrapped     bool // false when the signature came bare; factory is zero then
	factory     common.Address
	factoryData []byte
	signature   []byte
}

// ending ends the signature of a wallet that may have no code yet (EIP-6492): 0x6492, sixteen
// times.
var ending = bytes.Repeat([]byte{0x64, 0x92}, 16)

var wrapping = abi.Arguments{{Type: mustType("address")}, {Type: mustType("bytes")}, {Type: mustType("bytes")}}

func mustType(name string) abi.Type {
	t, err := abi.NewType(name, "", nil)
	if err != nil {
		panic(err)
	}
	return t
}

// BringsWallet reports whether a signature brings along how its wallet is made (EIP-6492), so that
// the wallet may have no code yet.
func BringsWallet(signature []byte) bool { return bytes.HasSuffix(signature, ending) }

// unwrap reads (address factory, bytes factoryData, bytes signature) in front of the ending of
// EIP-6492. A signature without the ending is given as it is; one whose wrapping cannot be read is
// ErrSignatureForm.
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

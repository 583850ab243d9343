package toolbox

import (
	"encoding/hex"
	"strings"

	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

const (
	evmHashLength        = 2 + 64
	signatureBytes       = 64
	maxSignatureLength   = 88 // characters of 64 bytes in base58
	evmHashTakes         = "hash takes the hash of a transaction: 0x and 64 hexadecimal digits."
	solanaSignatureTakes = "hash takes the signature of a transaction on Solana: 64 bytes in base58, 64 to 88 " +
		"characters in their own capitals."
	evmHashOnSolana       = solanaSignatureTakes + " This is the hash of a transaction on an EVM chain."
	solanaSignatureOnEVM  = evmHashTakes + " This looks like a signature of Solana."
	evmHashWithoutPrefix  = evmHashTakes + " The 0x is missing."
	evmHashOfAnotherThing = evmHashTakes + " 40 digits are an address."
)

// ParseTxHash returns the canonical form of a transaction's name on a chain: hashes in lower case,
// signatures unchanged, because base58 is case-sensitive. Anything else is refused with what the
// chain takes.
func ParseTxHash(id chain.ID, text string) (string, *fault.Error) {
	if id == chain.SolanaMainnet {
		switch {
		case isSignature(text):
			return text, nil
		case isHash(text):
			return "", fault.New(fault.FieldRefused, evmHashOnSolana)
		}
		return "", fault.New(fault.FieldRefused, solanaSignatureTakes)
	}
	switch {
	case isHash(text):
		return strings.ToLower(text), nil
	case isHash("0x" + text):
		return "", fault.New(fault.FieldRefused, evmHashWithoutPrefix)
	case isHash(text + strings.Repeat("0", 24)):
		return "", fault.New(fault.FieldRefused, evmHashOfAnotherThing)
	case isSignature(text):
		return "", fault.New(fault.FieldRefused, solanaSignatureOnEVM)
	}
	return "", fault.New(fault.FieldRefused, evmHashTakes)
}

func isHash(text string) bool {
	if len(text) != evmHashLength || text[:2] != "0x" {
		return false
	}
	_, err := hex.DecodeString(text[2:])
	return err == nil
}

func isSignature(text string) bool {
	if len(text) > maxSignatureLength {
		return false
	}
	raw, err := base58.Decode(text)
	return err == nil && len(raw) == signatureBytes
}

package wallet

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
)

// Lengths of signatures in bytes.
const (
	// MaxSignature is the maximum for contract wallets; the signature of a wallet that is not
	// deployed yet includes its deployment.
	MaxSignature    = 8 << 10
	recoverable     = 65 // r, s, v
	compact         = 64 // r, and s with the parity in its highest bit (EIP-2098)
	firstV, secondV = 27, 28
)

var halfOrder = new(big.Int).Rsh(crypto.S256().Params().N, 1)

// TextHash returns the hash that personal_sign signs (EIP-191, version 0x45).
func TextHash(message string) [32]byte {
	return crypto.Keccak256Hash([]byte("\x19Ethereum Signed Message:\n" + strconv.Itoa(len(message)) + message))
}

// DecodeSignature decodes 0x and hexadecimal digits, up to MaxSignature bytes. "0x" alone is valid:
// contract wallets may have approved a message in advance. It returns ErrSignatureForm for anything
// else.
func DecodeSignature(s string) ([]byte, error) {
	digits, found := strings.CutPrefix(s, "0x")
	if !found || len(digits) > 2*MaxSignature {
		return nil, ErrSignatureForm
	}
	signature, err := hex.DecodeString(digits)
	if err != nil {
		return nil, ErrSignatureForm
	}
	return signature, nil
}

// Recover returns the wallet whose key signed the message with personal_sign, offline. signature is
// in hexadecimal digits, in one of the forms of RecoverHash.
func Recover(message, signature string) (Address, error) {
	raw, err := DecodeSignature(signature)
	if err != nil {
		return Address{}, err
	}
	return RecoverHash(TextHash(message), raw)
}

// RecoverHash returns the wallet whose key signed the hash. Signatures have 65 bytes with v 0, 1,
// 27 or 28, or 64 bytes (EIP-2098). It returns ErrSignatureForm for other forms and values out of
// range, ErrSignatureMalleable for a high s (EIP-2), and ErrSignatureMismatch for what no key can
// have made.
func RecoverHash(hash [32]byte, signature []byte) (Address, error) {
	var normal [recoverable]byte
	switch len(signature) {
	case recoverable:
		copy(normal[:], signature)
		if v := normal[64]; v == firstV || v == secondV {
			normal[64] = v - firstV
		}
	case compact:
		copy(normal[:], signature)
		normal[64] = normal[32] >> 7
		normal[32] &= 0x7f
	default:
		return Address{}, ErrSignatureForm.about("The signature has %d bytes, where a key's has 65 or 64.",
			len(signature))
	}
	r, s := new(big.Int).SetBytes(normal[:32]), new(big.Int).SetBytes(normal[32:64])
	if !crypto.ValidateSignatureValues(normal[64], r, s, false) {
		return Address{}, ErrSignatureForm.about("The values of r, s or v are out of their range.")
	}
	if s.Cmp(halfOrder) > 0 {
		return Address{}, ErrSignatureMalleable
	}
	key, err := crypto.SigToPub(hash[:], normal[:])
	if err != nil {
		return Address{}, ErrSignatureMismatch
	}
	return Address(crypto.PubkeyToAddress(*key)), nil
}

package offline

import (
	"encoding/hex"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/fault"
)

// Encoding is how a text of the input represents bytes.
type Encoding string

// The encodings. The zero value is UTF8.
const (
	UTF8 Encoding = "utf8" // the text's own bytes, whatever they look like: 0x12 is four bytes
	Hex  Encoding = "hex"  // 0x and an even number of hexadecimal digits
)

// Decode returns the bytes that a field's text represents.
func (e Encoding) Decode(field, text string) ([]byte, *fault.Error) {
	if e != Hex {
		return []byte(text), nil
	}
	digits, found := strings.CutPrefix(text, "0x")
	if !found {
		return nil, refuse(field, "With encoding=hex it begins with 0x.")
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return nil, refuse(field,
			"With encoding=hex it is 0x and an even number of hexadecimal digits, two for each byte.")
	}
	return raw, nil
}

// Digest is a Keccak-256 hash with its input.
type Digest struct {
	Input  string `json:"input" doc:"the text, as it was sent"`
	Keccak string `json:"keccak256" doc:"0x and 64 hexadecimal digits"`
}

// Keccak hashes data, the bytes of input, as Ethereum does: Keccak-256, whose padding differs from
// SHA3-256's.
func Keccak(input string, data []byte) Digest {
	return Digest{Input: input, Keccak: keccakHex(data)}
}

func keccakHex(data []byte) string {
	hash := crypto.Keccak256Hash(data)
	return hash.Hex()
}

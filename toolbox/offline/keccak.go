package offline

import (
	"encoding/hex"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/fault"
)

// Encoding says which bytes a text of the input stands for.
type Encoding string

// The encodings. The zero value is UTF8.
const (
	UTF8 Encoding = "utf8" // the text's own bytes, whatever it looks like: 0x12 is four of them
	Hex  Encoding = "hex"  // the bytes that 0x and an even number of hexadecimal digits spell
)

// Decode returns the bytes that the text of a field stands for.
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

// Digest is a Keccak-256 hash with what was hashed.
type Digest struct {
	Input  string `json:"input" doc:"the text, as it was sent"`
	Keccak string `json:"keccak256" doc:"0x and 64 hexadecimal digits"`
}

// Keccak hashes data, the bytes that input stands for, as Ethereum does: Keccak-256, whose padding
// is not SHA3-256's.
func Keccak(input string, data []byte) Digest {
	return Digest{Input: input, Keccak: keccakHex(data)}
}

func keccakHex(data []byte) string {
	hash := crypto.Keccak256Hash(data)
	return hash.Hex()
}

package wallet

import (
	"encoding/hex"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Address is an Ethereum address. Its text, also in JSON, always has the EIP-55 checksum capitals.
// The zero value is no wallet's.
type Address [20]byte

// ParseAddress parses 0x and 40 hexadecimal digits in any capitals, without checking EIP-55: people
// paste addresses in all forms. It returns ErrAddress for anything else.
func ParseAddress(s string) (Address, error) {
	var a Address
	if len(s) != 2+2*len(a) || s[:2] != "0x" {
		return Address{}, ErrAddress
	}
	if _, err := hex.Decode(a[:], []byte(s[2:])); err != nil {
		return Address{}, ErrAddress
	}
	return a, nil
}

// Checksummed returns the address in the capitals of EIP-55.
func (a Address) Checksummed() string { return common.Address(a).Hex() }

// String returns Checksummed.
func (a Address) String() string { return a.Checksummed() }

// IsZero reports whether it is the zero address, which no key controls.
func (a Address) IsZero() bool { return a == Address{} }

// MarshalText returns Checksummed.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.Checksummed()), nil }

// UnmarshalText parses as ParseAddress does.
func (a *Address) UnmarshalText(text []byte) error {
	parsed, err := ParseAddress(string(text))
	if err != nil {
		return fmt.Errorf("address of %d characters: %w", len(text), err)
	}
	*a = parsed
	return nil
}

// parseChecksummed parses an address that must have the capitals of EIP-55, as EIP-4361 requires in
// a message.
func parseChecksummed(s string) (Address, bool) {
	a, err := ParseAddress(s)
	return a, err == nil && a.Checksummed() == s
}

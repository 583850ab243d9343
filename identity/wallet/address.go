package wallet

import (
	"encoding/hex"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Address is an Ethereum address. As text it is always in the capitals of EIP-55, in JSON too; the
// zero value is no wallet's.
type Address [20]byte

// ParseAddress reads 0x and 40 hexadecimal digits in whatever capitals: people paste addresses in
// all three. Another form is ErrAddress.
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

// Checksummed is the address in the capitals of EIP-55.
func (a Address) Checksummed() string { return common.Address(a).Hex() }

// String is Checksummed.
func (a Address) String() string { return a.Checksummed() }

// IsZero holds for the zero address, which no key controls.
func (a Address) IsZero() bool { return a == Address{} }

// MarshalText is Checksummed.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.Checksummed()), nil }

// UnmarshalText is ParseAddress.
func (a *Address) UnmarshalText(text []byte) error {
	parsed, err := ParseAddress(string(text))
	if err != nil {
		return fmt.Errorf("address of %d characters: %w", len(text), err)
	}
	*a = parsed
	return nil
}

// parseChecksummed reads an address that must be in the capitals of EIP-55, as EIP-4361 wants it in
// a message.
func parseChecksummed(s string) (Address, bool) {
	a, err := ParseAddress(s)
	return a, err == nil && a.Checksummed() == s
}

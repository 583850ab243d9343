package service

import (
	"strings"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
)

// checkedAddress reads the address that a field holds: digits in one case, or in the capitals of
// EIP-55. Mixed capitals that are not those are a mistyped character most often, so they are
// refused rather than answered for another address than was meant.
func checkedAddress(field, text string) (wallet.Address, *fault.Error) {
	address, err := wallet.ParseAddress(text)
	if err != nil {
		return address, fault.New(fault.FieldRefused, "%s takes an address: 0x and 40 hexadecimal digits.",
			field).With("field", field)
	}
	digits := text[2:]
	if digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) && text != address.Checksummed() {
		return address, fault.New(fault.FieldRefused,
			"%s has mixed capitals that are not those of its checksum (EIP-55), so a character may be mistyped. "+
				"Compare it with where it comes from; written in lower case it is taken as it is.", field).With("field",
			field)
	}
	return address, nil
}

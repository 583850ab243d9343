package tools

import (
	"strings"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
)

// checkedAddress parses the address in a field: hexadecimal digits in one case, or with the
// checksum of EIP-55. It refuses mixed case with a wrong checksum, because that is most likely a
// typo and would answer for another address.
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

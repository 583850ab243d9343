package offline

import (
	"fmt"
	"strings"

	"github.com/chainaccess/gateway/identity/wallet"
)

// CheckedAddress is the verdict on an address's checksum.
type CheckedAddress struct {
	ValidAddress bool    `json:"valid_address" doc:"whether it is an address: 0x and 40 hexadecimal digits, in one case or in the capitals of EIP-55. Mixed capitals that are not those of EIP-55 make it false: most often a character was mistyped"`
	Checksummed  *string `json:"checksummed" nullable:"true" doc:"the same 20 bytes in the capitals of EIP-55; null for what is no address"`
	ChecksumOK   *bool   `json:"checksum_ok" nullable:"true" doc:"whether the capitals are those of EIP-55; null when it has no checksum to look at: digits in one case, or no address"`
	Note         string  `json:"note,omitempty" doc:"why it is not valid"`
}

// Checksum checks an address as ethers and viem do. What is sent to a mistyped address is lost, so
// an address with wrong mixed case is invalid (EIP-55). A text that is no address is an answer too,
// not an error.
func Checksum(address string) CheckedAddress {
	a, err := wallet.ParseAddress(address)
	if err != nil {
		return CheckedAddress{Note: noAddress(address)}
	}
	right := a.Checksummed()
	checked := CheckedAddress{ValidAddress: true, Checksummed: &right}
	switch digits := address[2:]; {
	case address == right:
		checked.ChecksumOK = new(true)
	case digits == strings.ToLower(digits) || digits == strings.ToUpper(digits): // no checksum
	default:
		checked.ValidAddress, checked.ChecksumOK = false, new(false)
		checked.Note = "The capitals are not those of EIP-55, so a character may be mistyped: compare the address " +
			"with where it comes from. If it is right, checksummed is how it is written."
	}
	return checked
}

// noAddress returns why a text is no address.
func noAddress(s string) string {
	const is = "An address is 0x and 40 hexadecimal digits"
	digits, prefixed := strings.CutPrefix(s, "0x")
	switch {
	case !prefixed:
		return is + "; this does not begin with 0x."
	case strings.Trim(digits, "0123456789abcdefABCDEF") != "":
		return is + "; this has other characters after 0x."
	}
	return fmt.Sprintf("%s; this has %d digits.", is, len(digits))
}

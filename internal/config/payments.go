package config

import (
	"net/textproto"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chainaccess/gateway/identity/wallet"
)

// USDCOnBase is the contract of USDC on Base, the default payment asset.
const USDCOnBase = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

const (
	maxTitle         = 60
	maxConfirmations = 1000
	maxAtomic        = 1_000_000_000_000 // a million USDC
)

// SellsPerCall reports whether payments per call are configured: X402_PAY_TO is set.
func (c *Config) SellsPerCall() bool { return c.X402PayTo != "" }

// checkPayments checks what both long-running roles need for payments per call.
func (c *Config) checkPayments(f *faults) {
	f.check(plainTitle(c.ServiceTitle), "SERVICE_TITLE",
		"must be one line of 1 to 60 letters that can be seen, without spaces at its ends: payers sign it")
	f.check(c.X402PayTo == "" || typedAddress(c.X402PayTo), "X402_PAY_TO",
		"must be an address of 0x and 40 hexadecimal digits, all lower-case or with the capitals of its checksum "+
			"(EIP-55), and not the zero address")
	f.check(typedAddress(c.X402Asset), "X402_ASSET",
		"must be an address of 0x and 40 hexadecimal digits, all lower-case or with the capitals of its checksum "+
			"(EIP-55), and not the zero address")
	f.check(c.X402PayTo == "" || !strings.EqualFold(c.X402PayTo, c.X402Asset), "X402_PAY_TO",
		"must be another address than X402_ASSET: the token's contract gives nothing back")
	f.check(c.X402MinConfirmations <= maxConfirmations, "X402_MIN_CONFIRMATIONS", "must be between 0 and 1000")
	f.check(c.X402CorroborateAbove >= 0 && c.X402CorroborateAbove <= maxAtomic, "X402_CORROBORATE_ABOVE",
		"must be between 0 and 1000000000000")
	f.check(c.X402FinalityDelay >= time.Second && c.X402FinalityDelay <= 24*time.Hour, "X402_FINALITY_DELAY",
		"must be between 1s and 24h")
}

// checkFacilitator checks what stock clients need.
func (c *Config) checkFacilitator(f *faults) {
	if c.X402FacilitatorURL == "" {
		return
	}
	ok := validBase(c.X402FacilitatorURL)
	f.check(ok, "X402_FACILITATOR_URL", "must be an http:// or https:// address without a query")
	f.check(!ok || guarded(c.X402FacilitatorURL), "X402_FACILITATOR_URL",
		"must begin with https:// unless its host is this machine: what it answers is taken for money")
	f.check(plainTitle(c.X402AssetName), "X402_ASSET_NAME",
		"must be the token's name in its EIP-712 domain: one line of 1 to 60 letters")
	f.check(plainTitle(c.X402AssetVersion), "X402_ASSET_VERSION",
		"must be the token's version in its EIP-712 domain: one line of 1 to 60 letters")
	f.check(c.SellsPerCall(), "X402_FACILITATOR_URL",
		"must be left out: X402_PAY_TO is not set, so nothing can be paid")
}

// checkCountry checks the header with the caller's country. Without a trusted proxy, any client
// could set it.
func (c *Config) checkCountry(f *faults) {
	if c.CountryHeader == "" {
		return
	}
	ok := fieldName(c.CountryHeader)
	f.check(ok, "COUNTRY_HEADER", "must be the name of a header, CF-IPCountry for instance")
	f.check(!ok || c.TrustedProxies > 0, "COUNTRY_HEADER",
		"must be left out: TRUSTED_PROXIES is 0, so anybody could send it")
}

// typedAddress reports whether the text is a nonzero address in lower case or with a valid checksum
// (EIP-55).
func typedAddress(text string) bool {
	a, err := wallet.ParseAddress(text)
	return err == nil && !a.IsZero() && (text == a.Checksummed() || text == strings.ToLower(text))
}

func plainTitle(title string) bool {
	n := utf8.RuneCountInString(title)
	return utf8.ValidString(title) && n >= 1 && n <= maxTitle && strings.TrimSpace(title) == title &&
		strings.IndexFunc(title, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// fieldName reports whether the text is a header's name (RFC 9110, section 5.1), in whatever
// capitals, and none of those that say something else.
func fieldName(text string) bool {
	for i := range len(text) {
		c := text[i]
		if !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') &&
			(c < 'a' || c > 'z') {
			return false
		}
	}
	switch textproto.CanonicalMIMEHeaderKey(text) {
	case "", "Authorization", "Cookie", "Host", "X-Forwarded-For", "X-Payment":
		return false
	default:
		return true
	}
}

package account

import (
	"log/slog"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/chainaccess/gateway/internal/fault"
)

// maxEmailBytes is the maximum length of an address (RFC 5321, section 4.5.3.1.3, less the angle
// brackets).
const (
	maxEmailBytes = 254
	maxLocalBytes = 64 // RFC 5321, section 4.5.3.1.1
)

// domains parses domains as look-ups do, and also refuses empty and too long labels: "xn--" is one
// that decodes to nothing.
var domains = idna.New(idna.MapForLookup(), idna.StrictDomainName(true), idna.CheckHyphens(true),
	idna.CheckJoiners(true), idna.BidiRule(), idna.VerifyDNSLength(true))

// Email is an e-mail address. It prints, logs and marshals as a placeholder; only Address and Key
// return it. The zero Email is no address.
type Email struct{ address, key string }

// ParseEmail parses one address as a person types it, ignoring surrounding white space. It refuses
// names and comments next to the address, several addresses, quoted or empty local parts, addresses
// in brackets, domains without a dot, and addresses that are too long.
//
// The key, by which a person is found again, differs from the address only in the case of ASCII
// letters and in the domain's spelling. Other letters are not folded: on a server that
// distinguishes them, two mailboxes would share a user.
func ParseEmail(text string) (Email, *fault.Error) {
	if len(text) > 4*maxEmailBytes || !utf8.ValidString(text) {
		return Email{}, refuseEmail("is too long or not UTF-8")
	}
	text = norm.NFC.String(strings.TrimSpace(text))
	switch {
	case text == "":
		return Email{}, refuseEmail("is missing")
	case len(text) > maxEmailBytes:
		return Email{}, refuseEmail("is longer than 254 bytes")
	case strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`"(),:;<>[\]`, r)
	}):
		return Email{}, refuseEmail("holds white space, control characters, quotes or brackets")
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Address != text || parsed.Name != "" {
		return Email{}, refuseEmail("is not an e-mail address")
	}
	at := strings.LastIndexByte(text, '@')
	local, domain := text[:at], text[at+1:]
	if len(local) > maxLocalBytes {
		return Email{}, refuseEmail("has more than 64 bytes before the @")
	}
	domain, err = domains.ToASCII(domain)
	if err != nil || !strings.Contains(domain, ".") || strings.HasSuffix(domain, ".") ||
		len(local)+1+len(domain) > maxEmailBytes {
		return Email{}, refuseEmail("has no domain that mail can be sent to")
	}
	address := local + "@" + domain
	if again, err := mail.ParseAddress(address); err != nil || again.Address != address {
		return Email{}, refuseEmail("has no domain that mail can be sent to") // the mail library parses it again
	}
	return Email{address: address, key: lowerASCII(local) + "@" + domain}, nil
}

// RecordedEmail returns an address with its key, as they were recorded.
func RecordedEmail(address, key string) Email { return Email{address: address, key: key} }

// Address returns the address to send mail to.
func (e Email) Address() string { return e.address }

// Key returns the key by which the person is found.
func (e Email) Key() string { return e.key }

// IsZero reports whether there is no address.
func (e Email) IsZero() bool { return e.address == "" }

// String returns a placeholder.
func (e Email) String() string { return redacted }

// GoString returns a placeholder.
func (e Email) GoString() string { return redacted }

// LogValue logs a placeholder.
func (e Email) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText encodes a placeholder.
func (e Email) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Digest returns a digest that replaces the address where the address must not appear, such as in
// the names of rate limits.
func (e Email) Digest(h *Hasher) Digest { return h.DigestOf("e-mail address", e.key) }

func refuseEmail(why string) *fault.Error {
	return fault.New(fault.FieldRefused, "The e-mail address %s. Give one address in the form name@domain.example.",
		why).With("field", "email")
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

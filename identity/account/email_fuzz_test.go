package account_test

import (
	"net/mail"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
)

// FuzzParseEmail checks that an accepted address can be mailed to and parses to itself.
func FuzzParseEmail(f *testing.F) {
	for _, seed := range []string{
		"ann@buyer.example", "a@xn--.example", "a@bücher.example", "josé@xn--bcher-kva.example", "a@b..c", "a@。example",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		email, refusal := account.ParseEmail(text)
		if refusal != nil {
			return
		}
		if parsed, err := mail.ParseAddress(email.Address()); err != nil || parsed.Address != email.Address() {
			t.Errorf("%q is taken as %q, which no mail can be sent to: %v", text, email.Address(), err)
		}
		if again, refusal := account.ParseEmail(email.Address()); refusal != nil || again != email {
			t.Errorf("%q, read again, is %q, %v", text, again.Address(), refusal)
		}
	})
}

package account_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
)

func TestEmail_IsReadAsPeopleTypeIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, address, key string }{
		{"ann@buyer.example", "ann@buyer.example", "ann@buyer.example"},
		{"  Ann.Lee+keys@Buyer.Example\n", "Ann.Lee+keys@buyer.example", "ann.lee+keys@buyer.example"},
		{"ann@bücher.example", "ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"},
		{"jose\u0301@buyer.example", "josé@buyer.example", "josé@buyer.example"}, // composed and decomposed are one
		{"JOSÉ@buyer.example", "JOSÉ@buyer.example", "josÉ@buyer.example"},       // a server may tell them apart
		// the Kelvin sign is a K, and the mail goes to K
		{"\u212aim@buyer.example", "Kim@buyer.example", "kim@buyer.example"},
		{"kım@buyer.example", "kım@buyer.example", "kım@buyer.example"}, // a dotless i is no i
		{
			"o'hara_{x}!#$%&*-/=?^`|~@buyer.example", "o'hara_{x}!#$%&*-/=?^`|~@buyer.example",
			"o'hara_{x}!#$%&*-/=?^`|~@buyer.example",
		},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, refusal := account.ParseEmail(c.text)
			if refusal != nil || got.Address() != c.address || got.Key() != c.key {
				t.Errorf("%q is read as %q with the key %q (%v), want %q and %q", c.text, got.Address(), got.Key(),
					refusal,
					c.address, c.key)
				return
			}
			// The address has the same key, or its reader would sign in as somebody else.
			if again, refusal := account.ParseEmail(got.Address()); refusal != nil || again != got {
				t.Errorf("%q, read again, is %q, %v", c.text, again.Address(), refusal)
			}
		})
	}
}

func TestEmail_InvalidIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 61) + "." + strings.Repeat("b", 61) + "."
	for name, text := range map[string]string{
		"empty": "", "blank": "  ", "no at": "ann", "no local part": "@buyer.example", "no domain": "ann@",
		"two ats": "ann@bob@buyer.example", "two addresses": "ann@buyer.example,bob@buyer.example",
		"two with a semicolon": "ann@buyer.example;bob@buyer.example", "a name": "Ann <ann@buyer.example>",
		"brackets": "<ann@buyer.example>", "a comment": "ann@buyer.example (Ann)", "quotes": `"ann lee"@buyer.example`,
		"a blank": "ann lee@buyer.example", "a tab": "ann\t@buyer.example",
		"a line": "ann@buyer.example\r\nBcc: eve@other.example", "NUL": "ann\x00@buyer.example",
		"a no-break space": "ann\u00a0@buyer.example", "a zero-width joiner": "a\u200dnn@buyer.example",
		"a direction mark": "\u202eann@buyer.example", "not UTF-8": "ann\xff@buyer.example", "no dot": "ann@localhost",
		"an address literal": "ann@[192.0.2.1]", "a dot at the end": "ann@buyer.example.",
		"two dots": "ann@buyer..example", "a dot first": ".ann@buyer.example",
		"two dots before the at": "a..nn@buyer.example", "a hyphen first": "ann@-buyer.example",
		"an underscore": "ann@buy_er.example", "long local part": strings.Repeat("a", 65) + "@buyer.example",
		"too long": "ann@" + long + long + long + "example", "a label that decodes to nothing": "a@xn--.example",
		"one in the middle": "a@mail.xn--.example", "one in capitals": "a@XN--.example",
		"one in fullwidth letters": "a@ｘｎ--.example", "a long label": "a@" + strings.Repeat("b", 64) + ".example",
		"an ideographic full stop": "a@。example", "far too long": strings.Repeat("a", 1<<20) + "@buyer.example",
		"a fullwidth at": "ann＠buyer.example",
	} {
		t.Run(name, func(t *testing.T) {
			got, refusal := account.ParseEmail(text)
			if refusal == nil || refusal.Reason != fault.FieldRefused || refusal.Data["field"] != "email" ||
				!got.IsZero() {
				t.Errorf("got %q, %v", got.Address(), refusal)
				return
			}
			if strings.Contains(refusal.Message, "ann") {
				t.Errorf("the refusal repeats the address: %s", refusal.Message)
			}
		})
	}
}

func TestEmail_PrintsAsAPlaceholder(t *testing.T) {
	t.Parallel()
	email, refusal := account.ParseEmail("ann@buyer.example")
	if refusal != nil {
		t.Fatal(refusal)
	}
	text, err := json.Marshal(map[string]any{"to": email})
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %q %x", email, struct{ E account.Email }{email}, email, email, email, email) +
		string(text) + email.LogValue().String()
	if strings.Contains(shown, "ann") || strings.Contains(shown, "616e6e") {
		t.Errorf("an address is shown: %s", shown)
	}
}

package account_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
)

// revealing is the interface of all tokens.
type revealing interface {
	fmt.Stringer
	Reveal() string
	Digest(h *account.Hasher) account.Digest
}

func TestSignInTokens_HaveTheFormOfKeysAndNeverShareADigest(t *testing.T) {
	t.Parallel()
	h, err := account.NewHasher(bytes.Repeat([]byte("p"), account.MinPepperBytes))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]struct {
		mint  func(io.Reader) (revealing, error)
		parse func(string) (revealing, bool)
	}{
		"session": {
			func(r io.Reader) (revealing, error) { return account.MintSessionToken(r) },
			func(s string) (revealing, bool) { return account.ParseSessionToken(s) },
		},
		"link": {
			func(r io.Reader) (revealing, error) { return account.MintLinkToken(r) },
			func(s string) (revealing, bool) { return account.ParseLinkToken(s) },
		},
		"browser": {
			func(r io.Reader) (revealing, error) { return account.MintBrowserToken(r) },
			func(s string) (revealing, bool) { return account.ParseBrowserToken(s) },
		},
		"invitation": {
			func(r io.Reader) (revealing, error) { return account.MintInvitationToken(r) },
			func(s string) (revealing, bool) { return account.ParseInvitationToken(s) },
		},
	}
	random := bytes.Repeat([]byte{0xa7}, 32) // the same for all
	digests := map[account.Digest]string{}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			token, err := kind.mint(bytes.NewReader(random))
			if err != nil {
				t.Fatal(err)
			}
			if shown := fmt.Sprintf("%v %#v %+v", token, token, []any{token}); strings.Contains(shown,
				token.Reveal()[5:]) {
				t.Errorf("a %s token prints itself", name)
			}
			if other, taken := digests[token.Digest(h)]; taken {
				t.Errorf("%s and %s share a digest", name, other)
			}
			digests[token.Digest(h)] = name
			for parser, other := range kinds {
				if got, ok := other.parse(token.Reveal()); ok != (parser == name) ||
					ok && got.Digest(h) != token.Digest(h) {
					t.Errorf("a %s token is taken for one of %s: %v", name, parser, ok)
				}
			}
			for _, bad := range []string{
				"", token.Reveal()[1:], token.Reveal() + "0", strings.ToUpper(token.Reveal()),
				strings.Replace(token.Reveal(), "_", "-", 1),
			} {
				if _, ok := kind.parse(bad); ok {
					t.Errorf("%s takes a token that is none", name)
				}
			}
			if _, err := kind.mint(bytes.NewReader(random[:31])); err == nil {
				t.Errorf("%s is minted from too little randomness", name)
			}
		})
	}
}

func TestCodes_AreSixDigitsHoweverTyped(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2000 {
		code, err := account.MintCode(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		text := code.Reveal()
		if len(text) != 6 || strings.Trim(text, "0123456789") != "" {
			t.Fatalf("a code is %q", text)
		}
		seen[text[:1]] = true
		for _, typed := range []string{text, " " + text + " ", text[:3] + " " + text[3:], text[:3] + "-" + text[3:]} {
			if got, ok := account.ParseCode(typed); !ok || got != code {
				t.Fatalf("%q is read as %v", typed, ok)
			}
		}
	}
	if len(seen) != 10 {
		t.Errorf("codes begin with %d digits only", len(seen))
	}
	if _, err := account.MintCode(bytes.NewReader(nil)); err == nil {
		t.Error("a code is minted without randomness")
	}
	for _, bad := range []string{
		"", "12345", "1234567", "12345a", "１２３４５６", "123456\n", "12.456", strings.Repeat(" ", 40) + "123456", "-12345",
	} {
		if _, ok := account.ParseCode(bad); ok {
			t.Errorf("%q is taken for a code", bad)
		}
	}
	if code, _ := account.ParseCode("123456"); fmt.Sprint(code) == "123456" {
		t.Error("a code prints itself")
	}
}

func TestCodes_HaveAnotherDigestInEachBrowser(t *testing.T) {
	t.Parallel()
	h, err := account.NewHasher(bytes.Repeat([]byte("p"), account.MinPepperBytes))
	if err != nil {
		t.Fatal(err)
	}
	var digests []account.Digest
	for _, fill := range []byte{1, 2} {
		browser, err := account.MintBrowserToken(bytes.NewReader(bytes.Repeat([]byte{fill}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"123456", "123457"} {
			code, _ := account.ParseCode(text)
			digests = append(digests, code.DigestFor(browser, h))
			if again := code.DigestFor(browser, h); again != digests[len(digests)-1] {
				t.Error("a code has two digests")
			}
		}
	}
	for i, d := range digests {
		if slices.Index(digests, d) != i {
			t.Error("two codes, or two browsers, share a digest")
		}
	}
}

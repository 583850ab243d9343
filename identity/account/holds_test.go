package account_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
)

func TestHoldsSecret_FindsSecretsInText(t *testing.T) {
	t.Parallel()
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	credential, err := account.MintCredential(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := key.Reveal()
	for _, holds := range []string{
		text, "my key is " + text + ", why?", "cag_cag_" + text, "\"" + text + "\"",
		text + text, "x" + text + "x", credential.Reveal(),
	} {
		if !account.HoldsSecret(holds) {
			t.Errorf("not found in a text of %d characters", len(holds))
		}
	}
	wrong := text[:len(text)-1] + string(rune('0'+(text[len(text)-1]-'0'+1)%10))
	for _, none := range []string{
		"", "cag", text[1:], text[:len(text)-1], wrong, key.Prefix() + "…", strings.Repeat("cag", 2000),
	} {
		if account.HoldsSecret(none) {
			t.Errorf("found in %q", none)
		}
	}
}

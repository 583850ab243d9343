package site

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
)

func TestSupportKey_SealIsBoundToSecretAndHour(t *testing.T) {
	t.Parallel()
	secret, now := []byte(strings.Repeat("s", leastSecret)), time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC)
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	seal, err := newKeySeal(secret)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newKeySeal([]byte(strings.Repeat("x", leastSecret)))
	if err != nil {
		t.Fatal(err)
	}
	value := seal.close(key, "browser", now.Add(keyLifetime))
	if got, ok := seal.open(value, "browser", now.Add(keyLifetime-time.Second)); !ok ||
		got.Reveal() != key.Reveal() {
		t.Error("it does not open within its hour")
	}
	if _, ok := seal.open(value, "browser", now.Add(keyLifetime)); ok {
		t.Error("it opens after its hour")
	}
	if _, ok := other.open(value, "browser", now); ok {
		t.Error("it opens under another secret")
	}
	for _, of := range []string{"", "another browser", "browser "} {
		if _, ok := seal.open(value, of, now); ok {
			t.Errorf("it opens in %q", of)
		}
	}
	if _, ok := seal.open(seal.close(key, "", now.Add(keyLifetime)), "", now); ok {
		t.Error("it opens in a browser without a cookie")
	}
	changed := "A" + value[1:]
	if value[0] == 'A' {
		changed = "B" + value[1:]
	}
	for _, wrong := range []string{
		"", "x", changed, value[:len(value)-4], strings.Repeat("A", longestKeyed+1),
		value + "\n", value[:9] + "\r\n" + value[9:], value + "=",
	} {
		if _, ok := seal.open(wrong, "browser", now); ok {
			t.Errorf("%q opens", wrong)
		}
	}
	if strings.Contains(value, key.Prefix()) || value == seal.close(key, "browser", now.Add(keyLifetime)) {
		t.Error("it shows its key, or is the same twice")
	}
	if _, err := newKeySeal([]byte("short")); err == nil {
		t.Error("a short secret is taken")
	}
}

package outbox_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/messaging/outbox"
)

func TestSealedLink_OpensWhereItWasMadeForItsUseUntilItExpires(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	box := func(secret string, now time.Time) *outbox.Outbox {
		o, err := outbox.New(nil, site, []byte(secret), func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	here := box(secret, at)
	token := here.SealLink("use", []byte("ann@buyer.example"), at.Add(time.Hour))
	if got, err := here.OpenLink("use", token); err != nil || string(got) != "ann@buyer.example" {
		t.Fatalf("it holds %q, %v", got, err)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(token); err != nil || strings.Contains(string(raw), "ann") {
		t.Errorf("it shows what it holds: %v", err)
	}
	if token == here.SealLink("use", []byte("ann@buyer.example"), at.Add(time.Hour)) {
		t.Error("two links of one content are the same")
	}
	if _, err := box(secret, at.Add(time.Hour-time.Second)).OpenLink("use", token); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	if _, err := box(secret, at.Add(time.Hour)).OpenLink("use", token); !errors.Is(err, outbox.ErrLinkOver) {
		t.Errorf("at its end: %v", err)
	}
	if _, err := box(secret+"x", at).OpenLink("use", token); !errors.Is(err, outbox.ErrLink) {
		t.Errorf("under another secret: %v", err)
	}
	if _, err := here.OpenLink("another use", token); !errors.Is(err, outbox.ErrLink) {
		t.Errorf("for another use: %v", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for place := range raw {
		changed := append([]byte(nil), raw...)
		changed[place] ^= 1
		if _, err := here.OpenLink("use", base64.RawURLEncoding.EncodeToString(changed)); !errors.Is(err,
			outbox.ErrLink) {
			t.Errorf("with byte %d changed: %v", place, err)
		}
	}
	for _, text := range []string{
		"", "x", token + "A", token[:len(token)-1], token + "\n", " " + token, strings.Repeat("A", 1<<20),
	} {
		if _, err := here.OpenLink("use", text); !errors.Is(err, outbox.ErrLink) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

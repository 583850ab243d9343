package people_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/metering/meter"
)

// noted records the names and windows of limits, and passes calls on.
type noted struct {
	people.Limiter

	windows map[string]account.RateWindow
}

func (n *noted) Limit(ctx context.Context, name string, w account.RateWindow) (meter.Limited, error) {
	n.windows[name] = w
	return n.Limiter.Limit(ctx, name, w)
}

// noting returns the bundle's people with recorded limits.
func (b *bundle) noting() (*people.People, *noted) {
	n := &noted{b.meter, map[string]account.RateWindow{}}
	return people.New(people.Options{
		Store: b.store, Limiter: n, Outbox: b, Hasher: b.hasher, PublicURL: "https://gateway.example", Now: b.clock.Now,
		Random: rand.Reader,
	}), n
}

// TestSignInMails_AreNotCrowdedOutByOthers checks that the limit of queued mails, beyond which they
// are dropped, is above what anybody can cause, because there is no other way to sign in.
func TestSignInMails_AreNotCrowdedOutByOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, n := b.noting()
	if _, err := p.StartSignIn(b.ctx, "ann@buyer.example", "", home); err != nil {
		t.Fatal(err)
	}
	mail, err := b.Prepare(b.letters[0])
	if err != nil {
		t.Fatal(err)
	}
	limited := false
	for name, w := range n.windows {
		if !strings.HasPrefix(name, "sign-in-mail:address:") {
			continue
		}
		limited = true
		if day := w.Limit + w.Limit*int64(24*time.Hour/w.Per); int64(mail.MaxOfRecipient) <= day {
			t.Errorf("%d mails may be asked for in a day, and beyond %d they are dropped", day, mail.MaxOfRecipient)
		}
	}
	if !limited {
		t.Errorf("mails to one address are not limited: %v", n.windows)
	}
}

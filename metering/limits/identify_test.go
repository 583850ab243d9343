package limits_test

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

func (b *bundle) wantRefused(t *testing.T, key string, from netip.Prefix, want fault.Reason) {
	t.Helper()
	s, refused := b.limits.Identify(b.ctx, key, from)
	require.Nil(t, s)
	require.NotNil(t, refused)
	require.Equal(t, refused.Reason, want)
}

func TestIdentify_BadChecksumIsRefusedWithoutALookup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Door1, account.Unlimited)
	b.wire.forget()
	last := byte('0')
	if h.text[len(h.text)-1] == last {
		last = '1'
	}
	for _, key := range []string{
		"", "cag_", "cag_x", h.text[:len(h.text)-1] + string(last), h.text + "0",
		"Bearer " + h.text, "cagx_" + h.text[4:],
	} {
		b.wantRefused(t, key, network, fault.KeyInvalid)
	}
	if n := b.wire.count("GetIdentity"); n != 0 {
		t.Errorf("%d look-ups for keys that are none", n)
	}
	b.store.Close()
	b.wantRefused(t, h.text[:len(h.text)-1]+string(last), network, fault.KeyInvalid)
	b.wantRefused(t, h.text, network, fault.MeterUnreachable)
}

func TestIdentify_UnknownKeyIsRememberedAndAskedForOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.wire.forget()
	key := unknownKey(t)
	b.wantRefused(t, key, network, fault.KeyInvalid)
	asked := b.wire.count("GetIdentity")
	if asked == 0 {
		t.Fatal("a well-formed key was refused without a look-up")
	}
	for range 200 { // more than the rate limit, but a cached unknown key needs no look-up
		b.wantRefused(t, key, network, fault.KeyInvalid)
	}
	if n := b.wire.count("GetIdentity"); n != asked {
		t.Errorf("%d look-ups after %d of a key that is known to be unknown", n, asked)
	}
}

func TestIdentify_ConcurrentCallersAskForAKeyOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Pro, account.Unlimited)
	b.wire.forget()
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 100 {
		wg.Go(func() {
			<-begin
			s, refused := b.limits.Identify(b.ctx, h.text, network)
			if refused != nil || s.Account != h.account.ID || s.Key != h.key.ID || s.Plan != plan.Pro ||
				s.Supply != plan.Premium {
				t.Errorf("identified as %+v, %v", s, refused)
			}
		})
	}
	close(begin)
	wg.Wait()
	if n := b.wire.count("GetIdentity"); n < 1 || n > 2 {
		t.Errorf("the query was sent %d times, want once, and once to be described", n)
	}
}

func TestIdentify_UnknownKeysAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Door1, account.Unlimited)
	refusedAfter := 0
	for {
		_, refused := b.limits.Identify(b.ctx, unknownKey(t), network)
		if refused.Reason == fault.RateWindow {
			in := expect.In(t, "refused with Retry-After")
			expect.AtLeast(in, refused.RetryAfter, time.Second)
			require.NotNil(in, refused.Window)
			expect.Equal(in, refused.Window.Reset, refused.RetryAfter)
			break
		}
		if refused.Reason != fault.KeyInvalid {
			t.Fatal(refused)
		}
		if refusedAfter++; refusedAfter > 1000 {
			t.Fatal("unknown keys are looked up without a limit")
		}
	}
	b.wire.forget()
	b.wantRefused(t, unknownKey(t), network, fault.RateWindow)
	if n := b.wire.count("GetIdentity"); n != 0 {
		t.Errorf("%d look-ups beyond the limit", n)
	}
	b.wantRefused(t, unknownKey(t), netip.MustParsePrefix("192.0.2.2/32"), fault.KeyInvalid)
	b.clock.Advance(time.Second)
	for range 5 {
		b.wantRefused(t, unknownKey(t), network, fault.KeyInvalid)
	}
	b.wantRefused(t, unknownKey(t), network, fault.RateWindow)
	b.clock.Advance(time.Second)
	b.identify(t, h)
	b.wantRefused(t, unknownKey(t), network, fault.KeyInvalid)
}

func TestIdentify_ConcurrentUnknownKeysOverdrawTheirLimitOnCredit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := make([]string, 300)
	for i := range keys {
		keys[i] = unknownKey(t)
	}
	var looked atomic.Int64
	var wg sync.WaitGroup
	for _, key := range keys {
		wg.Go(func() {
			if _, refused := b.limits.Identify(b.ctx, key, network); refused.Reason == fault.KeyInvalid {
				looked.Add(1)
			}
		})
	}
	wg.Wait()
	const perSecond, burst = 5, 50
	for looked.Load() > burst { // what was overdrawn is waited for, by the second
		b.wantRefused(t, unknownKey(t), network, fault.RateWindow)
		b.clock.Advance(time.Second)
		looked.Add(-perSecond)
	}
	b.clock.Advance(time.Second)
	b.wantRefused(t, unknownKey(t), network, fault.KeyInvalid)
}

func TestIdentify_ExistingKeysDoNotCountAgainstTheirNetwork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 80 {
		b.identify(t, b.holder(t, plan.Door1, account.Unlimited))
	}
	b.wantRefused(t, unknownKey(t), network, fault.KeyInvalid)
}

func TestIdentify_KnownKeySurvivesAnOutageAndFollowsItsChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Pro, account.Unlimited)
	identify := func(want string) {
		t.Helper()
		s, refused := b.limits.Identify(b.ctx, h.text, network)
		if refused != nil || s.Plan != want {
			t.Fatalf("identified as %+v, %v", s, refused)
		}
	}
	identify(plan.Pro)
	if _, err := b.limits.SetPlan(b.ctx, h.account.ID, plan.Must(plan.Scale), author); err != nil {
		t.Fatal(err)
	}
	identify(plan.Pro) // for a minute
	b.clock.Advance(time.Minute)
	identify(plan.Scale)

	b.store.Close() // PostgreSQL is away
	b.clock.Advance(time.Minute)
	identify(plan.Scale)
	b.clock.Advance(time.Hour)
	identify(plan.Scale)
	b.wantRefused(t, unknownKey(t), network, fault.MeterUnreachable)
}

func TestIdentify_DeletedKeyIsForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Pro, account.Unlimited)
	if _, refused := b.limits.Identify(b.ctx, h.text, network); refused != nil {
		t.Fatal(refused)
	}
	if _, err := b.db.Exec(b.ctx, "DELETE FROM keys WHERE id = $1", h.key.ID); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	b.wantRefused(t, h.text, network, fault.KeyInvalid)
}

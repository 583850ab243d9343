package audit_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// Calls are charged to plan and packs, split over both, refunded, refused and served from the
// cache; usage is flushed; projections and counters are lost; caps come and go. Every audit
// meanwhile finds no difference.
func TestAudit_UnderLoadNeverAlarms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	holders := []*holder{
		b.holder(t, 100*plan.Unit, 100*plan.Unit, 200*plan.Unit, 100_000*plan.Unit),
		b.holder(t, 50*plan.Unit),
		b.holder(t, account.Unlimited),
		b.holder(t, 10_000*plan.Unit, 10*plan.Unit),
	}
	b.holder(t, plan.Unit, plan.Unit) // never calls
	done := make(chan struct{})
	var busy sync.WaitGroup
	every := func(pause time.Duration, do func(n int)) {
		busy.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 0; ; n++ {
				do(n)
				select {
				case <-done:
					return
				case <-tick.C:
				}
			}
		})
	}
	for i := range 2 * len(holders) {
		h := holders[i%len(holders)]
		every(time.Millisecond, func(n int) { b.anyCall(t, h, n) })
	}
	lost := []string{"cfg:*", "key:*", "ap:*", "kp:*", "day:*", "pk:*"}
	every(20*time.Millisecond, func(n int) {
		for _, name := range b.rdb.Keys(b.ctx, "{u*}:"+lost[n%len(lost)]).Val() {
			b.rdb.Del(b.ctx, name)
		}
	})
	every(100*time.Millisecond, func(int) { b.flushAll(t) })
	every(15*time.Millisecond, func(n int) { b.changeCaps(t, holders[n%len(holders)], n) })

	var seen audit.Summary
	// On a busy machine it takes longer until packs are drawn from and calls refused.
	for n := 0; n < 25 || (n < 1_000 && !b.shape(t).whole()); n++ {
		s, told := b.audit(t, audit.Options{Patience: time.Second})
		for _, d := range told {
			t.Errorf("under load: %s", d)
		}
		seen.Counters = max(seen.Counters, s.Counters)
	}
	close(done)
	busy.Wait()
	b.flushAll(t)
	s, told := b.audit(t, audit.Options{})
	for _, d := range told {
		t.Errorf("after the load: %s", d)
	}
	expect.Equal(t, s.Accounts, 5)
	expect.Equal(t, s.Periods, 4)
	expect.Equal(t, s.Packs, 5)
	expect.AtLeast(t, seen.Counters, 8)
	if shape := b.shape(t); !shape.whole() {
		t.Errorf("%+v: this was no such load", shape)
	}
}

// shape counts the lines of the kinds that the load must produce.
type shape struct{ drawn, refunded, refused int64 }

func (s shape) whole() bool { return s.drawn > 0 && s.refunded > 0 && s.refused > 0 }

func (b *bundle) shape(t *testing.T) (s shape) {
	t.Helper()
	row := b.db.QueryRow(b.ctx,
		`SELECT count(*) FILTER (WHERE source LIKE 'pack:%'), coalesce(-sum(requests) FILTER (WHERE outcome = 'refund'), 0)::bigint,
		coalesce(sum(requests) FILTER (WHERE outcome = 'plan_quota'), 0)::bigint FROM usage_hours`)
	if err := row.Scan(&s.drawn, &s.refunded, &s.refused); err != nil {
		t.Fatal(err)
	}
	return s
}

// anyCall makes a call of some kind. It does nothing more if the call is not admitted because too
// much was lost at once.
func (b *bundle) anyCall(t *testing.T, h *holder, n int) {
	mode := meter.Charge
	switch n % 8 {
	case 6:
		mode = meter.Hit
	case 7:
		mode = meter.WindowOnly
	}
	units := plan.Units(0)
	if mode == meter.Charge {
		units = plan.Units(1+rand.IntN(6)) * 500
	}
	c := call(mode, units)
	_, a, err := b.limits.AdmitOrLoad(b.ctx, h.Subject, c)
	if err == nil && a.Admitted && mode == meter.Charge && n%3 == 0 {
		b.refund(t, h, c, a.Receipt)
	}
}

// changeCaps sets or removes caps of an account or its key.
func (b *bundle) changeCaps(t *testing.T, h *holder, n int) {
	settings := account.Settings{Caps: &map[string]json.Number{}}
	if n%2 == 0 {
		(*settings.Caps)["rpc"] = json.Number(strconv.Itoa(1_000_000 + n))
	}
	var err error
	if n%3 == 0 {
		_, err = b.limits.ConfigureAccount(b.ctx, h.Account, settings, author)
	} else {
		_, err = b.limits.ConfigureKey(b.ctx, h.Key, settings, author)
	}
	if refusal, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || refusal.Reason != fault.FieldRefused) {
		t.Error(err)
	}
}

// The meter's clock stepped back between a charge and its refund, so the refund is recorded first.
func TestAudit_WaitsForTheChargeOfARecordedRefund(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, 100*plan.Unit)
	c := call(meter.Charge, 2*plan.Unit)
	_, a, err := b.limits.AdmitOrLoad(b.ctx, h.Subject, c)
	if err != nil || !a.Admitted {
		t.Fatalf("%+v, %v", a, err)
	}
	shard := account.Shard(h.Account)
	charges, _, err := b.meter.SealedBuckets(b.ctx, shard, true, 10)
	if err != nil || len(charges) != 1 {
		t.Fatalf("%d buckets, %v", len(charges), err)
	}
	b.refund(t, h, c, a.Receipt)
	all, _, err := b.meter.SealedBuckets(b.ctx, shard, true, 10)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d buckets, %v", len(all), err)
	}
	refunds := all[:1]
	if refunds[0].Generation == charges[0].Generation {
		refunds = all[1:]
	}
	if err := b.store.CommitUsage(b.ctx, refunds); err != nil {
		t.Fatal(err)
	}
	_, told := b.audit(t, audit.Options{Patience: time.Millisecond})
	in := expect.In(t, "without its charge")
	require.Len(in, told, 1)
	expect.Equal(in, told[0].Identity, audit.Refunds)
	expect.Equal(in, told[0].String(),
		"account "+h.Account.String()+", period "+a.Receipt.Period+": refunds: key "+h.Key.String()+
			", rpc eth_call on eth_mainnet, drawn from plan: units given back 2, charged 0: 2 more")
	var late sync.WaitGroup
	late.Go(func() {
		deadline := time.NewTimer(100 * time.Millisecond)
		defer deadline.Stop()
		<-deadline.C
		if err := b.store.CommitUsage(b.ctx, charges); err != nil {
			t.Error(err)
		}
	})
	if _, told := b.audit(t, audit.Options{Patience: patience}); len(told) > 0 {
		t.Errorf("with a charge that came later: %v", told)
	}
	late.Wait()
}

func TestAudit_ReportsItsProgress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Unit)
	b.charge(t, h, plan.Unit, true)
	b.flushAll(t)
	b.spoil(t, "UPDATE usage_hours SET units = -5000 WHERE outcome = 'refund'") // the audit waits for its charge
	said := make(chan audit.Summary, 1)
	b.audit(t, audit.Options{Patience: time.Second, ProgressEvery: time.Millisecond, Progress: func(s audit.Summary) {
		select {
		case said <- s:
		default:
		}
	}})
	if s := <-said; s.Accounts != 0 {
		t.Errorf("%+v before the first account was done", s)
	}
}

package limits_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
)

// on returns another process, on a host with this clock.
func (b *bundle) on(t *testing.T, clock func() time.Time) *bundle {
	t.Helper()
	host := b.another(t)
	host.limits = limits.New(host.store, host.meter, host.hasher, clock)
	return host
}

// Around a midnight at which a day, a period and a pack end, hosts whose clocks are minutes apart
// admit, refuse and record the same, because Redis' clock decides. For one host it is past midnight
// throughout, for the other it never is.
func TestClocks_HostsThatDifferAdmitRefuseAndRecordTheSame(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t, testkit.WithClock())
	b := setupOn(t, server.URL)
	b.redis, b.rdb = server, redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = b.rdb.Close() })
	midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	// of Redis' clock from the machine's, until it steps past midnight
	off := time.Until(midnight.Add(-3 * time.Minute))
	server.SetClock(t, off)
	slow := b.on(t, func() time.Time { return time.Now().Add(off - 10*time.Minute) })
	fast := b.on(t, func() time.Time { return time.Now().Add(off + 10*time.Minute) })

	type run struct {
		*holder
		hosts          []*bundle
		expires, stays account.PackID
		seen           []string
	}
	runs := map[string]*run{
		"slow": {hosts: []*bundle{slow}}, "fast": {hosts: []*bundle{fast}}, "in turn": {hosts: []*bundle{slow, fast}},
	}
	_, before, after := turning(midnight)
	for name, r := range runs {
		t.Run(name, func(t *testing.T) {
			host := r.hosts[len(r.hosts)-1]
			r.holder = b.holder(t, plan.Enterprise, 8*plan.Unit)
			host.contract(t, r.holder, 3*plan.Unit, midnight)
			r.expires, r.stays = host.grant(t, r.holder, 10*plan.Unit, midnight), host.grant(t, r.holder, 2*plan.Unit,
				midnight.AddDate(0, 1, 0))
		})
	}
	call := func(units ...plan.Units) {
		for _, n := range units {
			for _, r := range runs {
				host := r.hosts[len(r.seen)%len(r.hosts)]
				a := host.admit(t, host.identify(t, r.holder), charge(n*plan.Unit))
				seen := fmt.Sprintf("%s %s", a.Receipt.Period, strings.NewReplacer(r.expires.Source(), "first",
					r.stays.Source(), "second").Replace(a.Receipt.Sources))
				if a.Refused != "" {
					seen = fmt.Sprintf("%s with %d left of %d", a.Refused, a.Remaining, a.Limit)
				}
				r.seen = append(r.seen, seen)
			}
		}
	}
	call(2, 2, 3, 2) // 3 of the plan, 4 of the pack that expires, and the day has one left
	b.flushAll(t)
	// three minutes past midnight; fast is 7 minutes ahead now, and slow 16 behind
	server.SetClock(t, off+6*time.Minute)
	call(2, 2, 2, 5, 1)
	b.flushAll(t)
	want := []string{
		before + " plan", before + " plan=1000,first=1000", before + " first=3000",
		"door_key_day with 1000 left of 8000", after + " plan", after + " plan=1000,second=1000",
		"plan_quota with 1000 left of 5000", "door_key_day with 4000 left of 8000", after + " second=1000",
	}
	for name, r := range runs {
		t.Run(name, func(t *testing.T) {
			if !slices.Equal(r.seen, want) {
				t.Errorf("hosts answered\n%q, want\n%q", r.seen, want)
			}
			for period, want := range map[string]usage{
				before: {"ok plan": {2, 3000}, "ok " + r.expires.Source(): {1, 4000}, "door_key_day ": {requests: 1}},
				after: {
					"ok plan": {2, 3000}, "ok " + r.stays.Source(): {1, 2000}, "plan_quota ": {requests: 1},
					"door_key_day ": {requests: 1},
				},
			} {
				if got := b.usage(t, r.holder, period); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("PostgreSQL has of period %s\n%v, want\n%v", period, got, want)
				}
			}
		})
	}
}

func TestKeyCaps_FollowTheMetersClock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.now(t)
	for name, off := range map[string]time.Duration{"slow": -10 * time.Minute, "fast": 10 * time.Minute} {
		host := b.on(t, func() time.Time { return time.Now().Add(off) })
		h := b.holder(t, plan.Enterprise, account.Unlimited)
		host.contract(t, h, 2*plan.Unit, now.Add(time.Hour))
		host.grant(t, h, 3*plan.Unit, now.Add(5*time.Minute)) // not expired by Redis' clock
		if _, err := host.limits.ConfigureKey(b.ctx, h.key.ID, settings(t, `{"monthly_request_cap":5}`),
			author); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

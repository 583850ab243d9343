package meter_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/meter"
)

// An outage refunds every call, and anybody can make keys: neither may fill the memory permanently.
func TestMemory_NothingIsKeptForGood(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(wideWindow, 10_000, 10_000))
		r := b.mustAdmit(t, c, charge(1000))
		b.refund(t, c, charge(1000), r, "request-1:0")
		longest := map[string]time.Duration{
			"rf:": 5 * time.Minute, "cfg:": 3 * 24 * time.Hour, "key:": 3 * 24 * time.Hour,
		}
		for prefix, limit := range longest {
			names, err := b.rdb.Keys(b.ctx, tagOf(c)+prefix+"*").Result()
			if err != nil || len(names) == 0 {
				t.Fatalf("%s: %v, %v", prefix, names, err)
			}
			for _, name := range names {
				if ttl := b.rdb.PTTL(b.ctx, name).Val(); ttl <= 0 || ttl > limit {
					t.Errorf("%s is kept for %s, want at most %s", strings.TrimPrefix(name, tagOf(c)), ttl, limit)
				}
			}
		}
	})
}

func TestRateWindow_NamesTheOtherLimitsThatWouldRefuse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(account.RateWindow{Limit: 1, Per: 24 * time.Hour}, 1000, 1000))
		b.mustAdmit(t, c, charge(1000))
		if a := b.mustRefuse(t, c, charge(1000), "rate_window"); !slices.Equal(a.Also,
			[]meter.Refusal{{Reason: "door_key_day"}, {Reason: "plan_quota"}}) {
			t.Errorf("the window refused beside %v", a.Also)
		}
	})
}

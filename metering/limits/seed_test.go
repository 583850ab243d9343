package limits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// The seed has read PostgreSQL when a flush commits and drops usage that the seed did not see.
func TestSeed_IsRepeatedWhenAFlushCameInBetween(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, 1000)
	s := b.identify(t, h)
	if a := b.admit(t, s, charge(400)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	days, err := b.rdb.Keys(b.ctx, "*:day:*").Result()
	if err != nil || len(days) != 1 {
		t.Fatalf("counters %v, %v", days, err)
	}
	b.rdb.Del(b.ctx, days[0])
	reached, release := b.wire.hold(t, "ListFlushes")
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, a, err := b.limits.AdmitOrLoad(b.ctx, s, charge(601)); err != nil || a.Refused != "door_key_day" ||
			a.Remaining != 600 {
			t.Errorf("601 of 1000 with 400 used: %+v, %v; want a refusal with 600 left", a, err)
		}
	})
	await(b.ctx, t, reached)
	direct := *b
	if direct.store, err = store.Open(b.ctx, b.pg); err != nil {
		t.Fatal(err)
	}
	defer direct.store.Close()
	direct.flushAll(t)
	if requests, units := direct.recorded(t, h); requests != 1 || units != 400 {
		t.Errorf("PostgreSQL has %d calls of %d units, want 1 of 400", requests, units)
	}
	release()
	wg.Wait()
	if a := b.admit(t, s, charge(600)); !a.Admitted {
		t.Errorf("600 of 1000 with 400 used: %+v", a)
	}
}

// undropped is a meter whose flusher dies between commit and drop.
type undropped struct{ *meter.Meter }

var errKilled = errors.New("killed")

func (undropped) DropBuckets(context.Context, []account.UsageBucket) error { return errKilled }

func TestSeed_CountsOnceWhatIsFlushedAndNotDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, 1000)
	s := b.identify(t, h)
	if a := b.admit(t, s, charge(400)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	f := flush.New(undropped{b.meter}, b.store, flush.FromStore(b.store), flush.Options{
		Logger: slog.New(slog.DiscardHandler),
	})
	if err := f.FlushAll(b.ctx); !errors.Is(err, errKilled) {
		t.Fatalf("the flusher ended with %v", err)
	}
	for _, name := range b.rdb.Keys(b.ctx, "*:day:*").Val() {
		b.rdb.Del(b.ctx, name)
	}
	if a := b.admit(t, s, charge(600)); !a.Admitted {
		t.Errorf("600 of 1000 with 400 used: %+v", a)
	}
	if a := b.admit(t, s, charge(1)); a.Refused != "door_key_day" {
		t.Errorf("one more than 1000: %+v", a)
	}
}

// Whatever is deleted in the meter, and whenever, each limit admits exactly what it allows.
func TestSeed_NothingLostInTheMeterAdmitsMore(t *testing.T) {
	t.Parallel()
	const units, calls = 300, 900
	limit := json.Number(strconv.Itoa(units * calls / int(plan.Unit)))
	capped := account.Settings{Caps: &map[string]json.Number{"rpc": limit}}
	for name, tt := range map[string]struct {
		plan    string
		daily   plan.Units
		units   plan.Units
		most    int64
		limit   func(b *bundle, h *holder) error
		refused string
	}{
		"day": {plan: plan.Enterprise, daily: 2000 * units, units: units, most: 2000, refused: "door_key_day"},
		"period": {
			plan: plan.Pro, daily: account.Unlimited, units: plan.Must(plan.Pro).MonthlyQuota() / 1500,
			most: 1500, refused: "plan_quota",
		},
		"key's monthly cap": {
			plan: plan.Enterprise, daily: account.Unlimited, units: units, most: calls,
			refused: "key_budget", limit: func(b *bundle, h *holder) error {
				_, err := b.limits.ConfigureKey(b.ctx, h.key.ID, account.Settings{MonthlyCap: &limit}, author)
				return err
			},
		},
		"key's cap of a service": {
			plan: plan.Enterprise, daily: account.Unlimited, units: units, most: calls,
			refused: "service_cap", limit: func(b *bundle, h *holder) error {
				_, err := b.limits.ConfigureKey(b.ctx, h.key.ID, capped, author)
				return err
			},
		},
		"account's cap of a service": {
			plan: plan.Enterprise, daily: account.Unlimited, units: units, most: calls,
			refused: "service_cap", limit: func(b *bundle, h *holder) error {
				_, err := b.limits.ConfigureAccount(b.ctx, h.account.ID, capped, author)
				return err
			},
		},
		// The quota ends within a call and so does the first pack: both calls are split.
		"packs": {
			plan: plan.Enterprise, daily: account.Unlimited, units: units, most: calls, refused: "plan_quota",
			limit: func(b *bundle, h *holder) error {
				return b.quotaAndPacks(h, units*calls/3+units/2, units*calls/3, units*calls/3-units/2)
			},
		},
		"packs alone": {
			plan: plan.Enterprise, daily: account.Unlimited, units: units, most: calls,
			refused: "plan_quota", limit: func(b *bundle, h *holder) error {
				return b.quotaAndPacks(h, 0, units*calls/2+1, units*calls/2-1)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			processes := []*bundle{b, b.another(t)}
			h := b.holder(t, tt.plan, tt.daily)
			if tt.limit != nil {
				if err := tt.limit(b, h); err != nil {
					t.Fatal(err)
				}
			}
			var admitted, refused atomic.Int64
			var load, trouble sync.WaitGroup
			done := make(chan struct{})
			loop := func(do func(n int)) {
				trouble.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-done:
							return
						default:
							do(n)
						}
					}
				})
			}
			// Calls must be decided between two losses and two flushes, or on a slow machine
			// counters would be gone before they are seeded.
			pause := func(more int64) {
				awaitDecisions(b.ctx, done, func() int64 { return admitted.Load() + refused.Load() }, more)
			}
			tag := fmt.Sprintf("{u%04d}:", account.Shard(h.account.ID))
			losses := [][]string{
				{"cfg:*"}, {"key:*"}, {
					"day:*", "ap:*", "kp:*", "pk:*",
				}, {"cfg:*", "key:*", "day:*", "ap:*", "kp:*", "pk:*"},
			}
			loop(func(n int) {
				for _, kind := range losses[n%len(losses)] {
					for _, name := range b.rdb.Keys(b.ctx, tag+kind).Val() {
						b.rdb.Del(b.ctx, name)
					}
				}
				pause(20)
			})
			for _, p := range processes {
				loop(func(int) {
					p.flushAll(t)
					pause(1)
				})
			}
			for i := range 24 {
				p := processes[i%2]
				s := p.identify(t, h)
				load.Go(func() {
					for refused.Load() < 100 && admitted.Load() < 2*tt.most && b.ctx.Err() == nil {
						_, a, err := p.limits.AdmitOrLoad(b.ctx, s, charge(tt.units))
						switch {
						case err != nil: // a load that gave up; the call was not admitted
						case a.Admitted:
							admitted.Add(1)
						case a.Refused == "rate_window":
						case a.Refused == tt.refused:
							refused.Add(1)
						default:
							t.Errorf("refused for %s, want %s", a.Refused, tt.refused)
							return
						}
					}
				})
			}
			load.Wait()
			close(done)
			trouble.Wait()
			if got := admitted.Load(); got != tt.most {
				t.Errorf("%d calls admitted, want exactly %d", got, tt.most)
			}
			b.flushAll(t)
			if requests, units := b.recorded(t, h); requests != tt.most || units != plan.Units(tt.most)*tt.units {
				t.Errorf("PostgreSQL has %d calls of %d units, want %d of %d", requests, units, tt.most,
					plan.Units(tt.most)*tt.units)
			}
		})
	}
}

// quotaAndPacks sets the quota and the packs of an account.
func (b *bundle) quotaAndPacks(h *holder, quota plan.Units, packs ...plan.Units) error {
	c := account.Custom{Quota: quota, Rate: account.RateWindow{Limit: 1_000_000, Per: time.Second}}
	if _, err := b.limits.SetEnterprise(b.ctx, h.account.ID, c, author); err != nil {
		return err
	}
	for i, units := range packs {
		p := account.Pack{ID: account.NewPackID(), Units: units, Expires: time.Now().AddDate(1, 0, i)}
		_, _, err := b.limits.GrantPack(b.ctx, accountdb.Pack{
			Pack: p, Account: h.account.ID, Kind: "pack_s", Origin: p.ID.String(), GrantedAt: time.Now(),
		}, author)
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitDecisions waits until that many more calls are decided, or no more will be.
func awaitDecisions(ctx context.Context, done <-chan struct{}, decided func() int64, more int64) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for from := decided(); decided() < from+more; {
		select {
		case <-ctx.Done():
			return
		case <-done:
			return
		case <-tick.C:
		}
	}
}

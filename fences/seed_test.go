package fences_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/flush"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/store"
)

// The seed has taken its snapshot of PostgreSQL when a flush commits and drops the usage that the snapshot lacks.
func TestSeedIsMadeAgainWhenAFlushCameInBetween(t *testing.T) {
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
		if _, a, err := b.fences.Admit(b.ctx, s, charge(601)); err != nil || a.Refused != "door_key_day" || a.Remaining != 600 {
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

func TestSeedCountsOnceWhatIsFlushedAndNotDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, 1000)
	s := b.identify(t, h)
	if a := b.admit(t, s, charge(400)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	f := flush.New(undropped{b.meter}, b.store, flush.FromStore(b.store), flush.Options{Logger: slog.New(slog.DiscardHandler)})
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

// Whatever is deleted in the meter, and whenever: the day and the quota admit what they allow, to the unit.
func TestNothingThatIsLostInTheMeterAdmitsMore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plan  string
		daily plan.Units
		units plan.Units
		most  int64
	}{
		"day":    {plan.Enterprise, 2000 * 300, 300, 2000},
		"period": {plan.Pro, account.Unlimited, plan.Must(plan.Pro).MonthlyQuota() / 1500, 1500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			processes := []*bundle{b, b.another(t)}
			h := b.holder(t, tt.plan, tt.daily)
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
			tag := fmt.Sprintf("{u%04d}:", account.Shard(h.account.ID))
			kinds := []string{"cfg:*", "key:*", "day:*", "ap:*"}
			loop(func(n int) {
				for _, name := range b.rdb.Keys(b.ctx, tag+kinds[n%len(kinds)]).Val() {
					b.rdb.Del(b.ctx, name)
				}
				waitAdmissions(b.ctx, &admitted, 20)
			})
			loop(func(int) { b.flushAll(t) })
			loop(func(int) { processes[1].flushAll(t) })
			for i := range 24 {
				p := processes[i%2]
				s := p.identify(t, h)
				load.Go(func() {
					for refused.Load() < 100 && b.ctx.Err() == nil {
						_, a, err := p.fences.Admit(b.ctx, s, charge(tt.units))
						switch {
						case err != nil: // a load that gave up; the call was not admitted
						case a.Admitted:
							admitted.Add(1)
						case a.Refused == "rate_window":
						default:
							refused.Add(1)
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
				t.Errorf("PostgreSQL has %d calls of %d units, want %d of %d", requests, units, tt.most, plan.Units(tt.most)*tt.units)
			}
		})
	}
}

// waitAdmissions lets some calls pass between two losses, so that the load goes on; not for ever, for at the end there are none.
func waitAdmissions(ctx context.Context, admitted *atomic.Int64, more int64) {
	from := admitted.Load()
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for admitted.Load() < from+more {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

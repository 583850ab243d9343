package meter_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/meter"
)

func TestDailyCountGivesExactlyItsLimit(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		other := openMeter(b.ctx, t, b.url)
		var taken, left atomic.Int64
		var wg sync.WaitGroup
		for i := range 40 {
			m := []*meter.Meter{b.meter, other}[i%2]
			wg.Go(func() {
				got, err := m.TakeDaily(b.ctx, "new-keys:192.0.2.1/32", 3)
				if err != nil {
					t.Error(err)
				}
				if got.OK {
					taken.Add(1)
					left.Add(got.Left)
				}
				if got.Reset <= 0 || got.Reset > 24*time.Hour {
					t.Errorf("the day is said to end in %s", got.Reset)
				}
			})
		}
		wg.Wait()
		if taken.Load() != 3 || left.Load() != 2+1+0 {
			t.Errorf("%d taken, told that %d were left in all, want 3 taken with 2, 1 and 0 left", taken.Load(), left.Load())
		}
		if got, err := b.meter.TakeDaily(b.ctx, "new-keys:192.0.2.2/32", 3); err != nil || !got.OK || got.Left != 2 {
			t.Errorf("another name got %+v, %v", got, err)
		}
	})
}

func TestGivenBackCountsCanBeTakenAgainAndNoMore(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		take := func() meter.Taken {
			got, err := b.meter.TakeDaily(b.ctx, "name", 2)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		give := func(taken meter.Taken) {
			if err := b.meter.GiveBack(b.ctx, taken); err != nil {
				t.Fatal(err)
			}
		}
		first := take()
		take()
		refused := take()
		give(refused) // took nothing, so it gives nothing back
		if take().OK {
			t.Error("a third was taken after a refused one was given back")
		}
		give(first)
		if !take().OK || take().OK {
			t.Error("one given back did not become exactly one to take")
		}
		b.rdb.FlushAll(b.ctx)
		give(first)
		if n := b.rdb.DBSize(b.ctx).Val(); n != 0 {
			t.Errorf("giving back to a count that is gone left %d keys, which never expire", n)
		}
		take()
		if !take().OK || take().OK {
			t.Error("a count given back after it was lost became wider")
		}
	})
}

func TestDailyCountBeginsAnewAtMidnightUTC(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)
	b.mini.SetTime(midnight.Add(-time.Millisecond))
	for i, want := range []bool{true, false} {
		got, err := b.meter.TakeDaily(b.ctx, "name", 1)
		if err != nil || got.OK != want || got.Reset != time.Millisecond {
			t.Errorf("try %d: %+v, %v; want %t and a millisecond left", i, got, err, want)
		}
	}
	b.mini.SetTime(midnight)
	if got, err := b.meter.TakeDaily(b.ctx, "name", 1); err != nil || !got.OK || got.Reset != 24*time.Hour {
		t.Errorf("after midnight: %+v, %v", got, err)
	}
}

package meter_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
)

// daily and hourly are the two kinds of bounds.
var (
	daily  = netlimit.Bounds{Daily: true, Per: 24 * time.Hour}
	hourly = netlimit.Bounds{Per: time.Hour}
)

func layer(name string, limit int64) netlimit.Layer { return netlimit.Layer{Name: name, Limit: limit} }

func TestLayers_DayGivesExactlyItsLimit(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		other := openMeter(b.ctx, t, b.url)
		var taken, left atomic.Int64
		var wg sync.WaitGroup
		for i := range 40 {
			m := []*meter.Meter{b.meter, other}[i%2]
			wg.Go(func() {
				got, err := m.TakeQuota(b.ctx, "new-keys", 1, daily, []netlimit.Layer{
					layer("192.0.2.1/32", 3), layer("area", 60),
				})
				if err != nil {
					t.Error(err)
					return
				}
				if got.Refused < 0 {
					taken.Add(1)
					left.Add(got.Layers[0].Left)
				}
				if reset := got.Layers[0].Reset; reset <= 0 || reset > 24*time.Hour {
					t.Errorf("the day is said to end in %s", reset)
				}
			})
		}
		wg.Wait()
		if taken.Load() != 3 || left.Load() != 2+1+0 {
			t.Errorf("%d taken, told that %d were left in all, want 3 taken with 2, 1 and 0 left", taken.Load(),
				left.Load())
		}
		got, err := b.meter.TakeQuota(b.ctx, "new-keys", 1, daily, []netlimit.Layer{
			layer("192.0.2.2/32", 3), layer("area", 60),
		})
		in := expect.In(t, "another address")
		require.NoError(in, err)
		expect.Less(in, got.Refused, 0)
		expect.Equal(in, got.Layers[0].Left, 2)
		expect.Equal(in, got.Layers[1].Left, 56)
	})
}

func TestLayers_RefusalUsesUpNoLayer(t *testing.T) {
	t.Parallel()
	for name, bounds := range map[string]netlimit.Bounds{"day": daily, "rate": hourly} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothAlone(t, func(t *testing.T, b *bundle) {
				take := func(address string) netlimit.Counted {
					got, err := b.meter.TakeQuota(b.ctx, "mails", 1, bounds, []netlimit.Layer{
						layer(address, 2), layer("area", 3), layer("whole", 100),
					})
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				var story string
				for i, address := range []string{"a", "a", "a", "a", "b", "b", "b", "c"} {
					got := take(address)
					story += fmt.Sprintf("%d%s%d:%d/%d/%d ", i, address, got.Refused, got.Layers[0].Left,
						got.Layers[1].Left, got.Layers[2].Left)
					if (got.Refused >= 0) != (got.Wait > 0) && got.Layers[0].Left > 0 && got.Layers[1].Left > 0 {
						t.Errorf("%s is told to wait %s", address, got.Wait)
					}
				}
				// a's refusals take nothing of the area, and the area's nothing of b, c or the
				// whole.
				want := "0a-1:1/2/99 1a-1:0/1/98 2a0:0/1/98 3a0:0/1/98 4b-1:1/0/97 5b1:1/0/97 6b1:1/0/97 7c1:2/0/97 "
				if story != want {
					t.Errorf("got  %s\nwant %s", story, want)
				}
			})
		})
	}
}

func TestLayers_LongestWaitIsTold(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	take := func() netlimit.Counted {
		got, err := b.meter.TakeQuota(b.ctx, "mails", 1, hourly, []netlimit.Layer{
			layer("address", 4), layer("area", 2),
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	take()
	if got := take(); got.Refused >= 0 || got.Wait != 30*time.Minute {
		t.Errorf("the last of the area got %+v, want to be told that the next comes in half an hour", got)
	}
	got := take()
	in := expect.In(t, "the area's refusal")
	expect.Equal(in, got.Refused, 1)
	expect.Equal(in, got.Wait, 30*time.Minute)
	expect.Equal(in, got.Layers[1].Reset, time.Hour)
}

func TestLayers_GivenBackCanBeTakenAgainAndNoMore(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		take := func() netlimit.Counted {
			got, err := b.meter.TakeQuota(b.ctx, "name", 1, daily, []netlimit.Layer{
				layer("address", 2), layer("whole", 2),
			})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		took := func() bool { return take().Refused < 0 }
		give := func(taken netlimit.Counted) {
			if err := b.meter.ReturnQuota(b.ctx, taken.Names); err != nil {
				t.Fatal(err)
			}
		}
		first := take()
		if !took() || took() {
			t.Fatal("not exactly two were taken")
		}
		give(first)
		if !took() || took() {
			t.Error("one given back did not become exactly one to take")
		}
		b.rdb.FlushAll(b.ctx)
		give(first)
		if n := b.rdb.DBSize(b.ctx).Val(); n != 0 {
			t.Errorf("giving back to a count that is gone left %d keys, which never expire", n)
		}
		took()
		if !took() || took() {
			t.Error("a count given back after it was lost became wider")
		}
	})
}

func TestLayers_DayBeginsAnewAtMidnightUTC(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)
	b.mini.SetTime(midnight.Add(-time.Millisecond))
	one := []netlimit.Layer{layer("address", 1)}
	for i, want := range []bool{true, false} {
		got, err := b.meter.TakeQuota(b.ctx, "name", 1, daily, one)
		in := expect.In(t, "try %d", i)
		require.NoError(in, err)
		expect.Equal(in, got.Refused < 0, want)
		expect.Equal(in, got.Layers[0].Reset, time.Millisecond)
	}
	b.mini.SetTime(midnight)
	got, err := b.meter.TakeQuota(b.ctx, "name", 1, daily, one)
	in := expect.In(t, "after midnight")
	require.NoError(in, err)
	expect.Less(in, got.Refused, 0)
	expect.Equal(in, got.Layers[0].Reset, 24*time.Hour)
}

func TestTakeQuota_TakesSomeAtOnceOrNone(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		calls := netlimit.Bounds{Per: time.Minute}
		take := func(n int64, address string) netlimit.Counted {
			got, err := b.meter.TakeQuota(b.ctx, "calls", n, calls, []netlimit.Layer{
				layer(address, 10), layer("area", 25),
			})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for i, want := range []struct {
			n, left int64
			refused int
		}{{6, 4, -1}, {5, 4, 0}, {4, 0, -1}, {1, 0, 0}} {
			if got := take(want.n, "one"); got.Refused != want.refused || got.Layers[0].Left != want.left {
				t.Errorf("take %d: %+v; want %+v", i, got, want)
			}
		}
		if got := take(10, "next"); got.Refused != -1 || got.Layers[1].Left != 5 {
			t.Errorf("another address: %+v", got)
		}
	})
}

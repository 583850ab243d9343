package meter_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
)

func TestLimit_LetsThroughItsNumberAcrossProcesses(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		other := openMeter(b.ctx, t, b.url)
		limit := account.RateWindow{Limit: 5, Per: time.Hour}
		var through atomic.Int64
		var wg sync.WaitGroup
		for i := range 40 {
			m := []*meter.Meter{b.meter, other}[i%2]
			wg.Go(func() {
				got, err := m.Limit(b.ctx, "sign-in:192.0.2.1/32", limit)
				if err != nil {
					t.Error(err)
				}
				if got.OK {
					through.Add(1)
				} else if got.Wait <= 11*time.Minute || got.Wait > 12*time.Minute+time.Second || got.Left != 0 {
					t.Errorf("a refused one is told %+v", got)
				}
			})
		}
		wg.Wait()
		if through.Load() != 5 {
			t.Errorf("%d went through, want 5", through.Load())
		}
		got, err := b.meter.Limit(b.ctx, "sign-in:192.0.2.2/32", limit)
		in := expect.In(t, "another name")
		require.NoError(in, err)
		expect.True(in, got.OK)
		expect.Equal(in, got.Left, 4)
		expect.Equal(in, got.Wait, 0)
	})
}

func TestLimit_RefillsEvenly(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	take := func() meter.Limited {
		got, err := b.meter.Limit(b.ctx, "name", account.RateWindow{Limit: 3, Per: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for left := int64(2); left >= 0; left-- {
		if got := take(); !got.OK || got.Left != left {
			t.Fatalf("got %+v, want %d left", got, left)
		}
	}
	got := take()
	expect.False(t, got.OK)
	expect.Equal(t, got.Wait, 10*time.Second)
	expect.Equal(t, got.Reset, 30*time.Second)
	at := noon
	step := func(d time.Duration) {
		at = at.Add(d)
		b.mini.SetTime(at)
	}
	step(9999 * time.Millisecond)
	if got := take(); got.OK || got.Wait != time.Millisecond {
		t.Errorf("a millisecond too early got %+v", got)
	}
	step(time.Millisecond)
	if got := take(); !got.OK || got.Left != 0 {
		t.Errorf("after a third of the window got %+v", got)
	}
	if got := take(); got.OK {
		t.Errorf("two came back at once: %+v", got)
	}
	// A clock that steps back keeps nobody out for longer than the window.
	step(-24 * time.Hour)
	if got := take(); got.OK || got.Wait > 10*time.Second {
		t.Errorf("after a step back got %+v", got)
	}
}

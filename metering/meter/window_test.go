package meter_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
)

// windowModel is the sliding window as the interface describes it: the current bucket plus the
// share of the previous one that the window still covers.
type windowModel struct {
	limit, per int64
	counts     map[int64]int64
}

func (w *windowModel) estimate(nowMS int64) float64 {
	bucket, offset := nowMS/w.per, nowMS%w.per
	return float64(w.counts[bucket-1])*(1-float64(offset)/float64(w.per)) + float64(w.counts[bucket])
}

func (w *windowModel) admit(nowMS int64) bool {
	if w.estimate(nowMS)+1 > float64(w.limit) {
		return false
	}
	w.counts[nowMS/w.per]++
	return true
}

func TestRateWindow_AdmitsWhatItsModelAdmits(t *testing.T) {
	t.Parallel()
	for _, rate := range []account.RateWindow{
		{Limit: 5, Per: time.Second},
		{Limit: 100, Per: 15 * time.Minute},
		{Limit: 30, Per: time.Second},
		{Limit: 1, Per: time.Minute},
	} {
		t.Run(fmt.Sprintf("%d per %s", rate.Limit, rate.Per), func(t *testing.T) {
			t.Parallel()
			followsModel(t, rate)
		})
	}
}

func followsModel(t *testing.T, rate account.RateWindow) {
	t.Helper()
	const calls = 600
	b := setupMini(t)
	c := b.client(t, limits(rate, unlimited, unlimited))
	model := &windowModel{limit: rate.Limit, per: rate.Per.Milliseconds(), counts: map[int64]int64{}}
	random := rand.New(rand.NewPCG(1, uint64(rate.Limit))) //nolint:gosec // a repeatable sequence
	now := noon
	admitted := 0
	for n := range calls {
		step := time.Duration(random.ExpFloat64() * float64(rate.Per) / float64(rate.Limit) * 0.7)
		if random.IntN(200) == 0 {
			step = time.Duration(random.Float64() * 3 * float64(rate.Per))
		}
		now = now.Add(step).Truncate(time.Millisecond)
		b.mini.SetTime(now)
		a := b.admit(t, c, hit())
		if want := model.admit(now.UnixMilli()); a.Admitted != want {
			t.Fatalf("call %d at %s: admitted %t, the model says %t at an estimate of %f",
				n, now, a.Admitted, want, model.estimate(now.UnixMilli()))
		}
		if a.Admitted {
			admitted++
			tells(t, model, now, a)
			continue
		}
		reopens(t, model, now, a)
	}
	if admitted < calls/10 || admitted > calls-10 {
		t.Errorf("%d of %d admitted, which proves little", admitted, calls)
	}
}

// tells checks that an admission returns how many more the window admits, and when its bucket ends.
func tells(t *testing.T, model *windowModel, now time.Time, a meter.Admission) {
	t.Helper()
	left := float64(model.limit) - model.estimate(now.UnixMilli())
	n := float64(a.Remaining)
	require.Equal(t, a.Limit, model.limit, now)
	require.AtMost(t, n, left+1e-9, now)
	require.AtLeast(t, n, left-1, now)
	require.AtLeast(t, n, 0, now)
	if ends := model.per - now.UnixMilli()%model.per; a.Reset.Milliseconds() != ends {
		t.Fatalf("the bucket ends in %s, want %d ms", a.Reset, ends)
	}
}

// reopens checks that the window admits again at the time of a refusal's Reset, and no sooner.
func reopens(t *testing.T, model *windowModel, now time.Time, a meter.Admission) {
	t.Helper()
	require.Equal(t, a.Refused, "rate_window")
	require.Greater(t, a.Reset, 0)
	require.AtMost(t, a.Reset, 2*time.Duration(model.per)*time.Millisecond)
	at := now.Add(a.Reset).UnixMilli()
	if model.estimate(at)+1 > float64(model.limit)+1e-9 {
		t.Fatalf("%s after a refusal at %s the model still stands at %f of %d", a.Reset, now, model.estimate(at),
			model.limit)
	}
	before := at - 2
	if before > now.UnixMilli() && model.estimate(before)+1 <= float64(model.limit)-1e-9 {
		t.Fatalf("the model admits 2ms sooner than %s after a refusal at %s: %f of %d", a.Reset, now,
			model.estimate(before), model.limit)
	}
}

func TestRateWindow_ClockThatStepsBackNeitherOpensNorClosesIt(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{time.Second, 15 * time.Second, time.Hour} {
		b := setupMini(t)
		const limit = 10
		c := b.client(t, limits(account.RateWindow{Limit: limit, Per: time.Second}, unlimited, unlimited))
		for range limit {
			b.mustAdmit(t, c, hit())
		}
		b.mustRefuse(t, c, hit(), "rate_window")
		b.mini.SetTime(noon.Add(-back))
		b.mustRefuse(t, c, hit(), "rate_window")
		b.mini.SetTime(noon.Add(-back + 900*time.Millisecond))
		b.mustRefuse(t, c, hit(), "rate_window")
		admitted := 0
		for after := time.Second; after < 3*time.Second; after += 50 * time.Millisecond {
			b.mini.SetTime(noon.Add(-back + after))
			if b.admit(t, c, hit()).Admitted {
				admitted++
			}
		}
		if admitted < limit || admitted > 2*limit+1 {
			t.Errorf("%d of %d a second admitted in the two seconds after one, the clock having stepped back by %s",
				admitted, limit, back)
		}
	}
}

func TestRateWindow_ChangeOfItsLengthStartsItAnew(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(account.RateWindow{Limit: 3, Per: time.Hour}, unlimited, unlimited))
		for _, rate := range []account.RateWindow{
			{Limit: 3, Per: 24 * time.Hour}, {Limit: 4, Per: time.Hour}, {Limit: 2, Per: 48 * time.Hour},
		} {
			b.change(t, c, limits(rate, unlimited, unlimited))
			for range rate.Limit {
				b.mustAdmit(t, c, hit())
			}
			a := b.mustRefuse(t, c, hit(), "rate_window")
			if a.Reset > 2*rate.Per {
				t.Errorf("%d per %s: said to open in %s", rate.Limit, rate.Per, a.Reset)
			}
		}
		// The same length with another limit keeps what was counted.
		b.change(t, c, limits(account.RateWindow{Limit: 3, Per: 48 * time.Hour}, unlimited, unlimited))
		b.mustAdmit(t, c, hit())
		b.mustRefuse(t, c, hit(), "rate_window")
	})
}

func TestRateWindow_OfNothingRefusesEverything(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(account.RateWindow{Limit: 0, Per: time.Second}, unlimited, unlimited))
		if a := b.mustRefuse(t, c, hit(), "rate_window"); a.Limit != 0 || a.Reset != time.Second {
			t.Errorf("refused with %+v, want to come again in a second", a)
		}
	})
}

package usage

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestForecast_AllowanceAndPacksLastAsThePaceLeavesThem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)
	end := now.Add(8 * 24 * time.Hour)
	pack := func(units plan.Units, expires time.Time) account.Pack {
		return account.Pack{Units: units * plan.Unit, Expires: expires}
	}
	far := end.Add(24 * time.Hour)
	for name, c := range map[string]struct {
		used, pace plan.Units
		packs      []account.Pack
		days       float64 // 0: not before the period ends
	}{
		"nothing is used":                          {0, 0, nil, 0},
		"it lasts to the end":                      {200, 100, nil, 0},
		"it ends half way":                         {600, 100, nil, 4},
		"a pack carries it on":                     {600, 100, []account.Pack{pack(200, far)}, 6},
		"packs carry it to the end":                {600, 100, []account.Pack{pack(200, far), pack(200, far)}, 0},
		"a pack that expires before it is reached": {600, 100, []account.Pack{pack(5000, now.Add(3*24*time.Hour))}, 4},
		"a pack that expires while it is drawn": {
			600, 100, []account.Pack{pack(5000, now.Add(5*24*time.Hour)), pack(100, far)}, 6,
		},
		"it has ended":                     {1000, 100, nil, 0.000_000_001},
		"it has ended and nothing goes on": {1200, 0, nil, 0.000_000_001},
		"a huge pace":                      {999, 1 << 50, nil, 0.000_000_001},
	} {
		t.Run(name, func(t *testing.T) {
			a := allowance{at: now, end: end, used: c.used * plan.Unit, limit: 1000 * plan.Unit, packs: c.packs}
			want := time.Time{}
			if c.days > 0 {
				want = now.Add(time.Duration(c.days * 24 * float64(time.Hour))).Truncate(time.Second)
			}
			if got := a.exhausts(c.pace * plan.Unit); !got.Equal(want) {
				t.Errorf("it ends at %v, want %v", got, want)
			}
		})
	}
}

func TestForecast_ProductsAreDividedExactlyAndBounded(t *testing.T) {
	t.Parallel()
	const most = 1<<63 - 1
	for _, c := range [][4]int64{
		{7, 3, 2, 10}, {most, most, most, most}, {most, 2, 1, most}, {1 << 62, 86_400, 86_400, 1 << 62}, {0, 5, 3, 0},
	} {
		if got := plan.MulDiv(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%d · %d / %d is %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}

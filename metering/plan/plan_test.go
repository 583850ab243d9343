package plan_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

// The table "Doors and plans" of docs/interface.md, 2.8.
func TestPlans_CarryTheFiguresOfTheInterface(t *testing.T) {
	t.Parallel()
	for _, want := range []struct {
		key             string
		included        plan.Units
		period          plan.PeriodKind
		rate            plan.RateWindow
		supply          plan.Supply
		monthly, yearly string
		daily, quota    plan.Units
		data            bool
	}{
		{
			"door1", 10_000_000, plan.Daily,
			plan.RateWindow{Limit: 5, Per: time.Second},
			plan.Public, "0.00", "0.00",
			10_000_000, plan.Unlimited, false,
		},
		{
			"wallet_bound", 1_000_000_000, plan.Monthly,
			plan.RateWindow{Limit: 5, Per: time.Second},
			plan.Public, "0.00",
			"0.00", plan.Unlimited, 1_000_000_000, false,
		},
		{
			"free", 1_000_000_000, plan.Monthly,
			plan.RateWindow{Limit: 100, Per: 15 * time.Minute},
			plan.Public, "0.00",
			"0.00", plan.Unlimited, 1_000_000_000, false,
		},
		{
			"builder", 20_000_000_000, plan.Monthly,
			plan.RateWindow{Limit: 30, Per: time.Second},
			plan.Public, "12.00",
			"0.00", plan.Unlimited, plan.Unlimited, true,
		},
		{
			"pro", 15_000_000_000, plan.Monthly,
			plan.RateWindow{Limit: 6000, Per: time.Minute},
			plan.Premium, "99.00",
			"990.00", plan.Unlimited, 15_000_000_000, true,
		},
		{
			"scale", 60_000_000_000, plan.Monthly,
			plan.RateWindow{Limit: 12000, Per: time.Minute},
			plan.Premium, "299.00",
			"2990.00", plan.Unlimited, 60_000_000_000, true,
		},
		{
			"growth", 200_000_000_000, plan.Monthly,
			plan.RateWindow{Limit: 18000, Per: time.Minute},
			plan.Premium,
			"899.00", "8990.00", plan.Unlimited, 200_000_000_000, true,
		},
		{
			"enterprise", plan.Unlimited, plan.Monthly,
			plan.RateWindow{Limit: 18000, Per: time.Minute},
			plan.Premium,
			"0.00", "0.00", plan.Unlimited, plan.Unlimited, true,
		},
	} {
		t.Run(want.key, func(t *testing.T) {
			p, ok := plan.Lookup(want.key)
			if !ok {
				t.Errorf("no plan %s", want.key)
				return
			}
			in := expect.In(t, "%s", want.key)
			expect.Equal(in, p.Included, want.included)
			expect.Equal(in, p.Period, want.period)
			expect.Equal(in, p.Rate, want.rate)
			expect.Equal(in, p.Supply, want.supply)
			expect.Equal(in, p.Data, want.data)
			if p.MonthlyPrice.String() != want.monthly || p.YearlyPrice.String() != want.yearly {
				t.Errorf("%s costs %s and %s, want %s and %s", want.key, p.MonthlyPrice, p.YearlyPrice, want.monthly,
					want.yearly)
			}
			if p.DailyQuota() != want.daily || p.MonthlyQuota() != want.quota {
				t.Errorf("%s has quotas %d and %d, want %d and %d", want.key, p.DailyQuota(), p.MonthlyQuota(),
					want.daily,
					want.quota)
			}
		})
	}
	if n := len(plan.All()); n != 8 {
		t.Errorf("%d plans, want 8", n)
	}
	if _, ok := plan.Lookup("Pro"); ok {
		t.Error("plan keys are not exact")
	}
}

func TestPlans_OnlyBuilderHasASoftCeiling(t *testing.T) {
	t.Parallel()
	for _, p := range plan.All() {
		ceiling, rate := plan.Unlimited, plan.RateWindow{}
		if p.Key == plan.Builder {
			ceiling, rate = 20_000_000*plan.Unit, plan.RateWindow{Limit: 10, Per: time.Second}
		}
		if p.SoftCeiling() != ceiling || p.SoftRate != rate {
			t.Errorf("%s: ceiling %d then %+v", p.Key, p.SoftCeiling(), p.SoftRate)
		}
	}
}

func TestPacks_StayValidTwelveMonths(t *testing.T) {
	t.Parallel()
	for _, want := range []struct {
		size  string
		price string
		units plan.Units
	}{
		{"s", "10.00", 1_200_000 * plan.Unit},
		{"m", "50.00", 7_000_000 * plan.Unit},
		{"l", "200.00", 32_000_000 * plan.Unit},
	} {
		t.Run(want.size, func(t *testing.T) {
			p, ok := plan.FindPack(want.size)
			in := expect.In(t, "pack %s", want.size)
			require.True(in, ok)
			expect.Equal(in, p.Price.String(), want.price)
			expect.Equal(in, p.Units, want.units)
			expect.Equal(in, p.Supply, plan.Premium)
			expect.Equal(in, p.Key, "pack_"+want.size)
			granted := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
			if got := p.Expires(granted); !got.Equal(granted.AddDate(1, 0, 0)) {
				t.Errorf("pack %s expires %s", want.size, got)
			}
		})
	}
	if _, ok := plan.FindPack("xl"); ok {
		t.Error("there is a pack xl")
	}
}

func TestMonths_FallBackToTheLastDay(t *testing.T) {
	t.Parallel()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 13, 14, 15, 16, time.UTC) }
	for _, tc := range []struct {
		from time.Time
		n    int
		want time.Time
	}{
		{day(2028, 2, 29), 12, day(2029, 2, 28)},
		{day(2027, 2, 28), 12, day(2028, 2, 28)},
		{day(2026, 1, 31), 1, day(2026, 2, 28)},
		{day(2028, 1, 31), 1, day(2028, 2, 29)},
		{day(2026, 12, 31), 2, day(2027, 2, 28)},
		{day(2026, 3, 31), 1, day(2026, 4, 30)},
		{day(2026, 11, 20), 12, day(2027, 11, 20)},
		{day(2026, 12, 31), 1, day(2027, 1, 31)},
		{day(2026, 3, 31), -1, day(2026, 2, 28)},
		{day(2026, 5, 5), 0, day(2026, 5, 5)},
	} {
		t.Run(strconv.Itoa(tc.n), func(t *testing.T) {
			if got := plan.AddMonths(tc.from, tc.n); !got.Equal(tc.want) {
				t.Errorf("%s plus %d months is %s, want %s", tc.from, tc.n, got, tc.want)
			}
		})
	}
}

func TestCalendarMonth_IsUTC(t *testing.T) {
	t.Parallel()
	first := func(y int, m time.Month) time.Time { return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC) }
	for _, tc := range []struct{ at, start, end time.Time }{
		{time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC), first(2026, 12), first(2027, 1)},
		{first(2027, 1), first(2027, 1), first(2027, 2)},
		{time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), first(2028, 2), first(2028, 3)},
		{time.Date(2026, 12, 31, 22, 0, 0, 0, time.FixedZone("west", -5*3600)), first(2027, 1), first(2027, 2)},
	} {
		t.Run(tc.at.String(), func(t *testing.T) {
			start, end := plan.CalendarMonth(tc.at)
			in := expect.In(t, "%s", tc.at)
			expect.True(in, start.Equal(tc.start), start, tc.start)
			expect.True(in, end.Equal(tc.end), end, tc.end)
			expect.Equal(in, start.Location(), time.UTC)
		})
	}
}

func TestFounding_EndsWithItsDayOrItsSeats(t *testing.T) {
	t.Parallel()
	o := plan.Founding()
	expect.Equal(t, o.Price, 7900)
	expect.Equal(t, o.Plan, plan.Pro)
	expect.Equal(t, o.LockedMonths, 12)
	expect.Equal(t, o.Seats, 100)
	last := time.Date(2026, 12, 5, 23, 59, 59, 0, time.UTC)
	for _, tc := range []struct {
		at    time.Time
		taken int
		open  bool
	}{{last, 0, true}, {last, 99, true}, {last, 100, false}, {last.Add(time.Second), 0, false}} {
		t.Run(strconv.Itoa(tc.taken), func(t *testing.T) {
			if o.Open(tc.at, tc.taken) != tc.open {
				t.Errorf("at %s with %d seats taken: open is not %v", tc.at, tc.taken, tc.open)
			}
		})
	}
}

func TestCost_OfACallIsWeightTimesTier(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tier   string
		weight int
		want   string
	}{
		{"cheap", 1, "0.5"},
		{"cheap", 2, "1"},
		{"balanced", 1, "1"},
		{"balanced", 2, "2"},
		{"fast", 1, "2"},
		{"fast", 2, "4"},
		{"", 1, "1"},
		{"cheap", 0, "0"},
	} {
		t.Run(tc.tier, func(t *testing.T) {
			tier, ok := plan.ParseTier(tc.tier)
			if !ok {
				t.Fatalf("tier %q is refused", tc.tier)
			}
			if got := plan.Cost(tc.weight, tier).String(); got != tc.want {
				t.Errorf("weight %d at %q costs %s, want %s", tc.weight, tc.tier, got, tc.want)
			}
		})
	}
	for _, unknown := range []string{"Cheap", "slow", " fast", "balanced\n", "cheap,fast"} {
		if tier, ok := plan.ParseTier(unknown); ok {
			t.Errorf("tier %q is read as %s", unknown, tier)
		}
	}
	for _, tier := range plan.Tiers() {
		if got, ok := plan.ParseTier(string(tier)); !ok || got != tier {
			t.Errorf("tier %s does not parse", tier)
		}
	}
}

// A steady rate may be used ten seconds ahead, a slow one for 100 requests or 20 seconds. A window
// of ten seconds or more is as it is sold.
func TestRateWindow_HasBurstForStockClients(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]plan.RateWindow{
		plan.Door1:       {Limit: 100, Per: 20 * time.Second},
		plan.WalletBound: {Limit: 100, Per: 20 * time.Second},
		plan.Builder:     {Limit: 300, Per: 10 * time.Second},
		plan.Free:        {Limit: 100, Per: 15 * time.Minute},
		plan.Pro:         {Limit: 6000, Per: time.Minute},
	} {
		t.Run(key, func(t *testing.T) {
			if got := plan.Must(key).Rate.Window(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	soft := plan.RateWindow{Limit: 100, Per: 10 * time.Second}
	if got := plan.Must(plan.Builder).SoftRate.Window(); got != soft {
		t.Errorf("past its ceiling Builder has %+v, want %+v", got, soft)
	}
	for _, row := range [][2]plan.RateWindow{
		{{Limit: 7, Per: 4 * time.Second}, {Limit: 35, Per: 20 * time.Second}},
		{{Limit: 8, Per: time.Second}, {Limit: 100, Per: 12_500 * time.Millisecond}},
		{{Limit: 110, Per: time.Second}, {Limit: 1100, Per: 10 * time.Second}},
		{{Limit: 7, Per: 10 * time.Second}, {Limit: 7, Per: 10 * time.Second}},
		{{Limit: -1, Per: time.Second}, {Limit: -1, Per: time.Second}},
		{{}, {}},
	} {
		if got := row[0].Window(); got != row[1] {
			t.Errorf("%+v is held by %+v, want %+v", row[0], got, row[1])
		}
	}
}

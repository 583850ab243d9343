package view

import (
	"math"
	"testing"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// testNow is the present of the tests.
var testNow = time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC)

func testReader() Reader { return Reader{Now: testNow, Zone: time.UTC} }

func TestFormat_InstantsAreRelativeWithTheExactTimeInTheReadersZone(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	r := Reader{Now: testNow, Zone: berlin}
	for _, c := range []struct {
		off             time.Duration
		relative, exact string
	}{
		{0, "just now", "20 Nov 2026, 15:05 CET"},
		{-59 * time.Second, "just now", "20 Nov 2026, 15:04 CET"},
		{30 * time.Second, "in less than a minute", "20 Nov 2026, 15:05 CET"},
		{-time.Minute, "1 minute ago", "20 Nov 2026, 15:04 CET"},
		{-119 * time.Minute, "1 hour ago", "20 Nov 2026, 13:06 CET"},
		{-23 * time.Hour, "23 hours ago", "19 Nov 2026, 16:05 CET"},
		{10 * 24 * time.Hour, "in 10 days", "30 Nov 2026, 15:05 CET"},
		{-29 * 24 * time.Hour, "29 days ago", "22 Oct 2026, 16:05 CEST"},
		{-30 * 24 * time.Hour, "21 Oct 2026", "21 Oct 2026, 16:05 CEST"},
		{-14*time.Hour - 6*time.Minute, "14 hours ago", "20 Nov 2026, 00:59 CET"},
	} {
		t.Run(c.relative, func(t *testing.T) {
			got := r.Moment(testNow.Add(c.off))
			if got.Relative != c.relative || got.Exact != c.exact {
				t.Errorf("%s off reads %q (%q), want %q (%q)", c.off, got.Relative, got.Exact, c.relative, c.exact)
			}
		})
	}
	if got := r.Moment(testNow).Machine; got != "2026-11-20T14:05:00Z" {
		t.Errorf("for machines the instant is %q", got)
	}
	if got := r.Hour(testNow.Add(-5*time.Minute)).Relative + ", " +
		r.Hour(testNow.Add(-65*time.Minute)).Relative; got != "in the last hour, 1 hour ago" {
		t.Errorf("hours read %q", got)
	}
	if !r.Moment(time.Time{}).IsZero() || !r.Hour(time.Time{}).IsZero() {
		t.Error("an instant that never was is told as one")
	}
}

func TestFormat_PeriodsAreNamedByTheirDaysInUTC(t *testing.T) {
	t.Parallel()
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct{ start, end, want string }{
		{"2026-11-01", "2026-12-01", "1 – 30 Nov 2026"},
		{"2026-10-15", "2026-11-15", "15 Oct – 14 Nov 2026"},
		{"2026-12-15", "2027-01-15", "15 Dec 2026 – 14 Jan 2027"},
		{"2026-11-20", "2026-11-21", "20 Nov 2026"},
	} {
		t.Run(c.start, func(t *testing.T) {
			if got := Period(day(c.start), day(c.end)); got != c.want {
				t.Errorf("from %s to %s is %q, want %q", c.start, c.end, got, c.want)
			}
		})
	}
	r := testReader()
	for end, want := range map[time.Duration]string{
		-time.Second: "over", time.Minute: "less than an hour left", time.Hour: "1 hour left",
		47 * time.Hour: "1 day left", 10*24*time.Hour + 9*time.Hour: "10 days left",
	} {
		t.Run(end.String(), func(t *testing.T) {
			if got := r.Left(testNow.Add(end)); got != want {
				t.Errorf("%s before the end reads %q, want %q", end, got, want)
			}
		})
	}
}

func TestFormat_NumbersCarryThousandsAndUnits(t *testing.T) {
	t.Parallel()
	for u, want := range map[plan.Units]string{
		0: "0 units", plan.Unit: "1 unit", 500: "0.5 units", 1_234_567_500: "1,234,567.5 units",
		plan.Unlimited: "unlimited",
	} {
		t.Run(u.String(), func(t *testing.T) {
			if got := Units(u); got != want {
				t.Errorf("%d thousandths read %q, want %q", u, got, want)
			}
		})
	}
	for u, want := range map[plan.Units]string{
		0: "0", 500: "0.5", 999 * plan.Unit: "999", 1_000 * plan.Unit: "1k", 1_500 * plan.Unit: "1.5k",
		20_000 * plan.Unit: "20k", 2_500_000 * plan.Unit: "2.5M", 3_000_000_000 * plan.Unit: "3B",
	} {
		t.Run(u.String(), func(t *testing.T) {
			if got := compact(u); got != want {
				t.Errorf("%d thousandths on a scale read %q, want %q", u, got, want)
			}
		})
	}
	if got := Count(1, "day") + Count(0, "day") + Count(1_200, "day"); got != "1 day0 days1,200 days" {
		t.Errorf("counts read %q", got)
	}
}

func TestFormat_SharesNeverSayUsedUpTooEarly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used, limit plan.Units
		want        int
	}{
		{0, 100, 0},
		{-5, 100, 0},
		{99_999, 100_000, 99},
		{100_000, 100_000, 100},
		{200_000, 100_000, 100},
		{80, 100, 80},
		{799, 1000, 79},
		{5, 0, 0},
		{5, plan.Unlimited, 0},
		{math.MaxInt64 - 1, math.MaxInt64, 99},
		{math.MaxInt64 / 2, math.MaxInt64, 49},
	} {
		t.Run(c.used.String(), func(t *testing.T) {
			if got := share(c.used, c.limit); got != c.want {
				t.Errorf("%d of %d is %d %%, want %d", c.used, c.limit, got, c.want)
			}
		})
	}
}

func TestMeterBar_NamesItsLevelAt80And100Percent(t *testing.T) {
	t.Parallel()
	for used, level := range map[plan.Units]string{79_999: "ok", 80_000: "near", 99_999: "near", 100_000: "over"} {
		t.Run(used.String(), func(t *testing.T) {
			if got := NewMeterBar("Plan", used, 100_000, ""); got.Level != level {
				t.Errorf("%d of 100,000 is %s, want %s", used, got.Level, level)
			}
		})
	}
	if got := NewMeterBar("Plan", 5_000, plan.Unlimited, ""); got.Figures != "5 units, no limit" || got.Share != 0 {
		t.Errorf("without a limit the bar reads %q at %d %%", got.Figures, got.Share)
	}
}

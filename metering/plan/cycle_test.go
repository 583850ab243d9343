package plan_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestCycle_PeriodsFollowTheSubscriptionOrTheMonth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ anchor, ends, at, start, end string }{
		"calendar month": {
			at: "2026-11-20T15:00:00Z", start: "2026-11-01T00:00:00Z", end: "2026-12-01T00:00:00Z",
		},
		"calendar month, last instant": {
			at: "2026-11-30T23:59:59.999999999Z", start: "2026-11-01T00:00:00Z", end: "2026-12-01T00:00:00Z",
		},
		"calendar month, first instant": {
			at: "2026-12-01T00:00:00Z", start: "2026-12-01T00:00:00Z", end: "2027-01-01T00:00:00Z",
		},
		"calendar month, leap February": {
			at: "2028-02-29T12:00:00Z", start: "2028-02-01T00:00:00Z", end: "2028-03-01T00:00:00Z",
		},
		"month of another zone": {
			at: "2026-12-01T01:00:00+02:00", start: "2026-11-01T00:00:00Z", end: "2026-12-01T00:00:00Z",
		},
		"first of the subscription": {
			anchor: "2026-11-20T10:30:00Z", at: "2026-11-20T10:30:00Z",
			start: "2026-11-20T10:30:00Z", end: "2026-12-20T10:30:00Z",
		},
		"last instant of the first": {
			anchor: "2026-11-20T10:30:00Z", at: "2026-12-20T10:29:59.999Z",
			start: "2026-11-20T10:30:00Z", end: "2026-12-20T10:30:00Z",
		},
		"second": {
			anchor: "2026-11-20T10:30:00Z", at: "2026-12-20T10:30:00Z",
			start: "2026-12-20T10:30:00Z", end: "2027-01-20T10:30:00Z",
		},
		"month cut by the subscription": {
			anchor: "2026-11-20T10:30:00Z", at: "2026-11-20T10:29:59Z",
			start: "2026-11-01T00:00:00Z", end: "2026-11-20T10:30:00Z",
		},
		"month long before the subscription": {
			anchor: "2026-11-20T10:30:00Z", at: "2026-09-10T00:00:00Z",
			start: "2026-09-01T00:00:00Z", end: "2026-10-01T00:00:00Z",
		},
		"the 31st falls back": {
			anchor: "2026-10-31T00:00:00Z", at: "2026-11-30T00:00:00Z",
			start: "2026-11-30T00:00:00Z", end: "2026-12-31T00:00:00Z",
		},
		"the 31st returns": {
			anchor: "2026-10-31T00:00:00Z", at: "2026-12-30T23:59:59Z",
			start: "2026-11-30T00:00:00Z", end: "2026-12-31T00:00:00Z",
		},
		"29 February in a plain year": {
			anchor: "2028-02-29T06:00:00Z", at: "2029-02-28T06:00:00Z",
			start: "2029-02-28T06:00:00Z", end: "2029-03-29T06:00:00Z",
		},
		"period cut by the end": {
			anchor: "2026-10-20T00:00:00Z", ends: "2026-12-05T00:00:00Z",
			at: "2026-12-01T00:00:00Z", start: "2026-11-20T00:00:00Z", end: "2026-12-05T00:00:00Z",
		},
		"rest of the month after the end": {
			anchor: "2026-10-20T00:00:00Z", ends: "2026-12-05T00:00:00Z",
			at: "2026-12-05T00:00:00Z", start: "2026-12-05T00:00:00Z", end: "2027-01-01T00:00:00Z",
		},
		"month after the end": {
			anchor: "2026-10-20T00:00:00Z", ends: "2026-12-05T00:00:00Z",
			at: "2027-01-01T00:00:00Z", start: "2027-01-01T00:00:00Z", end: "2027-02-01T00:00:00Z",
		},
		"ended before it began": {
			anchor: "2026-10-20T00:00:00Z", ends: "2026-10-20T00:00:00Z",
			at: "2026-10-25T00:00:00Z", start: "2026-10-01T00:00:00Z", end: "2026-11-01T00:00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cycle plan.Cycle
			if c.anchor != "" {
				cycle.Anchor = at(t, c.anchor)
			}
			if c.ends != "" {
				cycle.Ends = at(t, c.ends)
			}
			start, end := cycle.Period(at(t, c.at))
			if !start.Equal(at(t, c.start)) || !end.Equal(at(t, c.end)) {
				t.Errorf("period of %s is %s to %s, want %s to %s", c.at, start, end, c.start, c.end)
			}
		})
	}
}

// For every subscription, periods follow each other without a gap or an overlap, and no two have
// the same name.
func TestCycle_EveryInstantLiesInExactlyOnePeriod(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	from := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for range 500 {
		var c plan.Cycle
		if random.IntN(4) > 0 {
			c.Anchor = from.Add(time.Duration(random.Int64N(int64(800 * 24 * time.Hour))))
			if random.IntN(2) > 0 {
				c.Ends = c.Anchor.Add(time.Duration(random.Int64N(int64(800 * 24 * time.Hour))))
			}
		}
		start, end := c.Period(from)
		for range 60 {
			if !start.Before(end) || end.Sub(start) > 31*24*time.Hour {
				t.Fatalf("seed %d, cycle %+v: period %s to %s", seed, c, start, end)
			}
			inside := start.Add(time.Duration(random.Int64N(int64(end.Sub(start)))))
			if s, e := c.Period(inside); !s.Equal(start) || !e.Equal(end) {
				t.Fatalf("seed %d, cycle %+v: %s lies in %s to %s, not in %s to %s", seed, c, inside, s, e, start, end)
			}
			next, after := c.Period(end)
			if !next.Equal(end) {
				t.Fatalf("seed %d, cycle %+v: after %s comes %s", seed, c, end, next)
			}
			start, end = next, after
		}
	}
}

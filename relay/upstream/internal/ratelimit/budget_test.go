package ratelimit

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestPeriodOf_BeginsOnADayOfTheMonth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		day       int
		now, want string
	}{
		{1, "2026-11-01T00:00:00Z", "2026-11-01"},
		{1, "2026-11-30T23:59:59Z", "2026-11-01"},
		{15, "2026-11-14T23:59:59Z", "2026-10-15"},
		{15, "2026-11-15T00:00:00Z", "2026-11-15"},
		{28, "2027-01-03T00:00:00Z", "2026-12-28"},
		{1, "2026-12-01T00:30:00+01:00", "2026-11-01"},
	} {
		t.Run(tc.now, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := PeriodOf(config.Budget{Day: tc.day}, now).Format(time.DateOnly); got != tc.want {
				t.Errorf("from day %d the period began on %s, want %s", tc.day, got, tc.want)
			}
		})
	}
}

func TestBudget_AddsUpProcessesOnce(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	books := RedisBooks(rdb)
	for _, step := range []struct {
		name    string
		process string
		period  string
		total, confirmed, found,
		spent, warning int64
	}{
		{"Redis knows nothing", "a", "2026-11-01", 5, 0, -1, -1, 0},
		{"PostgreSQL knows", "a", "2026-11-01", 5, 0, 100, 105, 0},
		{"the same again, after a reply that was lost", "a", "2026-11-01", 7, 0, 100, 107, 0},
		{"another process", "b", "2026-11-01", 3, 0, -1, 110, 0},
		{"its next units", "b", "2026-11-01", 693, 3, -1, 800, 80},
		{"one warning", "a", "2026-11-01", 8, 7, -1, 801, 0},
		{"all is spent", "a", "2026-11-01", 208, 8, -1, 1001, 100},
		{"one warning of that", "b", "2026-11-01", 693, 693, -1, 1001, 0},
		{"a month later", "b", "2026-12-01", 700, 693, -1, 7, 0},
		{"a clock that is behind", "a", "2026-11-01", 210, 208, -1, 9, 0},
		{"and the next warning", "b", "2026-12-01", 1600, 700, -1, 909, 80},
	} {
		got, err := books(t.Context(), []Account{
			{"{board}:eth_mainnet:budget:a", step.process, step.period, 1000, step.total, step.confirmed, step.found},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Statement{{step.spent, step.warning}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// After a reload, the old limits of an upstream and its new ones spend for a while.
func TestBudget_TwoLimitsOfOneProcessAddUp(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Redis(t).Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	s := NewSharer(Redis(rdb), RedisBooks(rdb), "a", time.Now, slog.New(slog.DiscardHandler))
	var both []*Limits
	for _, units := range []int64{100, 3} {
		l := New(config.Upstream{Budget: &config.Budget{Units: 1000, Day: 1}})
		s.Add(l, "{board}:eth_mainnet:rate:a", "{board}:eth_mainnet:budget:a")
		l.Recover(0)
		l.Spend(units)
		both = append(both, l)
	}
	for range 5 {
		s.spendBudgets(t.Context(), both)
	}
	_, spent, _ := both[0].Budget()
	expect.Equal(t, spent, 103)
}

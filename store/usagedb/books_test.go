package usagedb_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

const november = "2026-11-01"

// setupDatabase is setup with a connection of its own, for what the store does not do.
func setupDatabase(t *testing.T) (context.Context, *store.Store, *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*storetest.Timeout)
	t.Cleanup(cancel)
	url := testkit.Postgres(t)
	s, err := store.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	return ctx, s, conn
}

func commit(ctx context.Context, t *testing.T, s *store.Store, buckets ...account.UsageBucket) {
	t.Helper()
	if err := s.CommitUsage(ctx, buckets); err != nil {
		t.Fatal(err)
	}
}

func TestBooks_BothOfAPeriodSayTheSame(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key, pack := account.NewID(), account.NewKeyID(), "pack:"+account.NewKeyID().String()
	october := lineOf(key, "ok", "plan", 9, 9)
	october.Period = "2026-10-01"
	// Six calls, one of them split over plan and pack and one of those from the pack refunded; two
	// hits; two refusals.
	charged := bucketOf(id, slot, "a", lineOf(key, "ok", "plan", 4, 5), lineOf(key, "ok", pack, 2, 5),
		lineOf(key, "hit", "", 2, 0), october)
	refunded := bucketOf(id, slot.Add(time.Hour), "b", lineOf(key, "refund", pack, -1, -2),
		lineOf(key, "upstream_failed", "", 1, 0), lineOf(key, "rate_window", "", 2, 0))
	other := bucketOf(account.NewID(), slot, "a", lineOf(key, "ok", "plan", 100, 100))
	commit(ctx, t, s, charged, other)
	commit(ctx, t, s, charged, refunded, refunded)
	want := usagedb.PeriodTotals{
		Requests: 10, Billable: 5, Hits: 2, Refused: 3, Refunded: 1, Units: storetest.UnitsOf(8),
		PlanUnits: storetest.UnitsOf(5),
		PackUnits: storetest.UnitsOf(3),
	}
	of := usagedb.UsagePeriod{Account: id, Period: november}
	books := storetest.Must[usagedb.UsageBooks](t)(s.UsageBooks(ctx, of))
	if books.Totals != want || books.Hours != want {
		t.Errorf("the books say\n%+v and\n%+v, want\n%+v", books.Totals, books.Hours, want)
	}
	if got := storetest.Must[usagedb.PeriodTotals](t)(s.PeriodTotals(ctx, of)); got != want {
		t.Errorf("the totals are\n%+v, want\n%+v", got, want)
	}
	for source, figures := range map[string]usagedb.Figures{
		"plan": {Requests: 4, Units: storetest.UnitsOf(5)}, pack: {Requests: 1, Units: storetest.UnitsOf(3)},
		"": {Requests: 5},
	} {
		t.Run(source, func(t *testing.T) {
			if got := books.BySource[source]; got != figures {
				t.Errorf("from source %q came %+v, want %+v", source, got, figures)
			}
		})
	}
	empty := storetest.Must[usagedb.UsageBooks](t)(s.UsageBooks(ctx,
		usagedb.UsagePeriod{Account: id, Period: "2026-12-01"}))
	in := expect.In(t, "a period without usage")
	expect.Equal(in, empty.Totals, usagedb.PeriodTotals{})
	expect.Equal(in, empty.Hours, usagedb.PeriodTotals{})
	expect.Empty(in, empty.BySource)
}

// If one book were derived from the other, an error in it would appear in both.
func TestBooks_ErrorInOneIsNotInTheOther(t *testing.T) {
	t.Parallel()
	ctx, s, conn := setupDatabase(t)
	id, key := account.NewID(), account.NewKeyID()
	commit(ctx, t, s, bucketOf(id, slot, "a", lineOf(key, "ok", "plan", 3, 3)))
	for _, change := range []string{
		"UPDATE usage_hours SET units = units + 1", "DELETE FROM usage_hours",
		"UPDATE usage_periods SET hits = 1, requests = requests + 1",
	} {
		tag, err := conn.Exec(ctx, change)
		if err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%s: %s, %v", change, tag, err)
		}
		books := storetest.Must[usagedb.UsageBooks](t)(s.UsageBooks(ctx,
			usagedb.UsagePeriod{Account: id, Period: november}))
		if books.Totals == books.Hours {
			t.Errorf("after %q both books say %+v", change, books.Hours)
		}
	}
	if _, err := conn.Exec(ctx, "UPDATE usage_periods SET billable = billable + 1"); err == nil {
		t.Error("a period whose requests do not balance was accepted")
	}
	// Units drawn from neither plan nor pack are recorded and visible.
	commit(ctx, t, s, bucketOf(id, slot, "b", lineOf(key, "ok", "elsewhere", 1, 1)))
	got := storetest.Must[usagedb.PeriodTotals](t)(s.PeriodTotals(ctx,
		usagedb.UsagePeriod{Account: id, Period: november}))
	if got.Units != storetest.UnitsOf(4) || got.PlanUnits+got.PackUnits != storetest.UnitsOf(3) {
		t.Errorf("with units of an unknown source the totals are %+v", got)
	}
}

func TestBooks_RefundThatLandsBeforeItsChargeIsTaken(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	commit(ctx, t, s, bucketOf(id, slot, "refund", lineOf(key, "refund", "plan", -1, -2),
		lineOf(key, "upstream_timeout", "", 1, 0)))
	of := usagedb.UsagePeriod{Account: id, Period: november}
	want := usagedb.PeriodTotals{
		Billable: -1, Refused: 1, Refunded: 1, Units: storetest.UnitsOf(-2),
		PlanUnits: storetest.UnitsOf(-2),
	}
	if got := storetest.Must[usagedb.PeriodTotals](t)(s.PeriodTotals(ctx, of)); got != want {
		t.Errorf("after the refund %+v, want %+v", got, want)
	}
	commit(ctx, t, s, bucketOf(id, slot.Add(10*time.Second), "charge", lineOf(key, "ok", "plan", 1, 2)))
	want = usagedb.PeriodTotals{Requests: 1, Refused: 1, Refunded: 1}
	if books := storetest.Must[usagedb.UsageBooks](t)(s.UsageBooks(ctx, of)); books.Totals != want ||
		books.Hours != want {
		t.Errorf("after the charge %+v and %+v, want %+v", books.Totals, books.Hours, want)
	}
}

func TestBooks_FiguresThatDoNotFitAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	large := lineOf(key, "ok", "plan", 1, 0)
	large.Units = math.MaxInt64
	more := lineOf(account.NewKeyID(), "ok", "plan", 1, 1)
	if err := s.CommitUsage(ctx, []account.UsageBucket{bucketOf(id, slot, "a", large, more)}); !errors.Is(err,
		store.ErrRejected) {
		t.Errorf("units beyond 63 bits gave %v, want them refused", err)
	}
	commit(ctx, t, s, bucketOf(id, slot, "b", large))
	if err := s.CommitUsage(ctx, []account.UsageBucket{bucketOf(id, slot, "c", more)}); !errors.Is(err,
		store.ErrRejected) {
		t.Errorf("a period's units beyond 63 bits gave %v, want them refused", err)
	}
	of := usagedb.UsagePeriod{Account: id, Period: november}
	books := storetest.Must[usagedb.UsageBooks](t)(s.UsageBooks(ctx, of))
	if books.Totals.Units != math.MaxInt64 || books.Totals != books.Hours {
		t.Errorf("the books say %+v and %+v, want what was accepted", books.Totals, books.Hours)
	}
}

func TestBooks_PeriodsOfEitherAreListedInPages(t *testing.T) {
	t.Parallel()
	ctx, s, conn := setupDatabase(t)
	var want []usagedb.UsagePeriod
	for range 4 {
		id, key := account.NewID(), account.NewKeyID()
		for _, period := range []string{"2026-10-01", november, "2026-12-31"} {
			var lines []account.UsageLine
			for _, outcome := range []string{"ok", "hit", "rate_window"} {
				l := lineOf(key, outcome, "", 1, 0)
				l.Period = period
				lines = append(lines, l)
			}
			commit(ctx, t, s, bucketOf(id, slot, period, lines...))
			want = append(want, usagedb.UsagePeriod{Account: id, Period: period})
		}
	}
	for _, lost := range []struct {
		book string
		of   usagedb.UsagePeriod
	}{{"usage_hours", want[0]}, {"usage_periods", want[1]}, {"usage_periods", want[11]}, {"usage_hours", want[10]}} {
		t.Run(lost.book, func(t *testing.T) {
			if _, err := conn.Exec(ctx, "DELETE FROM "+lost.book+" WHERE account_id = $1 AND period = $2::date",
				lost.of.Account.UUID, lost.of.Period); err != nil {
				t.Fatal(err)
			}
		})
	}
	if all := storetest.Must[[]usagedb.UsagePeriod](t)(s.ListUsagePeriods(ctx, usagedb.UsagePeriod{},
		math.MaxInt)); !slices.Equal(
		all, want) {
		t.Errorf("a page of any size lists\n%v, want\n%v", all, want)
	}
	for limit := 1; limit <= len(want)+1; limit += 4 {
		var got []usagedb.UsagePeriod
		for after := (usagedb.UsagePeriod{}); ; after = got[len(got)-1] {
			page := storetest.Must[[]usagedb.UsagePeriod](t)(s.ListUsagePeriods(ctx, after, limit))
			if len(page) > limit {
				t.Fatalf("a page of %d has %d", limit, len(page))
			}
			got = append(got, page...)
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d list\n%v, want\n%v", limit, got, want)
		}
	}
}

package usagedb

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store/internal/pg"
)

var (
	refusedAt   = time.Date(2026, time.November, 23, 12, 0, 10, 0, time.UTC)
	someNetwork = netip.MustParsePrefix("192.0.2.7/32")
)

func refusedCall(key account.KeyID, outcome string, at time.Time) Call {
	return Call{
		RequestID: uuid.Must(uuid.NewV7()), StartedAt: at, Account: account.NewID(), Key: key, Outcome: outcome,
		HTTPStatus: 429,
	}
}

// wantAll checks that records and sums together are all calls.
func wantAll(t *testing.T, r *refusals, records, calls int) {
	t.Helper()
	summed := 0
	for _, s := range r.changed() {
		summed += int(s.Calls)
	}
	if records+summed != calls {
		t.Errorf("%d records and %d in sums are not %d calls", records, summed, calls)
	}
}

func TestRefusals_OfAMinuteAreTheFirstFewTheNewestAndASum(t *testing.T) {
	t.Parallel()
	r := newRefusals(RefusedBounds{})
	key := account.NewKeyID()
	c := refusedCall(key, "rate_window", refusedAt)
	var records []Call
	record := func(c Call) bool { records = append(records, c); return true }
	for i := range 1_000 {
		c.Index = i
		if r.admit(someNetwork, &c) {
			record(c)
		}
	}
	r.takeNewest(record)
	require.Len(t, records, 6)
	require.Equal(t, records[4].Index, 4)
	require.Equal(t, records[5].Index, 999)
	sums := r.changed()
	want := RefusedSum{
		Account: c.Account, Key: key, Hour: refusedAt.Truncate(time.Hour), Outcome: "rate_window", Calls: 994,
	}
	if len(sums) != 1 || sums[0] != want {
		t.Errorf("the sums are %+v, want %+v", sums, want)
	}
	// Another reason and the next minute start again at zero, and nothing is taken twice.
	r.takeNewest(func(Call) bool { t.Error("the newest was taken twice"); return true })
	other := c
	other.Outcome = "method_not_served"
	next := c
	next.StartedAt = refusedAt.Add(time.Minute)
	if !r.admit(someNetwork, &other) || !r.admit(someNetwork, &next) {
		t.Error("another reason, or another minute, has no first call")
	}
	// Sums that PostgreSQL has are not written again, and are deleted after their hour.
	if n := r.wrote(sums); n != 994 || len(r.changed()) != 0 {
		t.Errorf("%d are new to PostgreSQL, then %+v are left", n, r.changed())
	}
	next.StartedAt = refusedAt.Add(time.Hour)
	r.admit(someNetwork, &next)
	if r.wrote(nil); len(r.sums) != 1 {
		t.Errorf("%d sums are held after their hour", len(r.sums))
	}
}

func TestRefusals_AreBoundedByKeyNetworkAndInAll(t *testing.T) {
	t.Parallel()
	network := func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), 32)
	}
	reason := func(i int) string { return fmt.Sprintf("reason_%d", i) }
	one := account.NewKeyID()
	for name, row := range map[string]struct {
		bounds RefusedBounds
		call   func(i int) (netip.Prefix, account.KeyID, string)
		want   int // records at once; as many again are reserved for the newest calls
	}{
		"key": {RefusedBounds{}, func(i int) (netip.Prefix, account.KeyID, string) {
			return network(i), one, reason(i % 20)
		}, 30},
		"area of networks": {RefusedBounds{}, func(i int) (netip.Prefix, account.KeyID, string) {
			return someNetwork, account.NewKeyID(), reason(0)
		}, 300},
		"whole": {RefusedBounds{}, func(i int) (netip.Prefix, account.KeyID, string) {
			return network(i), account.NewKeyID(), reason(0)
		}, 6_000},
		"sums that fit": {RefusedBounds{Sums: 7}, func(i int) (netip.Prefix, account.KeyID, string) {
			return network(i), account.NewKeyID(), reason(i % 3)
		}, 7},
		"/48, its /64 one by one": {RefusedBounds{}, func(i int) (netip.Prefix, account.KeyID, string) {
			return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 7, byte(i >> 8), byte(i)}), 64),
				account.NewKeyID(), reason(0)
		}, 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRefusals(row.bounds)
			const calls = 20_000
			records := 0
			for i := range calls {
				from, key, outcome := row.call(i)
				c := refusedCall(key, outcome, refusedAt)
				if r.admit(from, &c) {
					records++
				}
			}
			if records != row.want {
				t.Errorf("%d records at once, want %d", records, row.want)
			}
			r.takeNewest(func(Call) bool { records++; return true })
			if records > 2*row.want {
				t.Errorf("%d records with the newest, want at most %d", records, 2*row.want)
			}
			expect.AtMost(t, len(r.callers), 2*row.want, r.callers)
			expect.AtMost(t, len(r.networks), 2*row.want, r.networks)
			expect.AtMost(t, len(r.sums), row.want+20, r.sums)
			wantAll(t, r, records, calls)
		})
	}
}

func TestRefusals_ALateCallOpensNoMinuteAndAClockThatIsSetBackDoes(t *testing.T) {
	t.Parallel()
	r := newRefusals(RefusedBounds{})
	key := account.NewKeyID()
	records := 0
	for i := range 200 {
		c := refusedCall(key, fmt.Sprint(i%40), refusedAt.Add(-time.Duration(i%2)*time.Minute))
		if r.admit(someNetwork, &c) {
			records++
		}
	}
	if records != 30 {
		t.Errorf("calls of two minutes in turn have %d records, want 30", records)
	}
	c := refusedCall(key, "rate_window", refusedAt.Add(-time.Hour))
	if !r.admit(someNetwork, &c) {
		t.Error("nothing is recorded after the clock was set back")
	}
}

func TestRecorder_CountsARefusedCallForWhichItHasNoMemory(t *testing.T) {
	t.Parallel()
	g, r := setupRecorder(t, RecorderOptions{Buffer: 2, MaxDelay: time.Hour})
	c := refusedCall(account.NewKeyID(), "rate_window", refusedAt)
	for range 5 {
		r.Refused(someNetwork, c)
	}
	if err := closeRecorder(t, r); err != nil {
		t.Fatal(err)
	}
	expect.Len(t, g.got, 2)
	expect.Equal(t, r.Dropped(), 0)
	expect.Equal(t, r.Summed(), 3)
}

func TestRecorder_WritesSumsUntilPostgreSQLTakesThemOrSaysThatTheyAreLost(t *testing.T) {
	t.Parallel()
	g, r := setupRecorder(t, RecorderOptions{MaxDelay: time.Hour})
	c := refusedCall(account.NewKeyID(), "rate_window", refusedAt)
	for range 20 {
		r.Refused(someNetwork, c)
	}
	g.set(true)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := r.Close(ctx); err == nil || r.Dropped() != 20 {
		t.Errorf("closing says %v, %d dropped, want 20: five first, the newest and 14 that were summed", err,
			r.Dropped())
	}
	r.Refused(someNetwork, c)
	if r.Dropped() != 21 {
		t.Errorf("%d dropped after closing, want 21", r.Dropped())
	}
}

func TestRecorder_RefusedCallsInPostgreSQLAreAllOfThemOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool, err := pg.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := &Store{pool: pool}
	o := RecorderOptions{
		Logger: slog.New(slog.DiscardHandler), MaxDelay: time.Millisecond, Refused: RefusedBounds{
			Every: time.Millisecond,
		},
	}
	const total = 10_000
	c := refusedCall(account.NewKeyID(), "rate_window", refusedAt)
	var newest uuid.UUID
	for range 2 { // two processes
		r := NewRecorder(s, o)
		for range total {
			c.RequestID = uuid.Must(uuid.NewV7())
			r.Refused(someNetwork, c)
		}
		newest = c.RequestID
		managing := c
		managing.Class = classManagement
		for range 100 {
			managing.RequestID = uuid.Must(uuid.NewV7())
			r.Refused(someNetwork, managing)
		}
		if err := closeRecorder(t, r); err != nil {
			t.Fatal(err)
		}
	}
	w := &UsageWindow{Account: c.Account, Since: refusedAt}
	beyond, err := s.RefusedBeyond(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	var rows int64
	err = s.pool.QueryRow(ctx, "SELECT count(*) FROM calls WHERE class <> 'management'").Scan(&rows)
	require.NoError(t, err)
	expect.Equal(t, rows+beyond, 2*total)
	expect.AtMost(t, rows, 120)
	if found, err := s.FindCalls(ctx, newest); err != nil || len(found) != 1 {
		t.Errorf("the newest call is not found: %v, %v", found, err)
	}
	w.Keys = []account.KeyID{account.NewKeyID()}
	if of, err := s.RefusedBeyond(ctx, w); err != nil || of != 0 {
		t.Errorf("of another key there are %d, %v", of, err)
	}
	if _, err := s.DropPartitionsBefore(ctx, refusedAt.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	w.Keys = nil
	if left, err := s.RefusedBeyond(ctx, w); err != nil || left != 0 {
		t.Errorf("%d are left past their keeping, %v", left, err)
	}
}

func BenchmarkRecordRefused(b *testing.B) {
	r := newRecorder(func(context.Context, []Call) error { return nil }, func(context.Context, []RefusedSum) error {
		return nil
	}, RecorderOptions{Buffer: 1 << 20})
	call := refusedCall(account.NewKeyID(), "rate_window", refusedAt)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Refused(someNetwork, call)
		}
	})
	_ = closeBench(r)
}

package usagedb_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

func callAt(at time.Time) usagedb.Call {
	return usagedb.Call{
		RequestID: uuid.Must(uuid.NewV7()), Index: 2, StartedAt: at, Account: account.NewID(), Key: account.NewKeyID(),
		Chain: chain.EthMainnet, Service: "rpc", Method: "eth_getBalance", Class: "standard", Tier: "balanced",
		Outcome: "ok", HTTPStatus: 200, Units: storetest.UnitsOf(1), Upstream: "first", Attempts: 1,
		Duration: 1234 * time.Microsecond, RequestBytes: 70, ResponseBytes: 90,
	}
}

func TestPartitions_CallsLandWhateverExists(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	today, ahead := callAt(slot), callAt(slot.Add(72*time.Hour))
	unknown := callAt(slot)
	unknown.Account, unknown.Key = account.ID{}, account.KeyID{}
	if err := s.CopyCalls(ctx, []usagedb.Call{today, ahead, unknown}); err != nil {
		t.Fatal(err)
	}
	// Partitions that are created later take their rows from the default one.
	if made := storetest.Must[int](t)(s.EnsurePartitions(ctx, slot, 7)); made != 16 {
		t.Errorf("made %d partitions, want 8 of call records and 8 of the ledger", made)
	}
	if made := storetest.Must[int](t)(s.EnsurePartitions(ctx, slot, 7)); made != 0 {
		t.Errorf("made %d partitions again, want none", made)
	}
	later := callAt(slot.Add(time.Hour))
	if err := s.CopyCalls(ctx, []usagedb.Call{later}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []usagedb.Call{today, ahead, unknown, later} {
		t.Run(string(want.Chain), func(t *testing.T) {
			if got := storetest.Must[[]usagedb.Call](t)(s.FindCalls(ctx, want.RequestID)); len(got) != 1 ||
				got[0] != want {
				t.Errorf("recorded %+v, want %+v", got, want)
			}
		})
	}
}

func TestPartitions_OldCallsAreDroppedByDay(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	const days = 30
	storetest.Must[int](t)(s.EnsurePartitions(ctx, slot.Add(-2*24*time.Hour), 4))
	old, kept, stray := callAt(slot.Add(-2*24*time.Hour)), callAt(slot.Add(-24*time.Hour)),
		callAt(slot.Add(-days*24*time.Hour))
	if err := s.CopyCalls(ctx, []usagedb.Call{old, kept, stray}); err != nil {
		t.Fatal(err)
	}
	if dropped := storetest.Must[int](t)(s.DropPartitionsBefore(ctx, slot.Add(-24*time.Hour))); dropped != 1 {
		t.Errorf("dropped %d partitions, want 1", dropped)
	}
	for call, want := range map[usagedb.Call]int{old: 0, stray: 0, kept: 1} {
		t.Run(fmt.Sprint(call), func(t *testing.T) {
			if got := storetest.Must[[]usagedb.Call](t)(s.FindCalls(ctx, call.RequestID)); len(got) != want {
				t.Errorf("call of %s: %d records left, want %d", call.StartedAt, len(got), want)
			}
		})
	}
}

func TestLedger_IsDeletedByDayAndNeverBeyondTheWatermark(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	const days = 5
	bucket := func(n int) account.UsageBucket {
		return bucketOf(id, slot.Add(time.Duration(n-days)*24*time.Hour), strconv.Itoa(n),
			lineOf(key, "ok", "plan", 1, 1))
	}
	// The first two days are in the default partition; maintenance moves the second one out of it.
	if err := s.CommitUsage(ctx, []account.UsageBucket{bucket(0), bucket(1)}); err != nil {
		t.Fatal(err)
	}
	storetest.Must[int](t)(s.EnsurePartitions(ctx, bucket(1).Slot, days))
	var all []account.UsageBucket
	for n := range days {
		all = append(all, bucket(n))
	}
	counted := func() int64 {
		t.Helper()
		return storetest.Must[usagedb.PeriodTotals](t)(s.PeriodTotals(ctx, usagedb.UsagePeriod{
			Account: id, Period: "2026-11-01",
		})).Requests
	}
	for range 2 {
		if err := s.CommitUsage(ctx, all); err != nil {
			t.Fatal(err)
		}
		if got := counted(); got != days {
			t.Fatalf("%d requests are counted, want %d: a bucket that moved is in the ledger still", got, days)
		}
	}
	marks := map[int]time.Time{}
	for shard := range account.Shards {
		marks[shard] = slot
	}
	marks[11] = bucket(3).Slot
	if err := s.SaveWatermarks(ctx, marks); err != nil {
		t.Fatal(err)
	}
	// One shard was not flushed for two days, so its day and later ones stay, whatever the
	// argument.
	if got := storetest.Must[int64](t)(s.DeleteFlushesBefore(ctx, slot.Add(24*time.Hour))); got != 3 {
		t.Errorf("forgot %d ledger entries, want the three of the days before the oldest watermark", got)
	}
	if err := s.CommitUsage(ctx, all[3:]); err != nil {
		t.Fatal(err)
	}
	if got := counted(); got != days {
		t.Errorf("%d requests are counted after the upkeep, want %d", got, days)
	}
}

func TestLease_IsHeldByOneSessionAndCountsMembers(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	one := storetest.Must[*store.Leases](t)(s.OpenLeases(ctx, store.LeaseUsageFlush))
	two := storetest.Must[*store.Leases](t)(s.OpenLeases(ctx, store.LeaseUsageFlush))
	if n := storetest.Must[int](t)(two.Members(ctx)); n != 2 {
		t.Errorf("%d members, want 2", n)
	}
	if !storetest.Must[bool](t)(one.Take(ctx, 5)) {
		t.Fatal("a free lease was refused")
	}
	if storetest.Must[bool](t)(two.Take(ctx, 5)) {
		t.Error("a lease was given twice")
	}
	if err := one.Release(ctx, 5); err != nil {
		t.Fatal(err)
	}
	if !storetest.Must[bool](t)(two.Take(ctx, 5)) {
		t.Error("a released lease was refused")
	}
	if err := two.Close(ctx); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(storetest.Timeout)
	for !storetest.Must[bool](t)(one.Take(ctx, 5)) {
		select {
		case <-deadline:
			t.Fatal("the lease of a closed session was never free again")
		default:
		}
	}
	if err := one.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

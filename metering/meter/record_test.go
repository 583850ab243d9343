package meter_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
)

// The meter as the flusher sees it.
var _ flush.Meter = (*meter.Meter)(nil)

// recorded is a meter with its PostgreSQL.
type recorded struct {
	*bundle
	store *store.Store
}

func setupRecorded(t *testing.T) *recorded {
	t.Helper()
	return recordedOn(t, testkit.Redis(t).URL)
}

// onRecorded runs a test with one server and with a cluster of the test's own.
func onRecorded(t *testing.T, test func(t *testing.T, r *recorded)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, setupRecorded(t))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(t, recordedOn(t, testkit.RedisCluster(t).URL))
	})
}

func recordedOn(t *testing.T, url string) *recorded {
	t.Helper()
	b := connect(t, url)
	s, err := store.Open(b.ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &recorded{b, s}
}

func (r *recorded) flusher(m flush.Meter) *flush.Flusher {
	return flush.New(m, r.store, flush.FromStore(r.store), flush.Options{Logger: slog.New(slog.DiscardHandler)})
}

// flushAll flushes everything that the meter has, open slots included.
func (r *recorded) flushAll(t testing.TB) {
	t.Helper()
	if err := r.flusher(r.meter).FlushAll(r.ctx); err != nil {
		t.Error(err)
	}
}

// inRecord returns what PostgreSQL has of a client, by outcome.
func (r *recorded) inRecord(t testing.TB, c *client) usage {
	t.Helper()
	u := usage{}
	for _, period := range []string{c.account.Current.Key(), c.account.Next.Key()} {
		hours, err := r.store.ListUsage(r.ctx, c.Account, period)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hours {
			f := u[h.Outcome]
			f.requests += h.Requests
			f.units += int64(h.Units)
			u[h.Outcome] = f
		}
	}
	return u
}

func TestBuckets_ReopenedSlotAddsUpInTheRecord(t *testing.T) {
	t.Parallel()
	onRecorded(t, func(t *testing.T, r *recorded) {
		c := r.client(t, limits(noWindow, 1<<50, 1<<50))
		for range 5 { // many generations of one slot, or of two
			receipt := r.mustAdmit(t, c, charge(1000))
			r.mustAdmit(t, c, hit())
			r.flushAll(t)
			r.refund(t, c, charge(1000), receipt, "the same request once")
		}
		r.flushAll(t)
		want := usage{"ok": {5, 5000}, "hit": {requests: 5}, "refund": {-1, -1000}, "upstream_timeout": {requests: 1}}
		got := r.inRecord(t, c)
		for outcome, f := range want {
			if got[outcome] != f {
				t.Errorf("PostgreSQL has %v of %s, want %v", got[outcome], outcome, f)
			}
		}
		r.wantUsage(t, c, usage{})
	})
}

// killed is a meter whose flusher dies before it drops what it has committed.
type killed struct{ *meter.Meter }

var errKilled = errors.New("killed")

func (killed) DropBuckets(context.Context, []account.UsageBucket) error { return errKilled }

func TestFlush_KilledBetweenCommitAndDropCountsNothingTwice(t *testing.T) {
	t.Parallel()
	onRecorded(t, func(t *testing.T, r *recorded) {
		c := r.client(t, limits(noWindow, 1<<50, 1<<50))
		for range 3 {
			r.mustAdmit(t, c, charge(1000))
			for range 2 {
				if err := r.flusher(killed{r.meter}).FlushAll(r.ctx); !errors.Is(err, errKilled) {
					t.Fatalf("the flusher ended with %v", err)
				}
			}
		}
		r.mustAdmit(t, c, charge(1000))
		r.flushAll(t)
		if got := r.inRecord(t, c)["ok"]; got != (figures{4, 4000}) {
			t.Errorf("PostgreSQL has %v, want 4 calls of 1000", got)
		}
		r.wantUsage(t, c, usage{})
		if got := r.usedDay(t, c); got != 4000 {
			t.Errorf("the day stands at %d, want 4000", got)
		}
	})
}

func TestRecord_UnderLoadNothingIsLostOrCountedTwice(t *testing.T) {
	t.Parallel()
	onRecorded(t, func(t *testing.T, r *recorded) {
		clients := make([]*client, 4)
		for i := range clients {
			// flushers that drop the same buckets drop counters, too
			clients[i] = r.client(t, limits(noWindow, unlimited, unlimited))
		}
		other := openMeter(r.ctx, t, r.url)
		var charged [4]atomic.Int64
		var load, flushes sync.WaitGroup
		done := make(chan struct{})
		// two that flush the same shards, and one that always dies
		for n, m := range []flush.Meter{r.meter, other, killed{r.meter}} {
			f := r.flusher(m)
			flushes.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if err := f.FlushAll(r.ctx); err != nil && n < 2 {
						t.Errorf("flusher %d: %v", n, err)
					}
				}
			})
		}
		for i, c := range clients {
			for _, m := range []*meter.Meter{r.meter, other} {
				load.Go(func() {
					for range 500 {
						a, err := m.Admit(r.ctx, c.Subject, charge(10))
						if err != nil || !a.Admitted {
							t.Errorf("admit: %+v, %v", a, err)
							return
						}
						charged[i].Add(1)
					}
				})
			}
		}
		load.Wait()
		close(done)
		flushes.Wait()
		r.flushAll(t)
		for i, c := range clients {
			n := charged[i].Load()
			if got := r.inRecord(t, c)["ok"]; got != (figures{n, 10 * n}) {
				t.Errorf("PostgreSQL has %v of client %d, want %d calls of 10", got, i, n)
			}
		}
	})
}

func TestBuckets_RefusedByTheRecordHoldUpNoOther(t *testing.T) {
	t.Parallel()
	onRecorded(t, func(t *testing.T, r *recorded) {
		spoilt, sound := r.client(t, nil), r.client(t, nil)
		for account.Shard(sound.Account) != account.Shard(spoilt.Account) {
			sound = r.client(t, nil)
		}
		r.mustAdmit(t, spoilt, charge(1000))
		r.mustAdmit(t, sound, charge(1000))
		names, err := r.rdb.Keys(r.ctx, tagOf(spoilt)+"b:*:"+spoilt.Account.String()).Result()
		if err != nil || len(names) != 1 {
			t.Fatalf("open buckets %v, %v", names, err)
		}
		r.rdb.HSet(r.ctx, names[0], "no field of ours", "1")
		r.flushAll(t)
		if got := r.inRecord(t, sound)["ok"]; got != (figures{1, 1000}) {
			t.Errorf("PostgreSQL has %v beside a bucket that it refuses, want 1 call of 1000", got)
		}
		if got := r.inRecord(t, spoilt); len(got) != 0 {
			t.Errorf("PostgreSQL has %v of a bucket that it refuses", got)
		}
		if got := r.buckets(t, spoilt); len(got) != 1 {
			t.Errorf("%d refused buckets are kept, want 1", len(got))
		}
	})
}

package flush_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
)

func TestFlusher_KilledBeforeTheDropCountsLatenciesOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	database, redis := testkit.Postgres(t), testkit.Redis(t)
	s, err := store.Open(ctx, database)
	must(err)
	t.Cleanup(s.Close)
	m, err := meter.Open(ctx, redis.URL)
	must(err)
	t.Cleanup(func() { _ = m.Close() })
	subject := meter.NewSubject(account.Identity{Key: account.NewKeyID(), Account: account.NewID()}, account.Digest{})
	since, err := m.Now(ctx)
	must(err)
	count := func(took time.Duration) {
		latencies := meter.NewLatencies(m, meter.LatencyOptions{}) //nolint:contextcheck // it outlives the calls
		for range 25 {
			latencies.Observe(subject, &meter.Call{
				Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
			}, took)
		}
		must(latencies.Close(ctx))
	}
	recorded := func() account.Latency {
		all, err := s.Latency(ctx, usagedb.LatencyQuery{
			Account: subject.Account, Since: since, Until: since.Add(time.Hour),
		})
		must(err)
		if len(all) != 1 {
			t.Fatalf("%d groups are recorded", len(all))
		}
		return all[0].Relayed
	}

	count(time.Millisecond)
	victim := exec.CommandContext(ctx, os.Args[0]) //nolint:gosec // this test binary
	victim.Env = append(os.Environ(), victimDatabase+"="+database, victimRedis+"="+redis.URL)
	err = victim.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		t.Fatalf("the victim ended with %v", err)
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the victim ended with %v, want to be killed", err)
	}
	var want account.Latency
	want[account.LatencyBucketOf(time.Millisecond)] = 25
	if got := recorded(); got != want {
		t.Fatalf("%v is recorded when the victim is dead, want its commit", got)
	}
	count(time.Second) // most likely in the same slot, under another generation
	must(flush.New(m, s, flush.FromStore(s), flush.Options{}).FlushAll(ctx))
	want[account.LatencyBucketOf(time.Second)] = 25
	if got := recorded(); got != want {
		t.Errorf("%v is recorded, want 25 of a millisecond and 25 of a second", got)
	}
	if dirty, err := m.DirtyShards(ctx, 0, account.Shards); err != nil || len(dirty) != 0 {
		t.Errorf("shards %v still hold latencies, %v", dirty, err)
	}
}

package flush_test

import (
	"context"
	"crypto/rand"
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
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
)

// The victim is this test binary again. Its environment tells it to flush and to die between the
// commit and the drop.
const (
	victimDatabase = "FLUSH_VICTIM_DATABASE"
	victimRedis    = "FLUSH_VICTIM_REDIS"
)

// dying is a record that kills its process right after a commit.
type dying struct{ *store.Store }

func (d dying) CommitUsage(ctx context.Context, buckets []account.UsageBucket) error {
	if err := d.Store.CommitUsage(ctx, buckets); err != nil {
		return err
	}
	if len(buckets) == 0 {
		return nil
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func TestMain(m *testing.M) {
	if os.Getenv(victimDatabase) != "" {
		if err := dieFlushing(); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func dieFlushing() error {
	ctx := context.Background()
	s, err := store.Open(ctx, os.Getenv(victimDatabase))
	if err != nil {
		return err
	}
	m, err := meter.Open(ctx, os.Getenv(victimRedis))
	if err != nil {
		return err
	}
	return flush.New(m, dying{s}, flush.FromStore(s), flush.Options{}).FlushAll(ctx)
}

func TestFlusher_KilledBySystemBetweenCommitAndDropCountsNothingTwice(t *testing.T) {
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

	id, key := account.NewID(), account.NewKeyID()
	now, err := m.Now(ctx)
	must(err)
	limits := account.Terms{Plan: plan.Must(plan.Enterprise)}.Limits(id, 1, account.Active, account.ServiceLimits{},
		nil, now)
	load, err := m.BeginLoadAccount(ctx, id)
	must(err)
	_, err = m.PushLoadedAccount(ctx, limits, load)
	must(err)
	load, err = m.BeginLoadKey(ctx, id, key)
	must(err)
	_, err = m.PushLoadedKey(ctx, account.KeyLimits{
		Key: key, Account: id, Version: 1, Status: account.Active, Daily: account.Unlimited,
	}, load)
	must(err)
	var digest account.Digest
	_, err = rand.Read(digest[:])
	must(err)
	subject := meter.NewSubject(account.Identity{Key: key, Account: id, Plan: plan.Enterprise}, digest)
	const calls = 25
	for range calls {
		a, err := m.Admit(ctx, subject, &meter.Call{
			Units: plan.Unit, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
			Tier: "balanced",
		})
		must(err)
		if !a.Admitted {
			t.Fatalf("%+v", a)
		}
	}
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
	recorded := func() (requests int64, units plan.Units) {
		hours, err := s.ListUsage(ctx, id, limits.Current.Key())
		must(err)
		for _, h := range hours {
			requests, units = requests+h.Requests, units+h.Units
		}
		return requests, units
	}
	if n, _ := recorded(); n != calls {
		t.Fatalf("%d calls are recorded when the victim is dead, want its commit", n)
	}
	must(flush.New(m, s, flush.FromStore(s), flush.Options{}).FlushAll(ctx))
	if n, units := recorded(); n != calls || units != calls*plan.Unit {
		t.Errorf("%d calls and %s units are recorded, want %d", n, units, calls)
	}
	if dirty, err := m.DirtyShards(ctx, 0, account.Shards); err != nil || len(dirty) != 0 {
		t.Errorf("shards %v still hold usage, %v", dirty, err)
	}
}

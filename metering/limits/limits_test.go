package limits_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
)

func TestAdmit_NewDoorKeyIsLimitedByItsPlanFromTheFirstCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, err := b.limits.NewDoorKey(b.ctx, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, refused := b.limits.Identify(b.ctx, key.Reveal(), network)
	if refused != nil {
		t.Fatal(refused)
	}
	expect.Equal(t, s.Plan, plan.Door1)
	expect.Equal(t, s.Door, account.DoorPublic)
	expect.Equal(t, s.Supply, plan.Public)
	day := plan.Must(plan.Door1).DailyQuota()
	if a := b.admit(t, s, charge(day)); !a.Admitted || a.Receipt.Slot == "" {
		t.Errorf("the first call of a day's allowance: %+v", a)
	}
	if a := b.admit(t, s, charge(1)); a.Refused != "door_key_day" || a.Limit != int64(day) {
		t.Errorf("beyond the day's allowance: %+v", a)
	}
	k, err := b.store.LoadKey(b.ctx, s.Key)
	require.NoError(t, err)
	expect.Equal(t, k.Prefix, key.Prefix())
	expect.Equal(t, k.Status, account.Active)
	if _, err := b.limits.NewDoorKey(b.ctx, strings.NewReader("too short")); err == nil {
		t.Error("a key was made without enough randomness")
	}
}

func TestLoad_ConcurrentCallersLoadAProjectionOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.WalletBound, account.Unlimited) // a window of 100 in 20 seconds
	s := b.identify(t, h)
	b.wire.forget()
	var wg sync.WaitGroup
	begin := make(chan struct{})
	var admitted atomic.Int64
	for range 200 {
		wg.Go(func() {
			<-begin
			_, a, err := b.limits.AdmitOrLoad(b.ctx, s, charge(1))
			if err != nil {
				t.Error(err)
			}
			if a.Admitted {
				admitted.Add(1)
			}
		})
	}
	close(begin)
	wg.Wait()
	// Two rounds, projections and then counters; each query counts twice when it is described
	// first. A call that asked just before a round ended may begin another.
	if n := b.wire.count("GetKey"); n > 12 {
		t.Errorf("the key was loaded %d times for 200 calls", n)
	}
	if n := b.wire.count("SumPeriod"); n > 12 {
		t.Errorf("the counters were seeded %d times for 200 calls", n)
	}
	if admitted.Load() == 0 {
		t.Error("nothing was admitted")
	}
}

func TestPush_RevokedKeyIsRefusedByEveryProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	processes := []*bundle{b, b.another(t)}
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	var revoked atomic.Bool
	var before, after atomic.Int64
	var wg sync.WaitGroup
	done := make(chan struct{})
	for _, p := range processes {
		s := p.identify(t, h)
		for range 8 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					late := revoked.Load() // read before the call
					_, a, err := p.limits.AdmitOrLoad(b.ctx, s, charge(1))
					switch {
					case err != nil:
						t.Error(err)
						return
					case a.Admitted && late:
						t.Error("a call that began after the push was admitted")
						return
					case a.Admitted:
						before.Add(1)
					case a.Refused == "key_invalid":
						after.Add(1)
					}
				}
			})
		}
	}
	testkit.Eventually(t, testTimeout, func() bool { return before.Load() > 200 }, "calls are admitted")
	if _, err := b.limits.RevokeKey(b.ctx, h.key.ID, author); err != nil {
		t.Fatal(err)
	}
	revoked.Store(true)
	seen := after.Load()
	testkit.Eventually(t, testTimeout, func() bool { return after.Load() > seen+200 }, "calls are refused")
	// A change from before the revocation that arrives late.
	if err := b.meter.PushKey(b.ctx, h.key.Limits()); err != nil {
		t.Fatal(err)
	}
	seen = after.Load()
	testkit.Eventually(t, testTimeout, func() bool { return after.Load() > seen+200 }, "calls are refused still")
	close(done)
	wg.Wait()
	// A third process, which never saw the key, and a meter that lost it.
	fresh := b.another(t)
	b.rdb.FlushAll(b.ctx)
	if a := fresh.admit(t, fresh.identify(t, h), charge(1)); a.Refused != "key_invalid" {
		t.Errorf("a process that loads the key anew: %+v", a)
	}
}

func TestPush_SuspendedAccountIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	s := b.identify(t, h)
	if a := b.admit(t, s, charge(1)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	for _, step := range []struct {
		status account.Status
		want   string
	}{{account.Suspended, "account_suspended"}, {account.Active, ""}} {
		if _, err := b.limits.SetStatus(b.ctx, h.account.ID, step.status, author); err != nil {
			t.Fatal(err)
		}
		if got := b.admit(t, s, charge(1)); got.Refused != step.want {
			t.Errorf("%s: %+v, want refusal %q", step.status, got, step.want)
		}
	}
}

// move moves a key to another account, as an adoption does.
func (b *bundle) move(t *testing.T, h, to *holder) {
	t.Helper()
	if _, err := b.db.Exec(b.ctx, `UPDATE keys SET account_id = $1, version = version + 1 WHERE id = $2`,
		to.account.ID.UUID, h.key.ID.UUID); err != nil {
		t.Fatal(err)
	}
}

func (h *holder) keyName() string {
	return fmt.Sprintf("{u%04d}:key:%s", account.Shard(h.account.ID), h.key.ID)
}

func TestAdmit_MovedKeyIsAdmittedByItsNewAccount(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(b *bundle, h *holder){
		"the meter says so": func(b *bundle, h *holder) {
			b.rdb.HSet(b.ctx, h.keyName(), "st", "moved", "v", 2)
		},
		"the meter lost everything":  func(b *bundle, _ *holder) { b.rdb.FlushAll(b.ctx) },
		"the meter lost the old key": func(b *bundle, h *holder) { b.rdb.Del(b.ctx, h.keyName()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			h, owner := b.holder(t, plan.Enterprise, account.Unlimited), b.holder(t, plan.Pro, account.Unlimited)
			// one of a thousand: within a shard the meter does not report the move
			for account.Shard(owner.account.ID) == account.Shard(h.account.ID) {
				owner = b.holder(t, plan.Pro, account.Unlimited)
			}
			s := b.identify(t, h)
			if a := b.admit(t, s, charge(100)); !a.Admitted {
				t.Fatalf("%+v", a)
			}
			b.move(t, h, owner)
			mark(b, h)
			moved, a, err := b.limits.AdmitOrLoad(b.ctx, s, charge(20))
			in := expect.In(t, "the new account's")
			require.NoError(in, err)
			require.True(in, a.Admitted)
			require.Equal(in, moved.Account, owner.account.ID)
			require.Equal(in, moved.Key, h.key.ID)
			require.Equal(in, moved.Plan, plan.Pro)
			if again := b.identify(t, h); again.Account != owner.account.ID {
				t.Errorf("identified as of account %s afterwards, want the new one", again.Account)
			}
			b.flushAll(t)
			if _, units := b.recorded(t, owner); units != 20 {
				t.Errorf("the new account is charged %d, want 20", units)
			}
		})
	}
}

func TestLoad_IsGivenUpAfterAFewRounds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	s := b.identify(t, h)
	if a := b.admit(t, s, charge(1)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	b.rdb.HSet(b.ctx, h.keyName(), "st", "moved") // and PostgreSQL knows of no move
	b.wire.forget()
	if _, a, err := b.limits.AdmitOrLoad(b.ctx, s, charge(1)); err == nil {
		t.Errorf("a key that moved nowhere: %+v", a)
	}
	if n := b.wire.count("GetIdentity"); n == 0 || n > 20 {
		t.Errorf("the identity was loaded %d times", n)
	}
	lost := meter.NewSubject(account.Identity{Key: account.NewKeyID(), Account: account.NewID()}, account.Digest{})
	if _, a, err := b.limits.AdmitOrLoad(b.ctx, lost, charge(1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an account that nobody recorded: %+v, %v", a, err)
	}
}

func TestLoad_CallerWhoLeavesDoesNotEndThatOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	s := b.identify(t, h)
	reached, release := b.wire.hold(t, "GetAccount")
	gone, leave := context.WithCancel(b.ctx)
	var first, stayed sync.WaitGroup
	first.Go(func() {
		if _, a, err := b.limits.AdmitOrLoad(gone, s, charge(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("the caller who left: %+v, %v", a, err)
		}
	})
	await(b.ctx, t, reached)
	const others = 10
	for range others {
		stayed.Go(func() {
			if _, a, err := b.limits.AdmitOrLoad(b.ctx, s, charge(1)); err != nil || !a.Admitted {
				t.Errorf("a caller who stayed: %+v, %v", a, err)
			}
		})
	}
	testkit.Eventually(t, testTimeout, func() bool {
		// the load began with one
		return strings.Contains(b.rdb.Info(b.ctx, "commandstats").Val(),
			fmt.Sprintf("cmdstat_evalsha:calls=%d,", 2+others))
	}, "all have asked the meter")
	leave()
	first.Wait()
	release()
	stayed.Wait()
}

func await(ctx context.Context, t *testing.T, reached <-chan struct{}) {
	t.Helper()
	select {
	case <-reached:
	case <-ctx.Done():
		t.Fatal("the query was never sent")
	}
}

package limits_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// doorKey makes a key as POST /keys does.
func (b *bundle) doorKey(t *testing.T) *holder {
	t.Helper()
	key, err := b.limits.NewDoorKey(b.ctx, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := key.Digest(b.hasher)
	id, err := b.store.FindIdentity(b.ctx, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{text: key.Reveal()}
	h.account.ID, h.key.ID = id.Account, id.Key
	return h
}

// doorKeyIn returns a doorKey in a shard of the meter: two random keys share a shard only once in a
// thousand.
func (b *bundle) doorKeyIn(t *testing.T, shard int) *holder {
	t.Helper()
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest, id := key.Digest(b.hasher), account.NewID()
	for account.Shard(id) != shard {
		id = account.NewID()
	}
	a, k, err := b.store.CreateDoorKey(b.ctx, accountdb.NewAccount{ID: id, Kind: accountdb.KindDoor, Plan: plan.Door1},
		accountdb.NewKey{
			ID: account.NewKeyID(), Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorPublic,
			Daily: plan.Must(plan.Door1).DailyQuota(),
		})
	if err != nil {
		t.Fatal(err)
	}
	return &holder{key.Reveal(), a, k}
}

// owner makes the account of a person who signed in, on a plan.
func (b *bundle) owner(t *testing.T, planKey string) account.ID {
	t.Helper()
	return b.ownerAs(t, account.NewID(), planKey)
}

func (b *bundle) ownerAs(t *testing.T, id account.ID, planKey string) account.ID {
	t.Helper()
	a, err := b.store.CreateAccount(b.ctx, accountdb.NewAccount{ID: id, Kind: accountdb.KindOwner, Plan: planKey})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID
}

func someWallet(n byte) wallet.Address { return wallet.Address{0xaa, n} }

func binding(h *holder, of byte) accountdb.Binding {
	return accountdb.Binding{Key: h.key.ID, Address: someWallet(of), Message: "a message that was signed"}
}

func refusedWith(t *testing.T, what string, err error, want fault.Reason) {
	t.Helper()
	if refusal, ok := errors.AsType[*fault.Error](err); !ok || refusal.Reason != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// one is a process with its subject of a key.
type one struct {
	*bundle
	subject *meter.Subject
}

// two returns two processes that both have admitted a call of a key.
func (b *bundle) two(t *testing.T, h *holder) []one {
	t.Helper()
	both := []one{{bundle: b}, {bundle: b.another(t)}}
	for i := range both {
		both[i].subject = both[i].identify(t, h)
		if a := both[i].admit(t, both[i].subject, charge(plan.Unit)); !a.Admitted {
			t.Fatalf("%+v", a)
		}
	}
	return both
}

// charged returns the units of an account in PostgreSQL, after flushing everything.
func (b *bundle) charged(t *testing.T, of account.ID) plan.Units {
	t.Helper()
	b.flushAll(t)
	_, units := b.recorded(t, &holder{account: accountdb.Account{ID: of}})
	return units
}

func TestBind_BoundKeyHasItsWalletsLimitsInEveryProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.doorKey(t)
	both := b.two(t, h)
	const day = 10_000 * plan.Unit
	if a := b.admit(t, both[0].subject, charge(day)); a.Refused != fault.DoorKeyDay.String() {
		t.Fatalf("before it is bound: %+v", a)
	}
	bound, err := both[1].limits.BindKey(b.ctx, binding(h, 1), author)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, bound.Key.Door, account.DoorWallet)
	expect.Equal(t, bound.Account.Kind, accountdb.KindWallet)
	expect.Equal(t, bound.Account.Plan, plan.WalletBound)
	expect.Equal(t, bound.Account.ID, h.account.ID)
	expect.Equal(t, bound.Key.Daily, account.Unlimited)
	expect.True(t, bound.Key.Adoptable)
	for i, process := range both {
		if a := process.admit(t, process.subject, charge(day)); !a.Admitted {
			t.Errorf("process %d: the day still refuses: %+v", i, a)
		}
	}
	// 2 units before and 20,000 since are used of the million.
	for _, left := range []plan.Units{900_000 * plan.Unit, 79_998 * plan.Unit} {
		b.redisWindow(t, h.account.ID)
		if a := b.admit(t, both[0].subject, charge(left)); !a.Admitted {
			t.Fatalf("%s units of what is left: %+v", left, a)
		}
	}
	b.redisWindow(t, h.account.ID)
	if a := b.admit(t, both[1].subject, charge(1)); a.Refused != fault.PlanQuota.String() ||
		a.Limit != int64(1_000_000*plan.Unit) {
		t.Errorf("past the million: %+v", a)
	}
	again, err := both[0].limits.BindKey(b.ctx, binding(h, 1), author)
	in := expect.In(t, "bound again")
	require.NoError(in, err)
	expect.Equal(in, again.Key.Version, bound.Key.Version)
	expect.Equal(in, again.Account.Version, bound.Account.Version)
}

// redisWindow clears the rate window of an account, which these tests are not about.
func (b *bundle) redisWindow(t *testing.T, id account.ID) {
	t.Helper()
	if err := b.rdb.Del(b.ctx, fmt.Sprintf("{u%04d}:win:%s", account.Shard(id), id)).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestBind_WalletsAllowanceFollowsItToItsNextKey(t *testing.T) {
	t.Parallel()
	for name, apart := range map[string]int{"in another shard of the meter": 1, "within its shard": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			first := b.doorKey(t)
			followsTheWallet(t, b, first, b.doorKeyIn(t, (account.Shard(first.account.ID)+apart)%account.Shards))
		})
	}
}

func followsTheWallet(t *testing.T, b *bundle, first, second *holder) {
	t.Helper()
	both := b.two(t, second)
	if _, err := b.limits.BindKey(b.ctx, binding(first, 1), author); err != nil {
		t.Fatal(err)
	}
	if a := b.admit(t, b.identify(t, first), charge(999_000*plan.Unit)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	_, err := b.limits.BindKey(b.ctx, binding(second, 1), author)
	refusedWith(t, "a wallet with a key that works", err, fault.BindingRefused)
	if _, err := b.limits.RevokeKey(b.ctx, first.key.ID, author); err != nil {
		t.Fatal(err)
	}
	bound, err := b.limits.BindKey(b.ctx, binding(second, 1), author)
	in := expect.In(t, "bound anew")
	require.NoError(in, err)
	require.Equal(in, bound.Account.ID, first.account.ID)
	require.Equal(in, bound.Key.Account, first.account.ID)
	require.Equal(in, bound.Wallet.Key, second.key.ID)
	for i, process := range both {
		b.redisWindow(t, first.account.ID)
		if a := process.admit(t, process.subject, charge(1001*plan.Unit)); a.Refused != fault.PlanQuota.String() {
			t.Errorf("process %d: past what the wallet has left: %+v", i, a)
		}
		if a := process.admit(t, process.subject, charge(500*plan.Unit)); !a.Admitted {
			t.Errorf("process %d: what the wallet has left: %+v", i, a)
		}
	}
	if units := b.charged(t, first.account.ID); units != 1_000_000*plan.Unit {
		t.Errorf("the wallet's account was charged %s units", units)
	}
	if units := b.charged(t, second.account.ID); units != 2*plan.Unit {
		t.Errorf("the account that the key left was charged %s units, want those from before", units)
	}
	if _, err := audit.Run(b.ctx, b.store, b.limits, audit.Options{}, func(d audit.Difference) {
		t.Errorf("the books differ: %s", d)
	}); err != nil {
		t.Error(err)
	}
	for _, id := range []account.ID{first.account.ID, second.account.ID} {
		lines, err := b.store.ListAudit(b.ctx, id, 10)
		in := expect.In(t, "the audit log of account %s", id)
		require.NoError(in, err)
		expect.Equal(in, lines[0].Action, "bind_key")
		expect.Equal(in, lines[0].Key, second.key.ID)
		expect.Contains(in, string(lines[0].After), first.account.ID.String())
	}
}

// In a shard a key's projection has one name, whichever of the shard's accounts the key belongs to.
func TestAdopt_KeyThatMovesWithinAShardGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.doorKey(t)
	if a := b.admit(t, b.identify(t, h), charge(1)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	id := account.NewID()
	for account.Shard(id) != account.Shard(h.account.ID) {
		id = account.NewID()
	}
	owner := b.ownerAs(t, id, plan.Pro)
	// The process that adopts the key dies before its push. The due pushes are made later, first
	// that of the account that the key left.
	if _, err := b.store.AdoptKey(b.ctx, h.key.ID, owner, account.NewUserID(), author); err != nil {
		t.Fatal(err)
	}
	for _, of := range []account.ID{h.account.ID, owner} {
		if _, err := b.db.Exec(b.ctx,
			"UPDATE fence_pushes SET due_at = now() - interval '1 hour' WHERE account_id = $1", of.UUID); err != nil {
			t.Fatal(err)
		}
		if pushed, err := b.limits.PushDue(b.ctx); err != nil || pushed == 0 {
			t.Fatalf("%d pushed, %v", pushed, err)
		}
	}
	elsewhere := b.another(t) // which did not know the key before
	if s := elsewhere.identify(t, h); s.Account != owner {
		t.Errorf("identified as of account %s, want %s", s.Account, owner)
	}
	if a := elsewhere.admit(t, elsewhere.identify(t, h), charge(1)); !a.Admitted {
		t.Errorf("%+v", a)
	}
	elsewhere.rdb.FlushAll(b.ctx)
	if a := elsewhere.admit(t, elsewhere.identify(t, h), charge(1)); !a.Admitted {
		t.Errorf("once the meter lost everything: %+v", a)
	}
}

func TestAdopt_NextCallCountsForTheNewOwnerInEveryProcess(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ bindFirst, sameShard bool }{
		"a public key": {}, "a key of a wallet": {
			bindFirst: true,
		}, "a key that moves within a shard": {sameShard: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			h, id := b.doorKey(t), account.NewID()
			for (account.Shard(id) == account.Shard(h.account.ID)) != of.sameShard {
				id = account.NewID()
			}
			owner := b.ownerAs(t, id, plan.Pro)
			if of.bindFirst {
				if _, err := b.limits.BindKey(b.ctx, binding(h, 1), author); err != nil {
					t.Fatal(err)
				}
			}
			both := b.two(t, h)
			adopted, err := both[0].limits.AdoptKey(b.ctx, h.key.ID, owner, account.NewUserID(), author)
			if err != nil {
				t.Fatal(err)
			}
			k := adopted.Key
			expect.Equal(t, k.Door, account.DoorAdopted)
			expect.Equal(t, k.Account, owner)
			expect.Equal(t, k.Daily, account.Unlimited)
			expect.False(t, k.Adoptable)
			for i, process := range both {
				moved, a, err := process.limits.AdmitOrLoad(b.ctx, process.subject, charge(20_000*plan.Unit))
				in := expect.In(t, "process %d admitted the next call", i)
				require.NoError(in, err)
				expect.True(in, a.Admitted)
				expect.Equal(in, moved.Account, owner)
				expect.Equal(in, a.Supply, plan.Premium)
			}
			if units := b.charged(t, owner); units != 40_000*plan.Unit {
				t.Errorf("the owner is charged %s units", units)
			}
			if units := b.charged(t, h.account.ID); units != 2*plan.Unit {
				t.Errorf("the account from before is charged %s units, want those from before", units)
			}
			again, err := both[1].limits.AdoptKey(b.ctx, h.key.ID, owner, account.NewUserID(), author)
			in := expect.In(t, "adopted again")
			require.NoError(in, err)
			expect.Equal(in, again.Key.Version, adopted.Key.Version)
			expect.Equal(in, again.Adoption, adopted.Adoption)
		})
	}
}

func TestBind_TwoThatRaceForAWalletLeaveItOneKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const racers = 6
	keys := make([]*holder, racers)
	errs := make([]error, racers)
	for i := range keys {
		keys[i] = b.doorKey(t)
	}
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() { _, errs[i] = b.limits.BindKey(b.ctx, binding(keys[i], 1), author) })
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		key, loadErr := b.store.LoadKey(b.ctx, keys[i].key.ID)
		if loadErr != nil {
			t.Fatal(loadErr)
		}
		if err == nil {
			won++
			if key.Door != account.DoorWallet {
				t.Errorf("the winner is %+v", key)
			}
			continue
		}
		refusedWith(t, "a loser", err, fault.BindingRefused)
		in := expect.In(t, "a loser was changed")
		expect.Equal(in, key.Door, account.DoorPublic)
		expect.Equal(in, key.Account, keys[i].account.ID)
		expect.Equal(in, key.Version, 1)
	}
	if won != 1 {
		t.Errorf("%d keys were bound, want one", won)
	}
}

func TestAdopt_TwoOwnersThatRaceForAKeyLeaveItOneOwner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.doorKey(t)
	const racers = 6
	owners, errs := make([]account.ID, racers), make([]error, racers)
	for i := range owners {
		owners[i] = b.owner(t, plan.Free)
	}
	var wg sync.WaitGroup
	for i := range owners {
		wg.Go(func() { _, errs[i] = b.limits.AdoptKey(b.ctx, h.key.ID, owners[i], account.NewUserID(), author) })
	}
	wg.Wait()
	key, err := b.store.LoadKey(b.ctx, h.key.ID)
	if err != nil {
		t.Fatal(err)
	}
	won := 0
	for i, err := range errs {
		switch {
		case err != nil:
			refusedWith(t, "a loser", err, fault.NotYours)
		case owners[i] != key.Account:
			t.Errorf("owner %d was told that it has the key", i)
		default:
			won++
		}
	}
	if won != 1 || key.Version != 2 {
		t.Errorf("%d owners have the key, which is at version %d", won, key.Version)
	}
}

func TestDoors_RefusedMoveChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner, user := b.owner(t, plan.Free), account.NewUserID()
	door := func() *holder { return b.doorKey(t) }
	bind := func(h *holder, of byte) error {
		_, err := b.limits.BindKey(b.ctx, binding(h, of), author)
		return err
	}
	adopt := func(h *holder, to account.ID) error {
		_, err := b.limits.AdoptKey(b.ctx, h.key.ID, to, user, author)
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	revoke := func(h *holder) {
		t.Helper()
		_, err := b.limits.RevokeKey(b.ctx, h.key.ID, author)
		must(err)
	}
	suspend := func(id account.ID) {
		t.Helper()
		_, err := b.limits.SetStatus(b.ctx, id, account.Suspended, author)
		must(err)
	}
	bound, revoked, suspended, adopted, ofOwner, plain := door(), door(), door(), door(), b.holder(t, plan.Free,
		account.Unlimited), door()
	must(bind(bound, 1))
	revoke(revoked)
	suspend(suspended.account.ID)
	must(adopt(adopted, owner))
	_, err := b.db.Exec(b.ctx, `UPDATE keys SET door = 'account' WHERE id = $1`, ofOwner.key.ID.UUID)
	must(err)
	lost := door() // whose wallet's account is suspended, and the key revoked
	must(bind(lost, 2))
	suspend(lost.account.ID)
	revoke(lost)
	shut := b.owner(t, plan.Free)
	suspend(shut)
	unknown := &holder{}
	unknown.key.ID = account.NewKeyID()
	for name, c := range map[string]struct {
		h    *holder
		do   func(*holder) error
		want fault.Reason
	}{
		"bind a key of another wallet": {
			bound, func(h *holder) error { return bind(h, 9) }, fault.BindingRefused,
		},
		"bind to a wallet of another key": {
			plain, func(h *holder) error { return bind(h, 1) }, fault.BindingRefused,
		},
		"bind a revoked key": {
			revoked, func(h *holder) error { return bind(h, 9) }, fault.BindingRefused,
		},
		"bind a suspended key": {
			suspended, func(h *holder) error { return bind(h, 9) }, fault.AccountSuspended,
		},
		"bind into a suspended account": {
			plain, func(h *holder) error { return bind(h, 2) }, fault.AccountSuspended,
		},
		"bind an adopted key": {
			adopted, func(h *holder) error { return bind(h, 9) }, fault.WrongKindOfKey,
		},
		"bind a key of an account": {
			ofOwner, func(h *holder) error { return bind(h, 9) }, fault.WrongKindOfKey,
		},
		"adopt a revoked key": {
			revoked, func(h *holder) error { return adopt(h, owner) }, fault.FieldRefused,
		},
		"adopt a suspended key": {
			suspended, func(h *holder) error { return adopt(h, owner) }, fault.AccountSuspended,
		},
		"adopt a key of another owner": {
			adopted, func(h *holder) error { return adopt(h, b.owner(t, plan.Free)) }, fault.NotYours,
		},
		"adopt a key of an account": {
			ofOwner, func(h *holder) error { return adopt(h, owner) }, fault.NotYours,
		},
		"adopt into a suspended account": {
			plain, func(h *holder) error { return adopt(h, shut) }, fault.AccountSuspended,
		},
		"adopt into an account of a door": {
			plain, func(h *holder) error { return adopt(h, bound.account.ID) }, fault.WrongKindOfKey,
		},
		"adopt a key of a wallet that is suspended": {
			lost, func(h *holder) error { return adopt(h, owner) }, fault.FieldRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := b.store.LoadKey(b.ctx, c.h.key.ID)
			must(err)
			refusedWith(t, name, c.do(c.h), c.want)
			after, err := b.store.LoadKey(b.ctx, c.h.key.ID)
			must(err)
			if after.Version != before.Version || after.Account != before.Account {
				t.Errorf("%s changed the key from %+v to %+v", name, before, after)
			}
		})
	}
	for name, err := range map[string]error{
		"bind": bind(unknown, 9), "adopt": adopt(unknown, owner), "adopt into nothing": adopt(plain, account.NewID()),
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s what is not there: %v", name, err)
			}
		})
	}
}

func TestDoors_UnpushedMoveIsInForceOnceTheMeterAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h, owner := b.doorKey(t), b.owner(t, plan.Pro)
	both := b.two(t, h)
	b.redis.Pause(t)
	for range 2 { // the second time it is adopted already
		_, err := b.limits.AdoptKey(b.ctx, h.key.ID, owner, account.NewUserID(), author)
		refusedWith(t, "adopted without Redis", err, fault.NotYetInForce)
	}
	b.redis.Resume(t)
	pushing, stop := context.WithCancel(b.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { b.another(t).limits.RunPushes(pushing, slog.New(slog.DiscardHandler)) })
	testkit.Eventually(t, testTimeout, func() bool {
		due, err := b.store.ListPushesOfKey(b.ctx, h.key.ID)
		return err == nil && len(due) == 0
	}, "nothing is due any more")
	stop()
	wg.Wait()
	for i, process := range both {
		moved, a, err := process.limits.AdmitOrLoad(b.ctx, process.subject, charge(1))
		in := expect.In(t, "process %d", i)
		require.NoError(in, err)
		expect.True(in, a.Admitted)
		expect.Equal(in, moved.Account, owner)
	}
	if _, err := b.limits.AdoptKey(b.ctx, h.key.ID, owner, account.NewUserID(), author); err != nil {
		t.Errorf("adopted again, in force: %v", err)
	}
}

// claim returns a claim by a wallet, with a key of its own.
func (b *bundle) claim(t *testing.T, id account.ID) (accountdb.Claim, *holder) {
	t.Helper()
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := key.Digest(b.hasher)
	c := accountdb.Claim{
		Account: id, Address: someWallet(1), Name: "scout", Message: "a message that was signed",
		Key: account.NewKeyID(), Digest: digest[:], Prefix: key.Prefix(),
	}
	return c, &holder{text: key.Reveal(), key: accountdb.Key{ID: c.Key}}
}

func TestClaim_RepeatedGivesAFreshKeyAndEndsTheOldOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := b.owner(t, plan.Free)
	c, old := b.claim(t, owner)
	first, err := b.limits.ClaimAgent(b.ctx, c, account.Settings{}, author)
	in := expect.In(t, "claimed")
	require.NoError(in, err)
	require.Equal(in, first.Agent.Key.MonthlyCap, 50_000*plan.Unit)
	require.Equal(in, first.Agent.Key.Door, account.DoorAccount)
	require.True(in, first.Before.IsZero())
	both := b.two(t, old)
	if both[0].subject.Agent != first.Agent.ID {
		t.Errorf("the key is known as %+v, want the agent's", both[0].subject.Identity)
	}
	again, err := b.limits.ClaimAgent(b.ctx, c, account.Settings{}, author)
	in = expect.In(t, "the same key again")
	require.NoError(in, err)
	expect.Equal(in, again.Agent.Key.ID, c.Key)
	expect.Equal(in, again.Agent.ID, first.Agent.ID)
	next, fresh := b.claim(t, owner)
	next.Name = "scout the second"
	second, err := b.limits.ClaimAgent(b.ctx, next, account.Settings{}, author)
	in = expect.In(t, "claimed again")
	require.NoError(in, err)
	require.Equal(in, second.Agent.ID, first.Agent.ID)
	require.Equal(in, second.Before, old.key.ID)
	require.Equal(in, second.Agent.Name, next.Name)
	for i, process := range both {
		if a := process.admit(t, process.subject, charge(1)); a.Refused != fault.KeyInvalid.String() {
			t.Errorf("process %d admits the old key: %+v", i, a)
		}
		if a := process.admit(t, process.identify(t, fresh), charge(1)); !a.Admitted {
			t.Errorf("process %d: the fresh key: %+v", i, a)
		}
	}
	// A retry of an older claim, by an activity that ran twice, revives nothing.
	if late, err := b.limits.ClaimAgent(b.ctx, c, account.Settings{}, author); err != nil ||
		late.Agent.Key.Status != account.Revoked {
		t.Errorf("the older claim again: %+v, %v", late, err)
	}
	agents, err := b.store.ListAgents(b.ctx, owner)
	in = expect.In(t, "listed")
	require.NoError(in, err)
	require.Len(in, agents, 1)
	expect.Equal(in, agents[0].Key.ID, fresh.key.ID)
	expect.Equal(in, agents[0].Name, next.Name)
	// A retry of the newest one returns only once the older key is dead everywhere, even if a
	// process died after the commit.
	again, err = b.limits.ClaimAgent(b.ctx, next, account.Settings{}, author)
	if err != nil || again.Before != old.key.ID {
		t.Errorf("the newest claim again: %+v, %v; want it to see to the older key", again, err)
	}
}

func TestClaim_AgentsCapIsNeverWiderThanItsAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	narrow := b.owner(t, plan.Enterprise)
	contract := account.Custom{Quota: 20_000 * plan.Unit, Rate: account.RateWindow{Limit: 100, Per: 1e9}}
	if _, err := b.limits.SetEnterprise(b.ctx, narrow, contract, author); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		owner  account.ID
		wanted string
		want   plan.Units
		refuse bool
	}{
		"by default":                 {b.owner(t, plan.Free), "", 50_000, false},
		"by default, narrow account": {narrow, "", 20_000, false},
		"as said":                    {b.owner(t, plan.Free), "70000", 70_000, false},
		"none":                       {b.owner(t, plan.Free), "0", 0, false},
		"wider":                      {narrow, "20001", 0, true},
		"no number":                  {narrow, "many", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			var settings account.Settings
			if c.wanted != "" {
				number := json.Number(c.wanted)
				settings.MonthlyCap = &number
			}
			claim, _ := b.claim(t, c.owner)
			claimed, err := b.limits.ClaimAgent(b.ctx, claim, settings, author)
			if c.refuse {
				refusedWith(t, name, err, fault.FieldRefused)
				return
			}
			if err != nil || claimed.Agent.Key.MonthlyCap != c.want*plan.Unit {
				t.Errorf("%s, %v", claimed.Agent.Key.MonthlyCap, err)
			}
		})
	}
	for name, id := range map[string]account.ID{"a door's": b.doorKey(t).account.ID} {
		claim, _ := b.claim(t, id)
		_, err := b.limits.ClaimAgent(b.ctx, claim, account.Settings{}, author)
		refusedWith(t, name, err, fault.WrongKindOfKey)
	}
	if agents, err := b.store.ListAgents(b.ctx, narrow); err != nil || len(agents) != 1 {
		t.Errorf("refused claims left %+v, %v", agents, err)
	}
}

// An account has at most 1,000 active keys, however it got them; a claim that replaces an agent's
// key needs no room.
func TestAdopt_FullAccountTakesNoKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h, owner := b.doorKey(t), b.owner(t, plan.Free)
	known, _ := b.claim(t, owner)
	if _, err := b.limits.ClaimAgent(b.ctx, known, account.Settings{}, author); err != nil {
		t.Fatal(err)
	}
	fill := func(n int) {
		t.Helper()
		_, err := b.db.Exec(b.ctx, `INSERT INTO keys (id, account_id, digest, prefix, door)
			SELECT gen_random_uuid(), $1, sha256(gen_random_uuid()::text::bytea), 'cag_filler', 'account' FROM generate_series(1, $2)`, owner.UUID, n)
		if err != nil {
			t.Fatal(err)
		}
	}
	fill(accountdb.MaxKeys - 1) // with the agent's
	adopt := func() error {
		_, err := b.limits.AdoptKey(b.ctx, h.key.ID, owner, account.NewUserID(), author)
		return err
	}
	refusedWith(t, "adopted", adopt(), fault.FieldRefused)
	key, err := b.store.LoadKey(b.ctx, h.key.ID)
	require.NoError(t, err)
	expect.Equal(t, key.Account, h.account.ID)
	expect.Equal(t, key.Version, 1)
	again, _ := b.claim(t, owner)
	if claimed, err := b.limits.ClaimAgent(b.ctx, again, account.Settings{}, author); err != nil ||
		claimed.Before != known.Key {
		t.Errorf("a fresh key of an agent that is there: %+v, %v", claimed, err)
	}
	other, _ := b.claim(t, owner)
	other.Address = someWallet(2)
	_, err = b.limits.ClaimAgent(b.ctx, other, account.Settings{}, author)
	refusedWith(t, "claimed", err, fault.FieldRefused)
	if agents, err := b.store.ListAgents(b.ctx, owner); err != nil || len(agents) != 1 {
		t.Errorf("there are %d agents, %v", len(agents), err)
	}
	if _, err := b.db.Exec(b.ctx,
		`UPDATE keys SET status = 'revoked', revoked_at = now() WHERE id = (SELECT id FROM keys WHERE account_id = `+
			`$1 AND prefix = 'cag_filler' LIMIT 1)`, owner.UUID); err != nil {
		t.Fatal(err)
	}
	if err := adopt(); err != nil {
		t.Errorf("with room for one: %v", err)
	}
}

package workflows_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/workflows"
)

func reasonOf(err error) fault.Reason {
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal.Reason
	}
	return fault.InternalFault
}

// persist retries do until it succeeds; Temporal or the worker may be down meanwhile.
func persist(t *testing.T, what string, do func() error) {
	t.Helper()
	var last error
	testkit.Eventually(t, testTimeout, func() bool {
		last = do()
		if last != nil && reasonOf(last) != fault.DurableUnavailable {
			t.Fatalf("%s: %v", what, last)
		}
		return last == nil
	}, "%s: %v", what, last)
}

func TestBind_OutlivesTheWorkerThatBeganIt(t *testing.T) {
	t.Parallel()
	c := setupCarried(t)
	kill := c.carrier(t)
	key, own := c.key(t)
	asked := challengeOf(newWallet())
	if got, err := c.flows.BindChallenge(c.ctx, key, own, asked); err != nil || got.Nonce != asked.Nonce {
		t.Fatalf("challenged: %+v, %v", got, err)
	}
	kill()
	c.carrier(t)
	persist(t, "read the challenge", func() error {
		open, err := c.flows.OpenBindChallenge(c.ctx, key)
		if err == nil && (open.Message != asked.Message || open.Address != asked.Address) {
			t.Errorf("the challenge is %+v", open)
		}
		return err
	})
	if _, err := c.flows.BindComplete(c.ctx, key,
		workflows.BindProof{Proof: workflows.Proof{Address: asked.Address, Nonce: "another"}, By: byKey}); reasonOf(
		err) != fault.BindingRefused || !errors.Is(err, workflows.ErrStartAgain) {
		t.Errorf("a wrong nonce: %v", err)
	}
	var bound activities.BoundKey
	persist(t, "complete", func() (err error) {
		bound, err = c.flows.BindComplete(c.ctx, key, workflows.BindProof{Proof: proofOf(asked), By: byKey})
		return err
	})
	in := expect.In(t, "bound")
	expect.Equal(in, bound.Key, key)
	expect.Equal(in, bound.Address, asked.Address)
	expect.Equal(in, bound.Account, own)
	expect.True(in, bound.InForce)
	if k, err := c.store.LoadKey(c.ctx, key); err != nil || k.Door != account.DoorWallet {
		t.Errorf("the record has %+v, %v", k, err)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		_, err := c.flows.OpenBindChallenge(c.ctx, key)
		return errors.Is(err, workflows.ErrNoChallenge)
	}, "the flow ends")
	if _, err := c.flows.BindComplete(c.ctx, key, workflows.BindProof{
		Proof: workflows.Proof{Address: asked.Address, Nonce: "after"}, By: byKey,
	}); !errors.Is(err, workflows.ErrNoChallenge) {
		t.Errorf("a proof when the flow is over: %v", err)
	}
}

func TestAdopt_ThatNoWorkerTookIsCarriedByTheNext(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	c := setupCarried(t)
	kill := c.carrier(t)
	key, _ := c.key(t)
	owner, user := c.owner(t)
	rival, rivalUser := c.owner(t)
	kill()
	adopt := activities.KeyAdoption{
		Key: key, Account: owner, User: user, By: activities.DoorAuthor{
			Actor: user.Actor(), Origin: accountdb.OriginConsole,
		},
	}
	if _, err := c.flows.Adopt(c.ctx, adopt); reasonOf(err) != fault.DurableUnavailable {
		t.Fatalf("without a worker: %v", err)
	}
	c.carrier(t)
	testkit.Eventually(t, testTimeout, func() bool {
		k, err := c.store.LoadKey(c.ctx, key)
		return err == nil && k.Account == owner
	}, "the key is adopted, though nobody asked again")
	var adopted activities.AdoptedKey
	persist(t, "adopt again", func() (err error) {
		adopted, err = c.flows.Adopt(c.ctx, adopt)
		return err
	})
	if adopted.Account != owner || !adopted.InForce {
		t.Errorf("adopted: %+v", adopted)
	}
	other := activities.KeyAdoption{Key: key, Account: rival, User: rivalUser, By: byKey}
	if _, err := c.flows.Adopt(c.ctx, other); reasonOf(err) != fault.NotYours {
		t.Errorf("another owner: %v", err)
	}
	members, err := c.store.ListMembers(c.ctx, owner)
	if err != nil || len(members) != 2 {
		t.Fatalf("%+v, %v", members, err)
	}
	for _, m := range members {
		if _, err := c.store.FindMail(c.ctx, "adopted/"+key.String()+"/"+m.User.String()); err != nil {
			t.Errorf("an owner is not told: %v", err)
		}
	}
	if _, err := c.store.FindMail(c.ctx, "adopted/"+key.String()+"/"+rivalUser.String()); !errors.Is(err,
		store.ErrNotFound) {
		t.Errorf("the owner who got nothing is told of it: %v", err)
	}
}

// agentKey mints a key for an agent, as an API process does.
//
//nolint:gocritic // a copy does no harm
func (c *carried) agentKey(t *testing.T, asked workflows.Challenge) workflows.ClaimProof {
	t.Helper()
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.secrets = append(c.secrets, key.Reveal())
	return workflows.ClaimProof{
		Proof: proofOf(asked), Key: account.NewKeyID(), Digest: key.Digest(c.hasher), Prefix: key.Prefix(), By: byKey,
	}
}

func TestClaim_OutlivesTheWorkersThatBeganAndCompletedIt(t *testing.T) {
	t.Parallel()
	c := setupCarried(t)
	kill := c.carrier(t)
	owner, _ := c.owner(t)
	asked := challengeOf(newWallet())
	if _, err := c.flows.ClaimChallenge(c.ctx, owner, workflows.ClaimChallenge{
		Challenge: asked, Name: "scout",
	}); err != nil {
		t.Fatal(err)
	}
	kill()
	kill = c.carrier(t)
	persist(t, "read the challenge", func() error {
		_, err := c.flows.OpenClaimChallenge(c.ctx, owner, asked.Address)
		return err
	})
	first := c.agentKey(t, asked)
	var claimed activities.ClaimedAgent
	persist(t, "complete", func() (err error) {
		claimed, err = c.flows.ClaimComplete(c.ctx, owner, first)
		return err
	})
	in := expect.In(t, "claimed")
	expect.Equal(in, claimed.Key, first.Key)
	expect.Equal(in, claimed.MonthlyCap(), 50_000*plan.Unit)
	expect.True(in, claimed.InForce)
	kill()
	c.carrier(t)
	second := c.agentKey(t, asked)
	persist(t, "complete again", func() (err error) {
		claimed, err = c.flows.ClaimComplete(c.ctx, owner, second)
		return err
	})
	if claimed.Key != second.Key || claimed.Before != first.Key {
		t.Errorf("claimed again: %+v", claimed)
	}
	agents, err := c.store.ListAgents(c.ctx, owner)
	in = expect.In(t, "listed")
	require.NoError(in, err)
	require.Len(in, agents, 1)
	expect.Equal(in, agents[0].Key.ID, second.Key)
	expect.Equal(in, agents[0].Name, "scout")
	expect.Equal(in, agents[0].Address, asked.Address)
	if k, err := c.store.LoadKey(c.ctx, first.Key); err != nil || k.Status != account.Revoked {
		t.Errorf("the first key is %+v, %v", k, err)
	}
}

func TestDoors_RacingFlowsGiveEachThingToOne(t *testing.T) {
	t.Parallel()
	c := setupCarried(t)
	c.carrier(t)
	address := newWallet()
	const racers = 4
	bind := make([]func() error, racers)
	adopt := make([]func() error, racers)
	contested, _ := c.key(t)
	for i := range racers {
		key, own := c.key(t)
		asked := challengeOf(address)
		if _, err := c.flows.BindChallenge(c.ctx, key, own, asked); err != nil {
			t.Fatal(err)
		}
		bind[i] = func() error {
			_, err := c.flows.BindComplete(c.ctx, key, workflows.BindProof{Proof: proofOf(asked), By: byKey})
			return err
		}
		owner, user := c.owner(t)
		adopt[i] = func() error {
			_, err := c.flows.Adopt(c.ctx, activities.KeyAdoption{
				Key: contested, Account: owner, User: user, By: byKey,
			})
			return err
		}
	}
	for name, race := range map[string]struct {
		run  []func() error
		lost fault.Reason
	}{"two bindings of one wallet": {bind, fault.BindingRefused}, "two owners of one key": {adopt, fault.NotYours}} {
		errs := make([]error, racers)
		var wg sync.WaitGroup
		for i := range race.run {
			wg.Go(func() { errs[i] = race.run[i]() })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case reasonOf(err) != race.lost:
				t.Errorf("%s: a loser was told %v", name, err)
			}
		}
		if won != 1 {
			t.Errorf("%s: %d won", name, won)
		}
	}
	// A proof that is sent twice concurrently gets the same answer twice.
	key, own := c.key(t)
	asked := challengeOf(newWallet())
	if _, err := c.flows.BindChallenge(c.ctx, key, own, asked); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			_, err := c.flows.BindComplete(c.ctx, key, workflows.BindProof{Proof: proofOf(asked), By: byKey})
			if err != nil && !errors.Is(err, workflows.ErrNoChallenge) { // ended: PostgreSQL has the result
				t.Errorf("a proof sent twice: %v", err)
			}
		})
	}
	both.Wait()
}

func TestBind_WithoutRedisSaysItIsNotInForceAndIsLater(t *testing.T) {
	t.Parallel()
	c := setupCarried(t)
	c.carrier(t)
	key, own := c.key(t)
	asked := challengeOf(newWallet())
	if _, err := c.flows.BindChallenge(c.ctx, key, own, asked); err != nil {
		t.Fatal(err)
	}
	c.redis.Pause(t)
	if _, err := c.flows.BindComplete(c.ctx, key, workflows.BindProof{
		Proof: proofOf(asked), By: byKey,
	}); reasonOf(err) != fault.NotYetInForce {
		t.Errorf("without Redis: %v", err)
	}
	c.redis.Resume(t)
	var stage string
	if err := c.client.GetWorkflow(c.ctx, workflows.BindID(key), "").Get(c.ctx, &stage); err != nil ||
		stage != workflows.StageDone {
		t.Errorf("the flow ended %q, %v", stage, err)
	}
	if due, err := c.store.ListPushesOfKey(c.ctx, key); err != nil || len(due) != 0 {
		t.Errorf("still due: %+v, %v", due, err)
	}
}

func TestDoors_RefusalsReachTheCallerUnchanged(t *testing.T) {
	t.Parallel()
	c := setupCarried(t)
	c.carrier(t)
	revoked, own := c.key(t)
	asked := challengeOf(newWallet())
	if _, err := c.flows.BindChallenge(c.ctx, revoked, own, asked); err != nil {
		t.Fatal(err)
	}
	if _, err := c.limits.RevokeKey(c.ctx, revoked, accountdb.Author{Actor: "x", Origin: "test"}); err != nil {
		t.Fatal(err)
	}
	_, err := c.flows.BindComplete(c.ctx, revoked, workflows.BindProof{Proof: proofOf(asked), By: byKey})
	refusal, ok := errors.AsType[*fault.Error](err)
	in := expect.In(t, "a revoked key")
	require.True(in, ok, err)
	expect.Equal(in, refusal.Reason, fault.BindingRefused)
	expect.HasPrefix(in, refusal.Message, "This key is revoked.")
	owner, _ := c.owner(t)
	_, stranger := c.owner(t)
	key, _ := c.key(t)
	adopt := activities.KeyAdoption{Key: key, Account: owner, User: stranger, By: byKey}
	if _, err = c.flows.Adopt(c.ctx, adopt); reasonOf(err) != fault.NotYours {
		t.Errorf("adopted for an account that one does not belong to: %v", err)
	}
	if k, err := c.store.LoadKey(c.ctx, key); err != nil || k.Account == owner {
		t.Errorf("the key went there: %+v, %v", k, err)
	}
	// A refusal is not permanent.
	if _, err := c.db.Exec(c.ctx,
		`INSERT INTO members (account_id, user_id, role, joined_at, last_used_at) VALUES ($1, $2, 'owner', now(), `+
			`now())`, owner.UUID, stranger.UUID); err != nil {
		t.Fatal(err)
	}
	if adopted, err := c.flows.Adopt(c.ctx, adopt); err != nil || adopted.Account != owner {
		t.Errorf("adopted by a new owner: %+v, %v", adopted, err)
	}
	if _, err := c.flows.OpenBindChallenge(c.ctx, account.NewKeyID()); !errors.Is(err, workflows.ErrNoChallenge) {
		t.Errorf("a binding that never was: %v", err)
	}
	over := workflows.Challenge{Address: wallet.Address{1}, Nonce: "n", Message: "m"}
	if _, err := c.flows.BindChallenge(c.ctx, key, own, over); reasonOf(err) != fault.DurableUnavailable {
		t.Errorf("a challenge that is over: %v", err)
	}
}

// TestDoors_HistoriesHoldNoSecret runs each flow, then reads everything that Temporal stored.
func TestDoors_HistoriesHoldNoSecret(t *testing.T) {
	t.Parallel()
	c := setupCarried(t)
	c.carrier(t)
	key, own := c.key(t)
	owner, user := c.owner(t)
	asked, agent := challengeOf(newWallet()), challengeOf(newWallet())
	steps := []func() error{
		func() error { _, err := c.flows.BindChallenge(c.ctx, key, own, asked); return err },
		func() error {
			_, err := c.flows.BindComplete(c.ctx, key, workflows.BindProof{Proof: proofOf(asked), By: byKey})
			return err
		},
		func() error {
			_, err := c.flows.Adopt(c.ctx, activities.KeyAdoption{
				Key: key, Account: owner, User: user, By: activities.DoorAuthor{Actor: user.Actor(), Origin: "console"},
			})
			return err
		},
		func() error {
			_, err := c.flows.ClaimChallenge(c.ctx, owner, workflows.ClaimChallenge{Challenge: agent, Name: "scout"})
			return err
		},
		func() error { _, err := c.flows.ClaimComplete(c.ctx, owner, c.agentKey(t, agent)); return err },
		func() error { _, err := c.flows.ClaimComplete(c.ctx, owner, c.agentKey(t, agent)); return err },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	kept, ids := c.remembered(t, 3)
	for _, id := range []string{
		workflows.BindID(key), workflows.AdoptID(key), workflows.ClaimID(owner, agent.Address),
	} {
		if !strings.Contains(ids, id) {
			t.Errorf("there is no flow %s among %s", id, ids)
		}
	}
	for _, shown := range []string{asked.Nonce, key.String(), user.String()} {
		if !bytes.Contains(kept, []byte(shown)) {
			t.Errorf("what belongs into a history, %q, was not found: this test reads too little", shown)
		}
	}
	if len(c.secrets) < 8 {
		t.Fatalf("only %d secrets were made", len(c.secrets))
	}
	for _, secret := range c.secrets {
		if bytes.Contains(kept, []byte(secret)) || strings.Contains(ids, secret) {
			t.Errorf("a history holds %.12s…", secret)
		}
	}
	if bytes.Contains(kept, []byte("@owners.example")) {
		t.Error("a history holds an address")
	}
}

// remembered returns every byte that Temporal has of at least that many flows, and their ids.
func (c *carried) remembered(t *testing.T, least int) (kept []byte, ids string) {
	t.Helper()
	var found []string
	testkit.Eventually(t, testTimeout, func() bool { // visibility is eventually consistent
		list, err := c.client.ListWorkflow(c.ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: c.temporal.Namespace,
		})
		if err != nil {
			t.Fatal(err)
		}
		found = nil
		for _, e := range list.GetExecutions() {
			found = append(found, e.GetExecution().GetWorkflowId())
			text, err := proto.Marshal(e) // with its search attributes
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, text...)
		}
		return len(found) >= least
	}, "%d flows are listed", least)
	for _, id := range found {
		events := c.client.GetWorkflowHistory(c.ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			text, err := proto.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, text...)
		}
	}
	return kept, strings.Join(found, " ")
}

package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/workflows"
)

// registerDoors registers activities for a recording. They refuse the first change of a key, leave
// the second not in force, and complete those after.
func registerDoors(w worker.Worker) {
	changes := map[account.KeyID]int{}
	change := func(of account.KeyID) (inForce bool, err error) {
		changes[of]++
		if changes[of] == 1 {
			return false, refusal(fault.BindingRefused)
		}
		return changes[of] > 2, nil
	}
	bind := func(_ context.Context, b activities.KeyBinding) (activities.BoundKey, error) {
		inForce, err := change(b.Key)
		return activities.BoundKey{Key: b.Key, Address: b.Address, InForce: inForce}, err
	}
	adopt := func(_ context.Context, a activities.KeyAdoption) (activities.AdoptedKey, error) {
		inForce, err := change(a.Key)
		return activities.AdoptedKey{Key: a.Key, Account: a.Account, InForce: inForce}, err
	}
	claim := func(_ context.Context, c activities.AgentClaim) (activities.ClaimedAgent, error) {
		inForce, err := change(account.KeyID{UUID: c.Account.UUID})
		return activities.ClaimedAgent{Key: c.Key, InForce: inForce}, err
	}
	push := func(context.Context, []account.KeyID) error { return nil }
	for name, run := range map[string]any{"BindKey": bind, "AdoptKey": adopt, "ClaimAgent": claim, "PutInForce": push} {
		w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
}

// recordDoors records a bind, adopt and claim flow, with refusals, replaced challenges and changes
// that are not in force at once.
func recordDoors(ctx context.Context, t *testing.T, c client.Client) {
	t.Helper()
	flows, owner, user := workflows.NewClient(c), account.NewID(), account.NewUserID()
	want := func(err error, reason fault.Reason) {
		t.Helper()
		if refused, ok := errors.AsType[*fault.Error](err); !ok || refused.Reason != reason {
			t.Fatalf("%v, want %s", err, reason)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	end := func(id, file string) {
		t.Helper()
		must(c.GetWorkflow(ctx, id, "").Get(ctx, nil))
		save(ctx, t, c, id, file)
	}
	address := wallet.Address{0xaa}
	ask := func(key account.KeyID, lives time.Duration) workflows.BindProof {
		t.Helper()
		asked := challengeOf(address)
		asked.Expires = time.Now().Add(lives)
		_, err := flows.BindChallenge(ctx, key, owner, asked)
		must(err)
		return workflows.BindProof{Proof: proofOf(asked), By: byKey}
	}
	key := account.NewKeyID()
	ask(key, time.Minute)
	_, err := flows.BindComplete(ctx, key, ask(key, time.Minute))
	want(err, fault.BindingRefused)
	_, err = flows.BindComplete(ctx, key, ask(key, time.Minute))
	want(err, fault.NotYetInForce)
	end(workflows.BindID(key), "bind.json")

	expired := account.NewKeyID()
	ask(expired, time.Second)
	end(workflows.BindID(expired), "bind-expired.json")

	adopted := activities.KeyAdoption{Key: account.NewKeyID(), Account: owner, User: user, By: byKey}
	for _, recorded := range []struct {
		file string
		want fault.Reason
	}{{"adopt-refused.json", fault.BindingRefused}, {"adopt.json", fault.NotYetInForce}} {
		_, err = flows.Adopt(ctx, adopted)
		want(err, recorded.want)
		end(workflows.AdoptID(adopted.Key), recorded.file)
	}

	asked := workflows.ClaimChallenge{Challenge: challengeOf(address), Name: "scout"}
	asked.Expires = time.Now().Add(5 * time.Second)
	_, err = flows.ClaimChallenge(ctx, owner, asked)
	must(err)
	for _, reason := range []fault.Reason{fault.BindingRefused, fault.NotYetInForce, 0} {
		proof := workflows.ClaimProof{
			Proof: proofOf(asked.Challenge), Key: account.NewKeyID(), Prefix: "cag_12345678", By: byKey,
		}
		if _, err = flows.ClaimComplete(ctx, owner, proof); reason == 0 {
			must(err)
		} else {
			want(err, reason)
		}
	}
	end(workflows.ClaimID(owner, address), "claim.json")
}

// Payments of the recordings: one that is granted and becomes final; one that is granted and
// disappears, seen by two upstreams and by the only one; one that is pending and cannot be read
// later; and one whose redeems are all late except one.
var (
	recordedFinal = x402.ID{Chain: 8453, Tx: x402.TxHash{1}, Payer: wallet.Address{0xa1}}
	recordedGone  = x402.ID{Chain: 8453, Tx: x402.TxHash{2}, Payer: wallet.Address{0xa1}}
	recordedStuck = x402.ID{Chain: 8453, Tx: x402.TxHash{3}, Payer: wallet.Address{0xa1}}
	recordedAlone = x402.ID{Chain: 8453, Tx: x402.TxHash{4}, Payer: wallet.Address{0xa1}}
	recordedLate  = x402.ID{Chain: 8453, Tx: x402.TxHash{5}, Payer: wallet.Address{0xa1}}
)

// registerSettlements registers a scripted chain and store for a recording.
func registerSettlements(w worker.Worker, looked chan<- struct{}) {
	looks, held := map[x402.ID]int{}, map[x402.ID]activities.RecordedSettlement{}
	alone, later := missing, missing
	alone.Alone, later.Alone, later.Finalized = true, true, missing.Finalized+chain.FinalDepth
	scripts := map[x402.ID][]activities.SettlementFacts{
		recordedFinal: {good, away, good, final(good)},
		recordedGone:  {good, missing},
		recordedStuck: {shallow, away, good},
		recordedAlone: {good, alone, later},
		recordedLate:  {shallow, good, final(good)},
	}
	read := func(_ context.Context, q activities.SettlementQuestion) (activities.SettlementFacts, error) {
		script := scripts[q.ID]
		looks[q.ID]++
		looked <- struct{}{}
		return script[min(looks[q.ID], len(script))-1], nil
	}
	note := func(_ context.Context, n activities.SettlementNote) (activities.RecordedSettlement, error) {
		return held[n.ID], nil
	}
	grant := func(_ context.Context, g activities.SettlementGrant) (activities.RecordedSettlement, error) {
		now := time.Now()
		held[g.ID] = activities.RecordedSettlement{
			Stage: x402.StageRedeemed, Finality: x402.FinalityWaiting, Account: someOwner, Key: g.Credential.Key,
			Paid: 90_000, Block: 100, RedeemedAt: now, WindowEnds: now.Add(2 * time.Second),
		}
		return held[g.ID], nil
	}
	rotate := func(_ context.Context, r activities.SettlementRotation) (activities.RecordedSettlement, error) {
		return held[r.ID], nil
	}
	conclude := func(_ context.Context, e activities.SettlementEnd) (activities.RecordedSettlement, error) {
		h := held[e.ID]
		h.Finality = e.Finality
		switch {
		case e.Finality == x402.FinalityGone:
			h.Stage = x402.StageReorganised
		case !time.Now().Before(h.WindowEnds):
			h.Stage = x402.StageOver
		}
		held[e.ID] = h
		return h, nil
	}
	find := func(_ context.Context, id x402.ID) (activities.RecordedSettlement, error) { return held[id], nil }
	tell := func(context.Context, activities.SettlementWord) error { return nil }
	for name, run := range map[string]any{
		"TellSettlement": tell,
		"ReadSettlement": read, "NoteSettlement": note, "GrantSettlement": grant, "RotateSettlement": rotate,
		"ConcludeSettlement": conclude, "FindSettlement": find,
	} {
		w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
}

// recordSettlements records a flow that ends in each way, with a chain that cannot be read at
// times, rotations and signals.
func recordSettlements(ctx context.Context, t *testing.T, c client.Client, looked <-chan struct{}) {
	t.Helper()
	flows := workflows.NewClient(c)
	redeem := func(id x402.ID, want x402.Stage) {
		t.Helper()
		if answer, err := flows.RedeemSettlement(ctx, id, time.Minute, newRedeem()); err != nil ||
			answer.Stage != want {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	look := func(id x402.ID) {
		t.Helper()
		if err := flows.LookAtSettlement(ctx, id, time.Minute); err != nil {
			t.Fatal(err)
		}
		<-looked
	}
	end := func(id x402.ID, file string, want x402.Stage) {
		t.Helper()
		var stage x402.Stage
		if err := c.GetWorkflow(ctx, workflows.SettlementID(id), "").Get(ctx, &stage); err != nil || stage != want {
			t.Fatalf("ended %s, %v", stage, err)
		}
		save(ctx, t, c, workflows.SettlementID(id), file)
	}
	redeem(recordedFinal, x402.StageRedeemed)
	<-looked
	redeem(recordedFinal, x402.StageRedeemed)
	look(recordedFinal) // the chain cannot be read
	look(recordedFinal)
	look(recordedFinal)
	end(recordedFinal, "settlement.json", x402.StageOver)

	redeem(recordedGone, x402.StageRedeemed)
	<-looked
	look(recordedGone)
	end(recordedGone, "settlement-gone.json", x402.StageReorganised)

	redeem(recordedAlone, x402.StageRedeemed)
	<-looked
	look(recordedAlone)
	look(recordedAlone)
	end(recordedAlone, "settlement-gone-alone.json", x402.StageReorganised)

	late := func() {
		t.Helper()
		in := newRedeem()
		in.Request = activities.RedeemRequest{
			ID: "late", Asked: time.Now().Add(-time.Minute), Deadline: time.Now().Add(-time.Second),
		}
		if answer, err := flows.RedeemSettlement(ctx, recordedLate, time.Minute,
			in); reasonOf(err) != fault.DurableUnavailable {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	late()
	<-looked
	redeem(recordedLate, x402.StageRedeemed)
	<-looked
	late()
	look(recordedLate)
	// settlement-late-before.json is the same flow, recorded by a worker that ignored request
	// deadlines. It cannot be recorded again; current workers must replay it.
	end(recordedLate, "settlement-late.json", x402.StageOver)

	redeem(recordedStuck, x402.StagePending)
	<-looked
	look(recordedStuck)
	look(recordedStuck)
	end(recordedStuck, "settlement-stuck.json", x402.StagePayable)

	// Started from the stored state, with nothing left to do.
	if err := flows.LookAtSettlement(ctx, recordedGone, time.Minute); err != nil {
		t.Fatal(err)
	}
	end(recordedGone, "settlement-again.json", x402.StageReorganised)
}

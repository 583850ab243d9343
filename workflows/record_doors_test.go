package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

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

package servicetest

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/store/accountdb"
)

// AgentKey makes an agent of an account, with its key.
func (o *Env) AgentKey(t *testing.T, of account.ID) (key string, id account.KeyID) {
	t.Helper()
	minted, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := minted.Digest(o.Hasher)
	claimed, err := o.Store.ClaimAgent(o.Ctx, accountdb.Claim{
		Account: of, Address: wallet.Address{0xab}, Name: "scout", Message: "m", Key: account.NewKeyID(),
		Digest: digest[:], Prefix: minted.Prefix(),
	}, accountdb.Author{Actor: "test", Origin: "console"},
		func(accountdb.Account) (plan.Units, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	id = claimed.Agent.Key.ID
	o.Use(t, of, id, claimed.Agent.ID.String(), 3)
	return minted.Reveal(), id
}

// AdoptedKey makes a key without sign-up and has an account adopt it.
func (o *Env) AdoptedKey(t *testing.T, of account.ID) string {
	t.Helper()
	door := Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, Browser(""), keys.GetKeyInput{}))
	code, _ := account.ParseClaimCode(door.Doorways["adopt"].ClaimCode)
	digest := code.Digest(o.Hasher)
	key, _, err := o.Store.FindClaim(o.Ctx, digest[:])
	if err == nil {
		_, err = o.Store.AdoptKey(o.Ctx, key.ID, of, account.UserID{},
			accountdb.Author{Actor: "test", Origin: "console"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return door.Key
}

// Use records calls of a key in the current month.
func (o *Env) Use(t *testing.T, of account.ID, key account.KeyID, agent string, calls int64) {
	t.Helper()
	now := time.Now().UTC()
	err := o.Store.CommitUsage(o.Ctx, []account.UsageBucket{{
		Shard: account.Shard(of), Slot: now.Truncate(10 * time.Second), Account: of, Generation: key.String(),
		Lines: []account.UsageLine{{
			Period: now.Format("2006-01") + "-01", Key: key, Agent: agent, Chain: "eth_mainnet", Service: "rpc",
			Method: "eth_call", Class: "standard", Outcome: "ok", Source: "plan", Tier: "balanced", Requests: calls,
			Units: plan.Units(calls) * plan.Unit,
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

package service_test

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/accountdb"
)

// agentKey makes an agent of an account, with its key.
func (o *office) agentKey(t *testing.T, of account.ID) (key string, id account.KeyID) {
	t.Helper()
	minted, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := minted.Digest(o.hasher)
	claimed, err := o.store.ClaimAgent(o.ctx, accountdb.Claim{
		Account: of, Address: wallet.Address{0xab}, Name: "scout", Message: "m", Key: account.NewKeyID(),
		Digest: digest[:], Prefix: minted.Prefix(),
	}, accountdb.Author{Actor: "test", Origin: "console"},
		func(accountdb.Account) (plan.Units, error) { return 0, nil })
	if err != nil {
		t.Fatal(err)
	}
	id = claimed.Agent.Key.ID
	o.use(t, of, id, claimed.Agent.ID.String(), 3)
	return minted.Reveal(), id
}

// adoptedKey makes a key without sign-up and has an account adopt it.
func (o *office) adoptedKey(t *testing.T, of account.ID) string {
	t.Helper()
	door := must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
	code, _ := account.ParseClaimCode(door.Doorways["adopt"].ClaimCode)
	digest := code.Digest(o.hasher)
	key, _, err := o.store.FindClaim(o.ctx, digest[:])
	if err == nil {
		_, err = o.store.AdoptKey(o.ctx, key.ID, of, account.UserID{},
			accountdb.Author{Actor: "test", Origin: "console"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return door.Key
}

// use records calls of a key in the current month.
func (o *office) use(t *testing.T, of account.ID, key account.KeyID, agent string, calls int64) {
	t.Helper()
	now := time.Now().UTC()
	err := o.store.CommitUsage(o.ctx, []account.UsageBucket{{
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

// Users and the account's own keys see all of it, an agent's key only its agent's usage.
// Pay-per-call accounts have no statements.
func TestStatement_AgentSeesItsOwnUsageOnly(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	made := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	own, err := account.ParseKeyID(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	of, err := account.ParseID(o.whoIs(t, ann.Session).AccountID)
	if err != nil {
		t.Fatal(err)
	}
	o.use(t, of, own, "", 40)
	secret, agents := o.agentKey(t, of)
	get := must[statement.Statement](t)
	for name, caller := range map[string]*service.Caller{
		"a user": ann, "a key of the account": holder(made.PlaintextToken),
	} {
		if s := get(o.GetStatement.Invoke(o.ctx, caller, service.StatementInput{})); s.Scope != statement.OfAccount ||
			s.Totals.Requests != 43 || len(s.Keys) != 2 {
			t.Errorf("%s sees %+v", name, s)
		}
	}
	s := get(o.GetStatement.Invoke(o.ctx, holder(secret), service.StatementInput{}))
	text, err := json.Marshal(s)
	if err != nil || s.Scope != statement.OfAgent || s.Totals.Requests != 3 || len(s.Keys) != 1 ||
		s.Keys[0].ID != agents.String() || s.Keys[0].Agent.Name != "scout" ||
		strings.Contains(string(text), made.ID) || strings.Contains(string(text), "indexer") {
		t.Errorf("the agent sees %s, %v", text, err)
	}
	table := must[service.StatementTable](t)(o.ExportStatement.Invoke(o.ctx, holder(secret),
		service.ExportStatementInput{Period: s.Period}))
	if strings.Contains(table.Text, made.ID) || !strings.Contains(table.Text, agents.String()) ||
		!strings.Contains(table.Text, `,"scout","eth_mainnet","standard",3,3,3,0,0`) {
		t.Errorf("its table is %q", table.Text)
	}
	if list := must[service.StatementList](t)(o.ListStatements.Invoke(o.ctx, holder(secret),
		service.Nothing{})); list.Scope != statement.OfAgent || len(list.Periods) != 1 {
		t.Errorf("its list is %+v", list)
	}
	credential, err := account.MintCredential(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []service.Definition{o.GetStatement, o.ListStatements} {
		o.refuses(t, op, holder(credential.Reveal()), nil, fault.KeyInvalid)
		o.refuses(t, op, browser(""), nil, fault.KeyInvalid)
	}
}

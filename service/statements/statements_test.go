package statements_test

import (
	"crypto/rand"
	"encoding/json"
	"testing"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/statements"
)

// Users and the account's own keys see all of it, an agent's key only its agent's usage.
// Pay-per-call accounts have no statements.
func TestStatement_AgentSeesItsOwnUsageOnly(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	made := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	own, err := account.ParseKeyID(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	of, err := account.ParseID(o.WhoIs(t, ann.Session).AccountID)
	if err != nil {
		t.Fatal(err)
	}
	o.Use(t, of, own, "", 40)
	secret, agents := o.AgentKey(t, of)
	get := servicetest.Must[statement.Statement](t)
	for name, caller := range map[string]*operation.Caller{
		"a user": ann, "a key of the account": servicetest.Holder(made.PlaintextToken),
	} {
		s := get(o.GetStatement.Invoke(o.Ctx, caller, statements.StatementInput{}))
		in := expect.In(t, "%s", name)
		expect.Equal(in, s.Scope, statement.OfAccount)
		expect.Equal(in, s.Totals.Requests, 43)
		expect.Len(in, s.Keys, 2)
	}
	s := get(o.GetStatement.Invoke(o.Ctx, servicetest.Holder(secret), statements.StatementInput{}))
	text, err := json.Marshal(s)
	require.NoError(t, err)
	expect.Equal(t, s.Scope, statement.OfAgent)
	expect.Equal(t, s.Totals.Requests, 3)
	require.Len(t, s.Keys, 1)
	expect.Equal(t, s.Keys[0].ID, agents.String())
	expect.Equal(t, s.Keys[0].Agent.Name, "scout")
	expect.NotContains(t, string(text), made.ID)
	expect.NotContains(t, string(text), "indexer")
	table := servicetest.Must[statements.StatementTable](t)(o.ExportStatement.Invoke(o.Ctx, servicetest.Holder(secret),
		statements.ExportStatementInput{Period: s.Period}))
	expect.NotContains(t, table.Text, made.ID)
	expect.Contains(t, table.Text, agents.String())
	expect.Contains(t, table.Text, `,"scout","eth_mainnet","standard",3,3,3,0,0`)
	if list := servicetest.Must[statements.StatementList](t)(o.ListStatements.Invoke(o.Ctx, servicetest.Holder(secret),
		operation.Nothing{})); list.Scope != statement.OfAgent || len(list.Periods) != 1 {
		t.Errorf("its list is %+v", list)
	}
	credential, err := account.MintCredential(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []operation.Definition{o.GetStatement, o.ListStatements} {
		o.Refuses(t, op, servicetest.Holder(credential.Reveal()), nil, fault.KeyInvalid)
		o.Refuses(t, op, servicetest.Browser(""), nil, fault.KeyInvalid)
	}
}

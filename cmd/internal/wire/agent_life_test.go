package wire_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

// setupDoors starts a gateway where people can sign in.
func setupDoors(t *testing.T) (*bench, *mailbox.Box) {
	t.Helper()
	box, err := mailbox.Start(t.Context(), mailbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return setup(t, func(c *config.Config) {
		c.SMTPURL, c.MailFrom = box.URL(), "Gateway <no-reply@gateway.example>"
	}), box
}

// welcomed is the part of get_key's and bind_key_complete's answers that is used.
type welcomed struct {
	Key          string
	Prefix       string `json:"key_prefix"`
	Door         string
	Bound        bool
	BoundAddress string `json:"bound_address"`
	Fences       struct {
		Day   plan.Units `json:"units_per_day"`
		Month plan.Units `json:"units_per_month"`
	}
	Doorways map[string]struct {
		ClaimCode string `json:"claim_code"`
	}
}

// codeCall returns the arguments of the one read that the agent makes.
func codeCall() map[string]any {
	return map[string]any{
		"chain": "base_mainnet", "method": "eth_getCode", "params": []any{
			"0x0000000000000000000000000000000000000001", "latest",
		},
	}
}

// useUpDay uses up the key's daily allowance in the meter, which takes half an hour at the key's
// own rate.
func (b *bench) useUpDay(t *testing.T) {
	t.Helper()
	o, err := redis.ParseURL(b.cfg.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	defer func() { _ = client.Close() }()
	days, err := client.Keys(t.Context(), "*:day:*").Result()
	if err != nil || len(days) != 1 {
		t.Fatalf("the days are %v, %v", days, err)
	}
	if err := client.Set(t.Context(), days[0], int64(10_000*plan.Unit), redis.KeepTTL).Err(); err != nil {
		t.Fatal(err)
	}
}

var plaintextKey = regexp.MustCompile(`cag_[0-9A-Za-z]{49}`)

// An agent uses only tools: it gets a key, reaches the key's limit, binds it to its wallet, is
// adopted, asks for help, and its owner revokes the key.
func TestAgent_WholeLife(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	b, box := setupDoors(t)
	agent, me := welcomed{}, newWallet(t)
	b.gives(t, &agent, "", "get_key", nil)
	key := agent.Key
	_, ok := account.ParseKey(key)
	require.True(t, ok)
	require.Equal(t, agent.Door, "public")
	require.Equal(t, agent.Fences.Day, 10_000*plan.Unit)
	require.NotEqual(t, agent.Doorways["adopt"].ClaimCode, "")
	var can struct {
		You     map[string]any
		Budgets []map[string]any
		Doors   []map[string]any
	}
	b.gives(t, &can, key, "what_can_i_do", nil)
	expect.NotEmpty(t, can.You)
	expect.NotEmpty(t, can.Budgets)
	expect.NotEmpty(t, can.Doors)
	b.agentCalls(t, key)

	b.useUpDay(t)
	end := b.refuses(t, -32016, key, "rpc_call", codeCall())
	if end.Data.NextDoor["door"] != "bind" || end.Data.NextDoor["where"] != "POST /keys/bind/start" {
		t.Errorf("the next door is %v", end.Data.NextDoor)
	}
	bound := b.bindByTools(t, key, me)
	expect.True(t, bound.Bound)
	expect.Equal(t, bound.Door, "wallet_bound")
	expect.Equal(t, bound.BoundAddress, me.address)
	expect.Equal(t, bound.Prefix, agent.Prefix)
	expect.Equal(t, bound.Key, "")
	expect.Equal(t, bound.Fences.Month, 1_000_000*plan.Unit)
	b.agentCalls(t, key)
	if no := b.refuses(t, -32028, key, "create_api_key", map[string]any{
		"name": "more",
	}); no.Data.NextDoor["door"] != "adopt" {
		t.Errorf("the next door is %v", no.Data.NextDoor)
	}

	owner := b.reader(t)
	owner.signIn(t, box, "owner@buyer.example")
	at, page := owner.send(t, "/agents", "/agents/adopt", url.Values{"claim_code": {agent.Doorways["adopt"].ClaimCode}})
	adopted := at.Query().Get("adopted")
	require.Equal(t, at.Path, "/agents")
	require.NotEqual(t, adopted, "")
	require.Contains(t, page, agent.Prefix)
	b.livesAdopted(t, key)
	_, page = owner.send(t, "/keys/new", "/keys/new", url.Values{"name": {"owner"}})
	b.endsByOwner(t, plaintextKey.FindString(page), key, adopted)
	for _, secret := range []string{
		key, agent.Doorways["adopt"].ClaimCode, plaintextKey.FindString(page), "owner@buyer.example",
	} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log shows %.12s…", secret)
		}
	}
}

// agentCalls makes a call that succeeds.
func (b *bench) agentCalls(t *testing.T, key string) {
	t.Helper()
	var answer struct{ Result string }
	if b.gives(t, &answer, key, "rpc_call", codeCall()); answer.Result != "0x6001" {
		t.Errorf("the call gives %+v", answer)
	}
}

func (b *bench) bindByTools(t *testing.T, key string, me signed) (bound welcomed) {
	t.Helper()
	var asked struct {
		Message string `json:"message_to_sign"`
		Expires int    `json:"expires_in_seconds"`
	}
	b.gives(t, &asked, key, "bind_key_start", map[string]any{"address": me.address})
	in := expect.In(t, "asked to sign")
	expect.Contains(in, asked.Message, me.address)
	expect.Between(in, asked.Expires, 500, 600)
	b.gives(t, &bound, key, "bind_key_complete", map[string]any{
		"address": me.address, "signature": me.sign(asked.Message),
	})
	return bound
}

// livesAdopted verifies what an adopted key may do: calls at the account's cost, its statement and
// support, but not manage the account.
func (b *bench) livesAdopted(t *testing.T, key string) {
	t.Helper()
	b.agentCalls(t, key)
	b.agentCalls(t, key)
	failed := b.refuses(t, -32601, key, "rpc_call", map[string]any{"chain": "base_mainnet", "method": "eth_accounts"})
	b.waitRecorded(t, "base_mainnet eth_getCode ok balanced", 4)
	var statement struct {
		Plan   string
		Totals struct{ Requests, Units float64 }
		Keys   []struct{ Prefix string }
	}
	b.gives(t, &statement, key, "get_statement", nil)
	in := expect.In(t, "the two calls since the adoption")
	expect.Equal(in, statement.Plan, "free")
	expect.Equal(in, statement.Totals.Units, 2)
	require.Len(in, statement.Keys, 1)
	expect.Equal(in, statement.Keys[0].Prefix, key[:12])
	b.asksForHelp(t, key, failed.Data.RequestID)
	for name, arguments := range map[string]map[string]any{
		"create_api_key": {"name": "more"}, "list_api_keys": nil, "revoke_api_key": {"api_key_id": "x"},
	} {
		b.refuses(t, -32028, key, name, arguments)
	}
}

// asksForHelp files a ticket about a call, finds it and resolves it.
func (b *bench) asksForHelp(t *testing.T, key, requestID string) {
	t.Helper()
	testkit.Eventually(t, patience, func() bool {
		return sums(t, b.cfg.DatabaseURL,
			"SELECT request_id::text, count(*), sum(units)::bigint FROM calls GROUP BY 1")[requestID].requests == 1
	}, "the call is recorded")
	var ticket struct {
		Reference, Status, Channel string
		Evidence                   map[string]any
	}
	b.gives(t, &ticket, key, "manage_tickets", map[string]any{
		"action": "create", "subject": "eth_accounts", "message": "Is it served?", "request_id": requestID,
	})
	require.HasPrefix(t, ticket.Reference, "CAG-")
	require.Equal(t, ticket.Status, "open")
	require.Equal(t, ticket.Channel, "mcp")
	var list struct{ Tickets []struct{ Reference string } }
	if b.gives(t, &list, key, "manage_tickets", map[string]any{"action": "list"}); len(list.Tickets) != 1 ||
		list.Tickets[0].Reference != ticket.Reference {
		t.Errorf("the tickets are %+v", list)
	}
	if b.gives(t, &ticket, key, "manage_tickets", map[string]any{
		"action": "get", "reference": ticket.Reference,
	}); len(ticket.Evidence) == 0 {
		t.Errorf("without evidence: %+v", ticket)
	}
	b.gives(t, &ticket, key, "manage_tickets", map[string]any{
		"action": "reply", "reference": ticket.Reference, "resolve": true,
	})
	if ticket.Status != "resolved" {
		t.Errorf("afterwards it is %+v", ticket)
	}
}

// endsByOwner finds the agent's key with a key that the owner created, and revokes it twice.
func (b *bench) endsByOwner(t *testing.T, ownerKey, key, id string) {
	t.Helper()
	var made struct {
		Token string `json:"plaintext_token"`
	}
	b.gives(t, &made, ownerKey, "create_api_key", map[string]any{"name": "further"})
	b.agentCalls(t, made.Token)
	var list struct {
		Keys []struct{ ID, Prefix, Status, Door string }
	}
	b.gives(t, &list, ownerKey, "list_api_keys", nil)
	found := false
	for _, k := range list.Keys {
		found = found || (k.ID == id && k.Prefix == key[:12] && k.Status == "active")
	}
	if len(list.Keys) != 3 || !found {
		t.Errorf("the keys are %+v, want %s among three", list, id)
	}
	var first, second struct {
		At time.Time `json:"revoked_at"`
	}
	b.gives(t, &first, ownerKey, "revoke_api_key", map[string]any{"api_key_id": id})
	b.refuses(t, -32001, key, "rpc_call", codeCall())
	b.refuses(t, -32001, key, "get_statement", nil)
	if b.gives(t, &second, ownerKey, "revoke_api_key", map[string]any{"api_key_id": id}); first.At.IsZero() ||
		!second.At.Equal(first.At) {
		t.Errorf("revoked at %s, and again at %s", first.At, second.At)
	}
	b.agentCalls(t, ownerKey)
}

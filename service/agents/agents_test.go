package agents_test

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/workflows"
)

func TestBind_KeyIsBoundToTheWalletThatSignsItsMessage(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenDoors(t)
	key, mine, other := o.DoorKey(t), servicetest.NewSigner(t), servicetest.NewSigner(t)
	me := servicetest.Holder(key.Key)
	start := func(s servicetest.Signer) agents.Challenged {
		t.Helper()
		return servicetest.Must[agents.Challenged](t)(o.BindKeyStart.Invoke(o.Ctx, me, keys.BindStartInput{
			Address: strings.ToLower(s.Address),
		}))
	}
	complete := func(address, signature string) map[string]any {
		return map[string]any{"address": address, "signature": signature}
	}
	leads := func(f fault.Error, door, where string) { //nolint:gocritic // as refuses returns it
		t.Helper()
		if next, _ := f.Data["next_door"].(map[string]string); next["door"] != door || next["where"] != where {
			t.Errorf("%q leads to %v", f.Message, next)
		}
	}
	leads(o.Refuses(t, o.BindKeyComplete, me, complete(mine.Address, mine.Sign(t, "whatever")), fault.BindingRefused),
		"same_key", "POST /keys/bind/start")
	older, asked := start(mine), start(mine)
	message, err := wallet.Parse(asked.MessageToSign)
	if err != nil {
		t.Fatal(err)
	}
	in := expect.In(t, "asked to sign")
	expect.Equal(in, message.Domain, "gateway.example")
	expect.Equal(in, message.URI, "https://gateway.example/keys/bind")
	expect.Equal(in, message.ChainID, 1)
	expect.Equal(in, message.Address.Checksummed(), mine.Address)
	expect.Contains(in, *message.Statement, key.KeyPrefix)
	expect.Equal(in, message.ExpirationTime.Time().Sub(message.IssuedAt.Time()), 10*time.Minute)
	expect.Between(in, asked.ExpiresInSeconds, 590, 600)
	for what, wrong := range map[string]map[string]any{
		"another wallet's signature":    complete(mine.Address, other.Sign(t, asked.MessageToSign)),
		"another wallet":                complete(other.Address, other.Sign(t, asked.MessageToSign)),
		"the message that was replaced": complete(mine.Address, mine.Sign(t, older.MessageToSign)),
		"a changed message":             complete(mine.Address, mine.Sign(t, asked.MessageToSign+"\n")),
		"a message for another domain": complete(mine.Address,
			mine.Sign(t, strings.Replace(asked.MessageToSign, "gateway.example", "gateway.exаmple", 1))),
		"no signature":                       complete(mine.Address, "0x"),
		"what is no signature":               complete(mine.Address, "0x"+strings.Repeat("ab", 65)),
		"a signature that is no hex":         complete(mine.Address, "signature"),
		"a signature with one byte too many": complete(mine.Address, mine.Sign(t, asked.MessageToSign)+"00"),
	} {
		t.Run(what, func(t *testing.T) {
			if f := o.Refuses(t, o.BindKeyComplete, me, wrong, fault.BindingRefused); f.HTTP() != 422 {
				t.Errorf("HTTP %d", f.HTTP())
			}
		})
	}
	good := keys.BindInput{Address: mine.Address, Signature: mine.Sign(t, asked.MessageToSign)}
	bound := servicetest.Must[keys.Welcome](t)(o.BindKeyComplete.Invoke(o.Ctx, me, good))
	in = expect.In(t, "bound")
	expect.True(in, bound.Bound)
	expect.Equal(in, bound.BoundAddress, mine.Address)
	expect.Equal(in, bound.Door, account.DoorWallet)
	expect.Equal(in, bound.KeyPrefix, key.KeyPrefix)
	expect.Equal(in, bound.Key, "")
	expect.Equal(in, bound.Fences.UnitsPerMonth, 1_000_000*plan.Unit)
	expect.Equal(in, bound.Doorways["adopt"].ClaimCode, key.Doorways["adopt"].ClaimCode)
	if a := o.Admit(t, key.Key, 20_000*plan.Unit); !a.Admitted {
		t.Errorf("the next call: %+v", a)
	}
	again := servicetest.Must[keys.Welcome](t)(o.BindKeyComplete.Invoke(o.Ctx, me, good))
	in = expect.In(t, "the same again")
	expect.Equal(in, again.BoundAddress, bound.BoundAddress)
	expect.True(in, again.Bound)
	expect.Equal(in, again.Fences, bound.Fences)
	o.Refuses(t, o.BindKeyComplete, me, complete(mine.Address, other.Sign(t, asked.MessageToSign)),
		fault.BindingRefused)
	o.Refuses(t, o.BindKeyComplete, me, complete(other.Address, other.Sign(t, asked.MessageToSign)),
		fault.BindingRefused)
	leads(o.Refuses(t, o.BindKeyStart, me, map[string]any{"address": other.Address}, fault.BindingRefused), "new_key",
		"POST /keys")
	// The wallet binds no other key while this one works.
	second := o.DoorKey(t)
	me = servicetest.Holder(second.Key)
	next := start(mine)
	f := o.Refuses(t, o.BindKeyComplete, me, complete(mine.Address, mine.Sign(t, next.MessageToSign)),
		fault.BindingRefused)
	if !strings.Contains(f.Message, key.KeyPrefix) {
		t.Errorf("told %q, want which key the wallet has", f.Message)
	}
	leads(f, "new_key", "POST /keys")
}

func TestBind_AddressesOfWalletsAreChecked(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenDoors(t)
	key := o.DoorKey(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	for what, address := range map[string]any{
		"none": nil, "empty": "", "short": "0x12", "no prefix": strings.Repeat("ab", 21),
		"no hex": "0x" + strings.Repeat("zz", 20), "long": "0x" + strings.Repeat("ab", 21), "a number": 12.0,
		"zero": "0x" + strings.Repeat("0", 40), "with a line break": "0x" + strings.Repeat("ab", 20) + "\n",
	} {
		t.Run(what, func(t *testing.T) {
			for _, op := range []operation.Definition{
				o.BindKeyStart, o.BindKeyComplete, o.ClaimAgentStart, o.ClaimAgentComplete,
			} {
				caller, args := servicetest.Holder(key.Key), map[string]any{"address": address}
				switch op.Meta().Name {
				case "claim_agent_start":
					caller, args["name"] = ann, "scout"
				case "claim_agent_complete":
					caller, args["signature"] = ann, "0x00"
				case "bind_key_complete":
					args["signature"] = "0x00"
				}
				if f := o.Refuses(t, op, caller, args,
					fault.FieldRefused); !strings.Contains(strings.ToLower(f.Message),
					"address") {
					t.Errorf("%s of %s: %q", what, op.Meta().Name, f.Message)
				}
			}
		})
	}
}

func TestAdopt_OwnerTakesAKeyByItsClaimCodeOnce(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenDoors(t)
	key := o.DoorKey(t)
	ann, bob := servicetest.Browser(o.SignIn(t, "ann@buyer.example")),
		servicetest.Browser(o.SignIn(t, "bob@seller.example"))
	member := servicetest.Browser(o.Join(t, ann.Session, "carol@buyer.example"))
	code := key.Doorways["adopt"].ClaimCode
	adopt := func(code any) map[string]any { return map[string]any{"claim_code": code} }
	o.Refuses(t, o.AdoptKey, servicetest.Browser(""), adopt(code), fault.KeyInvalid)
	o.Refuses(t, o.AdoptKey, servicetest.Holder(key.Key), adopt(code), fault.KeyInvalid)
	o.Refuses(t, o.AdoptKey, member, adopt(code), fault.WrongKindOfKey)
	for _, wrong := range []any{
		nil, "", 7.0, code[:len(code)-1], code + "0", strings.ToUpper(code), key.Key, strings.Repeat("c", 200),
	} {
		o.Refuses(t, o.AdoptKey, ann, adopt(wrong), fault.FieldRefused)
	}
	never, err := account.MintKey(strings.NewReader(strings.Repeat("n", 32)))
	if err != nil {
		t.Fatal(err)
	}
	o.Refuses(t, o.AdoptKey, ann, adopt(never.ClaimCode(o.Hasher).Reveal()), fault.NotYours)
	o.Admit(t, key.Key, plan.Unit)
	adopted := servicetest.Must[agents.AdoptedKey](t)(o.AdoptKey.Invoke(o.Ctx, ann,
		agents.AdoptKeyInput{ClaimCode: code}))
	if adopted.Prefix != key.KeyPrefix || adopted.AdoptedAt.IsZero() {
		t.Errorf("adopted: %+v", adopted)
	}
	if a := o.Admit(t, key.Key, 20_000*plan.Unit); !a.Admitted {
		t.Errorf("the next call: %+v", a)
	}
	list := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{}))
	in := expect.In(t, "the owner's keys")
	expect.Equal(in, list.Count, 1)
	expect.Equal(in, list.Keys[0].ID, adopted.ID)
	expect.Equal(in, list.Keys[0].Door, account.DoorAdopted)
	fleet := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann, keys.ListKeysInput{Scope: "agents"}))
	in = expect.In(t, "the owner's fleet")
	expect.Equal(in, fleet.Count, 1)
	expect.Equal(in, fleet.Agents[0].ClaimedVia, "claim_code")
	expect.True(in, fleet.Agents[0].ClaimedAt.Equal(adopted.AdoptedAt), fleet.Agents[0].ClaimedAt, adopted.AdoptedAt)
	expect.Equal(in, fleet.Agents[0].KeyID, adopted.ID)
	expect.Equal(in, fleet.Agents[0].ID, "")
	if again := servicetest.Must[agents.AdoptedKey](t)(o.AdoptKey.Invoke(o.Ctx, ann, agents.AdoptKeyInput{
		ClaimCode: code,
	})); again != adopted {
		t.Errorf("the same again: %+v, first %+v", again, adopted)
	}
	o.Refuses(t, o.AdoptKey, bob, adopt(code), fault.NotYours)
	o.Mu.Lock()
	mail, told := o.Mails["key_adopted ann@buyer.example"].(notify.KeyAdopted)
	_, others := o.Mails["key_adopted carol@buyer.example"]
	o.Mu.Unlock()
	require.True(t, told)
	expect.Equal(t, mail.Prefix, key.KeyPrefix)
	expect.Equal(t, mail.By, "ann@buyer.example")
	expect.False(t, others)
	// An adopted key manages nothing, and is no longer bound.
	if f := o.Refuses(t, o.ListKeys, servicetest.Holder(key.Key), nil,
		fault.WrongKindOfKey); !strings.Contains(f.Message,
		"was adopted") || !strings.Contains(f.Message, "/sign-in") {
		t.Errorf("it says %q", f.Message)
	}
	o.Refuses(t, o.BindKeyStart, servicetest.Holder(key.Key),
		map[string]any{"address": servicetest.NewSigner(t).Address}, fault.WrongKindOfKey)
}

func TestClaim_AgentIsClaimedByItsWallet(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenDoors(t)
	ann, bob := servicetest.Browser(o.SignIn(t, "ann@buyer.example")),
		servicetest.Browser(o.SignIn(t, "bob@seller.example"))
	agent, other := servicetest.NewSigner(t), servicetest.NewSigner(t)
	asked := servicetest.Must[agents.Challenged](t)(o.ClaimAgentStart.Invoke(o.Ctx, ann, agents.ClaimAgentStartInput{
		Name: " trader-7 ", Address: agent.Address,
	}))
	if _, err := wallet.Parse(asked.MessageToSign); err != nil || asked.Address != agent.Address {
		t.Fatalf("asked: %+v, %v", asked, err)
	}
	complete := func(s servicetest.Signer, message string) map[string]any {
		return map[string]any{"address": agent.Address, "signature": s.Sign(t, message)}
	}
	o.Refuses(t, o.ClaimAgentComplete, ann, complete(other, asked.MessageToSign), fault.BindingRefused)
	o.Refuses(t, o.ClaimAgentComplete, bob, complete(agent, asked.MessageToSign), fault.BindingRefused)
	wide := complete(agent, asked.MessageToSign)
	wide["monthly_request_cap"] = 1_000_001.0
	o.Refuses(t, o.ClaimAgentComplete, ann, wide, fault.FieldRefused)
	good := agents.ClaimAgentInput{Address: agent.Address, Signature: agent.Sign(t, asked.MessageToSign)}
	first := servicetest.Must[agents.ClaimedAgent](t)(o.ClaimAgentComplete.Invoke(o.Ctx, ann, good))
	in := expect.In(t, "claimed")
	expect.Equal(in, *first.MonthlyRequestCap, 50_000*plan.Unit)
	expect.Equal(in, first.Address, agent.Address)
	expect.Equal(in, first.PlaintextToken[:12], first.KeyPrefix)
	if a := o.Admit(t, first.PlaintextToken, plan.Unit); !a.Admitted {
		t.Errorf("its first call: %+v", a)
	}
	second := servicetest.Must[agents.ClaimedAgent](t)(o.ClaimAgentComplete.Invoke(o.Ctx, ann, good))
	if second.Agent != first.Agent || second.KeyID == first.KeyID {
		t.Errorf("claimed again: %+v, first %+v", second, first)
	}
	if a := o.Admit(t, first.PlaintextToken, plan.Unit); a.Refused != fault.KeyInvalid.String() {
		t.Errorf("the key before: %+v", a)
	}
	if a := o.Admit(t, second.PlaintextToken, 50_001*plan.Unit); a.Refused != fault.KeyBudget.String() {
		t.Errorf("beyond the agent's cap: %+v", a)
	}
	list := servicetest.Must[agents.AgentList](t)(o.ListAgents.Invoke(o.Ctx, ann, operation.Nothing{}))
	if list.Count != 1 {
		t.Fatalf("listed: %+v", list)
	}
	a := list.Agents[0]
	expect.Equal(t, a.Name, "trader-7")
	expect.Equal(t, a.Address, agent.Address)
	expect.Equal(t, a.ClaimedVia, "wallet")
	expect.Equal(t, a.KeyID, second.KeyID)
	expect.Equal(t, a.KeyPrefix, second.KeyPrefix)
	expect.Equal(t, *a.MonthlyRequestCap, 50_000*plan.Unit)
	expect.NotNil(t, a.ServicesOff)
	if scoped := servicetest.Must[keys.KeyList](t)(o.ListKeys.Invoke(o.Ctx, ann,
		keys.ListKeysInput{Scope: "agents"})); scoped.Count != 1 || scoped.Agents[0].ID != list.Agents[0].ID {
		t.Errorf("listed by scope: %+v", scoped)
	}
	if others := servicetest.Must[agents.AgentList](t)(o.ListAgents.Invoke(o.Ctx, bob,
		operation.Nothing{})); others.Count != 0 {
		t.Errorf("another account sees %+v", others)
	}
	// Neither an agent's key nor a door key claims agents or manages anything.
	for key, says := range map[string]string{
		second.PlaintextToken: "belongs to an agent", o.DoorKey(t).Key: "without sign-up",
	} {
		claim := map[string]any{"name": "sub", "address": other.Address}
		if f := o.Refuses(t, o.ClaimAgentStart, servicetest.Holder(key), claim,
			fault.WrongKindOfKey); f.Code() != -32028 ||
			!strings.Contains(f.Message, says) {
			t.Errorf("code %d: %s", f.Code(), f.Message)
		}
		o.Refuses(t, o.ListAgents, servicetest.Holder(key), nil, fault.WrongKindOfKey)
	}
	servicetest.Must[keys.RevokedKey](t)(o.RevokeKey.Invoke(o.Ctx, ann, keys.RevokeKeyInput{APIKeyID: second.KeyID}))
	if list = servicetest.Must[agents.AgentList](t)(o.ListAgents.Invoke(o.Ctx, ann,
		operation.Nothing{})); list.Agents[0].KeyID != "" {
		t.Errorf("an agent whose key was revoked is %+v", list.Agents[0])
	}
}

func TestDoors_SayWhenTheDurableFlowsAreAway(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	closed, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	_ = closed.Close()
	temporal, err := client.NewLazyClient(client.Options{
		HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(temporal.Close)
	o := servicetest.OpenEnv(t, func(c *service.Options) { c.Flows = workflows.NewClient(temporal) })
	key := o.DoorKey(t)
	f := o.Refuses(t, o.BindKeyStart, servicetest.Holder(key.Key),
		map[string]any{"address": servicetest.NewSigner(t).Address},
		fault.DurableUnavailable)
	expect.Equal(t, f.HTTP(), 503)
	expect.Equal(t, f.Code(), -32030)
	expect.Greater(t, f.RetryAfter, 0)
	if a := o.Admit(t, key.Key, plan.Unit); !a.Admitted {
		t.Errorf("a call meanwhile: %+v", a)
	}
}

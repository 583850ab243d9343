package service_test

import (
	"crypto/ecdsa"
	"encoding/hex"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/workflows"
)

// openDoors returns an office whose workflows run in a worker of its own.
func openDoors(t *testing.T) *office {
	t.Helper()
	temporal := testkit.Temporal(t).Dial(t)
	o := openOffice(t, func(c *service.Options) { c.Flows = workflows.NewClient(temporal) })
	w := worker.New(temporal, workflows.QueueGateway, worker.Options{})
	workflows.RegisterGateway(w)
	w.RegisterActivity(&activities.Doors{
		Fences: o.limits, Logger: slog.New(slog.DiscardHandler),
		Mails: &activities.AdoptionLetters{Owners: o.store, Sealer: o, URL: "https://gateway.example", Now: time.Now},
	})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return o
}

// signer is a wallet with its private key.
type signer struct {
	key     *ecdsa.PrivateKey
	address string
}

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return signer{key, crypto.PubkeyToAddress(key.PublicKey).Hex()}
}

// sign implements personal_sign.
func (s signer) sign(t *testing.T, message string) string {
	t.Helper()
	hash := wallet.TextHash(message)
	signature, err := crypto.Sign(hash[:], s.key)
	if err != nil {
		t.Fatal(err)
	}
	signature[64] += 27
	return "0x" + hex.EncodeToString(signature)
}

func (o *office) doorKey(t *testing.T) service.Welcome {
	t.Helper()
	return must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
}

func TestBind_KeyIsBoundToTheWalletThatSignsItsMessage(t *testing.T) {
	t.Parallel()
	o := openDoors(t)
	key, mine, other := o.doorKey(t), newSigner(t), newSigner(t)
	me := holder(key.Key)
	start := func(s signer) service.Challenged {
		t.Helper()
		return must[service.Challenged](t)(o.BindKeyStart.Invoke(o.ctx, me, service.BindStartInput{
			Address: strings.ToLower(s.address),
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
	leads(o.refuses(t, o.BindKeyComplete, me, complete(mine.address, mine.sign(t, "whatever")), fault.BindingRefused),
		"same_key", "POST /keys/bind/start")
	older, asked := start(mine), start(mine)
	message, err := wallet.Parse(asked.MessageToSign)
	if err != nil {
		t.Fatal(err)
	}
	if message.Domain != "gateway.example" || message.URI != "https://gateway.example/keys/bind" ||
		message.ChainID != 1 || message.Address.Checksummed() != mine.address ||
		!strings.Contains(*message.Statement, key.KeyPrefix) ||
		message.ExpirationTime.Time().Sub(message.IssuedAt.Time()) != 10*time.Minute ||
		asked.ExpiresInSeconds < 590 || asked.ExpiresInSeconds > 600 {
		t.Errorf("asked to sign %q for %d s", asked.MessageToSign, asked.ExpiresInSeconds)
	}
	for what, wrong := range map[string]map[string]any{
		"another wallet's signature":    complete(mine.address, other.sign(t, asked.MessageToSign)),
		"another wallet":                complete(other.address, other.sign(t, asked.MessageToSign)),
		"the message that was replaced": complete(mine.address, mine.sign(t, older.MessageToSign)),
		"a changed message":             complete(mine.address, mine.sign(t, asked.MessageToSign+"\n")),
		"a message for another domain": complete(mine.address,
			mine.sign(t, strings.Replace(asked.MessageToSign, "gateway.example", "gateway.exаmple", 1))),
		"no signature":                       complete(mine.address, "0x"),
		"what is no signature":               complete(mine.address, "0x"+strings.Repeat("ab", 65)),
		"a signature that is no hex":         complete(mine.address, "signature"),
		"a signature with one byte too many": complete(mine.address, mine.sign(t, asked.MessageToSign)+"00"),
	} {
		if f := o.refuses(t, o.BindKeyComplete, me, wrong, fault.BindingRefused); f.HTTP() != 422 {
			t.Errorf("%s: HTTP %d", what, f.HTTP())
		}
	}
	good := service.BindInput{Address: mine.address, Signature: mine.sign(t, asked.MessageToSign)}
	bound := must[service.Welcome](t)(o.BindKeyComplete.Invoke(o.ctx, me, good))
	if !bound.Bound || bound.BoundAddress != mine.address || bound.Door != account.DoorWallet ||
		bound.KeyPrefix != key.KeyPrefix || bound.Key != "" ||
		bound.Fences.UnitsPerMonth != 1_000_000*plan.Unit ||
		bound.Doorways["adopt"].ClaimCode != key.Doorways["adopt"].ClaimCode {
		t.Errorf("bound: %+v", bound)
	}
	if a := o.admit(t, key.Key, 20_000*plan.Unit); !a.Admitted {
		t.Errorf("the next call: %+v", a)
	}
	if again := must[service.Welcome](t)(o.BindKeyComplete.Invoke(o.ctx, me,
		good)); again.BoundAddress != bound.BoundAddress || !again.Bound || again.Fences != bound.Fences {
		t.Errorf("the same again: %+v", again)
	}
	o.refuses(t, o.BindKeyComplete, me, complete(mine.address, other.sign(t, asked.MessageToSign)),
		fault.BindingRefused)
	o.refuses(t, o.BindKeyComplete, me, complete(other.address, other.sign(t, asked.MessageToSign)),
		fault.BindingRefused)
	leads(o.refuses(t, o.BindKeyStart, me, map[string]any{"address": other.address}, fault.BindingRefused), "new_key",
		"POST /keys")
	// The wallet binds no other key while this one works.
	second := o.doorKey(t)
	me = holder(second.Key)
	next := start(mine)
	f := o.refuses(t, o.BindKeyComplete, me, complete(mine.address, mine.sign(t, next.MessageToSign)),
		fault.BindingRefused)
	if !strings.Contains(f.Message, key.KeyPrefix) {
		t.Errorf("told %q, want which key the wallet has", f.Message)
	}
	leads(f, "new_key", "POST /keys")
}

func TestBind_AddressesOfWalletsAreChecked(t *testing.T) {
	t.Parallel()
	o := openDoors(t)
	key := o.doorKey(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	for what, address := range map[string]any{
		"none": nil, "empty": "", "short": "0x12", "no prefix": strings.Repeat("ab", 21),
		"no hex": "0x" + strings.Repeat("zz", 20), "long": "0x" + strings.Repeat("ab", 21), "a number": 12.0,
		"zero": "0x" + strings.Repeat("0", 40), "with a line break": "0x" + strings.Repeat("ab", 20) + "\n",
	} {
		for _, op := range []service.Definition{
			o.BindKeyStart, o.BindKeyComplete, o.ClaimAgentStart, o.ClaimAgentComplete,
		} {
			caller, args := holder(key.Key), map[string]any{"address": address}
			switch op.Meta().Name {
			case "claim_agent_start":
				caller, args["name"] = ann, "scout"
			case "claim_agent_complete":
				caller, args["signature"] = ann, "0x00"
			case "bind_key_complete":
				args["signature"] = "0x00"
			}
			if f := o.refuses(t, op, caller, args, fault.FieldRefused); !strings.Contains(strings.ToLower(f.Message),
				"address") {
				t.Errorf("%s of %s: %q", what, op.Meta().Name, f.Message)
			}
		}
	}
}

func TestAdopt_OwnerTakesAKeyByItsClaimCodeOnce(t *testing.T) {
	t.Parallel()
	o := openDoors(t)
	key := o.doorKey(t)
	ann, bob := browser(o.signIn(t, "ann@buyer.example")), browser(o.signIn(t, "bob@seller.example"))
	member := browser(o.join(t, ann.Session, "carol@buyer.example"))
	code := key.Doorways["adopt"].ClaimCode
	adopt := func(code any) map[string]any { return map[string]any{"claim_code": code} }
	o.refuses(t, o.AdoptKey, browser(""), adopt(code), fault.KeyInvalid)
	o.refuses(t, o.AdoptKey, holder(key.Key), adopt(code), fault.KeyInvalid)
	o.refuses(t, o.AdoptKey, member, adopt(code), fault.WrongKindOfKey)
	for _, wrong := range []any{
		nil, "", 7.0, code[:len(code)-1], code + "0", strings.ToUpper(code), key.Key, strings.Repeat("c", 200),
	} {
		o.refuses(t, o.AdoptKey, ann, adopt(wrong), fault.FieldRefused)
	}
	never, err := account.MintKey(strings.NewReader(strings.Repeat("n", 32)))
	if err != nil {
		t.Fatal(err)
	}
	o.refuses(t, o.AdoptKey, ann, adopt(never.ClaimCode(o.hasher).Reveal()), fault.NotYours)
	o.admit(t, key.Key, plan.Unit)
	adopted := must[service.AdoptedKey](t)(o.AdoptKey.Invoke(o.ctx, ann, service.AdoptKeyInput{ClaimCode: code}))
	if adopted.Prefix != key.KeyPrefix || adopted.AdoptedAt.IsZero() {
		t.Errorf("adopted: %+v", adopted)
	}
	if a := o.admit(t, key.Key, 20_000*plan.Unit); !a.Admitted {
		t.Errorf("the next call: %+v", a)
	}
	list := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{}))
	if list.Count != 1 || list.Keys[0].ID != adopted.ID || list.Keys[0].Door != account.DoorAdopted {
		t.Errorf("the owner's keys: %+v", list)
	}
	fleet := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann, service.ListKeysInput{Scope: "agents"}))
	if fleet.Count != 1 || fleet.Agents[0].ClaimedVia != "claim_code" ||
		!fleet.Agents[0].ClaimedAt.Equal(adopted.AdoptedAt) || fleet.Agents[0].KeyID != adopted.ID ||
		fleet.Agents[0].ID != "" {
		t.Errorf("the owner's fleet: %+v", fleet)
	}
	if again := must[service.AdoptedKey](t)(o.AdoptKey.Invoke(o.ctx, ann, service.AdoptKeyInput{
		ClaimCode: code,
	})); again != adopted {
		t.Errorf("the same again: %+v, first %+v", again, adopted)
	}
	o.refuses(t, o.AdoptKey, bob, adopt(code), fault.NotYours)
	o.mu.Lock()
	mail, told := o.mails["key_adopted ann@buyer.example"].(notify.KeyAdopted)
	_, others := o.mails["key_adopted carol@buyer.example"]
	o.mu.Unlock()
	if !told || mail.Prefix != key.KeyPrefix || mail.By != "ann@buyer.example" || others {
		t.Errorf("the owner was told %+v, %v; members that own nothing: %v", mail, told, others)
	}
	// An adopted key manages nothing, and is no longer bound.
	if f := o.refuses(t, o.ListKeys, holder(key.Key), nil, fault.WrongKindOfKey); !strings.Contains(f.Message,
		"was adopted") || !strings.Contains(f.Message, "/sign-in") {
		t.Errorf("it says %q", f.Message)
	}
	o.refuses(t, o.BindKeyStart, holder(key.Key), map[string]any{"address": newSigner(t).address}, fault.WrongKindOfKey)
}

func TestClaim_AgentIsClaimedByItsWallet(t *testing.T) {
	t.Parallel()
	o := openDoors(t)
	ann, bob := browser(o.signIn(t, "ann@buyer.example")), browser(o.signIn(t, "bob@seller.example"))
	agent, other := newSigner(t), newSigner(t)
	asked := must[service.Challenged](t)(o.ClaimAgentStart.Invoke(o.ctx, ann, service.ClaimAgentStartInput{
		Name: " trader-7 ", Address: agent.address,
	}))
	if _, err := wallet.Parse(asked.MessageToSign); err != nil || asked.Address != agent.address {
		t.Fatalf("asked: %+v, %v", asked, err)
	}
	complete := func(s signer, message string) map[string]any {
		return map[string]any{"address": agent.address, "signature": s.sign(t, message)}
	}
	o.refuses(t, o.ClaimAgentComplete, ann, complete(other, asked.MessageToSign), fault.BindingRefused)
	o.refuses(t, o.ClaimAgentComplete, bob, complete(agent, asked.MessageToSign), fault.BindingRefused)
	wide := complete(agent, asked.MessageToSign)
	wide["monthly_request_cap"] = 1_000_001.0
	o.refuses(t, o.ClaimAgentComplete, ann, wide, fault.FieldRefused)
	good := service.ClaimAgentInput{Address: agent.address, Signature: agent.sign(t, asked.MessageToSign)}
	first := must[service.ClaimedAgent](t)(o.ClaimAgentComplete.Invoke(o.ctx, ann, good))
	if *first.MonthlyRequestCap != 50_000*plan.Unit || first.Address != agent.address ||
		first.PlaintextToken[:12] != first.KeyPrefix {
		t.Errorf("claimed: %+v", first)
	}
	if a := o.admit(t, first.PlaintextToken, plan.Unit); !a.Admitted {
		t.Errorf("its first call: %+v", a)
	}
	second := must[service.ClaimedAgent](t)(o.ClaimAgentComplete.Invoke(o.ctx, ann, good))
	if second.Agent != first.Agent || second.KeyID == first.KeyID {
		t.Errorf("claimed again: %+v, first %+v", second, first)
	}
	if a := o.admit(t, first.PlaintextToken, plan.Unit); a.Refused != fault.KeyInvalid.String() {
		t.Errorf("the key before: %+v", a)
	}
	if a := o.admit(t, second.PlaintextToken, 50_001*plan.Unit); a.Refused != fault.KeyBudget.String() {
		t.Errorf("beyond the agent's cap: %+v", a)
	}
	list := must[service.AgentList](t)(o.ListAgents.Invoke(o.ctx, ann, service.Nothing{}))
	if list.Count != 1 {
		t.Fatalf("listed: %+v", list)
	}
	if a := list.Agents[0]; a.Name != "trader-7" || a.Address != agent.address || a.ClaimedVia != "wallet" ||
		a.KeyID != second.KeyID ||
		a.KeyPrefix != second.KeyPrefix || *a.MonthlyRequestCap != 50_000*plan.Unit || a.ServicesOff == nil {
		t.Errorf("the agent is %+v", a)
	}
	if scoped := must[service.KeyList](t)(o.ListKeys.Invoke(o.ctx, ann,
		service.ListKeysInput{Scope: "agents"})); scoped.Count != 1 || scoped.Agents[0].ID != list.Agents[0].ID {
		t.Errorf("listed by scope: %+v", scoped)
	}
	if others := must[service.AgentList](t)(o.ListAgents.Invoke(o.ctx, bob, service.Nothing{})); others.Count != 0 {
		t.Errorf("another account sees %+v", others)
	}
	// Neither an agent's key nor a door key claims agents or manages anything.
	for key, says := range map[string]string{
		second.PlaintextToken: "belongs to an agent", o.doorKey(t).Key: "without sign-up",
	} {
		claim := map[string]any{"name": "sub", "address": other.address}
		if f := o.refuses(t, o.ClaimAgentStart, holder(key), claim, fault.WrongKindOfKey); f.Code() != -32028 ||
			!strings.Contains(f.Message, says) {
			t.Errorf("code %d: %s", f.Code(), f.Message)
		}
		o.refuses(t, o.ListAgents, holder(key), nil, fault.WrongKindOfKey)
	}
	must[service.RevokedKey](t)(o.RevokeKey.Invoke(o.ctx, ann, service.RevokeKeyInput{APIKeyID: second.KeyID}))
	if list = must[service.AgentList](t)(o.ListAgents.Invoke(o.ctx, ann,
		service.Nothing{})); list.Agents[0].KeyID != "" {
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
	o := openOffice(t, func(c *service.Options) { c.Flows = workflows.NewClient(temporal) })
	key := o.doorKey(t)
	f := o.refuses(t, o.BindKeyStart, holder(key.Key), map[string]any{"address": newSigner(t).address},
		fault.DurableUnavailable)
	if f.HTTP() != 503 || f.Code() != -32030 || f.RetryAfter <= 0 {
		t.Errorf("HTTP %d, %d, come again after %s", f.HTTP(), f.Code(), f.RetryAfter)
	}
	if a := o.admit(t, key.Key, plan.Unit); !a.Admitted {
		t.Errorf("a call meanwhile: %+v", a)
	}
}

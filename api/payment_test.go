package api_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// paid stores a settlement of so many units on a tier, as redeeming does, with a window that began
// at the given time. It returns its credential.
func (g *gateway) paid(tier plan.Tier, units plan.Units, at time.Time) (credential string, of paymentdb.Settlement) {
	g.t.Helper()
	c, err := account.MintCredential(rand.Reader)
	g.must(err)
	menu, _ := plan.FindPerCallTier(tier)
	paid := (plan.Atomic(units/plan.Unit)*menu.PricePer1kUnits + 999) / 1000
	tx := x402.TxHash(c.Digest(g.hasher))
	of, err = g.store.GrantSettlement(g.t.Context(), paymentdb.Grant{
		ID:    x402.ID{Chain: 8453, Tx: tx, Payer: wallet.Address{1}},
		Deal:  x402.Deal{Tier: tier, Country: "US", Paid: paid, Net: paid, Units: units},
		Found: x402.Finding{Paid: paid, Block: 1, BlockHash: x402.TxHash{1}, Time: 1},
		Credential: paymentdb.Credential{
			Key: account.NewKeyID(), Digest: c.Digest(g.hasher), Prefix: c.Prefix(),
		},
		At: at,
	})
	g.must(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys = append(g.keys, c.Reveal())
	return c.Reveal(), of
}

// pay posts a call for Ethereum with a credential.
func (g *gateway) pay(credential, method string, headers ...string) answer {
	g.t.Helper()
	return g.rpc("", chain.EthMainnet, call(method, "[]"), append([]string{"X-PAYMENT", credential}, headers...)...)
}

func (a answer) unpaid(why string) {
	a.t.Helper()
	data := a.refused(http.StatusPaymentRequired, -32018)
	if data["reason"] != why || data["menu"] != "/x402" || data["next_door"] != nil {
		a.t.Errorf("data is %v, want the reason %s", data, why)
	}
}

func TestCredential_PaysUntilSpentAndCountsItsTierOnce(t *testing.T) {
	t.Parallel()
	g := setup(t)
	for _, tier := range plan.Tiers() {
		credential, of := g.paid(tier, 3*plan.Unit, time.Now())
		g.pay(credential, "eth_call").result()
		g.pay(credential, "eth_call", "X-Route-Tier", string(tier)).result()
		g.pay(credential, "debug_traceTransaction").unpaid("spent") // weighs 2, and 1 is left
		g.pay(credential, "eth_chainId").result()                   // costs nothing
		g.pay(credential, "eth_call").result()
		g.pay(credential, "eth_call").unpaid("spent")
		g.pay(credential, "eth_chainId").result()
		g.flushRecords()
		for _, line := range g.linesOf(of.Account) {
			if line.Outcome == "ok" && (line.Tier != string(tier) || line.Units != 3*plan.Unit || line.Requests != 3) {
				t.Errorf("on the tier %s: line %+v", tier, line)
			}
		}
	}
}

func TestCredential_UnknownExpiredOrEndedIsRefusedWithTheMenu(t *testing.T) {
	t.Parallel()
	g := setup(t)
	expired, _ := g.paid(plan.Cheap, 3*plan.Unit, time.Now().Add(-plan.SettlementWindow))
	g.pay(expired, "eth_call").unpaid("expired")
	g.pay(expired, "eth_chainId").unpaid("expired") // also for calls that cost nothing
	stranger, err := account.MintCredential(rand.Reader)
	g.must(err)
	key := g.unlimited()
	for _, unknown := range []string{
		stranger.Reveal(), stranger.Reveal() + "x", "cagx_", key, "e30=", strings.Repeat("x", 2000),
	} {
		g.pay(unknown, "eth_call").unpaid("unknown")
	}
	ended, of := g.paid(plan.Cheap, 3*plan.Unit, time.Now())
	g.pay(ended, "eth_call").result()
	next, err := account.MintCredential(rand.Reader)
	g.must(err)
	_, err = g.limits.RotateCredential(t.Context(), paymentdb.Rotation{
		ID: of.ID, Credential: paymentdb.Credential{
			Key: account.NewKeyID(), Digest: next.Digest(g.hasher), Prefix: next.Prefix(),
		}, By: author,
	})
	g.must(err)
	g.pay(ended, "eth_call").unpaid("unknown")
	g.pay(next.Reveal(), "eth_call").result()
	if n := g.sent("eth_call"); n != 2 {
		t.Errorf("upstreams were asked %d times", n)
	}
}

func TestCredential_KeyBesideItWinsAndItIsNoKey(t *testing.T) {
	t.Parallel()
	g := setup(t)
	credential, of := g.paid(plan.Cheap, 3*plan.Unit, time.Now())
	key := g.unlimited()
	g.rpc(key, chain.EthMainnet, call("eth_call", "[]"), "X-PAYMENT", credential).result()
	g.rpc(credential, chain.EthMainnet, call("eth_call", "[]")).refused(http.StatusUnauthorized, -32001)
	g.rpc("cag_wrong", chain.EthMainnet, call("eth_call", "[]"), "X-PAYMENT",
		credential).refused(http.StatusUnauthorized, -32001)
	g.ask(http.MethodGet, "/toolbox/utils/keccak?text=x", "", "", "X-PAYMENT",
		credential).refused(http.StatusUnauthorized, -32001)
	if lines := g.linesOf(of.Account); len(lines) > 0 {
		t.Errorf("the credential was used: %+v", lines)
	}
}

func TestCredential_TierCannotBeOverridden(t *testing.T) {
	t.Parallel()
	g := setup(t)
	credential, of := g.paid(plan.Cheap, 3*plan.Unit, time.Now())
	data := g.pay(credential, "eth_call", "X-Route-Tier", "fast")
	data.refused(http.StatusBadRequest, -32602)
	if !strings.Contains(data.body, "redeemed for the tier cheap") {
		t.Errorf("refused with %s", data.body)
	}
	for _, line := range g.linesOf(of.Account) {
		if line.Units != 0 {
			t.Errorf("charged %+v", line)
		}
	}
}

func TestCredential_SpentOneRefusesBatchItemsOnTheirOwn(t *testing.T) {
	t.Parallel()
	g := setup(t)
	credential, _ := g.paid(plan.Cheap, 2*plan.Unit, time.Now())
	a := g.rpc("", chain.EthMainnet, "["+strings.Repeat(call("eth_call", "[]")+",", 4)+call("eth_chainId", "[]")+"]",
		"X-PAYMENT", credential)
	if a.status != http.StatusOK || strings.Count(a.body, `"result"`) != 3 ||
		strings.Count(a.body, `"reason":"spent"`) != 2 {
		t.Errorf("answered %d: %s", a.status, a.body)
	}
}

func TestCredential_GetsItsUnitsBackWhenTheServiceFails(t *testing.T) {
	t.Parallel()
	g := setup(t)
	credential, of := g.paid(plan.Balanced, 1*plan.Unit, time.Now())
	g.all(testkit.HTML(http.StatusBadGateway))
	g.pay(credential, "eth_call").refused(http.StatusBadGateway, -32022)
	g.all(testkit.Result("0x1"))
	g.pay(credential, "eth_call").result()
	g.pay(credential, "eth_call").unpaid("spent")
	used := plan.Units(0)
	for _, line := range g.linesOf(of.Account) {
		used += line.Units
	}
	if used != plan.Unit {
		t.Errorf("used %s units", used)
	}
}

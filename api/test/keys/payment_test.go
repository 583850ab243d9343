package keys_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// payerWith stores a settlement of so many units on a tier, as redeeming does, with a window that
// began at the given time. It returns its credential.
func payerWith(g *apitest.Gateway, tier plan.Tier, units plan.Units, at time.Time) (credential string,
	of paymentdb.Settlement,
) {
	g.T.Helper()
	c, err := account.MintCredential(rand.Reader)
	g.Must(err)
	menu, _ := plan.FindPerCallTier(tier)
	paid := (plan.Atomic(units/plan.Unit)*menu.PricePer1kUnits + 999) / 1000
	tx := x402.TxHash(c.Digest(g.Hasher))
	of, err = g.Store.GrantSettlement(g.T.Context(), paymentdb.Grant{
		ID:    x402.ID{Chain: 8453, Tx: tx, Payer: wallet.Address{1}},
		Deal:  x402.Deal{Tier: tier, Country: "US", Paid: paid, Net: paid, Units: units},
		Found: x402.Finding{Paid: paid, Block: 1, BlockHash: x402.TxHash{1}, Time: 1},
		Credential: paymentdb.Credential{
			Key: account.NewKeyID(), Digest: c.Digest(g.Hasher), Prefix: c.Prefix(),
		},
		At: at,
	})
	g.Must(err)
	g.KeepSecret(c.Reveal())
	return c.Reveal(), of
}

// pay posts a call for Ethereum with a credential.
func pay(g *apitest.Gateway, credential, method string, headers ...string) apitest.Answer {
	g.T.Helper()
	return g.RPC("", chain.EthMainnet, apitest.Call(method, "[]"),
		append([]string{"X-PAYMENT", credential}, headers...)...)
}

func unpaid(a apitest.Answer, why string) {
	a.T.Helper()
	data := a.Refused(http.StatusPaymentRequired, -32018)
	expect.Equal[any](a.T, data["reason"], why)
	expect.Equal[any](a.T, data["menu"], "/x402")
	expect.Equal(a.T, data["next_door"], nil)
}

func TestCredential_PaysUntilSpentAndCountsItsTierOnce(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for _, tier := range plan.Tiers() {
		credential, of := payerWith(g, tier, 3*plan.Unit, time.Now())
		pay(g, credential, "eth_call").Result()
		pay(g, credential, "eth_call", "X-Route-Tier", string(tier)).Result()
		unpaid(pay(g, credential, "debug_traceTransaction"), "spent") // weighs 2, and 1 is left
		pay(g, credential, "eth_chainId").Result()                    // costs nothing
		pay(g, credential, "eth_call").Result()
		unpaid(pay(g, credential, "eth_call"), "spent")
		pay(g, credential, "eth_chainId").Result()
		g.FlushRecords()
		for _, line := range g.LinesOf(of.Account) {
			if line.Outcome == "ok" {
				in := expect.In(t, "on the tier %s", tier)
				expect.Equal(in, line.Tier, string(tier))
				expect.Equal(in, line.Units, 3*plan.Unit)
				expect.Equal(in, line.Requests, 3)
			}
		}
	}
}

func TestCredential_UnknownExpiredOrEndedIsRefusedWithTheMenu(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	expired, _ := payerWith(g, plan.Cheap, 3*plan.Unit, time.Now().Add(-plan.SettlementWindow))
	unpaid(pay(g, expired, "eth_call"), "expired")
	unpaid(pay(g, expired, "eth_chainId"), "expired") // also for calls that cost nothing
	stranger, err := account.MintCredential(rand.Reader)
	g.Must(err)
	key := g.Unlimited()
	for _, unknown := range []string{
		stranger.Reveal(), stranger.Reveal() + "x", "cagx_", key, "e30=", strings.Repeat("x", 2000),
	} {
		unpaid(pay(g, unknown, "eth_call"), "unknown")
	}
	ended, of := payerWith(g, plan.Cheap, 3*plan.Unit, time.Now())
	pay(g, ended, "eth_call").Result()
	next, err := account.MintCredential(rand.Reader)
	g.Must(err)
	_, err = g.Limits.RotateCredential(t.Context(), paymentdb.Rotation{
		ID: of.ID, Credential: paymentdb.Credential{
			Key: account.NewKeyID(), Digest: next.Digest(g.Hasher), Prefix: next.Prefix(),
		}, By: apitest.Author,
	})
	g.Must(err)
	unpaid(pay(g, ended, "eth_call"), "unknown")
	pay(g, next.Reveal(), "eth_call").Result()
	if n := g.Sent("eth_call"); n != 2 {
		t.Errorf("upstreams were asked %d times", n)
	}
}

func TestCredential_KeyBesideItWinsAndItIsNoKey(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	credential, of := payerWith(g, plan.Cheap, 3*plan.Unit, time.Now())
	key := g.Unlimited()
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", "[]"), "X-PAYMENT", credential).Result()
	g.RPC(credential, chain.EthMainnet, apitest.Call("eth_call", "[]")).Refused(http.StatusUnauthorized, -32001)
	g.RPC("cag_wrong", chain.EthMainnet, apitest.Call("eth_call", "[]"), "X-PAYMENT",
		credential).Refused(http.StatusUnauthorized, -32001)
	g.Ask(http.MethodGet, "/toolbox/utils/keccak?text=x", "", "", "X-PAYMENT",
		credential).Refused(http.StatusUnauthorized, -32001)
	if lines := g.LinesOf(of.Account); len(lines) > 0 {
		t.Errorf("the credential was used: %+v", lines)
	}
}

func TestCredential_TierCannotBeOverridden(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	credential, of := payerWith(g, plan.Cheap, 3*plan.Unit, time.Now())
	data := pay(g, credential, "eth_call", "X-Route-Tier", "fast")
	data.Refused(http.StatusBadRequest, -32602)
	if !strings.Contains(data.Body, "redeemed for the tier cheap") {
		t.Errorf("refused with %s", data.Body)
	}
	for _, line := range g.LinesOf(of.Account) {
		if line.Units != 0 {
			t.Errorf("charged %+v", line)
		}
	}
}

func TestCredential_SpentOneRefusesBatchItemsOnTheirOwn(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	credential, _ := payerWith(g, plan.Cheap, 2*plan.Unit, time.Now())
	a := g.RPC("", chain.EthMainnet, "["+strings.Repeat(apitest.Call("eth_call", "[]")+",", 4)+
		apitest.Call("eth_chainId", "[]")+"]",
		"X-PAYMENT", credential)
	expect.Equal(t, a.Status, http.StatusOK)
	expect.Equal(t, strings.Count(a.Body, `"result"`), 3, a.Body)
	expect.Equal(t, strings.Count(a.Body, `"reason":"spent"`), 2, a.Body)
}

func TestCredential_GetsItsUnitsBackWhenTheServiceFails(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	credential, of := payerWith(g, plan.Balanced, 1*plan.Unit, time.Now())
	g.All(testkit.HTML(http.StatusBadGateway))
	pay(g, credential, "eth_call").Refused(http.StatusBadGateway, -32022)
	g.All(testkit.Result("0x1"))
	pay(g, credential, "eth_call").Result()
	unpaid(pay(g, credential, "eth_call"), "spent")
	used := plan.Units(0)
	for _, line := range g.LinesOf(of.Account) {
		used += line.Units
	}
	if used != plan.Unit {
		t.Errorf("used %s units", used)
	}
}

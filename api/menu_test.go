package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/geo"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
)

// sold returns the terms of a seller on Base.
func sold(t *testing.T) x402.Terms {
	t.Helper()
	terms := x402.Terms{
		Chain: 8453, Service: "Chain Access Gateway", Host: "gateway.example", Confirmations: 2,
		CorroborateAbove: 1_000_000,
	}
	for text, to := range map[string]*wallet.Address{
		"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913": &terms.Asset,
		"0x70997970C51812dc3A010C7d01b50e0d17dc79C8": &terms.PayTo,
	} {
		var err error
		if *to, err = wallet.ParseAddress(text); err != nil {
			t.Fatal(err)
		}
	}
	return terms
}

// behindProxies sells pay-per-call behind a proxy that sends country headers.
func behindProxies(t *testing.T) func(*options) {
	t.Helper()
	locator, err := geo.New(geo.Options{Header: "CF-IPCountry", TrustedProxies: 1})
	if err != nil {
		t.Fatal(err)
	}
	return func(o *options) { o.terms, o.locator, o.proxies = sold(t), locator, 1 }
}

func TestMenu_SaysWhatIsPaidWhereAndWithWhichVAT(t *testing.T) {
	t.Parallel()
	g := setup(t, behindProxies(t))
	g.ask(http.MethodGet, "/x402", "", "").golden("menu")
	for country, name := range map[string]string{"DE": "menu in the EU", "us": "menu outside the EU"} {
		g.ask(http.MethodGet, "/x402", "", "", "X-Forwarded-For", "192.0.2.1", "Cf-Ipcountry", country).golden(name)
	}
	// A country header is ignored when the request came through no proxy.
	if around := g.ask(http.MethodGet, "/x402", "", "", "Cf-Ipcountry", "US"); !strings.Contains(around.body,
		`"taxCountry":""`) {
		t.Errorf("a caller who came around the proxy is taxed as it likes: %s", around.body)
	}
}

func TestMenu_SaysWhenNothingIsSold(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) {
		o.terms = sold(t)
		o.terms.PayTo = wallet.Address{}
	})
	g.ask(http.MethodGet, "/x402", "", "").golden("menu closed")
	g.ask(http.MethodGet, "/.well-known/x402", "", "").golden("manifest closed")
	welcome := g.newKey()
	if !strings.Contains(welcome.body, `"pay_per_call":{`) ||
		strings.Count(welcome.body, `"at":"https://gateway.example/x402","open":false`) != 1 {
		t.Errorf("the doorway of paying per call is open: %s", welcome.body)
	}
}

func TestMenu_OfATestNetworkIsNotLive(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) {
		o.terms = sold(t)
		o.terms.Chain = 84532
	})
	menu := g.ask(http.MethodGet, "/x402", "", "")
	for _, part := range []string{
		`"mainnetLive":false`, `"network":"base-sepolia"`, `"chainId":84532`, `"payTo":"0x7099`,
	} {
		if !strings.Contains(menu.body, part) {
			t.Errorf("the menu lacks %s: %s", part, menu.body)
		}
	}
}

func TestManifest_NamesWhereStockClientsPay(t *testing.T) {
	t.Parallel()
	g := setup(t, behindProxies(t), func(o *options) { o.stock = true })
	g.ask(http.MethodGet, "/.well-known/x402", "", "").golden("manifest")
	var manifest struct{ Resources []string }
	g.must(json.Unmarshal([]byte(g.ask(http.MethodGet, "/.well-known/x402", "", "").body), &manifest))
	if len(manifest.Resources) != 2 || manifest.Resources[0] != "https://gateway.example/x402/rpc/"+
		string(chain.EthMainnet) {
		t.Errorf("resources are %v, want one for each chain", manifest.Resources)
	}
	if open := g.newKey(); strings.Count(open.body, `"at":"https://gateway.example/x402","open":true`) != 1 {
		t.Errorf("the doorway of paying per call is closed: %s", open.body)
	}
}

// The figures of the table in docs/interface.md, 2.8.
func TestMenu_HasTheTablesFigures(t *testing.T) {
	t.Parallel()
	g := setup(t, behindProxies(t))
	var menu struct {
		MaxUnitsPerSettlement, UnitsPerPayment, WindowSeconds int64
		X402Version                                           int
		Scheme, Network, Asset, MessageToSign                 string
		MainnetLive                                           bool
		Tiers                                                 []struct {
			Name                                 plan.Tier
			PriceAtomicPer1kUnits                int64
			USDPerMillionUnits                   json.Number
			NetAmountRequired, MaxAmountRequired string
		}
	}
	g.must(json.Unmarshal([]byte(g.ask(http.MethodGet, "/x402", "", "").body), &menu))
	if menu.X402Version != 1 || menu.Scheme != "exact" || menu.Network != "base" || menu.Asset != "USDC" ||
		!menu.MainnetLive ||
		menu.MaxUnitsPerSettlement != 200_000 || menu.UnitsPerPayment != 10_000 || menu.WindowSeconds != 3600 {
		t.Errorf("%+v", menu)
	}
	if want := "Chain Access Gateway x402 redeem\n{tx_hash}\nHost: gateway.example\nChain ID: " +
		"8453\n"; !strings.HasPrefix(menu.MessageToSign, want) {
		t.Errorf("messageToSign is %q, want it to begin with %q", menu.MessageToSign, want)
	}
	for i, want := range []struct {
		price    int64
		usd      string
		net, max string
	}{{4500, "4.5", "45000", "54000"}, {9000, "9.0", "90000", "108000"}, {18000, "18.0", "180000", "216000"}} {
		got := menu.Tiers[i]
		if got.Name != plan.Tiers()[i] || got.PriceAtomicPer1kUnits != want.price ||
			string(got.USDPerMillionUnits) != want.usd ||
			got.NetAmountRequired != want.net || got.MaxAmountRequired != want.max {
			t.Errorf("tier %d is %+v, want %+v", i, got, want)
		}
	}
}

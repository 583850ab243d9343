package keys_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/geo"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// behindProxies sells pay-per-call behind a proxy that sends country headers.
func behindProxies(t *testing.T) func(*apitest.Options) {
	t.Helper()
	locator, err := geo.New(geo.Options{Header: "CF-IPCountry", TrustedProxies: 1})
	if err != nil {
		t.Fatal(err)
	}
	return func(o *apitest.Options) { o.Terms, o.Locator, o.Proxies = apitest.Terms(t), locator, 1 }
}

func TestMenu_SaysWhatIsPaidWhereAndWithWhichVAT(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, behindProxies(t))
	g.Ask(http.MethodGet, "/x402", "", "").Golden("menu")
	for country, name := range map[string]string{"DE": "menu in the EU", "us": "menu outside the EU"} {
		g.Ask(http.MethodGet, "/x402", "", "", "X-Forwarded-For", "192.0.2.1", "Cf-Ipcountry", country).Golden(name)
	}
	// A country header is ignored when the request came through no proxy.
	if around := g.Ask(http.MethodGet, "/x402", "", "", "Cf-Ipcountry", "US"); !strings.Contains(around.Body,
		`"taxCountry":""`) {
		t.Errorf("a caller who came around the proxy is taxed as it likes: %s", around.Body)
	}
}

func TestMenu_SaysWhenNothingIsSold(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Terms = apitest.Terms(t)
		o.Terms.PayTo = wallet.Address{}
	})
	g.Ask(http.MethodGet, "/x402", "", "").Golden("menu closed")
	g.Ask(http.MethodGet, "/.well-known/x402", "", "").Golden("manifest closed")
	welcome := g.NewKey()
	if !strings.Contains(welcome.Body, `"pay_per_call":{`) ||
		strings.Count(welcome.Body, `"at":"https://gateway.example/x402","open":false`) != 1 {
		t.Errorf("the doorway of paying per call is open: %s", welcome.Body)
	}
}

func TestMenu_OfATestNetworkIsNotLive(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Terms = apitest.Terms(t)
		o.Terms.Chain = 84532
	})
	menu := g.Ask(http.MethodGet, "/x402", "", "")
	for _, part := range []string{
		`"mainnetLive":false`, `"network":"base-sepolia"`, `"chainId":84532`, `"payTo":"0x7099`,
	} {
		if !strings.Contains(menu.Body, part) {
			t.Errorf("the menu lacks %s: %s", part, menu.Body)
		}
	}
}

func TestManifest_NamesWhereStockClientsPay(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, behindProxies(t), func(o *apitest.Options) { o.Stock = true })
	g.Ask(http.MethodGet, "/.well-known/x402", "", "").Golden("manifest")
	var manifest struct{ Resources []string }
	g.Must(json.Unmarshal([]byte(g.Ask(http.MethodGet, "/.well-known/x402", "", "").Body), &manifest))
	if len(manifest.Resources) != 2 || manifest.Resources[0] != "https://gateway.example/x402/rpc/"+
		string(chain.EthMainnet) {
		t.Errorf("resources are %v, want one for each chain", manifest.Resources)
	}
	if open := g.NewKey(); strings.Count(open.Body, `"at":"https://gateway.example/x402","open":true`) != 1 {
		t.Errorf("the doorway of paying per call is closed: %s", open.Body)
	}
}

// The figures of the table in docs/interface.md, 2.8.
func TestMenu_HasTheTablesFigures(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, behindProxies(t))
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
	g.Must(json.Unmarshal([]byte(g.Ask(http.MethodGet, "/x402", "", "").Body), &menu))
	expect.Equal(t, menu.X402Version, 1)
	expect.Equal(t, menu.Scheme, "exact")
	expect.Equal(t, menu.Network, "base")
	expect.Equal(t, menu.Asset, "USDC")
	expect.True(t, menu.MainnetLive)
	expect.Equal(t, menu.MaxUnitsPerSettlement, 200_000)
	expect.Equal(t, menu.UnitsPerPayment, 10_000)
	expect.Equal(t, menu.WindowSeconds, 3600)
	if want := "Chain Access Gateway x402 redeem\n{tx_hash}\nHost: gateway.example\nChain ID: " +
		"8453\n"; !strings.HasPrefix(menu.MessageToSign, want) {
		t.Errorf("messageToSign is %q, want it to begin with %q", menu.MessageToSign, want)
	}
	for i, want := range []struct {
		price    int64
		usd      string
		net, max string
	}{{4500, "4.5", "45000", "54000"}, {9000, "9.0", "90000", "108000"}, {18000, "18.0", "180000", "216000"}} {
		t.Run(want.usd, func(t *testing.T) {
			got := menu.Tiers[i]
			in := expect.In(t, "tier %d", i)
			expect.Equal(in, got.Name, plan.Tiers()[i])
			expect.Equal(in, got.PriceAtomicPer1kUnits, want.price)
			expect.Equal(in, string(got.USDPerMillionUnits), want.usd)
			expect.Equal(in, got.NetAmountRequired, want.net)
			expect.Equal(in, got.MaxAmountRequired, want.max)
		})
	}
}

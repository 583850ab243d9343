package keys_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/facilitator"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
)

// scriptedFacilitator returns scripted answers and counts its calls.
type scriptedFacilitator struct {
	verdict, outcome atomic.Pointer[error]
	settled          atomic.Int64
}

func (f *scriptedFacilitator) Verify(context.Context, *x402.Quote, *x402.Payload) error {
	if err := f.verdict.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *scriptedFacilitator) Settle(context.Context, *x402.Quote, *x402.Payload) (x402.TxHash, error) {
	n := f.settled.Add(1)
	if err := f.outcome.Load(); err != nil {
		return x402.TxHash{}, *err
	}
	return x402.TxHash{0xaa, byte(n)}, nil
}

// selling returns a gateway that sells to stock clients through a scripted facilitator.
func selling(t *testing.T) (*apitest.Gateway, *scriptedFacilitator) {
	t.Helper()
	f := &scriptedFacilitator{}
	g := apitest.Setup(t, behindProxies(t), func(o *apitest.Options) {
		o.Stock = true
		o.StockProcessor = func(g *apitest.Gateway, o *apitest.Options) *stock.Processor {
			return stock.New(stock.Options{
				Record: g.Store, Facilitator: f, Grants: g.Limits, Networks: netlimit.New(g.Meter, netlimit.Defaults(),
					time.Now), Terms: o.Terms, Token: x402.Token{Name: "USD Coin", Version: "2"}, Hasher: g.Hasher,
				Head: func() (uint64, bool) { return 1000, true }, Now: time.Now, Random: rand.Reader,
			})
		}
	})
	return g, f
}

const paidPath = "/x402/rpc/eth_mainnet"

var nonces atomic.Int64

// payment returns a payment header of a version, with a nonce of its own.
func payment(t *testing.T, g *apitest.Gateway, version, amount int) (name, value string) {
	t.Helper()
	terms := apitest.Terms(t)
	authorization := map[string]any{
		"from": "0x00000000000000000000000000000000000000A1", "to": terms.PayTo.String(), "value": strconv.Itoa(amount),
		"validAfter": "0", "validBefore": strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10),
		"nonce": fmt.Sprintf("0x%064x", nonces.Add(1)),
	}
	payload := map[string]any{"signature": "0x" + strings.Repeat("11", 65), "authorization": authorization}
	document := map[string]any{"x402Version": 1, "scheme": "exact", "network": "base", "payload": payload}
	name = "X-PAYMENT"
	if version == x402.Version2 {
		accepted := map[string]any{
			"scheme": "exact", "network": "eip155:8453", "asset": terms.Asset.String(),
			"amount": strconv.Itoa(amount), "extra": map[string]any{"tier": "cheap"},
		}
		document, name = map[string]any{"x402Version": 2, "accepted": accepted, "payload": payload}, "PAYMENT-SIGNATURE"
	}
	b, err := json.Marshal(document)
	g.Must(err)
	return name, base64.StdEncoding.EncodeToString(b)
}

// asked parses a 402 in both versions of the protocol and checks that they agree.
func asked(a apitest.Answer) (amounts []string, why string) {
	a.T.Helper()
	var one struct {
		Version int `json:"x402Version"`
		Error   string
		Accepts []struct{ Network, MaxAmountRequired, Resource string }
	}
	var two struct {
		Version  int `json:"x402Version"`
		Error    string
		Resource struct{ URL string }
		Accepts  []struct{ Network, Amount string }
	}
	header, err := base64.StdEncoding.DecodeString(a.Header.Get("PAYMENT-REQUIRED"))
	require.NoError(a.T, err)
	require.NoError(a.T, json.Unmarshal(header, &two))
	require.NoError(a.T, json.Unmarshal([]byte(a.Body), &one))
	require.Equal(a.T, a.Status, http.StatusPaymentRequired)
	in := expect.In(a.T, "asked %s", a.Body)
	require.Equal(in, one.Version, 1, header)
	require.Equal(in, two.Version, 2, header)
	require.NotEqual(in, one.Error, "", header)
	require.Equal(in, one.Error, two.Error, header)
	require.Len(in, one.Accepts, 3, header)
	require.Len(in, two.Accepts, 3, header)
	for i, o := range one.Accepts {
		in := expect.In(a.T, "offer %d", i)
		expect.Equal(in, o.Network, "base")
		expect.Equal(in, two.Accepts[i].Network, "eip155:8453")
		expect.Equal(in, o.MaxAmountRequired, two.Accepts[i].Amount)
		expect.Equal(in, o.Resource, two.Resource.URL)
		amounts = append(amounts, o.MaxAmountRequired)
	}
	return amounts, one.Error
}

func TestX402_OnlyClientsThatSayTheyPayAreAskedToPay(t *testing.T) {
	t.Parallel()
	g, f := selling(t)
	body := apitest.Call("eth_call", "[]")
	g.RPC("", "eth_mainnet", body).Refused(http.StatusUnauthorized, -32001)
	asked(g.RPC("", "eth_mainnet", body, "Accept-Payment", "x402"))
	unpaid(g.RPC("", "eth_mainnet", body, "X-PAYMENT", "cagx_unknown"), "unknown")
	unpaid(g.RPC("", "eth_mainnet", body, "X-PAYMENT", "xyz"), "unknown")
	g.RPC("cag_wrong", "eth_mainnet", body, "Accept-Payment", "x402").Refused(http.StatusUnauthorized, -32001)
	g.RPC(g.Unlimited(), "eth_mainnet", body, "Accept-Payment", "x402").Result()
	amounts, _ := asked(g.Ask(http.MethodPost, paidPath, "", body))
	if strings.Join(amounts, " ") != "54000 108000 216000" {
		t.Errorf("asked for %v", amounts)
	}
	amounts, _ = asked(g.Ask(http.MethodPost, paidPath, "", "", "X-Route-Tier", "fast", "X-Forwarded-For", "192.0.2.1",
		"Cf-Ipcountry", "US"))
	if strings.Join(amounts, " ") != "180000 45000 90000" {
		t.Errorf("asked for %v on the tier fast outside the EU", amounts)
	}
	g.Ask(http.MethodPost, paidPath, g.Unlimited(), body).Result()
	unpaid(g.Ask(http.MethodPost, paidPath, "", body, "X-PAYMENT", "cagx_unknown"), "unknown")
	g.Ask(http.MethodPost, "/x402/rpc/dogecoin", "", body).Refused(http.StatusNotFound, -32600)
	g.Ask(http.MethodPost, paidPath, "", body, "X-Route-Tier", "free").Refused(http.StatusBadRequest, -32602)
	if f.settled.Load() != 0 {
		t.Error("something was settled")
	}
}

func TestX402_PaymentInEitherVersionRelaysAndReturnsTheRestOfItsBundle(t *testing.T) {
	t.Parallel()
	g, f := selling(t)
	for version, receipt := range map[int]string{
		x402.Version1: "X-PAYMENT-RESPONSE", x402.Version2: "PAYMENT-RESPONSE",
	} {
		name, value := payment(t, g, version, 54_000)
		before := f.settled.Load()
		a := g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]"), name, value)
		a.Result()
		document, err := base64.StdEncoding.DecodeString(a.Header.Get(receipt))
		if err != nil || !strings.Contains(string(document), `"success":true,"transaction":"0xaa`) {
			t.Errorf("the receipt of version %d is %s", version, document)
		}
		credential := a.Header.Get("X-Payment-Credential")
		if _, ok := account.ParseCredential(credential); !ok || a.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("the credential is %q", credential)
		}
		g.KeepSecret(credential)
		pay(g, credential, "eth_call").Result()
		// The header is public on the chain by now: it buys nothing more.
		again := g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]"), name, value)
		if data := again.Refused(http.StatusConflict, -32027); !strings.HasPrefix(fmt.Sprint(data["transaction_hash"]),
			"0xaa") {
			t.Errorf("it is told %v", data)
		}
		if f.settled.Load() != before+1 {
			t.Errorf("version %d was settled %d times", version, f.settled.Load()-before)
		}
		digest := must(account.ParseCredential(credential)).Digest(g.Hasher)
		of, err := g.Store.FindIdentity(t.Context(), digest[:])
		g.Must(err)
		used := plan.Units(0)
		for _, line := range g.LinesOf(of.Account) {
			used += line.Units
		}
		if used != 2*plan.Unit {
			t.Errorf("two calls used %s units", used)
		}
	}
}

func must[T any](v T, ok bool) T {
	if !ok {
		panic("not of its form")
	}
	return v
}

func TestX402_RequestThatCannotBeRelayedIsNotPaidFor(t *testing.T) {
	t.Parallel()
	g, f := selling(t)
	for body, code := range map[string]int{`{`: -32700, `{"jsonrpc":"2.0"}`: -32600, `[]`: -32600} {
		t.Run(body, func(t *testing.T) {
			name, value := payment(t, g, x402.Version1, 54_000)
			g.Ask(http.MethodPost, paidPath, "", body, name, value).Refused(http.StatusBadRequest, code)
		})
	}
	for value, says := range map[string]string{"!": "base64", "eyJ4NDAyVmVyc2lvbiI6Mn0=": "takes 1"} {
		if _, why := asked(g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]"), "X-PAYMENT",
			value)); !strings.Contains(why, says) {
			t.Errorf("%s is refused with %q", value, why)
		}
	}
	name, value := payment(t, g, x402.Version1, 53_999)
	if _, why := asked(g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]"), name,
		value)); !strings.Contains(
		why, "54000 are required") {
		t.Errorf("too little is refused with %q", why)
	}
	name, value = payment(t, g, x402.Version2, 45_000) // the price for other countries
	if _, why := asked(g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]"), name,
		value)); !strings.Contains(
		why, "no offer of now") {
		t.Errorf("an offer of elsewhere is refused with %q", why)
	}
	if f.settled.Load() != 0 {
		t.Error("something was settled")
	}
}

func TestX402_FacilitatorFailuresSayWhetherMoneyMayHaveMoved(t *testing.T) {
	t.Parallel()
	g, f := selling(t)
	pay := func() apitest.Answer {
		name, value := payment(t, g, x402.Version2, 54_000)
		return g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]"), name, value)
	}
	refusal, away, unknown := error(&facilitator.RefusalError{Reason: "insufficient_funds"}),
		facilitator.ErrUnavailable, errors.Join(facilitator.ErrUnknown)
	f.verdict.Store(&refusal)
	if _, why := asked(pay()); !strings.Contains(why, "insufficient_funds") {
		t.Errorf("refused with %q", why)
	}
	f.verdict.Store(&away)
	if a := pay(); a.Header.Get("Retry-After") == "" {
		t.Errorf("it does not say when to come back: %s", a.Body)
	} else {
		a.Refused(http.StatusServiceUnavailable, -32030)
	}
	if f.settled.Load() != 0 {
		t.Error("what did not verify was settled")
	}
	f.verdict.Store(nil)
	f.outcome.Store(&refusal)
	asked(pay())
	f.outcome.Store(&unknown)
	data := pay().Refused(http.StatusConflict, -32017)
	expect.Equal[any](t, data["redeem"], "/x402/redeem")
	expect.NotEqual(t, data["nonce"], nil)
	expect.NotEqual(t, data["valid_before"], nil)
	if n := f.settled.Load(); n != 2 || g.Sent("eth_call") != 0 {
		t.Errorf("%d were sent to be settled, %d calls were relayed", n, g.Sent("eth_call"))
	}
}

func TestX402_StockClientsAreNotServedWithoutAFacilitator(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.RPC("", "eth_mainnet", apitest.Call("eth_call", "[]"), "Accept-Payment",
		"x402").Refused(http.StatusUnauthorized, -32001)
	g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]")).Refused(http.StatusNotFound, -32600)
}

func TestX402_OtherOriginsMayPay(t *testing.T) {
	t.Parallel()
	g, _ := selling(t)
	if a := g.Ask(http.MethodOptions, paidPath, "", "", "Origin",
		"https://page.example"); a.Status != http.StatusNoContent ||
		!strings.Contains(a.Header.Get("Access-Control-Allow-Headers"), "PAYMENT-SIGNATURE") {
		t.Errorf("got HTTP %d, %v", a.Status, a.Header)
	}
	a := g.Ask(http.MethodPost, paidPath, "", apitest.Call("eth_call", "[]"), "Origin", "https://page.example")
	if exposed := a.Header.Get("Access-Control-Expose-Headers"); a.Header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(exposed, "PAYMENT-REQUIRED") {
		t.Errorf("exposed are %q", exposed)
	}
}

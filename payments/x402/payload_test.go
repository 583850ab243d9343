package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
)

// paidBy is the payer of the payments in testdata. Stock clients made them: x402-fetch 1.2.0 and
// @x402/fetch 2.27.0 with viem 2.57.1, with the private key keccak256("payer of the test data").
const paidBy = "0xf17D055fA64020564135D494d924E32DE6074d30"

var usdCoin = x402.Token{Name: "USD Coin", Version: "2"}

func address(t testing.TB, text string) wallet.Address {
	t.Helper()
	a, err := wallet.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func laneTerms(t testing.TB) x402.Terms {
	t.Helper()
	return x402.Terms{
		Chain: 8453, Asset: address(t, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
		PayTo: address(t, "0x00000000000000000000000000000000000Ca511"),
	}
}

func laneQuote(t testing.TB, asked plan.Tier, country string) x402.Quote {
	t.Helper()
	return laneTerms(t).Quote(usdCoin, asked, country, "https://gateway.example/x402/rpc/base_mainnet")
}

// fixture returns a header's value as a stock client sent it.
func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func TestPayload_OfStockClientsIsReadAndSignedByItsPayer(t *testing.T) {
	t.Parallel()
	for version, name := range map[int]string{x402.Version1: "x402-fetch", x402.Version2: "x402-fetch-v2"} {
		in := expect.In(t, "%s", name)
		q := laneQuote(t, "", "")
		p, wrong := q.ReadPayload(version, fixture(t, name))
		require.Equal(in, wrong, "")
		expect.Equal(in, p.From, address(t, paidBy))
		expect.Equal(in, p.To, q.Terms.PayTo)
		expect.Equal(in, p.Value, 54_000)
		expect.Equal(in, p.Offer.Tier.Tier, plan.Cheap)
		expect.Equal(in, p.Version, version)
		signer, err := wallet.RecoverHash(p.Digest(q.Terms, usdCoin), p.Signature)
		require.NoError(in, err)
		expect.Equal(in, signer, p.From)
		aMinuteBefore := time.Unix(p.ValidBefore, 0).Add(-time.Minute)
		expect.Equal(in, p.Check(q.Terms, p.Offer.Amount, aMinuteBefore), "")
	}
}

func TestPayload_FacilitatorIsAskedInItsVersionOverOurOwnTerms(t *testing.T) {
	t.Parallel()
	for version, name := range map[int]string{x402.Version1: "x402-fetch", x402.Version2: "x402-fetch-v2"} {
		q := laneQuote(t, "", "")
		p, _ := q.ReadPayload(version, fixture(t, name))
		body, err := q.FacilitatorRequest(&p)
		if err != nil {
			t.Fatal(err)
		}
		var request struct {
			Version      int             `json:"x402Version"`
			Payment      json.RawMessage `json:"paymentPayload"`
			Requirements map[string]any  `json:"paymentRequirements"`
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		amount, network := "amount", "eip155:8453"
		if version == x402.Version1 {
			amount, network = "maxAmountRequired", "base"
		}
		in := expect.In(t, "%s", name)
		expect.Equal(in, request.Version, version, body)
		expect.Equal[any](in, request.Requirements[amount], "54000", body)
		expect.Equal[any](in, request.Requirements["network"], network, body)
		// The request for the facilitator repeats what the client sent.
		repeated, wrong := q.ReadPayload(version, base64.StdEncoding.EncodeToString(request.Payment))
		require.Equal(in, wrong, "", request.Payment)
		expect.Equal(in, repeated.Nonce, p.Nonce)
		expect.EqualSlices(in, repeated.Signature, p.Signature)
		expect.Equal(in, repeated.ValidBefore, p.ValidBefore)
	}
}

// changed returns a stock client's payment with one piece of its JSON replaced.
func changed(t *testing.T, name, from, to string) string {
	t.Helper()
	document, err := base64.StdEncoding.DecodeString(fixture(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(document), from) {
		t.Fatalf("%s holds no %s: %s", name, from, document)
	}
	return base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(document), from, to, 1)))
}

func TestPayload_OfAnotherFormIsRefusedInWords(t *testing.T) {
	t.Parallel()
	const one, two = "x402-fetch", "x402-fetch-v2"
	for _, c := range []struct {
		version      int
		header, says string
	}{
		{1, "", "form of version 1"},
		{1, "!", "no base64"},
		{1, "e30", "no base64"},
		{1, strings.Repeat("A", x402.MaxPayload+4), "longer"},
		{1, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("[", 9_000))), "form of version 1"},
		{1, fixture(t, two), "x402Version takes 1"},
		{2, fixture(t, one), "x402Version takes 2"},
		{1, changed(t, one, `"exact"`, `"upto"`), "scheme"},
		{1, changed(t, one, `"base"`, `"base-sepolia"`), "network takes base"},
		{2, changed(t, two, `"network":"eip155:8453"`, `"network":"eip155:1"`), "network takes eip155:8453"},
		{2, changed(t, two, `"scheme":"exact"`, `"scheme":"upto"`), "scheme"},
		{2, changed(t, two, `0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913`, paidBy), "asset takes"},
		{1, changed(t, one, `"signature":"0x`, `"signature":"`), "signature takes"},
		{1, changed(t, one, `"value":"54000"`, `"value":"-54000"`), "value takes"},
		{1, changed(t, one, `"value":"54000"`, `"value":"054000"`), "value takes"},
		{1, changed(t, one, `"value":"54000"`, `"value":"9007199254740992"`), "value takes"},
		{1, changed(t, one, `"value":"54000"`, `"value":54000`), "form of version 1"},
		{1, changed(t, one, `"validBefore":"`, `"validBefore":"9999999999999999999`), "validBefore takes"},
		{1, changed(t, one, `"nonce":"0x`, `"nonce":"0y`), "nonce takes"},
		{1, changed(t, one, `"from":"0x`, `"from":"0y`), "form of version 1"},
	} {
		t.Run(c.says, func(t *testing.T) {
			q := laneQuote(t, "", "")
			_, wrong := q.ReadPayload(c.version, c.header)
			in := expect.In(t, "version %d of %.60s", c.version, c.header)
			expect.Contains(in, wrong, c.says)
			expect.AtMost(in, len(wrong), 200)
		})
	}
}

func TestPayload_AuthorizationsThatDoNotPayAreRefused(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for says, spoil := range map[string]func(*x402.Authorization){
		"":                    func(*x402.Authorization) {},
		"to payTo":            func(a *x402.Authorization) { a.To[0]++ },
		"no payer":            func(a *x402.Authorization) { a.From = wallet.Address{} },
		"53999 atomic units":  func(a *x402.Authorization) { a.Value-- },
		"not valid yet":       func(a *x402.Authorization) { a.ValidAfter = now.Unix() + 6 },
		"too soon":            func(a *x402.Authorization) { a.ValidBefore = now.Unix() + 9 },
		"more than an hour":   func(a *x402.Authorization) { a.ValidBefore = now.Unix() + 3601 },
		"the wallet that pay": func(a *x402.Authorization) { a.From = a.To },
	} {
		t.Run(says, func(t *testing.T) {
			q := laneQuote(t, "", "")
			p, _ := q.ReadPayload(x402.Version1, fixture(t, "x402-fetch"))
			p.ValidAfter, p.ValidBefore = now.Unix()+5, now.Unix()+10
			spoil(&p.Authorization)
			wrong := p.Check(q.Terms, p.Offer.Amount, now)
			if says == "" {
				expect.Equal(t, wrong, "")
				return
			}
			expect.Contains(t, wrong, says)
		})
	}
}

func TestQuote_OffersTheRequestedTierFirstAndTaxesByCountry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked   plan.Tier
		country string
		want    []plan.Atomic
	}{
		{"", "", []plan.Atomic{54_000, 108_000, 216_000}},
		{plan.Balanced, "DE", []plan.Atomic{108_000, 54_000, 216_000}},
		{plan.Fast, "US", []plan.Atomic{180_000, 45_000, 90_000}},
	} {
		t.Run(string(c.asked), func(t *testing.T) {
			q := laneQuote(t, c.asked, c.country)
			for i, o := range q.Offers {
				deal, enough := x402.Price(o.Amount, o.Tier, c.country)
				in := expect.In(t, "%s in %q: offer %d", c.asked, c.country, i)
				expect.Equal(in, o.Amount, c.want[i])
				require.True(in, enough)
				expect.Equal(in, deal.Units, plan.UnitsPerPayment)
			}
		})
	}
}

func TestPayload_OfVersion1IsForTheTierWhoseAmountItPays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked plan.Tier
		paid  string
		want  plan.Tier // empty: refused
	}{
		{"", "54000", plan.Cheap},
		{"", "108000", plan.Balanced},
		{"", "216000", plan.Fast},
		{"", "200000", ""},
		{"", "53999", ""},
		{"", "45000", ""},
		{plan.Cheap, "216000", ""},
		{plan.Fast, "54000", ""},
		{plan.Fast, "216000", plan.Fast},
	} {
		t.Run(string(c.asked), func(t *testing.T) {
			q := laneQuote(t, c.asked, "")
			p, wrong := q.ReadPayload(x402.Version1,
				changed(t, "x402-fetch", `"value":"54000"`, `"value":"`+c.paid+`"`))
			in := expect.In(t, "asked for %q and paid %s", c.asked, c.paid)
			expect.Equal(in, p.Offer.Tier.Tier, c.want)
			if c.want == "" {
				expect.Contains(in, wrong, "no offer's amount")
				return
			}
			expect.Equal(in, wrong, "")
		})
	}
}

func TestPayload_OfVersion2IsForWhatItAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked                 plan.Tier
		country, amount, tier string
		want                  plan.Tier // empty: refused
	}{
		{"", "", "54000", "cheap", plan.Cheap},
		{"", "", "216000", "fast", plan.Fast},
		{plan.Fast, "", "54000", "cheap", plan.Cheap},
		{"", "", "54000", "fast", ""},
		{"", "", "216000", "cheap", ""},
		{"", "", "54001", "cheap", ""},
		{"", "", "54000", "", ""},
		{"", "", "", "cheap", ""},
		{"", "US", "54000", "cheap", ""},
		{"", "US", "45000", "cheap", plan.Cheap},
	} {
		t.Run(string(c.asked), func(t *testing.T) {
			q := laneQuote(t, c.asked, c.country)
			document, err := base64.StdEncoding.DecodeString(changed(t, "x402-fetch-v2", `"amount":"54000"`,
				`"amount":"`+c.amount+`"`))
			if err != nil {
				t.Fatal(err)
			}
			document = []byte(strings.Replace(string(document), `"tier":"cheap"`, `"tier":"`+c.tier+`"`, 1))
			p, wrong := q.ReadPayload(x402.Version2, base64.StdEncoding.EncodeToString(document))
			in := expect.In(t, "accepted %s of %q in %q", c.amount, c.tier, c.country)
			expect.Equal(in, p.Offer.Tier.Tier, c.want)
			if c.want == "" {
				expect.Contains(in, wrong, "no offer of now")
				return
			}
			expect.Equal(in, wrong, "")
		})
	}
}

// For any input, the facilitator gets what was parsed, and parsing that again gives the same.
func FuzzReadPayload(f *testing.F) {
	for version, name := range map[int]string{x402.Version1: "x402-fetch", x402.Version2: "x402-fetch-v2"} {
		document, err := base64.StdEncoding.DecodeString(fixture(f, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(version, document)
	}
	f.Fuzz(func(t *testing.T, version int, document []byte) {
		version = x402.Version1 + version&1
		q := laneQuote(t, "", "")
		p, wrong := q.ReadPayload(version, base64.StdEncoding.EncodeToString(document))
		if wrong != "" {
			return
		}
		body, err := q.FacilitatorRequest(&p)
		if err != nil {
			t.Fatal(err)
		}
		var request struct {
			Payment json.RawMessage `json:"paymentPayload"`
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		again, wrong := q.ReadPayload(version, base64.StdEncoding.EncodeToString(request.Payment))
		expect.Equal(t, wrong, "", document, request.Payment)
		expect.Equal(t, again.Digest(q.Terms, usdCoin), p.Digest(q.Terms, usdCoin), document, request.Payment)
		expect.Equal(t, string(again.Signature), string(p.Signature), document, request.Payment)
	})
}

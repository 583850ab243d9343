package keys_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
)

var (
	firstPayer  = wallet.Address{0x11, 19: 0xaa}
	secondPayer = wallet.Address{0x22, 19: 0xbb}
)

// paid returns a transaction of its own, in which amount was paid.
func paid(tx byte, amount plan.Atomic) (x402.TxHash, *x402.Finding) {
	return x402.TxHash{0xfe, 31: tx}, &x402.Finding{
		Paid: amount, Block: 4_800_017, BlockHash: x402.TxHash{0xb1, 31: tx},
		Time: time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC).Unix(), Depth: 3,
	}
}

// granted redeems a payment in PostgreSQL and returns the credential.
func granted(g *apitest.Gateway, id x402.ID, found *x402.Finding, tier plan.Tier, country string) account.Credential {
	g.T.Helper()
	priced, ok := plan.FindPerCallTier(tier)
	deal, enough := x402.Price(found.Paid, priced, country)
	if !ok || !enough {
		g.T.Fatalf("%d does not pay for the tier %s", found.Paid, tier)
	}
	credential, err := account.MintCredential(rand.Reader)
	g.Must(err)
	_, err = g.Limits.GrantSettlement(g.T.Context(), paymentdb.Grant{
		ID: id, Deal: deal, Found: *found, Origin: "api",
		Credential: paymentdb.Credential{
			Key: account.NewKeyID(), Digest: credential.Digest(g.Hasher), Prefix: credential.Prefix(),
		},
	})
	g.Must(err)
	return credential
}

func receipt(g *apitest.Gateway, tx x402.TxHash) apitest.Answer {
	g.T.Helper()
	return g.Ask(http.MethodGet, "/x402/receipts/"+tx.String()+".json", "", "")
}

func TestReceipt_ShowsEachPayersAmountsTaxAndUnits(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, behindProxies(t))
	tx, found := paid(1, 108_000)
	credential := granted(g, x402.ID{Chain: 8453, Tx: tx, Payer: firstPayer}, found, plan.Balanced, "DE")
	_, more := paid(1, 99_000_000)
	granted(g, x402.ID{Chain: 8453, Tx: tx, Payer: secondPayer}, more, plan.Cheap, "US")
	receipt := receipt(g, tx)
	receipt.Golden("receipt")
	for _, part := range []string{credential.Reveal(), credential.Prefix(), "cagx_"} {
		if strings.Contains(receipt.Body, part) {
			t.Errorf("the receipt shows %q of the credential", part)
		}
	}
	var r struct {
		Settlements []struct {
			AmountPaid json.Number `json:"amount_paid"`
			Tax        struct{ Net, VAT json.Number }
			Bought     struct{ Units, Used, Remaining, Expired json.Number }
		}
	}
	g.Must(json.Unmarshal([]byte(receipt.Body), &r))
	for i, s := range r.Settlements {
		if whole(t, s.Tax.Net)+whole(t, s.Tax.VAT) != whole(t, s.AmountPaid) {
			t.Errorf("payment %d: net %s and VAT %s are not the %s paid", i, s.Tax.Net, s.Tax.VAT, s.AmountPaid)
		}
		if whole(t, s.Bought.Used)+whole(t, s.Bought.Remaining)+whole(t, s.Bought.Expired) != whole(t, s.Bought.Units) {
			t.Errorf("payment %d: units do not add up: %+v", i, s.Bought)
		}
	}
	// The hash in capitals is the same hash.
	if again := g.Ask(http.MethodGet, "/x402/receipts/0x"+strings.ToUpper(tx.String()[2:])+".json", "",
		""); again.Body != receipt.Body {
		t.Errorf("in capitals: %d %s", again.Status, again.Body)
	}
}

func whole(t *testing.T, n json.Number) int64 {
	t.Helper()
	value, err := n.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestReceipt_OfAReorganizedPaymentSaysSo(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, behindProxies(t))
	tx, found := paid(2, 90_000)
	id := x402.ID{Chain: 8453, Tx: tx, Payer: firstPayer}
	granted(g, id, found, plan.Balanced, "")
	_, err := g.Limits.ConcludeSettlement(t.Context(), id, x402.FinalityGone, nil,
		"The transaction is no longer part of the chain.", accountdb.Author{
			Actor: "workflow", Origin: "workflow", Reason: "reorganised",
		})
	g.Must(err)
	receipt(g, tx).Golden("receipt reorganised")
}

func TestReceipt_OfAnOldPaymentHasExpiredUnits(t *testing.T) {
	t.Parallel()
	late := testkit.NewClock(time.Now().Add(2 * time.Hour))
	g := apitest.Setup(t, behindProxies(t), func(o *apitest.Options) {
		o.Now, o.Timeout = late.Now, apitest.StoppedClockTimeout
	})
	tx, found := paid(3, 90_000)
	granted(g, x402.ID{Chain: 8453, Tx: tx, Payer: firstPayer}, found, plan.Balanced, "CH")
	if got := receipt(g, tx).Body; !strings.Contains(got,
		`"units":10000,"capped":false,"used":0,"remaining":0,"expired":10000`) ||
		!strings.Contains(got, "Its window is over.") {
		t.Errorf("two hours later: %s", got)
	}
}

func TestReceipt_OfAnUnknownSettlementIsNotFound(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, behindProxies(t))
	tx, found := paid(4, 1)
	receipt(g, tx).Golden("receipt not found")
	// A refused payment has no receipt. A waiting one has, without amounts until they were read.
	id := x402.ID{Chain: 8453, Tx: tx, Payer: firstPayer}
	_, err := g.Store.NoteSettlement(t.Context(), id, x402.StageRefused, "too_little",
		"Less was paid than the cheapest tier takes.", found)
	g.Must(err)
	if got := receipt(g, tx); got.Status != http.StatusNotFound {
		t.Errorf("a refused payment: %d %s", got.Status, got.Body)
	}
	waiting, _ := paid(5, 0)
	_, err = g.Store.NoteSettlement(t.Context(), x402.ID{Chain: 8453, Tx: waiting, Payer: firstPayer}, x402.StageStuck,
		"no_upstream", "No upstream of the chain answers.", nil)
	g.Must(err)
	receipt(g, waiting).Golden("receipt stuck")
	// Payments on another chain do not belong to it.
	elsewhere, seen := paid(6, 90_000)
	granted(g, x402.ID{Chain: 84532, Tx: elsewhere, Payer: firstPayer}, seen, plan.Balanced, "DE")
	if got := receipt(g, elsewhere); got.Status != http.StatusNotFound {
		t.Errorf("a payment on another chain: %d %s", got.Status, got.Body)
	}
	g.Ask(http.MethodGet, "/x402/receipts/0x12.json", "", "").Golden("receipt hash refused")
}

func TestReceipt_ReadsAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, behindProxies(t))
	tx, _ := paid(7, 0)
	var last apitest.Answer
	begun := time.Now()
	// the window slides
	for n := 0; n < 61+int(time.Since(begun)/time.Second) && last.Status != http.StatusTooManyRequests; n++ {
		last = receipt(g, tx)
	}
	if last.Status != http.StatusTooManyRequests || last.Header.Get("Retry-After") == "" {
		t.Errorf("the 61st within a minute: %d %s", last.Status, last.Body)
	}
	if other := g.Ask(http.MethodGet, "/x402/receipts/"+tx.String()+".json", "", "", "X-Forwarded-For",
		"192.0.2.9"); other.Status != http.StatusNotFound {
		t.Errorf("another network: %d %s", other.Status, other.Body)
	}
}

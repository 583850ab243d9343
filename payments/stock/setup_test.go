package stock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/facilitator"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/paymentdb"
)

const testTimeout = 30 * time.Second

var (
	network = netip.MustParsePrefix("192.0.2.7/32")
	paidIn  = x402.TxHash{0xab}
)

// env is a Processor over real servers and a scripted facilitator.
type env struct {
	*stock.Processor

	t      *testing.T
	store  *store.Store
	meter  *meter.Meter
	limits *limits.Limits
	desk   *desk
	payer  *ecdsa.PrivateKey
	nonce  byte
}

// desk is a facilitator with replaceable responses that counts its requests.
type desk struct {
	*httptest.Server

	verify, settle     atomic.Pointer[http.HandlerFunc]
	verified, settling atomic.Int64
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// breakOff closes the connection without a response.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// hang sends no response until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func settledIn(tx x402.TxHash) http.HandlerFunc {
	return says(http.StatusOK, `{"success":true,"transaction":"`+tx.String()+`","network":"base"}`)
}

// on replaces the response to a request.
func (d *desk) on(what *atomic.Pointer[http.HandlerFunc], answer http.HandlerFunc) {
	what.Store(&answer)
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{}
	d.on(&d.verify, says(http.StatusOK, `{"isValid":true}`))
	d.on(&d.settle, settledIn(paidIn))
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/verify":
			d.verified.Add(1)
			(*d.verify.Load())(w, r)
		case "/settle":
			d.settling.Add(1)
			(*d.settle.Load())(w, r)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

func setup(t *testing.T, change ...func(*stock.Options)) *env {
	t.Helper()
	b := &env{t: t, desk: newDesk(t)}
	var err error
	b.store, err = store.Open(t.Context(), testkit.Postgres(t))
	b.must(err)
	t.Cleanup(b.store.Close)
	b.meter, err = meter.Open(t.Context(), testkit.Redis(t).URL)
	b.must(err)
	t.Cleanup(func() { _ = b.meter.Close() })
	hasher, err := account.NewHasher([]byte(strings.Repeat("pepper", 8)))
	b.must(err)
	b.limits = limits.New(b.store, b.meter, hasher, time.Now)
	b.payer, err = crypto.GenerateKey()
	b.must(err)
	asks, err := facilitator.New(facilitator.Options{
		URL: b.desk.URL, VerifyTimeout: time.Second, SettleTimeout: time.Second,
	})
	b.must(err)
	o := stock.Options{
		Record: b.store, Facilitator: asks, Grants: b.limits, Networks: netlimit.New(b.meter, netlimit.Defaults(),
			time.Now), Hasher: hasher, Terms: x402.Terms{
			Chain: 8453, Asset: wallet.Address{1}, PayTo: wallet.Address{2}, Confirmations: 2,
		},
		Token: x402.Token{Name: "USD Coin", Version: "2"},
		Head:  func() (uint64, bool) { return 1000, true },
		Now:   time.Now, Random: rand.Reader, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	b.Processor = stock.New(o)
	return b
}

func (b *env) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *env) quote() *x402.Quote {
	q := b.Quote("", "", "https://gateway.example/x402/rpc/base_mainnet")
	return &q
}

// sign returns a payment for the first offer, with a new nonce.
func (b *env) sign(q *x402.Quote) *x402.Payload {
	b.t.Helper()
	b.nonce++
	p := &x402.Payload{Version: x402.Version1, Offer: q.Offers[0], Authorization: x402.Authorization{
		From: wallet.Address(crypto.PubkeyToAddress(b.payer.PublicKey)), To: q.Terms.PayTo, Value: q.Offers[0].Amount,
		ValidBefore: time.Now().Add(time.Minute).Unix(), Nonce: x402.Nonce{b.nonce},
	}}
	digest := p.Digest(q.Terms, q.Token)
	var err error
	p.Signature, err = crypto.Sign(digest[:], b.payer)
	b.must(err)
	return p
}

func (b *env) pay(p *x402.Payload) (stock.Sale, *fault.Error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), testTimeout)
	defer cancel()
	return b.Take(ctx, b.quote(), p, network)
}

// state returns the recorded state of a payment's authorization, or "" if there is none.
func (b *env) state(p *x402.Payload) string {
	b.t.Helper()
	a, err := b.store.FindAuthorization(b.t.Context(), idOf(b.Terms, p))
	if err != nil {
		return ""
	}
	return string(a.State)
}

func idOf(t x402.Terms, p *x402.Payload) paymentdb.AuthorizationID {
	return paymentdb.AuthorizationID{Chain: t.Chain, Asset: t.Asset, Payer: p.From, Nonce: p.Nonce}
}

// works checks that a sale's credential is valid and has the units of one payment.
func (b *env) works(s stock.Sale) {
	b.t.Helper()
	subject, refusal := b.limits.IdentifyCredential(b.t.Context(), s.Credential.Reveal(), network)
	if refusal != nil || subject.Tier != plan.Cheap {
		b.t.Errorf("the credential is of %+v, %v", subject, refusal)
	}
	expect.Equal(b.t, s.Settlement.Deal.Units, plan.UnitsPerPayment)
	expect.Equal(b.t, s.Settlement.Tx, paidIn)
	expect.Equal(b.t, s.Settlement.Deal.Net+s.Settlement.Deal.VAT, 54_000)
}

// refusedAs checks the reason and the message of a refusal.
func (b *env) refusedAs(what string, f *fault.Error, reason fault.Reason, says string) {
	b.t.Helper()
	in := expect.In(b.t, "%s", what)
	require.NotNil(in, f)
	expect.Equal(in, f.Reason, reason)
	expect.Contains(in, f.Message, says)
}

// requests checks the number of requests to the facilitator.
func (b *env) requests(verified, settling int64) {
	b.t.Helper()
	if v, s := b.desk.verified.Load(), b.desk.settling.Load(); v != verified || s != settling {
		b.t.Errorf("the facilitator got %d verifications and %d settlements, want %d and %d", v, s, verified, settling)
	}
}

var errAway = errors.New("the record is away")

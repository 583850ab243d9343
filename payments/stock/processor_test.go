package stock_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/facilitator"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/paymentdb"
)

func TestPayment_BuysABundleOnceAndItsHeaderIsNoCredential(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.sign(b.quote())
	sale, refusal := b.pay(p)
	if refusal != nil {
		t.Fatal(refusal)
	}
	b.works(sale)
	_, refusal = b.pay(p)
	b.refusedAs("again", refusal, fault.SettlementRedeemed, paidIn.String())
	b.requests(1, 1)
	if b.state(p) != "settled" {
		t.Errorf("it is %s", b.state(p))
	}
}

func TestPayment_OutcomesAreCounted(t *testing.T) {
	t.Parallel()
	var counted []stock.Outcome
	known := true
	b := setup(t, func(o *stock.Options) {
		o.OnTaken = func(outcome stock.Outcome) { counted = append(counted, outcome) }
		o.Head = func() (uint64, bool) { return 1000, known }
	})
	pay := func(p *x402.Payload) {
		t.Helper()
		_, _ = b.pay(p) // other tests check the response
	}
	first := b.sign(b.quote())
	pay(first)
	pay(first)
	pay(b.sign(b.quote())) // settles in the same transaction, which buys only once
	b.desk.on(&b.desk.settle, breakOff)
	lost := b.sign(b.quote())
	pay(lost)
	pay(lost)
	b.desk.on(&b.desk.verify, says(http.StatusOK, `{"isValid":false,"invalidReason":"insufficient_funds"}`))
	pay(b.sign(b.quote()))
	b.desk.on(&b.desk.verify, breakOff)
	pay(b.sign(b.quote()))
	known = false
	pay(b.sign(b.quote()))
	known = true
	late := b.sign(b.quote())
	late.ValidBefore = 1
	pay(late)
	for range 30 {
		pay(first)
	}
	want := []stock.Outcome{
		stock.Granted, stock.Again, stock.NotGranted, stock.Unknown, stock.Again, stock.Refused, stock.Failed,
		stock.Failed, stock.Refused,
	}
	require.Len(t, counted, len(want)+30)
	expect.EqualSlices(t, counted[:len(want)], want)
	expect.Equal(t, counted[len(counted)-1], stock.Limited)
	for _, outcome := range counted {
		if !slices.Contains(stock.Outcomes(), outcome) {
			t.Errorf("%q is not among the outcomes", outcome)
		}
	}
}

func TestPayment_UnverifiedIsReleasedAndNeverSettled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verify http.HandlerFunc
		reason fault.Reason
		says   string
	}{
		"refused": {
			says(200, `{"isValid":false,"invalidReason":"insufficient_funds"}`), fault.PaymentRequired,
			"insufficient_funds",
		},
		"fails":      {says(500, `oops`), fault.DurableUnavailable, "Nothing was paid"},
		"breaks off": {breakOff, fault.DurableUnavailable, "Nothing was paid"},
		"times out":  {hang, fault.DurableUnavailable, "Nothing was paid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.desk.on(&b.desk.verify, c.verify)
			p := b.sign(b.quote())
			_, refusal := b.pay(p)
			b.refusedAs(name, refusal, c.reason, c.says)
			if state := b.state(p); state != "" {
				t.Errorf("the authorization stays %s", state)
			}
			b.requests(1, 0)
			// the same payment can be sent again
			b.desk.on(&b.desk.verify, says(http.StatusOK, `{"isValid":true}`))
			sale, refusal := b.pay(p)
			if refusal != nil {
				t.Fatal(refusal)
			}
			b.works(sale)
			b.requests(2, 1)
		})
	}
}

func TestSettlement_IsSentOnceWhateverComesOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settle        http.HandlerFunc
		reason, again fault.Reason
		says, state   string
	}{
		"refused for its form": {
			says(200, `{"success":false,"errorReason":"invalid_exact_evm_signature","transaction":""}`),
			fault.PaymentRequired, fault.OutcomeUnknown, "evm_signature", "failed",
		},
		"failed without a hash": {
			says(200, `{"success":false,"errorReason":"invalid_exact_evm_transaction_failed","transaction":""}`),
			fault.OutcomeUnknown, fault.OutcomeUnknown, "/x402/redeem", "unknown",
		},
		"used by somebody": {
			says(200, `{"success":false,"errorReason":"invalid_exact_evm_nonce_already_used","transaction":""}`),
			fault.OutcomeUnknown, fault.OutcomeUnknown, "/x402/redeem", "unknown",
		},
		"failed after a transaction": {
			says(200, `{"success":false,"errorReason":"invalid_transaction_state","transaction":"`+paidIn.String()+
				`"}`), fault.OutcomeUnknown, fault.OutcomeUnknown, "/x402/redeem", "unknown",
		},
		"fails": {
			says(503, `busy`), fault.OutcomeUnknown, fault.OutcomeUnknown, "/x402/redeem", "unknown",
		},
		"breaks off": {breakOff, fault.OutcomeUnknown, fault.OutcomeUnknown, "/x402/redeem", "unknown"},
		"times out":  {hang, fault.OutcomeUnknown, fault.OutcomeUnknown, "/x402/redeem", "unknown"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, fault.OutcomeUnknown, fault.OutcomeUnknown, "/x402/redeem", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.desk.on(&b.desk.settle, c.settle)
			p := b.sign(b.quote())
			_, refusal := b.pay(p)
			b.refusedAs("first", refusal, c.reason, c.says)
			if state := b.state(p); state != c.state {
				t.Errorf("the authorization is %q, want %q", state, c.state)
			}
			b.desk.on(&b.desk.settle, settledIn(paidIn))
			_, refusal = b.pay(p)
			b.refusedAs("again", refusal, c.again, "")
			b.requests(1, 1)
			if all, err := b.store.ListSettlementsOf(t.Context(), 8453, paidIn); err != nil || len(all) != 0 {
				t.Errorf("units were granted: %+v, %v", all, err)
			}
		})
	}
}

// closing is a facilitator that verifies and is gone when asked to settle.
type closing struct {
	stock.Facilitator

	gone *facilitator.Client
}

func (c closing) Settle(ctx context.Context, q *x402.Quote, p *x402.Payload) (x402.TxHash, error) {
	return c.gone.Settle(ctx, q, p)
}

func TestPayment_StaysGoodWhenTheFacilitatorIsGoneBeforeSettling(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	gone, err := facilitator.New(facilitator.Options{URL: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(o *stock.Options) { o.Facilitator = closing{o.Facilitator, gone} })
	p := b.sign(b.quote())
	_, refusal := b.pay(p)
	b.refusedAs("gone", refusal, fault.DurableUnavailable, "Nothing was paid")
	if state := b.state(p); state != "" {
		t.Errorf("the authorization stays %s", state)
	}
	b.requests(1, 0)
}

func TestPayment_PresentedByManyIsSettledByOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.sign(b.quote())
	var sold, busy atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			switch sale, refusal := b.Take(t.Context(), b.quote(), p, network); {
			case refusal == nil:
				sold.Add(1)
				b.works(sale)
			case refusal.Reason == fault.OutcomeUnknown || refusal.Reason == fault.SettlementRedeemed:
				busy.Add(1)
			default:
				t.Error(refusal)
			}
		})
	}
	wg.Wait()
	if sold.Load() != 1 || busy.Load() != 19 {
		t.Errorf("%d were sold, %d told to wait", sold.Load(), busy.Load())
	}
	b.requests(1, 1)
}

func TestPayment_TwoInOneTransactionAreGrantedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sale, refusal := b.pay(b.sign(b.quote()))
	if refusal != nil {
		t.Fatal(refusal)
	}
	_, refusal = b.pay(b.sign(b.quote()))
	b.refusedAs("the second", refusal, fault.SettlementRedeemed, "POST /support that names the transaction")
	if refusal != nil && (refusal.Data["transaction_hash"] != paidIn.String() ||
		refusal.Data["support"] != "/support") {
		t.Errorf("it is told %v", refusal.Data)
	}
	b.works(sale)
	told, err := b.store.SettlementHistory(t.Context(), sale.Settlement.ID)
	require.NoError(t, err)
	require.Len(t, told, 2)
	expect.Contains(t, told[1].Words, "0x02")
	expect.Contains(t, told[1].Words, "54000 atomic units")
	b.requests(2, 2)
}

func TestPayment_ClientThatLeavesWhileItSettlesHasPaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, leave := context.WithCancel(t.Context())
	b.desk.on(&b.desk.settle, func(w http.ResponseWriter, r *http.Request) {
		leave()
		settledIn(paidIn)(w, r)
	})
	p := b.sign(b.quote())
	sale, refusal := b.Take(ctx, b.quote(), p, network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	b.works(sale)
	if b.state(p) != "settled" {
		t.Errorf("it is %s", b.state(p))
	}
}

// failing is a record and a granter in which a step fails.
type failing struct {
	*store.Store
	stock.Grants

	begin, end, grant bool
}

func (f failing) BeginSettling(ctx context.Context, of paymentdb.Attempt, hold time.Duration) (bool, error) {
	begun, err := f.Store.BeginSettling(ctx, of, hold)
	if f.begin { // recorded, but the response was lost
		return false, errAway
	}
	return begun, err
}

func (f failing) EndSettling(ctx context.Context, of paymentdb.Attempt, state paymentdb.AuthorizationState,
	reason string,
	tx x402.TxHash, hold time.Duration,
) error {
	if f.end {
		return errAway
	}
	return f.Store.EndSettling(ctx, of, state, reason, tx, hold)
}

//nolint:gocritic // the interface's signature
func (f failing) GrantSettlement(ctx context.Context, g paymentdb.Grant) (paymentdb.Settlement, error) {
	if f.grant {
		return paymentdb.Settlement{}, errAway
	}
	return f.Grants.GrantSettlement(ctx, g)
}

func TestPayment_FailingRecordLosesNoMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing failing
		reason  fault.Reason
		says    string
		state   string
		settled int64
	}{
		"before the settlement": {failing{begin: true}, fault.DurableUnavailable, "Nothing was paid", "", 0},
		"after it":              {failing{end: true}, 0, "", "settling", 1},
		"when granting":         {failing{grant: true}, fault.OutcomeUnknown, paidIn.String(), "settled", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *stock.Options) {
				f := c.failing
				f.Store, _ = o.Record.(*store.Store)
				f.Grants = o.Grants
				o.Record, o.Grants = f, f
			})
			p := b.sign(b.quote())
			sale, refusal := b.pay(p)
			if c.reason == 0 {
				if refusal != nil {
					t.Fatal(refusal)
				}
				b.works(sale)
			} else {
				b.refusedAs(name, refusal, c.reason, c.says)
			}
			if state := b.state(p); state != c.state {
				t.Errorf("the authorization is %q, want %q", state, c.state)
			}
			b.requests(1, c.settled)
		})
	}
}

func TestPayment_InvalidReachesNoFacilitator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for says, spoil := range map[string]func(*x402.Payload){
		"to payTo":      func(p *x402.Payload) { p.To = wallet.Address{9} },
		"are required":  func(p *x402.Payload) { p.Value-- },
		"ends too soon": func(p *x402.Payload) { p.ValidBefore = time.Now().Unix() },
	} {
		p := b.sign(b.quote())
		spoil(p)
		_, refusal := b.pay(p)
		b.refusedAs(says, refusal, fault.PaymentRequired, says)
	}
	b.Head = func() (uint64, bool) { return 0, false }
	_, refusal := b.pay(b.sign(b.quote()))
	b.refusedAs("no head", refusal, fault.NoUpstream, "not taken")
	b.requests(0, 0)
}

func TestPayment_PresentationsAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.desk.on(&b.desk.verify,
		says(http.StatusOK, `{"isValid":false,"invalidReason":"invalid_exact_evm_payload_signature"}`))
	var refusal *fault.Error
	for range 40 {
		if _, refusal = b.pay(b.sign(b.quote())); refusal.Reason == fault.RateWindow {
			break
		}
	}
	b.refusedAs("the last", refusal, fault.RateWindow, "not taken")
	if refusal != nil && (refusal.RetryAfter <= 0 || refusal.Window == nil) {
		t.Errorf("it does not say when to come back: %+v", refusal)
	}
	if v := b.desk.verified.Load(); v < 30 || v > 35 {
		t.Errorf("%d reached the facilitator", v)
	}
}

package stock_test

import (
	"crypto/ecdsa"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// leave leaves n authorizations whose process died while settling.
func (b *env) leave(n int) []*x402.Payload {
	b.t.Helper()
	left := make([]*x402.Payload, n)
	for i := range left {
		p := b.sign(b.quote())
		a, got, err := b.store.ReserveAuthorization(b.t.Context(), paymentdb.Authorization{
			AuthorizationID: idOf(b.Terms, p), Attempt: paymentdb.NewAttempt(), Value: p.Value,
			ValidBefore: time.Unix(p.ValidBefore, 0), FromBlock: 1000, Network: network.String(),
		}, 0)
		if err != nil || !got {
			b.t.Fatal(err)
		}
		if _, err := b.store.BeginSettling(b.t.Context(), a.Attempt, 0); err != nil {
			b.t.Fatal(err)
		}
		left[i] = p
	}
	return left
}

func TestOpenLimit_UnreadableAuthorizationsDoNotKeepOthersFromBeingChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := &ledger{
		head: 1010, final: 900, used: 1003, genesis: time.Now().Add(-2020 * time.Second),
		failing: map[x402.Nonce]bool{},
	}
	s := stock.NewResolver(stock.ResolverOptions{Record: b.store, Chain: l, Watch: l.watch, Confirmations: 2})
	left := b.leave(14) // a page has ten
	for _, p := range left[:4] {
		l.failing[p.Nonce] = true
	}
	if err := s.ResolveDue(t.Context()); err == nil {
		t.Error("nobody is told of those that cannot be read")
	}
	for i, p := range left {
		if want := map[bool]string{true: "settling", false: "settled"}[i < 4]; b.state(p) != want {
			t.Errorf("the %d. is %s, want %s", i, b.state(p), want)
		}
	}
	if l.blocks != 4 {
		t.Errorf("two pages took %d looks at how far the chain is, want 4", l.blocks)
	}
	b.sweep(s) // authorizations that were just read are not due
	if l.asks != 14 {
		t.Errorf("%d were asked for, want 14", l.asks)
	}
}

func TestOpenLimit_PayerWithManyOpenPaymentsMustWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := &ledger{head: 1010, final: 900, used: 1003, genesis: time.Now().Add(-2020 * time.Second)}
	open := b.leave(16)
	p := b.sign(b.quote())
	_, refusal := b.pay(p)
	b.refusedAs("the wallet", refusal, fault.RateWindow, "payments of this wallet")
	if refusal != nil && refusal.RetryAfter <= 0 {
		t.Error("it does not say when to come back")
	}
	_, refusal = b.pay(open[3]) // an open one still gets its own refusal
	b.refusedAs("an open one", refusal, fault.OutcomeUnknown, "")
	if state := b.state(p); state != "" {
		t.Errorf("the refused one stays %s", state)
	}
	b.payer = newPayer(t)
	for range 3 { // 64 payments of one network, by four wallets
		b.leave(16)
		b.payer = newPayer(t)
	}
	_, refusal = b.pay(b.sign(b.quote()))
	b.refusedAs("the network", refusal, fault.RateWindow, "from your network address")
	b.requests(0, 0)
	b.sweep(stock.NewResolver(stock.ResolverOptions{Record: b.store, Chain: l, Watch: l.watch, Confirmations: 2}))
	if _, refusal = b.pay(b.sign(b.quote())); refusal != nil {
		t.Errorf("all are known, and still: %v", refusal)
	}
}

func newPayer(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

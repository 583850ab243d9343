package stock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// ledger is the part of a chain that a Resolver reads.
type ledger struct {
	mu           sync.Mutex // guards what follows
	head, final  uint64     // block numbers; every two seconds a block, from genesis on
	genesis      time.Time
	used         uint64 // block of the transfer; 0 for none
	spent        bool   // result of authorizationState
	away         bool
	failing      map[x402.Nonce]bool // authorizations whose state cannot be read
	ranges, asks int
	blocks       int
	watched      []x402.ID
	unwatchable  bool
}

func (l *ledger) at(number uint64) int64 {
	return l.genesis.Add(time.Duration(number) * 2 * time.Second).Unix() //nolint:gosec // a test's own
}

func (l *ledger) set(change func(*ledger)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

func (l *ledger) Call(_ context.Context, method string, params ...any) (json.RawMessage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return nil, errors.New("no upstream answers")
	}
	switch method {
	case "eth_getBlockByNumber":
		l.blocks++
		number := map[any]uint64{"latest": l.head, "finalized": l.final}[params[0]]
		if number == 0 {
			//nolint:errcheck,forcetypeassert // a number otherwise
			_, _ = fmt.Sscanf(params[0].(string), "0x%x", &number)
		}
		return fmt.Appendf(nil, `{"number":"0x%x","timestamp":"0x%x","hash":"%s"}`, number, l.at(number),
			x402.TxHash{byte(number)}), nil
	case "eth_call":
		l.asks++
		var at uint64
		_, _ = fmt.Sscanf(params[1].(string), "0x%x", &at)  //nolint:errcheck,forcetypeassert // own calls
		data := params[0].(map[string]any)["data"].(string) //nolint:errcheck,forcetypeassert // own calls
		nonce, _ := x402.ParseTxHash("0x" + data[len(data)-64:])
		if l.failing[x402.Nonce(nonce)] {
			return nil, errors.New("execution timeout")
		}
		return fmt.Appendf(nil, `"0x%064x"`, map[bool]int{true: 1}[l.spent || (l.used > 0 && l.used <= at)]), nil
	case "eth_getLogs":
		l.ranges++
		var from, to uint64
		filter := params[0].(map[string]any)                           //nolint:errcheck,forcetypeassert // own calls
		_, _ = fmt.Sscanf(filter["fromBlock"].(string), "0x%x", &from) //nolint:errcheck,forcetypeassert // own calls
		_, _ = fmt.Sscanf(filter["toBlock"].(string), "0x%x", &to)     //nolint:errcheck,forcetypeassert // own calls
		if to < from || to-from >= 500 {
			return nil, errors.New("block range is too wide")
		}
		if l.used < from || l.used > to || l.used == 0 {
			return json.RawMessage(`[]`), nil
		}
		return fmt.Appendf(nil, `[{"transactionHash":"%s","blockNumber":"0x%x","removed":false}]`, paidIn, l.used), nil
	}
	return nil, errors.New("not asked for by a sweep")
}

func (l *ledger) watch(_ context.Context, id x402.ID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwatchable {
		return errors.New("durable flows are away")
	}
	l.watched = append(l.watched, id)
	return nil
}

// openPayment returns a payment whose settlement got no response, and a Resolver over a chain whose
// head is that of the reservation.
func openPayment(t *testing.T) (*env, *x402.Payload, *ledger, *stock.Resolver) {
	t.Helper()
	l := &ledger{head: 1000, final: 900, genesis: time.Now().Add(-2000 * time.Second)}
	b := setup(t)
	b.desk.on(&b.desk.settle, breakOff)
	p := b.sign(b.quote())
	_, refusal := b.pay(p)
	b.refusedAs("no answer", refusal, fault.OutcomeUnknown, "")
	return b, p, l, stock.NewResolver(stock.ResolverOptions{
		Record: due{b.store}, Chain: l, Watch: l.watch, Confirmations: 2,
	})
}

// due is a record in which every open authorization is due at once.
type due struct{ *store.Store }

func (d due) ClaimAuthorizations(ctx context.Context, _ time.Duration, limit int) ([]paymentdb.Authorization, error) {
	return d.Store.ClaimAuthorizations(ctx, 0, limit)
}

func (b *env) sweep(s *stock.Resolver) {
	b.t.Helper()
	b.must(s.ResolveDue(b.t.Context()))
}

func TestResolver_FindsTheTransferOnceDeepEnoughAndItsPayerMayRedeem(t *testing.T) {
	t.Parallel()
	b, p, l, s := openPayment(t)
	l.set(func(l *ledger) { l.used, l.head = 1003, 1004 }) // one confirmation, and two are required
	b.sweep(s)
	if state := b.state(p); state != "unknown" {
		t.Errorf("it is %s too early", state)
	}
	l.set(func(l *ledger) { l.head = 1005 })
	b.sweep(s)
	if state := b.state(p); state != "settled" {
		t.Errorf("it is %s", state)
	}
	_, refusal := b.pay(p)
	b.refusedAs("presented again", refusal, fault.SettlementRedeemed, paidIn.String())
	b.requests(1, 1)
	if len(l.watched) != 1 || l.watched[0] != (x402.ID{Chain: 8453, Tx: paidIn, Payer: p.From}) {
		t.Errorf("watched are %v", l.watched)
	}
}

func TestResolver_SearchesTheWholeLifeOfAnAuthorization(t *testing.T) {
	t.Parallel()
	b, p, l, s := openPayment(t)
	l.set(func(l *ledger) { l.used, l.head, l.final = 2700, 2900, 1000 })
	b.sweep(s)
	if state := b.state(p); state != "settled" || l.ranges != 4 {
		t.Errorf("it is %s after %d ranges", state, l.ranges)
	}
}

func TestResolver_UnusedAuthorizationIsVoidOnlyPastItsFinalEnd(t *testing.T) {
	t.Parallel()
	b, p, l, s := openPayment(t)
	end := uint64((p.ValidBefore-l.at(0))/2 + 2) //nolint:gosec // a test's own
	l.set(func(l *ledger) { l.head, l.final = end+100, end-10 })
	b.sweep(s)
	if state := b.state(p); state != "unknown" || l.ranges != 0 {
		t.Errorf("it is %s before that is final, and %d ranges of logs were looked through", state, l.ranges)
	}
	l.set(func(l *ledger) { l.final = end })
	b.sweep(s)
	state := b.state(p)
	expect.Equal(t, state, "failed")
	expect.Equal(t, l.asks, 2)
	expect.Equal(t, l.ranges, 0)
	_, refusal := b.pay(p)
	b.refusedAs("presented again", refusal, fault.PaymentRequired, "Sign another")
	b.requests(1, 1)
}

func TestResolver_UsedAuthorizationWithoutATransferStaysOpenForADay(t *testing.T) {
	t.Parallel()
	b, p, l, s := openPayment(t)
	end := uint64((p.ValidBefore-l.at(0))/2 + 2) //nolint:gosec // a test's own
	l.set(func(l *ledger) { l.head, l.final, l.spent = end+100, end, true })
	b.sweep(s)
	if state := b.state(p); state != "unknown" {
		t.Errorf("it is %s", state)
	}
	if l.ranges > 10 {
		t.Errorf("one look took %d ranges", l.ranges)
	}
	const day = 24 * 1800 // blocks
	l.set(func(l *ledger) { l.head, l.ranges = end+100+day, 0 })
	b.sweep(s)
	if state := b.state(p); state != "unknown" || l.ranges != 10 {
		t.Errorf("it is %s, and one look took %d ranges", state, l.ranges)
	}
	l.set(func(l *ledger) { l.head, l.final = end+100+day, end+day })
	b.sweep(s)
	if state := b.state(p); state != "failed" {
		t.Errorf("it is %s a day later", state)
	}
}

func TestResolver_ConcludesNothingFromAnUnreadableChain(t *testing.T) {
	t.Parallel()
	b, p, l, s := openPayment(t)
	l.set(func(l *ledger) { l.away = true })
	if err := s.ResolveDue(t.Context()); err == nil {
		t.Error("nobody is told")
	}
	if state := b.state(p); state != "unknown" {
		t.Errorf("it is %s", state)
	}
}

func TestResolver_FindsThePaymentOfAProcessKilledAroundItsSettlement(t *testing.T) {
	t.Parallel()
	b, _, l, s := openPayment(t)
	p := b.sign(b.quote())
	a, got, err := b.store.ReserveAuthorization(t.Context(), paymentdb.Authorization{
		AuthorizationID: idOf(b.Terms, p), Attempt: paymentdb.NewAttempt(), Value: p.Value,
		ValidBefore: time.Unix(p.ValidBefore, 0), FromBlock: 1000,
	}, 0)
	if err != nil || !got {
		t.Fatal(err)
	}
	if _, err := b.store.BeginSettling(t.Context(), a.Attempt, 0); err != nil { // and nothing after that
		t.Fatal(err)
	}
	l.set(func(l *ledger) { l.used, l.head = 1001, 1010 })
	b.sweep(s)
	if state := b.state(p); state != "settled" {
		t.Errorf("it is %s", state)
	}
	dead := b.sign(b.quote()) // reserved, never submitted for settlement
	if _, got, err := b.store.ReserveAuthorization(t.Context(), paymentdb.Authorization{
		AuthorizationID: idOf(b.Terms, dead), Attempt: paymentdb.NewAttempt(), Value: p.Value,
		ValidBefore: time.Unix(p.ValidBefore, 0), FromBlock: 1000,
	}, 0); err != nil || !got {
		t.Fatal(err)
	}
	b.sweep(s)
	if state := b.state(dead); state != "" {
		t.Errorf("a reservation of the dead stays %s", state)
	}
}

func TestResolver_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	b, p, l, _ := openPayment(t)
	l.set(func(l *ledger) { l.used, l.head = 1003, 1010 })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stock.NewResolver(stock.ResolverOptions{
			Record: due{b.store}, Chain: l, Watch: l.watch, Confirmations: 2, Interval: 10 * time.Millisecond,
		}).Run(ctx)
	}()
	deadline := time.After(testTimeout)
	for b.state(p) != "settled" {
		select {
		case <-deadline:
			t.Fatal("it never settles")
		case <-time.After(10 * time.Millisecond):
		}
	}
	stop()
	select {
	case <-ended:
	case <-deadline:
		t.Fatal("it goes on")
	}
}

// hasty is a record in which a settled authorization is due at once, as if its process died a while
// ago.
type hasty struct{ *store.Store }

func (h hasty) EndSettling(ctx context.Context, of paymentdb.Attempt, state paymentdb.AuthorizationState, reason string,
	tx x402.TxHash, _ time.Duration,
) error {
	return h.Store.EndSettling(ctx, of, state, reason, tx, 0)
}

// A sweep between the facilitator's response and the grant would record a payment that nobody
// granted, and leave the grant unwatched.
func TestResolver_LeavesAPaymentThatIsBeingGranted(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	var b *env
	b = setup(t, func(o *stock.Options) {
		o.Grants = granting{o.Grants, func() {
			b.sweep(stock.NewResolver(stock.ResolverOptions{
				Record: due{b.store}, Chain: l, Watch: l.watch, Confirmations: 2,
			}))
		}}
	})
	p := b.sign(b.quote())
	sale, refusal := b.pay(p)
	if refusal != nil {
		t.Fatal(refusal)
	}
	b.works(sale)
	a, err := b.store.FindAuthorization(t.Context(), idOf(b.Terms, p))
	in := expect.In(t, "it was swept before its grant")
	require.NoError(in, err)
	expect.False(in, a.Closed)
	expect.Empty(in, l.watched)
}

// granting is a granter that calls first before it grants.
type granting struct {
	stock.Grants

	first func()
}

//nolint:gocritic // the interface's signature
func (g granting) GrantSettlement(ctx context.Context, grant paymentdb.Grant) (paymentdb.Settlement, error) {
	g.first()
	return g.Grants.GrantSettlement(ctx, grant)
}

func TestResolver_WatchesAGrantWhoseProcessDiedOrWithoutDurableFlows(t *testing.T) {
	t.Parallel()
	//nolint:errcheck,forcetypeassert // as setup made it
	b := setup(t, func(o *stock.Options) { o.Record = hasty{o.Record.(*store.Store)} })
	l := &ledger{unwatchable: true, away: true}
	s := stock.NewResolver(stock.ResolverOptions{Record: due{b.store}, Chain: l, Watch: l.watch, Confirmations: 2})
	sale, refusal := b.pay(b.sign(b.quote()))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if err := s.ResolveDue(t.Context()); err == nil {
		t.Error("nobody is told that it is not watched")
	}
	l.set(func(l *ledger) { l.unwatchable = false })
	b.sweep(s)
	b.sweep(s)
	if len(l.watched) != 1 || l.watched[0] != sale.Settlement.ID {
		t.Errorf("watched are %v", l.watched)
	}
}

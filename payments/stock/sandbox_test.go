package stock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/facilitator"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
)

// node calls a chain's node, as the worker calls its upstreams.
type node string

func (n node) Call(ctx context.Context, method string, params ...any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(n), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error != nil {
		return nil, errors.New("the node answered " + string(text))
	}
	return answer.Result, nil
}

// With the real token, a facilitator that settles without responding, and a chain that can be read,
// the payment is found and was sent once.
func TestResolver_FindsAPaymentWithALostAnswerOnTheRealToken(t *testing.T) {
	t.Parallel()
	box, err := sandbox.Start(t.Context(), sandbox.Options{
		Chains: []chain.ID{chain.BaseMainnet}, BlockTime: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	asks, err := facilitator.New(facilitator.Options{URL: box.Facilitator().URL})
	if err != nil {
		t.Fatal(err)
	}
	base := node(box.Upstreams()[0].URL)
	b := setup(t, func(o *stock.Options) {
		o.Facilitator = asks
		o.Terms.Asset, o.Terms.PayTo = wallet.Address(sandbox.USDC(chain.BaseMainnet)),
			wallet.Address(box.Seller().Address)
		o.Head = func() (uint64, bool) {
			var number hexutil.Uint64
			result, err := base.Call(t.Context(), "eth_blockNumber")
			known := err == nil && json.Unmarshal(result, &number) == nil
			return uint64(number), known
		}
	})
	b.payer = box.Accounts()[7].Key
	box.Facilitator().TroubleAfter(sandbox.Trouble{Cut: true})
	p := b.sign(b.quote())
	p.Signature[crypto.RecoveryIDOffset] += 27 // as wallets encode it
	_, refusal := b.pay(p)
	b.refusedAs("cut off", refusal, fault.OutcomeUnknown, "/x402/redeem")
	if state := b.state(p); state != "unknown" || box.Facilitator().Settlements() != 1 {
		t.Fatalf("it is %s after %d settlements", state, box.Facilitator().Settlements())
	}
	var watched []x402.ID
	s := stock.NewResolver(stock.ResolverOptions{
		Record: due{b.store}, Chain: base, Confirmations: 2,
		Watch: func(_ context.Context, id x402.ID) error {
			watched = append(watched, id)
			return nil
		},
	})
	deadline := time.Now().Add(testTimeout)
	for b.state(p) != "settled" {
		if time.Now().After(deadline) {
			t.Fatalf("it stays %s", b.state(p))
		}
		b.sweep(s)
	}
	require.Len(t, watched, 1)
	expect.Equal(t, watched[0].Payer, p.From)
	expect.False(t, watched[0].Tx.IsZero())
	box.Facilitator().TroubleAfter(sandbox.Trouble{})
	_, refusal = b.pay(p)
	b.refusedAs("presented again", refusal, fault.SettlementRedeemed, watched[0].Tx.String())
	if n := box.Facilitator().Settlements(); n != 1 {
		t.Errorf("%d were sent to be settled", n)
	}
}

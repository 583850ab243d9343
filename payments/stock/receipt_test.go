package stock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
)

// scribe answers for a transaction and its block. A nil answer hangs until ctx ends.
type scribe struct{ receipt, block json.RawMessage }

func (s scribe) Call(ctx context.Context, method string, params ...any) (json.RawMessage, error) {
	answer := map[string]json.RawMessage{"eth_getTransactionReceipt": s.receipt, "eth_getBlockByHash": s.block}[method]
	if answer == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if params[0] != paidIn && params[0] != (x402.TxHash{0xb1}) {
		return nil, errors.New("asked for something else")
	}
	return answer, nil
}

func TestReceipt_SaysWhereThePaymentIsOnlyWhenKnownWhole(t *testing.T) {
	t.Parallel()
	const receiptForm, blockForm = `{"transactionHash":"%s","blockNumber":"0x%x","blockHash":"%s","status":"0x%d"}`,
		`{"number":"0x%x","timestamp":"0x%x","hash":"%s"}`
	in, at := x402.TxHash{0xb1}, int64(1_795_000_000)
	receipt := func(tx x402.TxHash, status int) json.RawMessage {
		return fmt.Appendf(nil, receiptForm, tx, 1003, in, status)
	}
	block := func(number int, hash x402.TxHash) json.RawMessage {
		return fmt.Appendf(nil, blockForm, number, at, hash)
	}
	for name, c := range map[string]struct {
		scribe

		known bool
	}{
		"known":                {scribe{receipt(paidIn, 1), block(1003, in)}, true},
		"not there yet":        {scribe{json.RawMessage("null"), block(1003, in)}, false},
		"of another":           {scribe{receipt(x402.TxHash{1}, 1), block(1003, in)}, false},
		"failed":               {scribe{receipt(paidIn, 0), block(1003, in)}, false},
		"block is not told":    {scribe{receipt(paidIn, 1), json.RawMessage("null")}, false},
		"block is another":     {scribe{receipt(paidIn, 1), block(1003, x402.TxHash{2})}, false},
		"block is at another":  {scribe{receipt(paidIn, 1), block(1004, in)}, false},
		"node hangs":           {scribe{}, false},
		"node hangs at blocks": {scribe{receipt: receipt(paidIn, 1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *stock.Options) { o.Chain = c.scribe })
			asked := time.Now()
			sale, refusal := b.pay(b.sign(b.quote()))
			if refusal != nil {
				t.Fatal(refusal)
			}
			if took := time.Since(asked); took > 10*time.Second {
				t.Errorf("the payer waited for %s", took)
			}
			b.works(sale)
			want := x402.Finding{Paid: 54_000}
			if c.known {
				want.Block, want.BlockHash, want.Time = 1003, in, at
			}
			if got := sale.Settlement.Found; got != want {
				t.Errorf("it says %+v, want %+v", got, want)
			}
		})
	}
}

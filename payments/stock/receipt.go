package stock

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
)

// lookTimeout bounds how long a payer waits for the position of the transaction. The units are
// granted without it, too.
const lookTimeout = 2 * time.Second

// found returns what is known of a payment that a facilitator reported as settled: the amount that
// was signed for, and the block if a node has it now. It does not judge the payment: the
// settlement's workflow does that later.
func (c *Processor) found(ctx context.Context, tx x402.TxHash, paid plan.Atomic) x402.Finding {
	f := x402.Finding{Paid: paid}
	if c.Chain == nil {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var receipt struct {
		Hash   x402.TxHash `json:"transactionHash"`
		Block  quantity    `json:"blockNumber"`
		In     x402.TxHash `json:"blockHash"`
		Status quantity    `json:"status"`
	}
	if !c.look(ctx, &receipt, "eth_getTransactionReceipt", tx) || receipt.Hash != tx || receipt.Status != 1 ||
		receipt.Block == 0 || receipt.In.IsZero() {
		return f
	}
	var in struct {
		Number, Timestamp quantity
		Hash              x402.TxHash
	}
	if !c.look(ctx, &in, "eth_getBlockByHash", receipt.In, false) || in.Hash != receipt.In ||
		in.Number != receipt.Block || in.Timestamp == 0 {
		return f // never a position with a part missing
	}
	f.Block, f.BlockHash, f.Time = uint64(in.Number), in.Hash, int64(in.Timestamp) //nolint:gosec // seconds since 1970
	return f
}

// look decodes the result of one call of the chain into into. It returns false when there is none.
func (c *Processor) look(ctx context.Context, into any, method string, params ...any) bool {
	result, err := c.Chain.Call(ctx, method, params...)
	if err == nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		c.Logger.Debug("a payment's place on the chain will be read by its workflow", "method", method, "error", err)
	}
	return err == nil
}

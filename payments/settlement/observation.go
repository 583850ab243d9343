package settlement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/payments/x402"
)

// observation is what one upstream reports about a transaction.
type observation struct {
	by        string
	sight     x402.Sight
	payments  []x402.PayerSum // of a mined transaction
	block     uint64          // of a mined or failed transaction
	blockHash x402.TxHash
	time      int64
	head      uint64
	finalized uint64 // 0 when unknown
	// finalizedTime is the time of the finalized block, in seconds since 1970.
	finalizedTime int64
}

// receipt holds the fields read from eth_getTransactionReceipt.
type receipt struct {
	Tx        x402.TxHash     `json:"transactionHash"`
	Status    *hexutil.Uint64 `json:"status"` // EIP-658
	Block     *hexutil.Uint64 `json:"blockNumber"`
	BlockHash *x402.TxHash    `json:"blockHash"`
	Logs      []struct {
		Contract wallet.Address `json:"address"`
		Topics   []x402.TxHash  `json:"topics"`
		Data     hexutil.Bytes  `json:"data"`
		Removed  bool           `json:"removed"`
		Tx       *x402.TxHash   `json:"transactionHash"`
	} `json:"logs"`
}

// block holds the fields read from eth_getBlockByNumber.
type block struct {
	Number       *hexutil.Uint64 `json:"number"`
	Hash         *x402.TxHash    `json:"hash"`
	Time         hexutil.Uint64  `json:"timestamp"`
	Transactions []x402.TxHash   `json:"transactions"`
}

// errBroken: an answer contradicts itself or the request.
var errBroken = errors.New("an answer contradicts itself")

// observe collects everything about a transaction from one upstream: the first one that knows the
// transaction. If none does, the last upstream asked is taken for all of them.
func (r *Reader) observe(ctx context.Context, tx x402.TxHash, who among) (observation, error) {
	result, by, err := r.ask(ctx, "eth_getTransactionReceipt", []any{tx}, who, true)
	if err != nil {
		return observation{by: by}, err
	}
	if isNull(result) {
		return r.unmined(ctx, tx, who)
	}
	var got receipt
	if err := json.Unmarshal(result, &got); err != nil {
		return observation{by: by}, fmt.Errorf("%w: a receipt: %w", errBroken, err)
	}
	if got.Tx != tx || got.Status == nil || got.Block == nil || got.BlockHash == nil || *got.Status > 1 {
		return observation{by: by}, fmt.Errorf("%w: a receipt of another transaction or without its block", errBroken)
	}
	t := observation{by: by, sight: x402.SightFailed, block: uint64(*got.Block), blockHash: *got.BlockHash}
	if *got.Status == 1 {
		t.sight = x402.SightMined
		if t.payments, err = r.terms.Payments(got.logs()); err != nil {
			return t, err
		}
	}
	return t, r.place(ctx, tx, &t)
}

func (g *receipt) logs() []x402.Log {
	logs := make([]x402.Log, len(g.Logs))
	for i := range g.Logs {
		l := &g.Logs[i]
		foreign := l.Tx != nil && *l.Tx != g.Tx
		logs[i] = x402.Log{Contract: l.Contract, Topics: l.Topics, Data: l.Data, Removed: l.Removed || foreign}
	}
	return logs
}

// unmined observes a transaction without a receipt. It is SightWaiting if an upstream knows the
// transaction.
func (r *Reader) unmined(ctx context.Context, tx x402.TxHash, who among) (observation, error) {
	sight, by, err := r.known(ctx, tx, who)
	t := observation{by: by, sight: sight}
	if err != nil {
		return t, err
	}
	if sight == x402.SightMined { // the receipt is not available yet
		t.sight = x402.SightWaiting
	}
	t.head, err = r.number(ctx, "eth_blockNumber", by)
	t.finalized, t.finalizedTime = r.finalizedBy(ctx, by)
	return t, err
}

// known asks whether an upstream knows a transaction. It returns SightNone if none does,
// SightWaiting if the transaction is in no block, and SightMined otherwise, even if it was
// reverted.
func (r *Reader) known(ctx context.Context, tx x402.TxHash, who among) (sight x402.Sight, by string, err error) {
	result, by, err := r.ask(ctx, "eth_getTransactionByHash", []any{tx}, who, true)
	if err != nil || isNull(result) {
		return x402.SightNone, by, err
	}
	var got struct {
		Hash  x402.TxHash     `json:"hash"`
		Block *hexutil.Uint64 `json:"blockNumber"`
	}
	if err := json.Unmarshal(result, &got); err != nil || got.Hash != tx {
		return x402.SightNone, by, fmt.Errorf("%w: another transaction", errBroken)
	}
	if got.Block == nil {
		return x402.SightWaiting, by, nil
	}
	return x402.SightMined, by, nil
}

// place checks the receipt's block with the same upstream: whether it is canonical, holds the
// transaction and is final, and how deep it is. A block that is not canonical, or no longer, makes
// the transaction SightWaiting.
func (r *Reader) place(ctx context.Context, tx x402.TxHash, t *observation) error {
	var (
		at      *block
		chainID uint64
	)
	asking, ctx := parallel.WithContext(ctx)
	asking.Go(func() (err error) { at, err = r.blockAt(ctx, hexutil.Uint64(t.block), t.by); return err })
	asking.Go(func() (err error) { t.head, err = r.number(ctx, "eth_blockNumber", t.by); return err })
	asking.Go(func() (err error) { chainID, err = r.number(ctx, "eth_chainId", t.by); return err })
	asking.Go(func() error { t.finalized, t.finalizedTime = r.finalizedBy(ctx, t.by); return nil })
	if err := asking.Wait(); err != nil {
		return err
	}
	switch {
	case chainID != r.terms.Chain:
		return fmt.Errorf("%w: it is of chain %d", errBroken, chainID)
	case at == nil || at.Hash == nil || *at.Hash != t.blockHash:
		t.sight, t.payments = x402.SightWaiting, nil
		return nil
	case at.Number == nil || uint64(*at.Number) != t.block || at.Time > math.MaxInt64 ||
		!slices.Contains(at.Transactions, tx):
		return fmt.Errorf("%w: the receipt's block does not hold the transaction", errBroken)
	}
	t.time = int64(at.Time) //nolint:gosec // checked above
	return nil
}

// finalizedBy returns the number and the time of the newest block that an upstream calls finalized.
// Both are 0 when the upstream does not answer, which does not mean that nothing is final.
func (r *Reader) finalizedBy(ctx context.Context, of string) (number uint64, seconds int64) {
	b, err := r.blockAt(ctx, "finalized", of)
	if err != nil || b == nil || b.Number == nil || b.Time > math.MaxInt64 {
		return 0, 0
	}
	return uint64(*b.Number), int64(b.Time) //nolint:gosec // checked above
}

// blockAt returns a block by number or tag. It returns nil when the upstream has none.
func (r *Reader) blockAt(ctx context.Context, at any, of string) (*block, error) {
	result, _, err := r.ask(ctx, "eth_getBlockByNumber", []any{at, false}, only(of), false)
	if err != nil || isNull(result) {
		return nil, err
	}
	b := &block{}
	if err := json.Unmarshal(result, b); err != nil {
		return nil, fmt.Errorf("%w: a block: %w", errBroken, err)
	}
	return b, nil
}

func (r *Reader) number(ctx context.Context, method, of string) (uint64, error) {
	result, _, err := r.ask(ctx, method, []any{}, only(of), false)
	if err != nil {
		return 0, err
	}
	var n hexutil.Uint64
	if err := json.Unmarshal(result, &n); err != nil {
		return 0, fmt.Errorf("%w: %s: %w", errBroken, method, err)
	}
	return uint64(n), nil
}

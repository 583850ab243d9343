package toolbox

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// TxState is the state of a transaction.
type TxState string

// The states (docs/interface.md, 1.2).
const (
	TxConfirmed TxState = "confirmed"
	TxFailed    TxState = "failed"
	TxPending   TxState = "pending"
	TxUnknown   TxState = "unknown"
)

// TxStatus is the status of a transaction. Unknown fields are omitted.
type TxStatus struct {
	Chain  chain.ID `json:"chain"`
	Hash   string   `json:"hash" doc:"hash of the transaction, in lower case; on Solana its signature"`
	Status TxState  `json:"status" enum:"confirmed,failed,pending,unknown" doc:"confirmed: in a block, and it did what it was sent for. failed: in a block, reverted; its fee is gone. pending: known, in no block that counts yet. unknown: no upstream that was asked knows it right now; it may be on its way, dropped or never sent"`

	BlockNumber       *uint64 `json:"block_number,omitempty" doc:"EVM: the block that holds it"`
	Confirmations     *uint64 `json:"confirmations,omitempty" doc:"EVM: blocks from its own to the head, both counted, so at least 1"`
	GasUsed           string  `json:"gas_used,omitempty" doc:"EVM: gas that it took, a decimal string"`
	EffectiveGasPrice string  `json:"effective_gas_price_wei,omitempty" doc:"EVM: what it paid for a unit of gas, in wei, a decimal string"`

	Slot               *uint64 `json:"slot,omitempty" doc:"Solana: the slot that holds it"`
	ConfirmationStatus string  `json:"confirmation_status,omitempty" enum:"processed,confirmed,finalized" doc:"Solana: how far the cluster has come with that slot"`
	Error              string  `json:"error,omitempty" doc:"Solana: why it failed, as the cluster says it, at most 200 characters"`

	Note       string     `json:"note,omitempty" doc:"what to know of this answer, when there is something"`
	CheckedAt  time.Time  `json:"checked_at"`
	UnitWeight plan.Units `json:"unit_weight" doc:"weighted units of a call that is not answered from the cache"`
}

// TxTracker looks up transactions.
type TxTracker struct {
	chains caller
	now    func() time.Time
}

// NewTxTracker returns a TxTracker that reads from chains.
func NewTxTracker(chains caller, now func() time.Time) *TxTracker { return &TxTracker{chains, now} }

// Status returns the status of a transaction. hash must be in canonical form (ParseTxHash).
func (t *TxTracker) Status(ctx context.Context, id chain.ID, hash string) (TxStatus, error) {
	look := t.evm
	if id == chain.SolanaMainnet {
		look = t.solana
	}
	s, err := look(ctx, id, hash)
	s.Chain, s.Hash, s.CheckedAt = id, hash, stamp(t.now())
	return s, err
}

// evmTx and evmReceipt are the parts of eth_getTransactionByHash and eth_getTransactionReceipt that
// are used. Both results are null for what a node does not know. Status is missing before Byzantium
// (EIP-658), the price in receipts of nodes before London.
type evmTx struct {
	Hash        string          `json:"hash"`
	BlockNumber *hexutil.Uint64 `json:"blockNumber"` // null while it is pending
	GasPrice    *hexutil.Big    `json:"gasPrice"`
}

type evmReceipt struct {
	Hash              string          `json:"transactionHash"`
	BlockNumber       *hexutil.Uint64 `json:"blockNumber"`
	Status            *hexutil.Uint64 `json:"status"`
	GasUsed           *hexutil.Uint64 `json:"gasUsed"`
	EffectiveGasPrice *hexutil.Big    `json:"effectiveGasPrice"`
}

// evm reads the transaction, its receipt and the head in parallel. A transaction that one upstream
// does not know is asked of others, which may have received it already. So is the receipt, if the
// transaction is in a block.
func (t *TxTracker) evm(ctx context.Context, id chain.ID, hash string) (TxStatus, error) {
	var tx *evmTx
	var receipt *evmReceipt
	var head hexutil.Uint64
	byHash := node.Query{Chain: id, Method: "eth_getTransactionByHash", Params: []any{hash}, Empty: isNull}
	ofReceipt := node.Query{Chain: id, Method: "eth_getTransactionReceipt", Params: []any{hash}}
	group, asking := parallel.WithContext(ctx)
	group.Go(func() error { return askFor(asking, t.chains, &tx, byHash) })
	group.Go(func() error { return askFor(asking, t.chains, &receipt, ofReceipt) })
	group.Go(func() error { return ask(asking, t.chains, id, &head, "eth_blockNumber") })
	if err := group.Wait(); err != nil {
		return TxStatus{}, err
	}
	if receipt == nil && tx != nil && tx.BlockNumber != nil {
		ofReceipt.Empty = isNull
		if err := askFor(ctx, t.chains, &receipt, ofReceipt); err != nil {
			return TxStatus{}, err
		}
	}
	if tx != nil && !strings.EqualFold(tx.Hash, hash) {
		return TxStatus{}, unusable(id, byHash.Method, errOtherTx)
	}
	switch {
	case receipt != nil:
		return mined(id, hash, receipt, tx, uint64(head))
	case tx == nil:
		return TxStatus{Status: TxUnknown, Note: "No upstream that was asked knows this transaction now. " +
			"That does not prove that it was never sent: ask again before signing another one."}, nil
	case tx.BlockNumber != nil:
		return TxStatus{
			Status: TxPending, Note: fmt.Sprintf("It is in block %d, whose receipts are not there yet. Ask again.",
				uint64(*tx.BlockNumber)),
		}, nil
	}
	return TxStatus{Status: TxPending}, nil
}

var errOtherTx = errors.New("it is about another transaction, or lacks a part")

// mined reads a receipt. The head may be from an upstream that has not seen the receipt's block
// yet: then that block is the head.
func mined(id chain.ID, hash string, r *evmReceipt, tx *evmTx, head uint64) (TxStatus, error) {
	if !strings.EqualFold(r.Hash, hash) || r.BlockNumber == nil || r.GasUsed == nil {
		return TxStatus{}, unusable(id, "eth_getTransactionReceipt", errOtherTx)
	}
	block := uint64(*r.BlockNumber)
	confirmations := max(head, block) - block + 1
	s := TxStatus{
		Status: TxConfirmed, BlockNumber: &block, Confirmations: &confirmations,
		GasUsed: new(big.Int).SetUint64(uint64(*r.GasUsed)).String(),
	}
	switch {
	case r.EffectiveGasPrice != nil:
		s.EffectiveGasPrice = r.EffectiveGasPrice.ToInt().String()
	case tx != nil && tx.GasPrice != nil:
		s.EffectiveGasPrice = tx.GasPrice.ToInt().String()
	}
	switch {
	case r.Status == nil:
		s.Note = "Receipts from before Byzantium do not say whether a transaction succeeded: this one is in a block, " +
			"that is all."
	case *r.Status == 0:
		s.Status = TxFailed
	}
	return s, nil
}

func isNull(result []byte) bool { return string(result) == "null" }

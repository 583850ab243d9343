// Package indexer implements the methods that an indexing provider adds to a node:
// alchemy_getTokenBalances, alchemy_getAssetTransfers and alchemy_getTokenMetadata, with Alchemy's
// parameters, shapes and limits. Everything is computed from the chain: blocks, transactions, logs,
// and calls of the tokens.
//
// Internal transfers are not modelled, because they need a trace of each transaction; where the
// provider supports them, the list is empty.
package indexer

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// Chain provides blocks. Its past must not change.
type Chain interface {
	CurrentBlock() *types.Header
	GetHeaderByNumber(number uint64) *types.Header
	GetBlockByNumber(number uint64) *types.Block
	GetReceiptsByHash(hash common.Hash) types.Receipts
}

// Config configures an Indexer.
type Config struct {
	Chain   Chain
	Node    *rpc.Client // of the same chain, for calls
	ChainID uint64
	Network string // the name in error messages, "base"
	Coin    string // symbol of the native coin
	// Internal accepts the category of internal transfers on this chain.
	Internal bool
	// Tokens have been held since the genesis block by addresses that no Transfer event names.
	// Every address is checked for them.
	Tokens []common.Address
}

// Indexer implements the methods. Register it under the namespace "alchemy".
type Indexer struct {
	cfg    Config
	signer types.Signer
	pages  pages

	mu        sync.Mutex // guards what follows
	next      uint64     // the first block that is not indexed
	transfers []transfer // oldest first
	tokens    map[common.Address][]common.Address
	holdings  int // entries in tokens
	facts     map[common.Address]Metadata
}

// Limits of memory. What is older or does not fit is not listed; this matters only after weeks.
const (
	maxTransfers = 100_000
	maxHoldings  = 20_000
	maxFacts     = 1_000
)

// New returns an index, which is filled on demand.
func New(cfg Config) *Indexer {
	return &Indexer{
		cfg: cfg, signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)),
		tokens: map[common.Address][]common.Address{}, facts: map[common.Address]Metadata{},
		pages: pages{now: time.Now, kept: map[string]page{}},
	}
}

// transfer is a transfer of value in the index.
type transfer struct {
	block    uint64
	at       uint64 // unix seconds
	index    int    // position among the transfers of its block
	hash     common.Hash
	from     common.Address
	to       *common.Address // nil creates a contract
	category string
	contract *common.Address // nil for the native coin
	value    *big.Int        // nil for a transfer that is not fungible
	tokenID  *big.Int
	batch    []batchItem
	id       string
}

type batchItem struct {
	TokenID *hexutil.Big `json:"tokenId"`
	Value   *hexutil.Big `json:"value"`
}

// catchUp indexes up to the given block, at most up to the head. The caller holds mu.
func (x *Indexer) catchUp(ctx context.Context, to uint64) error {
	to = min(to, x.cfg.Chain.CurrentBlock().Number.Uint64())
	for ; x.next <= to; x.next++ {
		if x.next%1_000 == 0 && ctx.Err() != nil {
			return fmt.Errorf("index block %d: %w", x.next, ctx.Err())
		}
		header := x.cfg.Chain.GetHeaderByNumber(x.next)
		if header == nil {
			return fmt.Errorf("index block %d: it is not there", x.next)
		}
		if header.TxHash == types.EmptyTxsHash {
			continue
		}
		block := x.cfg.Chain.GetBlockByNumber(x.next)
		if block == nil {
			return fmt.Errorf("index block %d: its body is not there", x.next)
		}
		if err := x.take(block, x.cfg.Chain.GetReceiptsByHash(block.Hash())); err != nil {
			return err
		}
	}
	if over := len(x.transfers) - maxTransfers; over > maxTransfers/4 {
		x.transfers = append([]transfer(nil), x.transfers[over:]...)
	}
	return nil
}

// take indexes a block. Failed transactions transfer nothing.
func (x *Indexer) take(block *types.Block, receipts types.Receipts) error {
	transactions := block.Transactions()
	if len(receipts) != len(transactions) {
		return fmt.Errorf("index block %d: %d transactions, %d receipts", block.NumberU64(), len(transactions),
			len(receipts))
	}
	place := 0
	for i, tx := range transactions {
		if receipts[i].Status != types.ReceiptStatusSuccessful {
			continue
		}
		from, err := types.Sender(x.signer, tx)
		if err != nil {
			return fmt.Errorf("index block %d: %w", block.NumberU64(), err)
		}
		seen := transfer{block: block.NumberU64(), at: block.Time(), hash: tx.Hash()}
		coin := seen
		coin.from, coin.to, coin.value, coin.category, coin.id = from, tx.To(), tx.Value(), categoryExternal,
			tx.Hash().Hex()+":external"
		x.add(coin, &place)
		for _, log := range receipts[i].Logs {
			if moved, ok := fromLog(seen, log); ok {
				x.add(moved, &place)
			}
		}
	}
	return nil
}

func (x *Indexer) add(t transfer, place *int) {
	t.index = *place
	*place++
	x.transfers = append(x.transfers, t)
	if t.category == categoryERC20 {
		x.hold(t.from, *t.contract)
		x.hold(*t.to, *t.contract)
	}
}

// hold records that an address was party to a transfer of a token.
func (x *Indexer) hold(owner, token common.Address) {
	if !slices.Contains(x.tokens[owner], token) && x.holdings < maxHoldings {
		x.tokens[owner] = append(x.tokens[owner], token)
		x.holdings++
	}
}

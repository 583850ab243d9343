package testkit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Ledger is a small EVM chain with token transfers, which scripted upstreams serve. Upstreams with
// the same ledger agree; one that should lie or lag serves another ledger. It is safe for
// concurrent use. Addresses and hashes are lower-case hex with 0x.
type Ledger struct {
	mu        sync.Mutex // guards what follows
	chainID   uint64
	head      uint64
	finalized uint64
	txs       map[string]LedgerTx
	forks     map[uint64]int // how often the block at a height was replaced
}

// LedgerTx is a transaction of a ledger.
type LedgerTx struct {
	Block   uint64 // 0: pending
	Failed  bool
	Seconds int64 // the timestamp of its block, in Unix seconds
	Logs    []LedgerLog
}

// LedgerLog is a log of a transaction. Without Topics it is a transfer.
type LedgerLog struct {
	Token, From, To string
	Amount          uint64
	Topics          []string
	Data            string
	Removed         bool
}

// NewLedger returns a chain with a head, without transactions and without a finalized block.
func NewLedger(chainID, head uint64) *Ledger {
	return &Ledger{chainID: chainID, head: head, txs: make(map[string]LedgerTx), forks: make(map[uint64]int)}
}

// Put adds a transaction, or moves it to another block.
func (l *Ledger) Put(hash string, tx LedgerTx) { //nolint:gocritic // a test value
	l.mu.Lock()
	defer l.mu.Unlock()
	l.txs[hash] = tx
}

// Drop removes a transaction: it becomes unknown.
func (l *Ledger) Drop(hash string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.txs, hash)
}

// Fork changes the hash of the block at a height, as a reorg does.
func (l *Ledger) Fork(height uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forks[height]++
}

// Grow sets the head and the finalized block.
func (l *Ledger) Grow(head, finalized uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.finalized = head, finalized
}

// Serve makes an upstream answer from the ledger. There are no contract wallets: eth_call returns
// 0x00.
func (l *Ledger) Serve(u *UpstreamServer) {
	for method, answer := range map[string]func(params []json.RawMessage) any{
		"eth_chainId":               func([]json.RawMessage) any { return quantity(l.chainID) },
		"eth_blockNumber":           func([]json.RawMessage) any { return quantity(l.head) },
		"eth_getTransactionReceipt": l.receipt,
		"eth_getTransactionByHash":  l.transaction,
		"eth_getBlockByNumber":      l.block,
		"eth_call":                  func([]json.RawMessage) any { return "0x00" },
	} {
		u.On(method, ResultOf(func(r Request) any {
			var params []json.RawMessage
			_ = json.Unmarshal(r.Params, &params)
			l.mu.Lock()
			defer l.mu.Unlock()
			return answer(params)
		}))
	}
}

// Receipt returns the ledger's JSON-RPC result for a receipt.
func (l *Ledger) Receipt(hash string) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.receipt([]json.RawMessage{quoted(hash)})
}

// Block returns a block by number or tag; nil for one that does not exist.
func (l *Ledger) Block(at string) map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	block, _ := l.block([]json.RawMessage{quoted(at)}).(map[string]any)
	return block
}

func quoted(text string) json.RawMessage { return json.RawMessage(`"` + text + `"`) }

func quantity(n uint64) string { return fmt.Sprintf("0x%x", n) }

func first(params []json.RawMessage) (text string) {
	if len(params) > 0 {
		_ = json.Unmarshal(params[0], &text)
	}
	return text
}

func (l *Ledger) transaction(params []json.RawMessage) any {
	tx, ok := l.txs[first(params)]
	if !ok {
		return nil
	}
	answer := map[string]any{"hash": first(params), "blockNumber": nil}
	if tx.Block > 0 {
		answer["blockNumber"] = quantity(tx.Block)
	}
	return answer
}

func (l *Ledger) receipt(params []json.RawMessage) any {
	hash := first(params)
	tx, ok := l.txs[hash]
	if !ok || tx.Block == 0 || tx.Block > l.head {
		return nil
	}
	status, logs := "0x1", make([]any, 0, len(tx.Logs))
	if tx.Failed {
		status = "0x0"
	}
	for i := range tx.Logs {
		logs = append(logs, tx.Logs[i].wire(hash))
	}
	return map[string]any{
		"transactionHash": hash, "status": status, "blockNumber": quantity(tx.Block), "blockHash": l.hashAt(tx.Block),
		"logs": logs,
	}
}

// transferTopic is the topic of ERC-20's Transfer event.
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

func (g *LedgerLog) wire(tx string) map[string]any {
	topics, data := g.Topics, g.Data
	if topics == nil {
		topics, data = []string{transferTopic, word(g.From), word(g.To)}, word(quantity(g.Amount))
	}
	return map[string]any{
		"address": g.Token, "topics": topics, "data": data, "removed": g.Removed, "transactionHash": tx,
	}
}

// word pads hex digits to 32 bytes.
func word(text string) string { return fmt.Sprintf("0x%064s", strings.TrimPrefix(text, "0x")) }

func (l *Ledger) hashAt(height uint64) string {
	return word(fmt.Sprintf("%x%04x", height, l.forks[height]))
}

func (l *Ledger) block(params []json.RawMessage) any {
	var height uint64
	switch at := first(params); at {
	case "finalized":
		height = l.finalized
	case "latest":
		height = l.head
	default:
		_, _ = fmt.Sscanf(at, "0x%x", &height)
	}
	if height > l.head {
		return nil
	}
	block := map[string]any{"number": quantity(height), "hash": l.hashAt(height), "timestamp": quantity(1)}
	txs := []string{}
	for hash, tx := range l.txs {
		if tx.Block == height {
			txs = append(txs, hash)
			block["timestamp"] = quantity(uint64(tx.Seconds)) //nolint:gosec // after 1970
		}
	}
	slices.Sort(txs)
	block["transactions"] = txs
	return block
}

package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// resultOf returns the node's result for a call. It depends only on the parameters and the time, so
// two nodes agree and no state is kept.
func resultOf(req rpcRequest, now time.Time) any {
	switch req.Method {
	case "eth_chainId":
		return "0x1"
	case "net_version":
		return "1"
	case "eth_blockNumber":
		return quantity(headAt(now))
	case "eth_gasPrice":
		return "0x3b9aca00"
	case "eth_getBalance":
		return "0x" + hex.EncodeToString(digest(first(req))[:8])
	case "eth_feeHistory":
		return feesUpTo(headAt(now))
	case "eth_getBlockByNumber":
		return blockOf(numberOf(first(req), headAt(now)), now)
	case "eth_getBlockByHash":
		return blockOf(numberIn(first(req)), now)
	case "eth_getTransactionReceipt":
		return receiptOf(first(req))
	default:
		return "0x10"
	}
}

const (
	blockTime      = 12 * time.Second
	headBase       = 23_000_000    // at headBaseAt
	headBaseAt     = 1_760_000_000 // unix seconds
	receiptsUpTo   = headBase - 1000
	receiptBlocks  = 100_000 // the number of old blocks with receipts
	transactionsIn = 150     // per block
)

func headAt(now time.Time) uint64 {
	return headBase + uint64(max(0, now.Unix()-headBaseAt)/int64(blockTime/time.Second)) //nolint:gosec // not negative
}

// first returns the first parameter, the only one that the node reads.
func first(req rpcRequest) string {
	if len(req.Params) == 0 {
		return ""
	}
	text, _ := req.Params[0].(string) // other types have no meaning here
	return text
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}

func quantity(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

func numberOf(block string, head uint64) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(block, "0x"), 16, 63)
	if err != nil {
		return head // a tag
	}
	return n
}

// hashOf returns a block's hash. It ends with the number, so that a block can be found by either.
func hashOf(number uint64) string {
	return "0x" + hex.EncodeToString(binary.BigEndian.AppendUint64(digest(quantity(number))[:24:24], number))
}

func numberIn(hash string) uint64 {
	raw, err := hex.DecodeString(strings.TrimPrefix(hash, "0x"))
	if err != nil || len(raw) != sha256.Size {
		return 0
	}
	return binary.BigEndian.Uint64(raw[24:])
}

// receipt and block have the members of mainnet's, in geth's order.
type receipt struct {
	BlockHash         string     `json:"blockHash"`
	BlockNumber       string     `json:"blockNumber"`
	ContractAddress   *string    `json:"contractAddress"`
	CumulativeGasUsed string     `json:"cumulativeGasUsed"`
	EffectiveGasPrice string     `json:"effectiveGasPrice"`
	From              string     `json:"from"`
	GasUsed           string     `json:"gasUsed"`
	Logs              []eventLog `json:"logs"`
	LogsBloom         string     `json:"logsBloom"`
	Status            string     `json:"status"`
	To                string     `json:"to"`
	TransactionHash   string     `json:"transactionHash"`
	TransactionIndex  string     `json:"transactionIndex"`
	Type              string     `json:"type"`
}

type eventLog struct {
	Address          string   `json:"address"`
	Topics           []string `json:"topics"`
	Data             string   `json:"data"`
	BlockNumber      string   `json:"blockNumber"`
	TransactionHash  string   `json:"transactionHash"`
	TransactionIndex string   `json:"transactionIndex"`
	BlockHash        string   `json:"blockHash"`
	LogIndex         string   `json:"logIndex"`
	Removed          bool     `json:"removed"`
}

// receiptOf returns the receipt of a token transfer, deep below the head.
func receiptOf(transaction string) receipt {
	d := digest(transaction)
	number := receiptsUpTo - uint64(binary.BigEndian.Uint32(d))%receiptBlocks
	block, at := hashOf(number), quantity(uint64(d[4])%transactionsIn)
	word := func(b []byte) string { return "0x" + hex.EncodeToString(append(make([]byte, 32-len(b)), b...)) }
	address := func(b []byte) string { return "0x" + hex.EncodeToString(append(make([]byte, 20-len(b)), b...)) }
	return receipt{
		BlockHash: block, BlockNumber: quantity(number), TransactionHash: transaction, TransactionIndex: at,
		Type: "0x2", Status: "0x1", From: address(d[:20]), To: address(d[12:32]), GasUsed: "0xb41d",
		CumulativeGasUsed: "0x8a3f21", EffectiveGasPrice: "0x4a817c80",
		LogsBloom: "0x" + strings.Repeat("0", 511) + "1",
		Logs: []eventLog{{
			Address: address(d[12:32]), Data: word(d[:8]), BlockNumber: quantity(number), BlockHash: block,
			TransactionHash: transaction, TransactionIndex: at, LogIndex: "0x5f",
			Topics: []string{
				"0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", word(d[:20]), word(d[8:28]),
			},
		}},
	}
}

type block struct {
	Hash         string   `json:"hash"`
	ParentHash   string   `json:"parentHash"`
	Number       string   `json:"number"`
	Timestamp    string   `json:"timestamp"`
	GasLimit     string   `json:"gasLimit"`
	GasUsed      string   `json:"gasUsed"`
	BaseFee      string   `json:"baseFeePerGas"`
	Miner        string   `json:"miner"`
	LogsBloom    string   `json:"logsBloom"`
	StateRoot    string   `json:"stateRoot"`
	Transactions []string `json:"transactions"`
}

// blockOf returns nil, which is JSON's null, for a block that does not exist yet.
func blockOf(number uint64, now time.Time) *block {
	head := headAt(now)
	if number > head || number == 0 {
		return nil
	}
	b := &block{
		Hash: hashOf(number), ParentHash: hashOf(number - 1), Number: quantity(number), GasLimit: "0x2255100",
		GasUsed:   "0x112a880", //nolint:gosec // after 1970
		Timestamp: quantity(uint64(now.Unix()) - (head-number)*uint64(blockTime/time.Second)),
		BaseFee:   "0x3b9aca00", Miner: "0x4838b106fce9647bdf1e7877bf73ce8b0bad5f97",
		LogsBloom: "0x" + strings.Repeat("a5", 256), StateRoot: hashOf(number),
	}
	for i := range transactionsIn {
		b.Transactions = append(b.Transactions, "0x"+hex.EncodeToString(digest(b.Hash+strconv.Itoa(i))))
	}
	return b
}

// feeHistory is the fee history of blocks such as blockOf's: half full, a base fee of one gwei, and
// the same tips in each.
type feeHistory struct {
	OldestBlock   string     `json:"oldestBlock"`
	BaseFees      []string   `json:"baseFeePerGas"`
	GasUsedRatios []float64  `json:"gasUsedRatio"`
	Rewards       [][]string `json:"reward"`
}

const feeBlocks = 20 // the number of blocks that a gas recommendation reads

// feesUpTo returns the fee history of the last blocks, with the base fee of the next block.
func feesUpTo(head uint64) feeHistory {
	h := feeHistory{OldestBlock: quantity(head - feeBlocks + 1), BaseFees: []string{"0x3b9aca00"}}
	for range feeBlocks {
		h.BaseFees = append(h.BaseFees, "0x3b9aca00")
		h.GasUsedRatios = append(h.GasUsedRatios, 0.5)
		h.Rewards = append(h.Rewards, []string{"0x5f5e100", "0x3b9aca00", "0xb2d05e00"})
	}
	return h
}

// TraceMethod is the method whose answer is a large trace, and TraceBytes the least size of that.
const (
	TraceMethod = "debug_traceTransaction"
	TraceBytes  = 50_000_000
	traceChunk  = 32 << 10
)

// writeTrace streams a trace of a little more than size bytes as nodes do, with one object per EVM
// step.
func writeTrace(w io.Writer, id json.RawMessage, size int) {
	buffer := bytes.NewBuffer(make([]byte, 0, 2*traceChunk))
	fmt.Fprintf(buffer,
		`{"jsonrpc":"2.0","id":%s,"result":{"gas":30000000,"failed":false,"returnValue":"0x","structLogs":[`, id)
	operations := [...]string{"PUSH1", "DUP2", "SLOAD", "ADD", "SWAP1", "MSTORE", "JUMPI", "CALL"}
	written := 0
	for step := uint64(0); written+buffer.Len() < size; step++ {
		if step > 0 {
			buffer.WriteByte(',')
		}
		fmt.Fprintf(buffer, `{"pc":%d,"op":%q,"gas":%d,"gasCost":3,"depth":%d,"stack":["0x%x","0x%x","0x80"]}`,
			step%24576, operations[step%8], 30_000_000-step%30_000_000, 1+step%5, step*0x9e3779b97f4a7c15,
			step*0xc2b2ae3d27d4eb4f)
		if buffer.Len() < traceChunk {
			continue
		}
		n, err := buffer.WriteTo(w)
		if err != nil {
			return // the client disconnected
		}
		written += int(n)
	}
	buffer.WriteString("]}}")
	_, _ = buffer.WriteTo(w) // the client may have disconnected
}

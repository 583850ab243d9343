package rpc_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

// Methods that the sandbox's node, go-ethereum, does not have.
const (
	absentEverywhere = `eth_protocolVersion trace_block trace_call trace_callMany trace_filter trace_get trace_rawTransaction
		trace_replayBlockTransactions trace_replayTransaction trace_transaction
		eth_estimateUserOperationGas eth_getUserOperationByHash eth_getUserOperationReceipt eth_supportedEntryPoints`
	absentOnArbitrum = ` arbtrace_block arbtrace_call arbtrace_callMany arbtrace_filter arbtrace_get arbtrace_rawTransaction
		arbtrace_replayBlockTransactions arbtrace_replayTransaction arbtrace_transaction`
	absentOnPolygon = ` bor_getAuthor bor_getCurrentProposer bor_getCurrentValidators bor_getRootHash ` +
		`bor_getSignersAtHash`
)

func absentEVM(id chain.ID) string {
	switch id { //nolint:exhaustive // the others have no methods of their own
	case chain.ArbitrumOne:
		return absentEverywhere + absentOnArbitrum
	case chain.PolygonPoS:
		return absentEverywhere + absentOnPolygon
	}
	return absentEverywhere
}

// contract is the contract that the tests of stock clients also use.
type contract struct {
	abi      abi.ABI
	bytecode []byte
}

func (c *conformance) contract() contract {
	c.T.Helper()
	text, err := os.ReadFile("../../../test/e2e/contracts/Sample.json")
	c.Must(err)
	var artefact struct {
		ABI      json.RawMessage
		Bytecode hexutil.Bytes
	}
	c.Must(json.Unmarshal(text, &artefact))
	parsed, err := abi.JSON(bytes.NewReader(artefact.ABI))
	c.Must(err)
	return contract{parsed, artefact.Bytecode}
}

func (c *conformance) pack(a abi.ABI, method string, args ...any) hexutil.Bytes {
	c.T.Helper()
	data, err := a.Pack(method, args...)
	c.Must(err)
	return data
}

// evmFacts are values of the live chain that the samples use.
type evmFacts struct {
	sender            common.Address
	contract          common.Address
	abi               abi.ABI
	store             types.Receipt // of the call that stored a value and emitted a log
	raw               hexutil.Bytes // its signed bytes
	block, parent     string        // numbers of its block and of the parent, as quantities
	hash              common.Hash   // of its block
	old               types.Log     // of the sandbox's history, deeper than anything that is cached
	oldBlock          string
	rawBlock, refused hexutil.Bytes // the block in RLP; a transaction with a used nonce
}

// send signs a transaction, submits it through the gateway, and checks that gateway and node answer
// a repeated submission in the same way.
func (c *conformance) send(nonce uint64, to *common.Address, data []byte) *types.Transaction {
	c.T.Helper()
	tx := c.signed(nonce, to, data)
	raw, err := tx.MarshalBinary()
	c.Must(err)
	sent := list(hexutil.Bytes(raw))
	if got := c.RPC(c.key, c.on.ID, apitest.Call("eth_sendRawTransaction", sent)).Result(); got != `"`+
		tx.Hash().Hex()+`"` {
		c.T.Errorf("%s: a submission is answered with %s, want its hash %s", c.on.ID, got, tx.Hash())
	}
	return tx
}

func (c *conformance) signed(nonce uint64, to *common.Address, data []byte) *types.Transaction {
	c.T.Helper()
	from, id := c.box.Accounts()[4], new(big.Int).SetUint64(c.on.ChainID)
	tx, err := types.SignNewTx(from.Key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, To: to, Data: data, Gas: 1_000_000, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
	})
	c.Must(err)
	return tx
}

func (c *conformance) mined(tx *types.Transaction) types.Receipt {
	c.T.Helper()
	var receipt *types.Receipt
	testkit.Eventually(c.T, apitest.Timeout, func() bool {
		c.read(&receipt, "eth_getTransactionReceipt", tx.Hash())
		return receipt != nil
	}, "the transaction is mined")
	if receipt.Status != types.ReceiptStatusSuccessful {
		c.T.Fatalf("%s: transaction %s failed", c.on.ID, tx.Hash())
	}
	return *receipt
}

func (c *conformance) evmFacts() evmFacts {
	c.T.Helper()
	sampled := c.contract()
	f := evmFacts{sender: c.box.Accounts()[4].Address, abi: sampled.abi}
	first, err := sampled.abi.Pack("", big.NewInt(7))
	c.Must(err)
	deployed := c.send(0, nil, append(bytes.Clone(sampled.bytecode), first...))
	f.contract = c.mined(deployed).ContractAddress
	f.refused, err = deployed.MarshalBinary()
	c.Must(err)
	stored := c.send(1, &f.contract, c.pack(f.abi, "store", big.NewInt(42), "a note"))
	f.store = c.mined(stored)
	f.raw, err = stored.MarshalBinary()
	c.Must(err)
	f.hash = f.store.BlockHash
	f.block = hexutil.EncodeBig(f.store.BlockNumber)
	f.parent = hexutil.EncodeBig(new(big.Int).Sub(f.store.BlockNumber, common.Big1))
	var logs []types.Log
	c.read(&logs, "eth_getLogs", map[string]any{
		"fromBlock": "0x1", "toBlock": "0x20", "address": c.box.LogEmitter(c.on.ID),
	})
	if len(logs) == 0 {
		c.T.Fatalf("%s: no logs in the history", c.on.ID)
	}
	f.old, f.oldBlock = logs[0], hexutil.EncodeUint64(logs[0].BlockNumber)
	c.read(&f.rawBlock, "debug_getRawBlock", f.block)
	c.sendSync(2, &f.contract, c.pack(f.abi, "store", big.NewInt(42), "a note"))
	return f
}

// sendSync checks that a submission that waits is answered with the node's receipt.
func (c *conformance) sendSync(nonce uint64, to *common.Address, data []byte) {
	c.T.Helper()
	tx := c.signed(nonce, to, data)
	raw, err := tx.MarshalBinary()
	c.Must(err)
	got := c.RPC(c.key, c.on.ID, apitest.Call("eth_sendRawTransactionSync", list(hexutil.Bytes(raw)))).Result()
	if want := c.askNode("eth_getTransactionReceipt", list(tx.Hash())); got != want.bytes {
		c.T.Errorf("%s: the receipt is %s, and the node's %s", c.on.ID, got, want)
	}
}

func (c *conformance) evmSamples() catalogSamples {
	c.T.Helper()
	f := c.evmFacts()
	var all []sample
	add := func(method string, lists ...string) {
		for _, l := range lists {
			all = append(all, sample{method: method, params: l})
		}
	}
	f.blocks(add)
	f.state(c, add)
	f.heavy(c, add)
	f.logs(c, add)
	for _, method := range []string{
		"eth_blockNumber", "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_blobBaseFee", "eth_baseFee", "eth_syncing",
		"eth_config", "eth_capabilities", "txpool_status", "txpool_content", "txpool_inspect",
	} {
		all = append(all, sample{method: method, params: "[]", moving: true})
	}
	for _, l := range []string{`["latest",false]`, `["pending",false]`, `["safe",true]`, `["finalized",true]`} {
		all = append(all, sample{method: "eth_getBlockByNumber", params: l, moving: true})
	}
	all = append(all, sample{method: "eth_getTransactionCount", params: list(f.sender, "pending"), moving: true},
		sample{method: "txpool_contentFrom", params: list(f.sender), moving: true},
		sample{method: "eth_feeHistory", params: `["0x14","latest",[10,50,90]]`, moving: true},
		sample{method: "eth_getLogs", params: `[{"fromBlock":"latest"}]`, moving: true},
		sample{method: "eth_getBlockReceipts", params: `["latest"]`, moving: true})
	all = append(all, f.failures(c)...)
	return catalogSamples{samples: all, absent: absentEVM(c.on.ID)}
}

type adder func(method string, lists ...string)

var nowhere = common.HexToHash("0x00000000000000000000000000000000000000000000000000000000000badc0de")

// blocks adds reads of blocks, transactions and receipts, and of the node's own state.
func (f *evmFacts) blocks(add adder) {
	index := hexutil.EncodeUint64(uint64(f.store.TransactionIndex))
	for _, hash := range []common.Hash{f.hash, f.old.BlockHash, nowhere} {
		add("eth_getBlockByHash", list(hash, true), list(hash, false))
		add("eth_getBlockTransactionCountByHash", list(hash))
		add("eth_getUncleCountByBlockHash", list(hash))
		add("eth_getUncleByBlockHashAndIndex", list(hash, "0x0"))
		add("eth_getTransactionByBlockHashAndIndex", list(hash, index), list(hash, "0xff"))
	}
	for _, hash := range []common.Hash{f.store.TxHash, f.old.TxHash, nowhere} {
		add("eth_getTransactionByHash", list(hash))
		add("eth_getTransactionReceipt", list(hash))
	}
	for _, number := range []string{f.block, f.oldBlock, "earliest", "0xffffff"} {
		add("eth_getBlockByNumber", list(number, true), list(number, false))
		add("eth_getBlockTransactionCountByNumber", list(number))
		add("eth_getUncleCountByBlockNumber", list(number))
		add("eth_getUncleByBlockNumberAndIndex", list(number, "0x0"))
		add("eth_getTransactionByBlockNumberAndIndex", list(number, index))
		add("eth_getBlockReceipts", list(number))
	}
	add("eth_getBlockReceipts", list(f.hash))
	add("eth_feeHistory", list("0x14", f.block, []int{10, 50, 90}), list(20, f.block, []int{}),
		list("0x400", f.block, []int{50}))
	add("eth_chainId", "[]")
	add("net_version", "[]")
	add("net_listening", "[]")
	add("net_peerCount", "[]")
	add("web3_clientVersion", "[]")
	add("web3_sha3", `["0x68656c6c6f"]`)
}

// state adds reads of state at a block by number, by hash and by EIP-1898 object.
func (f *evmFacts) state(c *conformance, add adder) {
	read := map[string]any{"to": f.contract, "data": c.pack(f.abi, "value")}
	write := map[string]any{
		"from": f.sender, "to": f.contract, "data": c.pack(f.abi, "store", big.NewInt(1), strings.Repeat("n", 100)),
	}
	slot := common.Hash{}
	for _, at := range []any{
		f.block, f.parent, f.hash,
		map[string]any{"blockHash": f.hash, "requireCanonical": true},
		map[string]any{"blockNumber": f.block},
	} {
		add("eth_getBalance", list(f.sender, at), list(common.Address{19: 0xff}, at))
		add("eth_getCode", list(f.contract, at), list(f.sender, at))
		add("eth_getTransactionCount", list(f.sender, at))
		add("eth_getStorageAt", list(f.contract, slot, at), list(f.contract, "0x0", at))
		add("eth_getStorageValues", list(map[common.Address][]common.Hash{f.contract: {slot, {31: 1}}}, at))
		add("eth_getProof", list(f.contract, []common.Hash{slot, {31: 1}}, at))
		add("eth_call", list(read, at), list(write, at))
		add("eth_estimateGas", list(write, at))
		add("eth_createAccessList", list(write, at))
	}
	add("eth_getBalance", list(f.sender, "earliest"))
	add("eth_call", list(read, f.block, map[common.Address]any{
		f.contract: map[string]any{"stateDiff": map[common.Hash]common.Hash{slot: {31: 9}}},
	}),
		list(read, f.block, nil, map[string]any{"number": "0xffff"}))
}

// heavy adds simulations, raw data, and traces with each kind of tracer.
func (f *evmFacts) heavy(c *conformance, add adder) {
	write := map[string]any{"from": f.sender, "to": f.contract, "data": c.pack(f.abi, "store", big.NewInt(1), "x")}
	add("eth_simulateV1", list(map[string]any{
		"blockStateCalls": []any{map[string]any{"calls": []any{write, write}}, map[string]any{"calls": []any{write}}},
		"traceTransfers":  true, "returnFullTransactions": true,
	}, f.block))
	for _, at := range []any{f.block, f.hash} {
		add("debug_getRawBlock", list(at))
		add("debug_getRawHeader", list(at))
		add("debug_getRawReceipts", list(at))
	}
	add("debug_getRawTransaction", list(f.store.TxHash), list(nowhere))
	add("debug_storageRangeAt", list(f.hash, 0, f.contract, "0x00", 10))
	for _, config := range []any{
		map[string]any{},
		map[string]any{"tracer": "callTracer", "tracerConfig": map[string]any{"withLog": true}},
		map[string]any{"tracer": "prestateTracer", "tracerConfig": map[string]any{"diffMode": true}},
		map[string]any{"tracer": "4byteTracer"},
		map[string]any{"tracer": "flatCallTracer"},
		map[string]any{"enableMemory": true},
	} {
		add("debug_traceTransaction", list(f.store.TxHash, config))
		add("debug_traceCall", list(write, f.block, config))
		add("debug_traceBlockByHash", list(f.hash, config))
		add("debug_traceBlockByNumber", list(f.block, config))
		add("debug_traceBlock", list(f.rawBlock, config))
	}
}

// logs adds filters by range, hash, address and topics.
func (f *evmFacts) logs(c *conformance, add adder) {
	stored := f.abi.Events["Stored"].ID
	add("eth_getLogs",
		list(map[string]any{"fromBlock": f.block, "toBlock": f.block}),
		list(map[string]any{"fromBlock": f.block, "toBlock": f.block, "address": f.contract}),
		list(map[string]any{
			"fromBlock": f.parent, "toBlock": f.block, "address": []common.Address{
				f.contract, c.box.LogEmitter(c.on.ID),
			},
		}),
		list(map[string]any{"fromBlock": f.block, "toBlock": f.block, "topics": []any{stored, nil}}),
		list(map[string]any{"fromBlock": f.block, "toBlock": f.block, "topics": []any{[]common.Hash{stored, nowhere}}}),
		list(map[string]any{"blockHash": f.hash}),
		list(map[string]any{"fromBlock": "earliest", "toBlock": f.block, "topics": []any{}}),
		list(map[string]any{"fromBlock": f.block, "toBlock": f.block, "address": common.Address{1}}),
	)
}

// failures are errors that count as answers: they pass through unchanged, with HTTP 200.
func (f *evmFacts) failures(c *conformance) []sample {
	to := func(method string, args ...any) map[string]any {
		return map[string]any{"from": f.sender, "to": f.contract, "data": c.pack(f.abi, method, args...)}
	}
	tooLarge, text, panics := to("store", big.NewInt(2_000), ""), to("refuse"), to("divide", big.NewInt(0))
	var all []sample
	add := func(method string, lists ...string) {
		for _, l := range lists {
			all = append(all, sample{method: method, params: l, fails: true})
		}
	}
	for _, reverting := range []map[string]any{tooLarge, text, panics} {
		for _, method := range []string{"eth_call", "eth_estimateGas"} {
			all = append(all, sample{method: method, params: list(reverting, f.block), fails: true, data: true})
		}
	}
	endless := to("forever")
	endless["gas"] = "0x186a0"
	poor := map[string]any{"from": common.Address{1}, "to": f.contract, "value": "0xde0b6b3a7640000"}
	add("eth_call", list(endless, f.block), list(poor, f.block), `[]`, `[{"to":"0x12"}]`, `[{},"0xzz"]`,
		list(text, "0xffffff"), list(text, nowhere))
	add("eth_estimateGas", list(poor, f.block))
	add("eth_getBalance", `[]`, `["0x12","latest"]`, list(f.sender, "0xffffff"), list(f.sender, nowhere),
		list(f.sender, "newest"), list(f.sender, 1))
	add("eth_getStorageAt", list(f.contract, "0xzz", f.block))
	add("eth_getProof", list(f.contract, []string{"0xzz"}, f.block))
	add("eth_getBlockByHash", `["0x12",true]`, `[]`)
	add("eth_getBlockByNumber", `["latest"]`, `[{},true]`)
	add("eth_getTransactionByHash", `["0x12"]`)
	add("eth_getLogs", list(map[string]any{"blockHash": nowhere}),
		list(map[string]any{"fromBlock": "0x20", "toBlock": "0x10"}), `[]`, `[{"address":"0x12"}]`)
	add("eth_feeHistory", `["0x1","0xffffff",[]]`, `["0x1","latest",[90,10]]`, `["0x1","latest",[101]]`)
	add("eth_sendRawTransaction", `[]`, `["0x"]`, `["0x02"]`, `["0xzz"]`, list(f.refused), list(f.raw))
	add("eth_sendRawTransactionSync", `[]`, `["0x"]`, `["0x02"]`, `["0xzz"]`, list(f.refused))
	add("eth_simulateV1", `[]`, `[{"blockStateCalls":[]},"latest"]`)
	add("debug_traceTransaction", list(nowhere), `["0x12"]`,
		list(f.store.TxHash, map[string]any{"tracer": "noSuchTracer"}))
	add("debug_traceCall", list(text, "0xffffff"))
	add("debug_traceBlockByHash", list(nowhere))
	add("debug_traceBlockByNumber", `["0xffffff"]`)
	add("debug_traceBlock", `["0x12"]`)
	add("debug_getRawBlock", `["newest"]`)
	add("web3_sha3", `[]`, `["hello"]`)
	return all
}

package chain

import "time"

// evmMethods is the catalog of the five EVM chains, one row per method. Weights and TTLs come from
// docs/interface.md, 1.8. A method outside the table is refused with -32601.
var evmMethods = []Method{
	// The gateway answers these itself.
	local("eth_chainId"),
	local("net_version"),

	// About the head: cached for a moment.
	short("eth_blockNumber", 2*time.Second),
	near(short("eth_gasPrice", 2*time.Second)),

	// By hash: cached once the block is final. The first parameter is always the hash.
	null(NullUnknown, final("eth_getBlockByHash", Proof{Number: "number", Echo: "hash", Block: "hash"})),
	null(NullUnknown, final("eth_getTransactionByHash",
		Proof{Number: "blockNumber", Echo: "hash", Block: "blockHash"})),
	null(NullUnknown, final("eth_getTransactionReceipt",
		Proof{Number: "blockNumber", Echo: "transactionHash", Block: "blockHash"})),
	null(NullUnknown, final("eth_getBlockTransactionCountByHash", Proof{})),
	null(NullUnknown, final("eth_getTransactionByBlockHashAndIndex",
		Proof{Number: "blockNumber", Echo: "blockHash", Block: "blockHash"})),
	final("eth_getUncleByBlockHashAndIndex", Proof{Number: "number", Above: uncleAge}),
	final("eth_getUncleCountByBlockHash", Proof{}),

	// State reads: heavy when their block is deeper than StateDepth. The number is the index of the
	// block parameter.
	latest(state("eth_call", 1)),
	own(latest(state("eth_createAccessList", 1))),
	own(latest(state("eth_estimateGas", 1))),
	state("eth_getBalance", 1),
	state("eth_getCode", 1),
	state("eth_getProof", 2),
	state("eth_getStorageAt", 2),
	state("eth_getStorageValues", 1),
	state("eth_getTransactionCount", 1),

	// Capped by their parameters.
	own(at(1, capped("eth_feeHistory", weighFeeWindow))),
	capped("eth_getLogs", weighLogRange),

	// Plain reads.
	near(plain("eth_baseFee")),
	near(plain("eth_blobBaseFee")),
	plain("eth_capabilities"),
	plain("eth_config"),
	at(0, null(NullNoBlock, shows(plain("eth_getBlockByNumber")))),
	at(0, null(NullNoBlock, plain("eth_getBlockReceipts"))),
	at(0, null(NullNoBlock, plain("eth_getBlockTransactionCountByNumber"))),
	at(0, null(NullUnknown, plain("eth_getTransactionByBlockNumberAndIndex"))),
	at(0, plain("eth_getUncleByBlockNumberAndIndex")),
	at(0, null(NullNoBlock, plain("eth_getUncleCountByBlockNumber"))),
	near(plain("eth_maxPriorityFeePerGas")),
	plain("eth_protocolVersion"),
	near(plain("eth_syncing")),
	plain("net_listening"),
	plain("net_peerCount"),
	plain("web3_clientVersion"),
	same(plain("web3_sha3")),

	// Writes. The second is posted as the first, and answered with the receipt.
	write("eth_sendRawTransaction"),
	waiting(write("eth_sendRawTransactionSync")),

	// User operations (ERC-4337), where the operator has a bundler. Sending one follows the rule of
	// submissions.
	bundled(write("eth_sendUserOperation")),
	bundled(plain("eth_estimateUserOperationGas")),
	bundled(null(NullUnknown, plain("eth_getUserOperationByHash"))),
	bundled(null(NullUnknown, plain("eth_getUserOperationReceipt"))),
	bundled(plain("eth_supportedEntryPoints")),

	// Pending transactions, of the upstream that answers.
	needing("txpool_status", TxPool),
	heavy("txpool_content", TxPool),
	heavy("txpool_contentFrom", TxPool),
	heavy("txpool_inspect", TxPool),

	// Heavy, served where an upstream supports them.
	at(1, heavy("eth_simulateV1", Simulate)),

	at(0, heavy("debug_getRawBlock", Debug)),
	at(0, heavy("debug_getRawHeader", Debug)),
	at(0, heavy("debug_getRawReceipts", Debug)),
	heavy("debug_getRawTransaction", Debug),
	heavy("debug_storageRangeAt", Debug),
	heavy("debug_traceBlock", Debug),
	heavy("debug_traceBlockByHash", Debug),
	at(0, heavy("debug_traceBlockByNumber", Debug)),
	at(1, heavy("debug_traceCall", Debug)),
	heavy("debug_traceTransaction", Debug),

	at(0, heavy("trace_block", Trace)),
	at(2, heavy("trace_call", Trace)),
	at(1, heavy("trace_callMany", Trace)),
	ranged(heavy("trace_filter", Trace)),
	heavy("trace_get", Trace),
	heavy("trace_rawTransaction", Trace),
	at(0, heavy("trace_replayBlockTransactions", Trace)),
	heavy("trace_replayTransaction", Trace),
	heavy("trace_transaction", Trace),

	on(ArbitrumOne, heavy("arbtrace_block", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_call", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_callMany", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_filter", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_get", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_rawTransaction", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_replayBlockTransactions", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_replayTransaction", ArbTrace)),
	on(ArbitrumOne, heavy("arbtrace_transaction", ArbTrace)),

	on(PolygonPoS, needing("bor_getAuthor", Bor)),
	on(PolygonPoS, needing("bor_getCurrentProposer", Bor)),
	on(PolygonPoS, needing("bor_getCurrentValidators", Bor)),
	on(PolygonPoS, needing("bor_getRootHash", Bor)),
	on(PolygonPoS, needing("bor_getSignersAtHash", Bor)),
}

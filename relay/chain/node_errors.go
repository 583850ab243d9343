package chain

// NodeError explains a code in an error of a chain's node, which passes through unchanged with HTTP
// 200. The gateway's own refusals may have the same code; they have another status and
// data.request_id.
type NodeError struct {
	Code    int
	Family  Family
	Title   string
	Meaning string
	Step    string // what to do
}

// NodeErrors returns the meanings of a code in answers of nodes; empty if it has no agreed meaning.
func NodeErrors(code int) []NodeError {
	var found []NodeError
	for _, e := range nodeErrors {
		if e.Code == code {
			found = append(found, e)
		}
	}
	return found
}

// nodeErrors are from EIP-1474, EIP-7966, eth_simulateV1 (ethereum/execution-apis) and Solana's
// nodes (solana-rpc-client-api, custom_error).
var nodeErrors = []NodeError{
	{
		3, EVM, "Execution reverted",
		"The contract refused the call. data holds what it reverted with, encoded as its ABI says.",
		"Decode data with the contract's ABI, or simulate with debug_traceCall to see where it reverted.",
	},
	{
		4, EVM, "Not included in time",
		"eth_sendRawTransactionSync: the transaction was sent, but no block had it in the time that was given. It " +
			"may still be included.",
		"Look it up with eth_getTransactionReceipt and the hash in data. Do not sign another with the same nonce.",
	},
	{
		-32000, EVM, "The node refused it",
		"The general code of nodes: the message says what is wrong, for instance nonce too low, insufficient funds, " +
			"or already known.",
		"Read the message. After already known, do not send again: look the transaction up by its hash.",
	},
	{
		-32001, EVM, "Resource not found", "The node does not have what was asked for.",
		"Check the hash or number; ask again with a block that exists.",
	},
	{-32002, EVM, "Resource unavailable", "The node has it and cannot give it now.", "Retry after a moment."},
	{
		-32003, EVM, "Transaction rejected",
		"The node did not take the transaction; the message says why, most often the nonce, the fee or the balance.",
		"Correct what the message names, sign again and send.",
	},
	{
		-32004, EVM, "Method not supported", "The node knows the method and does not do it.",
		"Use another method: get_quote says what is offered.",
	},
	{
		-32005, EVM, "Limit exceeded", "The request asks for more than the node gives at once.",
		"Ask for less in one call.",
	},
	{
		-32006, EVM, "Version not supported", "The node does not speak that version of JSON-RPC.",
		"Send jsonrpc \"2.0\".",
	},
	{
		-32015, EVM, "Execution failed", "The virtual machine stopped with an error; the message or data says which.",
		"Read data; it is the contract's or the call's own doing.",
	},
	{
		-38010, EVM, "Nonce too low", "eth_simulateV1: a transaction's nonce was used already.",
		"Leave the nonce out, or read it with eth_getTransactionCount.",
	},
	{
		-38011, EVM, "Nonce too high", "eth_simulateV1: a transaction's nonce leaves a gap.",
		"Leave the nonce out, or read it with eth_getTransactionCount.",
	},
	{
		-38012, EVM, "Base fee too low", "eth_simulateV1: the fee of the block override is below what the chain takes.",
		"Raise or leave out the override.",
	},
	{
		-38013, EVM, "Not enough gas for the transaction itself",
		"eth_simulateV1: the gas does not cover what every transaction pays.", "Raise gas.",
	},
	{
		-38014, EVM, "Insufficient funds", "eth_simulateV1: the sender cannot pay value and gas.",
		"Override the sender's balance, or send less.",
	},
	{
		-38015, EVM, "Block gas limit reached", "eth_simulateV1: the calls of a block need more gas than it holds.",
		"Spread the calls over several blocks.",
	},
	{
		-38020, EVM, "Block numbers out of order", "eth_simulateV1: a block's number does not come after the last.",
		"Let numbers rise, or leave them out.",
	},
	{
		-38021, EVM, "Block times out of order", "eth_simulateV1: a block's time does not come after the last.",
		"Let times rise, or leave them out.",
	},
	{
		-38022, EVM, "Precompile moved to itself",
		"eth_simulateV1: a state override moves a precompile to its own address.", "Move it to another address.",
	},
	{
		-38023, EVM, "Precompiles moved to one address",
		"eth_simulateV1: state overrides move several precompiles to one address.", "Give each an address of its own.",
	},
	{
		-38024, EVM, "The sender is a contract",
		"eth_simulateV1: with validation, a sender must be an account without code.",
		"Use another sender, or leave validation off.",
	},
	{
		-38025, EVM, "Code too large", "eth_simulateV1: the init code is larger than the chain takes.",
		"Deploy smaller code.",
	},
	{
		-38026, EVM, "The node's own limit", "eth_simulateV1: the simulation asks for more than the node does at once.",
		"Simulate fewer blocks or calls.",
	},

	{
		-32001, Solana, "Block cleaned up",
		"The node that was asked last no longer has the block; older ones were asked too.",
		"Use getFirstAvailableBlock for the oldest that is kept.",
	},
	{
		-32002, Solana, "Simulation failed",
		"The transaction was simulated before it was sent, and failed. data.err and data.logs say why. It was not " +
			"sent.", "Read data.logs, correct the transaction, sign again and send.",
	},
	{
		-32003, Solana, "Signature does not verify",
		"A signature of the transaction is not that of its signer over its message.",
		"Sign again: the message must not change afterwards.",
	},
	{
		-32004, Solana, "Block not available", "The block is not there yet for the slot.",
		"Retry after some slots, or use an older slot.",
	},
	{-32005, Solana, "Node unhealthy", "The nodes that were asked are behind the cluster.", "Retry after a moment."},
	{
		-32006, Solana, "Precompile verification failed",
		"An instruction that verifies signatures was given one that does not verify.",
		"Correct the instruction's data.",
	},
	{
		-32007, Solana, "Slot skipped", "No block was made in this slot, or a snapshot begins after it.",
		"Go on with the next slot: getBlocks lists those with a block.",
	},
	{-32008, Solana, "No snapshot", "The node has none.", "Retry later."},
	{
		-32009, Solana, "Slot skipped or missing in long-term storage", "No block is kept for this slot.",
		"Go on with the next slot: getBlocks lists those with a block.",
	},
	{
		-32010, Solana, "Not in the node's index",
		"The node leaves this key out of the index by which accounts are searched.",
		"Read known accounts with getMultipleAccounts.",
	},
	{
		-32011, Solana, "History not available", "The nodes that were asked keep no history of transactions.",
		"Retry; for old transactions use an archive.",
	},
	{-32012, Solana, "Scan failed", "The node gave up a scan of accounts.", "Ask for less in one call."},
	{
		-32013, Solana, "Wrong number of signatures",
		"The transaction has more or fewer signatures than its message asks for.",
		"Sign with every signer of the message.",
	},
	{
		-32014, Solana, "Block status not there yet", "The node does not know yet whether the block is final.",
		"Retry after some slots.",
	},
	{
		-32015, Solana, "Transaction version not supported",
		"The answer holds a versioned transaction, and the request does not allow for it.",
		"Set maxSupportedTransactionVersion to 0.",
	},
	{
		-32016, Solana, "Minimum context slot not reached", "The node is behind the slot of minContextSlot.",
		"Retry after a moment, or ask for an older slot.",
	},
	{
		-32017, Solana, "Epoch rewards under way", "Rewards of the epoch are being paid, and are not all known yet.",
		"Retry once they are paid.",
	},
	{
		-32018, Solana, "Not the boundary of an epoch", "The slot does not begin an epoch.",
		"Use the first slot of the epoch.",
	},
	{-32019, Solana, "Long-term storage unreachable", "The node cannot reach its archive.", "Retry after a moment."},
}

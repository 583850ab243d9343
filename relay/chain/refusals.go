package chain

import (
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
)

// Links are the operator's addresses in catalog and range refusals.
type Links struct {
	Contact string // an address for tailoring requests
	Docs    string // a link to the method catalog
}

// On returns a copy of a refusal with data.contact and data.docs (docs/interface.md, 1.2.4).
func (l Links) On(e *fault.Error) *fault.Error {
	return e.With("contact", l.Contact).With("docs", l.Docs)
}

// Refuse returns the error for a method that the chain does not serve: fault.MethodNotServed with
// the operator's links and a message about what to do instead. data.suggestion names the served
// method if one is close.
func (c *Chain) Refuse(name string, links Links) *fault.Error {
	quoted := excerpt([]byte(name))
	if advice, ok := adviceFor(c.Family, name); ok {
		return links.On(fault.New(fault.MethodNotServed, "%s is not served. %s", quoted, advice))
	}
	if near, ok := c.catalog.nearest(name); ok {
		return links.On(fault.New(fault.MethodNotServed,
			"%s is not served: names are exact and case-sensitive. Use %s.", quoted, near)).
			With("suggestion", near)
	}
	if titles := c.elsewhere(name); titles != "" {
		return links.On(fault.New(fault.MethodNotServed, "%s is not a method of %s. Send it to %s.", quoted, c.ID,
			titles))
	}
	return links.On(fault.New(fault.MethodNotServed,
		"%s is not in the method catalog of %s. Check the spelling (names are exact and case-sensitive), look it up "+
			"in the catalog at data.docs, or ask for it at data.contact.",
		quoted, c.ID))
}

// RefuseUserOperation returns the error for a method of ERC-4337 on a chain without a bundler.
func (c *Chain) RefuseUserOperation(name string, links Links) *fault.Error {
	return links.On(fault.New(fault.MethodNotServed,
		"%s is a method of ERC-4337 bundlers, and this gateway has none for %s. Send it to a bundler, or a "+
			"transaction with eth_sendRawTransaction.", excerpt([]byte(name)), c.ID))
}

// elsewhere returns the paths of the built-in chains that do serve the method.
func (c *Chain) elsewhere(name string) string {
	var paths []string
	for _, other := range builtIn.all {
		if _, ok := other.catalog.byName[name]; ok && other.ID != c.ID {
			paths = append(paths, "/rpc/"+string(other.ID))
		}
	}
	return strings.Join(paths, ", ")
}

// maxMethodName is longer than every name in the catalog; a longer name is no misspelling of one.
const maxMethodName = 64

// squeezer and squeeze remove what people get wrong in names: separators and case.
var squeezer = strings.NewReplacer("_", "", "-", "", ".", "", "/", "", " ", "", "\t", "", "\n", "", "\r", "")

func squeeze(name string) string { return strings.ToLower(squeezer.Replace(name)) }

// nearest finds the served method whose name differs only in case and separators.
func (c *catalog) nearest(name string) (string, bool) {
	if len(name) > maxMethodName {
		return "", false
	}
	near, ok := c.bySqueezed[squeeze(name)]
	return near, ok
}

// refusalRule is advice on what to use instead of the methods that match: an exact name, a prefix
// ("admin_*") or a suffix ("*Subscribe").
type refusalRule struct {
	match  string
	advice string
}

func (r refusalRule) matches(name string) bool {
	if prefix, ok := strings.CutSuffix(r.match, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	if suffix, ok := strings.CutPrefix(r.match, "*"); ok {
		return strings.HasSuffix(name, suffix)
	}
	return name == r.match
}

// adviceFor returns the advice of the first rule that matches.
func adviceFor(family Family, name string) (string, bool) {
	for _, rule := range refusalsOf(family) {
		if rule.matches(name) {
			return rule.advice, true
		}
	}
	return "", false
}

// Refused returns the rule by which a known method is refused: its name, or a pattern such as
// personal_* or *Subscribe. Refuse accepts both as a name.
func Refused(family Family, name string) (rule string, ok bool) {
	for _, r := range refusalsOf(family) {
		if r.matches(name) {
			return r.match, true
		}
	}
	return "", false
}

func refusalsOf(family Family) []refusalRule {
	if family == Solana {
		return solanaRefusals
	}
	return evmRefusals
}

const (
	adviceFilter = "A filter lives in one node, and calls go to several. Poll eth_getLogs over the blocks since your " +
		"last poll instead (ethers does so when its provider is made with polling: true)."
	adviceSign = "The gateway holds no keys. Sign in your wallet and send the signed bytes with " +
		"eth_sendRawTransaction."
	adviceWallet = "The gateway holds no accounts. Ask your wallet for them."
	adviceMining = "There is nothing to mine on this chain. Read blocks with eth_getBlockByNumber."
	adviceNode   = "It administers a node and is never relayed. Run it against a node of your own."
	advicePool   = "Pending transactions differ from node to node. Look one up with eth_getTransactionByHash, or " +
		"count an account's with eth_getTransactionCount and the tag pending."
	adviceSend   = "Send the signed bytes with eth_sendRawTransaction, then poll eth_getTransactionReceipt."
	adviceBundle = "Bundles and private order flow are not relayed. Send them to a builder directly, or a public " +
		"transaction with eth_sendRawTransaction."
	adviceTrace = "This debug method changes or inspects one node. Use debug_traceTransaction, debug_traceCall or " +
		"debug_traceBlockByNumber."
	adviceHeader = "Use eth_getBlockByNumber or eth_getBlockByHash with false as second parameter; the block without " +
		"full transactions carries the header."
)

// evmRefusals are the known methods that are not served on EVM chains, most specific first.
var evmRefusals = []refusalRule{
	{
		"eth_newBlockFilter",
		"A filter lives in one node, and calls go to several. Poll eth_blockNumber instead, then read the new blocks " +
			"with eth_getBlockByNumber.",
	},
	{"eth_newPendingTransactionFilter", advicePool},
	{"eth_newFilter", adviceFilter},
	{"eth_getFilterChanges", adviceFilter},
	{"eth_getFilterLogs", adviceFilter},
	{"eth_uninstallFilter", adviceFilter},
	{
		"eth_subscribe",
		"There are no subscriptions over HTTP. Poll eth_blockNumber for new blocks and eth_getLogs for events " +
			"instead.",
	},
	{"eth_unsubscribe", "There are no subscriptions over HTTP. Stop polling instead."},

	{"eth_signTransaction", adviceSign},
	{
		"eth_sign*",
		"The gateway holds no keys. Sign in your wallet; send a signed transaction with eth_sendRawTransaction.",
	},
	{"eth_sendTransaction", adviceSign},
	{"eth_resend", adviceSign},
	{
		"eth_fillTransaction",
		"Fill the transaction yourself with eth_getTransactionCount, eth_estimateGas and eth_feeHistory, sign it in " +
			"your wallet, and send it with eth_sendRawTransaction.",
	},
	{"eth_accounts", adviceWallet},
	{"eth_requestAccounts", adviceWallet},
	{"eth_coinbase", adviceWallet},
	{"personal_*", adviceSign},
	{"wallet_*", "It is a method of wallets. Send it to your wallet."},

	{"eth_sendRawTransactionConditional", adviceSend},
	{"eth_sendPrivate*", adviceBundle},
	{"eth_cancelPrivate*", adviceBundle},
	{"eth_sendBundle", adviceBundle},
	{"eth_callBundle", adviceBundle},
	{"eth_cancelBundle", adviceBundle},
	{"mev_*", adviceBundle},
	{"flashbots_*", adviceBundle},

	{"eth_mining", adviceMining},
	{"eth_hashrate", adviceMining},
	{"eth_getWork", adviceMining},
	{"eth_submitWork", adviceMining},
	{"eth_submitHashrate", adviceMining},
	{"miner_*", adviceMining},

	{"eth_pendingTransactions", advicePool},
	{"admin_*", adviceNode},
	{"clique_*", adviceNode},
	{"engine_*", adviceNode},
	{"testing_*", adviceNode},
	{"evm_*", adviceNode},
	{"hardhat_*", adviceNode},
	{"anvil_*", adviceNode},
	{"debug_getBadBlocks", adviceTrace},
	{"debug_set*", adviceNode},

	{"eth_getHeaderByNumber", adviceHeader},
	{"eth_getHeaderByHash", adviceHeader},
	{"eth_getRawTransaction*", "Use debug_getRawTransaction with the transaction's hash."},
	{"alchemy_getTokenBalances", "Use GET /data/{chain}/balances/{address}, which reads ERC-20 balances."},
	{"alchemy_getAssetTransfers", "Use GET /data/{chain}/history/{address}, which lists transfers, newest first."},
	{
		"alchemy_*",
		"It belongs to one provider. Use eth_* methods, or GET /data/{chain}/balances/{address} and GET " +
			"/data/{chain}/history/{address}.",
	},
}

const (
	adviceSolanaPoll = "There are no subscriptions over HTTP. Poll getSlot, getAccountInfo, getSignatureStatuses or " +
		"getSignaturesForAddress instead."
	adviceSolanaFee = "It was removed from Solana. Use getFeeForMessage, and getRecentPrioritizationFees for the " +
		"priority fee."
)

// solanaRefusals are the known methods that are not served on Solana, most specific first.
var solanaRefusals = []refusalRule{
	{
		"getProgramAccounts",
		"It scans every account of a program. Read known accounts with getMultipleAccounts, and token accounts with " +
			"getTokenAccountsByOwner; for other scans use an indexer, or ask at data.contact.",
	},
	{"requestAirdrop", "Mainnet has no airdrops. Use a faucet of devnet, or send SOL with sendTransaction."},
	{"getIdentity", "It names one node, and calls go to several. Use getClusterNodes."},
	{"*Subscribe", adviceSolanaPoll},
	{"*Unsubscribe", adviceSolanaPoll},
	{"getConfirmedBlock", "It was removed from Solana. Use getBlock."},
	{"getConfirmedBlocks", "It was removed from Solana. Use getBlocks."},
	{"getConfirmedBlocksWithLimit", "It was removed from Solana. Use getBlocksWithLimit."},
	{"getConfirmedTransaction", "It was removed from Solana. Use getTransaction."},
	{"getConfirmedSignaturesForAddress*", "It was removed from Solana. Use getSignaturesForAddress."},
	{
		"getConfirmed*",
		"It was removed from Solana. Use getBlock, getTransaction, getSignaturesForAddress or getSignatureStatuses.",
	},
	{"getSignatureStatus", "Use getSignatureStatuses, which takes several signatures."},
	{"getSignatureConfirmation", "It was removed from Solana. Use getSignatureStatuses."},
	{"getRecentBlockhash", "It was removed from Solana. Use getLatestBlockhash."},
	{"getFees", adviceSolanaFee},
	{"getFeeCalculatorForBlockhash", adviceSolanaFee},
	{"getFeeRateGovernor", adviceSolanaFee},
	{"getSnapshotSlot", "It was removed from Solana. Use getHighestSnapshotSlot."},
	{
		"getStakeActivation",
		"It was removed from Solana. Read the stake account with getAccountInfo and encoding jsonParsed, and the " +
			"epoch with getEpochInfo.",
	},
}

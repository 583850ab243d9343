package chain_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

var links = chain.Links{Contact: "help@example.org", Docs: "https://example.org/docs/methods"}

func TestRefusals_SayWhatToDoInstead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ chain, method, advice string }{
		{"eth_mainnet", "eth_newFilter", "Poll eth_getLogs"},
		{"eth_mainnet", "eth_newBlockFilter", "Poll eth_blockNumber"},
		{"eth_mainnet", "eth_newPendingTransactionFilter", "eth_getTransactionByHash"},
		{"eth_mainnet", "eth_getFilterChanges", "Poll eth_getLogs"},
		{"eth_mainnet", "eth_getFilterLogs", "Poll eth_getLogs"},
		{"eth_mainnet", "eth_uninstallFilter", "Poll eth_getLogs"},
		{"base_mainnet", "eth_subscribe", "eth_getLogs"},
		{"base_mainnet", "eth_unsubscribe", "Stop polling"},
		{"eth_mainnet", "eth_sign", "Sign in your wallet"},
		{"eth_mainnet", "eth_signTypedData_v4", "Sign in your wallet"},
		{"eth_mainnet", "eth_signTransaction", "eth_sendRawTransaction"},
		{"eth_mainnet", "eth_sendTransaction", "eth_sendRawTransaction"},
		{"eth_mainnet", "eth_accounts", "Ask your wallet"},
		{"eth_mainnet", "eth_coinbase", "Ask your wallet"},
		{"eth_mainnet", "eth_fillTransaction", "eth_estimateGas"},
		{"eth_mainnet", "personal_unlockAccount", "Sign in your wallet"},
		{"eth_mainnet", "eth_getWork", "eth_getBlockByNumber"},
		{"eth_mainnet", "eth_mining", "eth_getBlockByNumber"},
		{"eth_mainnet", "admin_addPeer", "node of your own"},
		{"eth_mainnet", "miner_start", "nothing to mine"},
		{"eth_mainnet", "clique_propose", "node of your own"},
		{"eth_mainnet", "engine_newPayloadV4", "node of your own"},
		{"eth_mainnet", "testing_buildBlockV1", "node of your own"},
		{"eth_mainnet", "eth_pendingTransactions", "eth_getTransactionByHash"},
		{"eth_mainnet", "debug_setHead", "node of your own"},
		{"eth_mainnet", "debug_getBadBlocks", "debug_traceTransaction"},
		{"eth_mainnet", "eth_sendRawTransactionConditional", "eth_sendRawTransaction"},
		{"eth_mainnet", "eth_sendBundle", "eth_sendRawTransaction"},
		{"eth_mainnet", "eth_sendPrivateTransaction", "eth_sendRawTransaction"},
		{"solana_mainnet", "getProgramAccounts", "getTokenAccountsByOwner"},
		{"solana_mainnet", "requestAirdrop", "faucet"},
		{"solana_mainnet", "getIdentity", "getClusterNodes"},
		{"solana_mainnet", "accountSubscribe", "Poll"},
		{"solana_mainnet", "slotUnsubscribe", "Poll"},
		{"solana_mainnet", "getConfirmedTransaction", "Use getTransaction"},
		{"solana_mainnet", "getConfirmedBlock", "Use getBlock"},
		{"solana_mainnet", "getConfirmedSignaturesForAddress2", "Use getSignaturesForAddress"},
		{"solana_mainnet", "getRecentBlockhash", "Use getLatestBlockhash"},
		{"solana_mainnet", "getFees", "Use getFeeForMessage"},
		{"solana_mainnet", "getStakeActivation", "getAccountInfo"},
		// Served elsewhere.
		{"eth_mainnet", "arbtrace_block", "Send it to /rpc/arbitrum_one"},
		{"base_mainnet", "bor_getAuthor", "Send it to /rpc/polygon_pos"},
		{"eth_mainnet", "getSlot", "Send it to /rpc/solana_mainnet"},
		{"solana_mainnet", "eth_call", "/rpc/eth_mainnet, /rpc/base_mainnet"},
		// Misspelt.
		{"eth_mainnet", "eth_getblockbynumber", "Use eth_getBlockByNumber"},
		{"eth_mainnet", "ETH_CALL", "Use eth_call"},
		{"eth_mainnet", "eth.blockNumber", "Use eth_blockNumber"},
		{"eth_mainnet", " eth_call\n", "Use eth_call"},
		{"solana_mainnet", "GetSlot", "Use getSlot"},
		// Unknown.
		{"eth_mainnet", "", "data.docs"},
		{"eth_mainnet", "foo_bar", "data.docs"},
		{"eth_mainnet", strings.Repeat("x", 1<<20), "data.contact"},
	} {
		t.Run(tc.chain, func(t *testing.T) {
			c := lookup(t, tc.chain)
			if _, served := c.Method([]byte(tc.method)); served {
				t.Errorf("%s is served on %s", tc.method, tc.chain)
			}
			refusal := c.Refuse(tc.method, links)
			in := expect.In(t, "%.40s", tc.method)
			expect.Equal(in, refusal.Reason, fault.MethodNotServed)
			expect.Equal(in, refusal.Code(), -32601)
			expect.Equal(in, refusal.HTTP(), 404)
			if !strings.Contains(refusal.Message, tc.advice) {
				t.Errorf("%.40s on %s: message %q lacks %q", tc.method, tc.chain, refusal.Message, tc.advice)
			}
			if refusal.Data["contact"] != links.Contact || refusal.Data["docs"] != links.Docs {
				t.Errorf("%.40s: data is %v", tc.method, refusal.Data)
			}
			if len(refusal.Message) > 1024 {
				t.Errorf("%.40s: a message of %d bytes", tc.method, len(refusal.Message))
			}
		})
	}
}

func TestRefusals_MisspeltMethodNamesTheServedOneInData(t *testing.T) {
	t.Parallel()
	refusal := lookup(t, "eth_mainnet").Refuse("eth_getbalance", links)
	if refusal.Data["suggestion"] != "eth_getBalance" {
		t.Errorf("data is %v", refusal.Data)
	}
}

func TestRefusals_NoServedMethodIsAdvisedAgainst(t *testing.T) {
	t.Parallel()
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			// A served method on its own chain never reaches Refuse; a rule that matches it is a
			// mistake in a pattern.
			if msg := c.Refuse(m.Name, links).Message; !strings.Contains(msg, "Use "+m.Name+".") {
				t.Errorf("a refusal rule matches the served %s: %s", m.Name, msg)
			}
		}
	}
}

func TestRefusals_AdviceOnlyNamesServedMethods(t *testing.T) {
	t.Parallel()
	for _, c := range chain.BuiltIn().All() {
		for _, name := range []string{
			"eth_newFilter", "eth_sendTransaction", "eth_fillTransaction", "debug_getBadBlocks",
			"eth_getHeaderByNumber", "eth_getRawTransactionByHash", "eth_pendingTransactions",
			"getFees", "getStakeActivation", "slotSubscribe", "getProgramAccounts", "getConfirmedX",
		} {
			for _, word := range strings.FieldsFunc(c.Refuse(name, links).Message, func(r rune) bool {
				return strings.ContainsRune(" .,;()\"", r)
			}) {
				if _, isChain := chain.BuiltIn().Lookup(word); isChain || word == name ||
					(!strings.HasPrefix(word, "eth_") && !strings.HasPrefix(word, "debug_") &&
						!strings.HasPrefix(word, "get")) || word == "get" {
					continue
				}
				if _, ok := c.Method([]byte(word)); !ok {
					t.Errorf("the advice for %s on %s names %s, which is not served", name, c.ID, word)
				}
			}
		}
	}
}

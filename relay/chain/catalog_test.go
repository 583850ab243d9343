package chain_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// The catalog a second time, from the specification of the service, so that a mistake in the tables
// is detected.
const (
	evmLocal = `eth_chainId net_version`
	evmShort = `eth_blockNumber eth_gasPrice`
	evmFinal = `eth_getBlockByHash eth_getTransactionByHash eth_getTransactionReceipt eth_getBlockTransactionCountByHash
		eth_getUncleCountByBlockHash eth_getUncleByBlockHashAndIndex eth_getTransactionByBlockHashAndIndex`
	evmNever = `eth_maxPriorityFeePerGas eth_blobBaseFee eth_baseFee eth_feeHistory eth_syncing eth_getBalance eth_getCode
		eth_getStorageAt eth_getStorageValues eth_getTransactionCount eth_getProof eth_call eth_estimateGas eth_createAccessList
		eth_getLogs eth_getBlockByNumber eth_getBlockReceipts eth_getBlockTransactionCountByNumber eth_getUncleCountByBlockNumber
		eth_getUncleByBlockNumberAndIndex eth_getTransactionByBlockNumberAndIndex eth_config eth_capabilities web3_clientVersion
		web3_sha3 net_listening net_peerCount eth_protocolVersion txpool_status
		eth_estimateUserOperationGas eth_getUserOperationByHash eth_getUserOperationReceipt eth_supportedEntryPoints`
	evmHeavy = `eth_simulateV1 debug_traceTransaction debug_traceCall debug_traceBlockByHash debug_traceBlockByNumber
		debug_traceBlock debug_storageRangeAt debug_getRawBlock debug_getRawHeader debug_getRawReceipts debug_getRawTransaction
		trace_call trace_callMany trace_rawTransaction trace_block trace_filter trace_get trace_transaction trace_replayTransaction
		trace_replayBlockTransactions txpool_content txpool_contentFrom txpool_inspect`
	arbHeavy = `arbtrace_call arbtrace_callMany arbtrace_rawTransaction arbtrace_block arbtrace_filter arbtrace_get
		arbtrace_transaction arbtrace_replayTransaction arbtrace_replayBlockTransactions`
	polygonNever = `bor_getAuthor bor_getCurrentValidators bor_getCurrentProposer bor_getRootHash bor_getSignersAtHash`
	evmWrite     = `eth_sendRawTransaction eth_sendRawTransactionSync eth_sendUserOperation`

	solanaShort = `getSlot`
	solanaNever = `getBlockHeight getEpochSchedule getMinimumBalanceForRentExemption getVersion getFirstAvailableBlock
		minimumLedgerSlot getGenesisHash getTransaction getBlock getBlockTime getBlocks getBlocksWithLimit getInflationReward
		getBalance getAccountInfo getMultipleAccounts getLatestBlockhash isBlockhashValid getFeeForMessage getSignatureStatuses
		getSignaturesForAddress getEpochInfo getSlotLeader getSlotLeaders getLeaderSchedule getTransactionCount
		getTokenAccountBalance getTokenSupply getTokenAccountsByOwner getTokenAccountsByDelegate getTokenLargestAccounts
		getLargestAccounts getSupply getVoteAccounts getClusterNodes getBlockProduction getBlockCommitment getHealth
		getRecentPrioritizationFees getRecentPerformanceSamples getHighestSnapshotSlot getInflationGovernor getInflationRate
		getStakeMinimumDelegation getMaxRetransmitSlot getMaxShredInsertSlot simulateTransaction`
	solanaWrite = `sendTransaction`
)

type want struct {
	weight int
	cache  chain.CacheRule
	ttl    time.Duration
	write  bool
}

const week = 7 * 24 * time.Hour

func wantedCatalog(id chain.ID) map[string]want {
	wanted := make(map[string]want)
	add := func(names string, w want) {
		for name := range strings.FieldsSeq(names) {
			wanted[name] = w
		}
	}
	if id == chain.SolanaMainnet {
		add(solanaShort, want{1, chain.Short, time.Second, false})
		add(solanaNever, want{1, chain.Never, 0, false})
		add(solanaWrite, want{1, chain.Never, 0, true})
		return wanted
	}
	add(evmLocal, want{1, chain.Local, week, false})
	add(evmShort, want{1, chain.Short, 2 * time.Second, false})
	add(evmFinal, want{1, chain.Final, week, false})
	add(evmNever, want{1, chain.Never, 0, false})
	add(evmHeavy, want{2, chain.Never, 0, false})
	add(evmWrite, want{1, chain.Never, 0, true})
	if id == chain.ArbitrumOne {
		add(arbHeavy, want{2, chain.Never, 0, false})
	}
	if id == chain.PolygonPoS {
		add(polygonNever, want{1, chain.Never, 0, false})
	}
	return wanted
}

func TestCatalog_HoldsExactlyTheSpecifiedMethods(t *testing.T) {
	t.Parallel()
	for _, c := range chain.BuiltIn().All() {
		wanted := wantedCatalog(c.ID)
		methods := c.Methods()
		if !slices.IsSortedFunc(methods, func(a, b *chain.Method) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: methods are not sorted", c.ID)
		}
		for _, m := range methods {
			w, ok := wanted[m.Name]
			if !ok {
				t.Errorf("%s serves %s, which is not specified", c.ID, m.Name)
				continue
			}
			if got := (want{m.Weight, m.Cache, m.TTL, m.Write}); got != w {
				t.Errorf("%s %s is %+v, want %+v", c.ID, m.Name, got, w)
			}
			if (m.Class == chain.Heavy) != (m.Weight == 2) {
				t.Errorf("%s has class %s and weight %d", m.Name, m.Class, m.Weight)
			}
			if found, ok := c.Method([]byte(m.Name)); !ok || found != m {
				t.Errorf("%s: %s is listed but not found", c.ID, m.Name)
			}
			delete(wanted, m.Name)
		}
		for name := range wanted {
			t.Errorf("%s lacks %s", c.ID, name)
		}
	}
}

func TestCatalog_MethodsNameWhatTheSupplierMustHave(t *testing.T) {
	t.Parallel()
	needs := map[string]chain.Capability{
		"debug": chain.Debug, "trace": chain.Trace, "arbtrace": chain.ArbTrace, "bor": chain.Bor,
		"txpool":                  chain.TxPool,
		"getTokenAccountsByOwner": chain.Data, "getTokenAccountsByDelegate": chain.Data,
	}
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			family, _, _ := strings.Cut(m.Name, "_")
			want := needs[family]
			if m.Name == "eth_simulateV1" {
				want = chain.Simulate
			}
			if strings.Contains(m.Name, "UserOperation") || m.Name == "eth_supportedEntryPoints" {
				want = chain.Bundler
			}
			if m.Needs != want {
				t.Errorf("%s needs %q, want %q", m.Name, m.Needs, want)
			}
			deep := want
			if m.StateRead() {
				deep = chain.Archive
			}
			if got := m.NeedsFor(chain.Heavy); got != deep {
				t.Errorf("%s needs %q when it is heavy, want %q", m.Name, got, deep)
			}
			if got := m.NeedsFor(chain.Standard); got != want {
				t.Errorf("%s needs %q when it is not, want %q", m.Name, got, want)
			}
		}
	}
}

func TestCatalog_ChainsCarryTheirIDs(t *testing.T) {
	t.Parallel()
	want := []struct {
		id      string
		chainID uint64
		family  chain.Family
	}{
		{"eth_mainnet", 1, chain.EVM},
		{"base_mainnet", 8453, chain.EVM},
		{"arbitrum_one", 42161, chain.EVM},
		{"optimism_mainnet", 10, chain.EVM},
		{"polygon_pos", 137, chain.EVM},
		{"solana_mainnet", 0, chain.Solana},
	}
	all := chain.BuiltIn().All()
	if len(all) != len(want) {
		t.Fatalf("%d chains, want %d", len(all), len(want))
	}
	for i, w := range want {
		t.Run(w.id, func(t *testing.T) {
			c, ok := chain.BuiltIn().Lookup(w.id)
			in := expect.In(t, "%s", w.id)
			require.True(in, ok)
			expect.Equal(in, c, all[i])
			expect.Equal(in, c.ChainID, w.chainID)
			expect.Equal(in, c.Family, w.family)
			expect.Greater(in, c.BlockTime, 0)
			expect.NotEqual(in, c.Title, "")
		})
	}
	for _, unknown := range []string{"", "ETH_MAINNET", "eth_mainnet ", "btc", "solana"} {
		if _, ok := chain.BuiltIn().Lookup(unknown); ok {
			t.Errorf("chain %q is found", unknown)
		}
	}
}

func TestCatalog_MethodNamesAreExact(t *testing.T) {
	t.Parallel()
	c := lookup(t, "eth_mainnet")
	for _, name := range []string{
		"", "eth_Call", "ETH_CALL", "eth_call ", " eth_call", "eth_call\x00", "getSlot",
		"arbtrace_call", "bor_getAuthor",
	} {
		if _, ok := c.Method([]byte(name)); ok {
			t.Errorf("%q is served on Ethereum", name)
		}
	}
}

func TestCatalog_ServiceAnswersItsChainIDItself(t *testing.T) {
	t.Parallel()
	c := lookup(t, "base_mainnet")
	private := c.WithChainID(31337)
	for _, tc := range []struct {
		chain  *chain.Chain
		method string
		want   string
	}{
		{c, "eth_chainId", `"0x2105"`},
		{c, "net_version", `"8453"`},
		{private, "eth_chainId", `"0x7a69"`},
		{private, "net_version", `"31337"`},
		{c, "eth_blockNumber", ""},
	} {
		t.Run(tc.method, func(t *testing.T) {
			m, ok := tc.chain.Method([]byte(tc.method))
			if !ok {
				t.Fatalf("%s is not served", tc.method)
			}
			if got := tc.chain.LocalResult(m); !bytes.Equal(got, []byte(tc.want)) {
				t.Errorf("%s on %d is %s, want %s", tc.method, tc.chain.ChainID, got, tc.want)
			}
		})
	}
	if c.ChainID != 8453 {
		t.Errorf("the override changed the shared chain to %d", c.ChainID)
	}
	if got := lookup(t, "solana_mainnet").WithChainID(5).ChainID; got != 0 {
		t.Errorf("Solana has chain id %d after an override", got)
	}
}

// AllocsPerRun excludes parallel tests.
func TestWeigh_CommonCallsDoNotAllocate(t *testing.T) { //nolint:paralleltest // allocations of others would be counted
	c := lookup(t, "eth_mainnet")
	name := []byte("eth_getLogs")
	for _, tc := range []struct{ method, params string }{
		{"eth_getLogs", `[{"address":"0x00","topics":[["0x1"],null],"fromBlock":"0x10","toBlock":"latest"}]`},
		{"eth_getBalance", `["0x00", "0x1"]`},
		{"eth_call", `[{"to":"0x00","data":"0x12345678"},{"blockNumber":"0x1"}]`},
		{"eth_feeHistory", `["0x14","latest",[10,50,90]]`},
		{"eth_blockNumber", `[]`},
	} {
		t.Run(tc.method, func(t *testing.T) {
			name, params := append(name[:0], tc.method...), []byte(tc.params)
			allocs := testing.AllocsPerRun(100, func() {
				m, ok := c.Method(name)
				if !ok {
					t.Fatal("not served")
				}
				m.NeedsHead(params)
				if _, refusal := m.Weigh(params, chain.Heads{Latest: 100, Safe: 90, Finalized: 80}); refusal != nil {
					t.Fatal(refusal)
				}
			})
			if allocs != 0 {
				t.Errorf("%s allocates %v times", tc.method, allocs)
			}
		})
	}
}

func lookup(t *testing.T, id string) *chain.Chain {
	t.Helper()
	c, ok := chain.BuiltIn().Lookup(id)
	if !ok {
		t.Fatalf("no chain %s", id)
	}
	return c
}

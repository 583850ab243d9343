package config

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

const providersOfOne = `, upstreams: [{name: a, url: "https://a.example"}]}}`

func TestDefinitions_AddChainsToTheFile(t *testing.T) {
	t.Parallel()
	got, err := read(`
chains:
  sepolia:
    define:
      title: Sepolia
      chain_id: 11155111
      block_time: 12s
      finality_depth: 32
      max_log_blocks: 500
      l1_fee: op_stack
      coin: SEP
      methods:
        zks_L1BatchNumber: {ttl: 2s}
        debug_intermediateRoots: {weight: 2, needs: debug}
    upstreams: [{name: a, url: "https://a.example"}]
  eth_mainnet: {upstreams: [{name: a, url: "https://a.example"}]}
`)
	require.NoError(t, err)
	c, ok := got.Known.Lookup("sepolia")
	require.True(t, ok)
	expect.Equal(t, c.ChainID, 11155111)
	expect.Equal(t, c.BlockTime, 12*time.Second)
	expect.Equal(t, c.FinalDepth(), 32)
	symbol, _ := c.Coin()
	expect.Equal(t, symbol, "SEP")
	batch, ok := c.Method([]byte("zks_L1BatchNumber"))
	require.True(t, ok)
	expect.Equal(t, batch.TTL, 2*time.Second)
	roots, _ := c.Method([]byte("debug_intermediateRoots"))
	expect.Equal(t, roots.Weight, 2)
	expect.Len(t, got.Chains["sepolia"].Upstreams, 1)
}

func TestDefinitions_MistakesNameThePlaceAndTheRule(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"unknown member": {
			`chains: {sepolia: {define: {titel: a}` + providersOfOne,
			"chains.sepolia.define: a member has an unknown name; it takes title, family",
		},
		"without define": {
			`chains: {sepolia: {chain_id: 5` + providersOfOne,
			"chains.sepolia: unknown chain, use one of eth_mainnet, base_mainnet, arbitrum_one, optimism_mainnet, " +
				"polygon_pos, solana_mainnet; another chain needs define",
		},
		"built in": {
			`chains: {eth_mainnet: {define: {title: A, chain_id: 5, block_time: 1s}` + providersOfOne,
			"chains.eth_mainnet: this chain is built in: leave define out, or give yours another id",
		},
		"id of another": {
			`chains: {mine: {define: {title: A, chain_id: 8453, block_time: 1s}` + providersOfOne,
			"line 1, column 46: chains.mine.define.chain_id: 8453 is the id of base_mainnet",
		},
		"no block time": {
			`chains: {mine: {define: {title: A, chain_id: 5}` + providersOfOne,
			"chains.mine.define.block_time: give the usual time between two blocks",
		},
		"no unit": {
			`chains: {mine: {define: {title: A, chain_id: 5, block_time: 12}` + providersOfOne,
			"chains.mine.define.block_time: give a duration with its unit, as 12s or 250ms",
		},
		"family": {
			`chains: {mine: {define: {title: A, family: move, chain_id: 5, block_time: 1s}` + providersOfOne,
			"chains.mine.define.family: give evm or solana, or leave it out for evm",
		},
		"depth 0": {
			`chains: {mine: {define: {title: A, chain_id: 5, block_time: 1s, finality_depth: 0}` + providersOfOne,
			"chains.mine.define.finality_depth: give a whole number from 1, or leave it out",
		},
		"chain id twice": {
			`chains: {mine: {define: {title: A, chain_id: 5, block_time: 1s}, chain_id: 6` + providersOfOne,
			"chains.mine.chain_id: give it in define, as this chain is not built in",
		},
		"method": {
			`chains: {mine: {define: {title: A, chain_id: 5, block_time: 1s, methods: {eth_call: {weight: 2}}}` +
				providersOfOne,
			"chains.mine.define.methods.eth_call: every chain of the family has it: leave it out",
		},
		"member of a method": {
			`chains: {mine: {define: {title: A, chain_id: 5, block_time: 1s, methods: {zks_x1: {write: true}}}` +
				providersOfOne,
			"chains.mine.define.methods.zks_x1: a member has an unknown name; it takes weight, ttl, needs",
		},
		"no mapping": {
			`chains: {mine: {define: canary` + providersOfOne,
			"chains.mine.define: a value is of the wrong kind: give a mapping",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(tc.text)
			require.Error(t, err)
			expect.Contains(t, err.Error(), tc.want)
			expect.NotContains(t, err.Error(), "canary")
			expect.True(t, got.Chains == nil)
		})
	}
}

func TestDefinitions_TwoOfOneChainIDAreRefused(t *testing.T) {
	t.Parallel()
	const entry = `{define: {title: T, chain_id: 5, block_time: 1s}, upstreams: [{name: a, url: "https://a.example"}]}`
	_, err := read("chains:\n  one: " + entry + "\n  two: " + strings.Replace(entry, "title: T", "title: U", 1))
	require.Error(t, err)
	expect.Contains(t, err.Error(), "line 3")
	expect.Contains(t, err.Error(), "chains.two.define.chain_id: 5 is the id of one")
}

// An override may not name the chain of another entry either, whichever of them comes first.
func TestDefinitions_AnOverrideOfAChainIDIsItsOwn(t *testing.T) {
	t.Parallel()
	const list = `upstreams: [{name: a, url: "https://a.example"}]}`
	for name, tc := range map[string]struct{ text, want string }{
		"built in": {
			"  eth_mainnet: {" + list + "\n  polygon_pos: {chain_id: 1, " + list,
			"chains.polygon_pos.chain_id: 1 is the id of eth_mainnet",
		},
		"built in, before it": {
			"  eth_mainnet: {chain_id: 137, " + list + "\n  polygon_pos: {" + list,
			"chains.eth_mainnet.chain_id: 137 is the id of polygon_pos",
		},
		"two overrides": {
			"  eth_mainnet: {chain_id: 7, " + list + "\n  polygon_pos: {chain_id: 7, " + list,
			"chain_id: 7 is the id of",
		},
		"a defined chain": {
			"  mine: {define: {title: T, chain_id: 5, block_time: 1s}, " + list +
				"\n  polygon_pos: {chain_id: 5, " + list,
			"chains.polygon_pos.chain_id: 5 is the id of mine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read("chains:\n" + tc.text)
			require.Error(t, err)
			expect.Contains(t, err.Error(), tc.want)
		})
	}
	_, err := read("chains:\n  eth_mainnet: {chain_id: 137, " + list) // Polygon is not in the file
	require.NoError(t, err)
}

// The chains that upstreams.example.yaml has commented out are between these lines.
const (
	moreChains    = "# More chains"
	endOfTheChain = "# End of more chains"
)

func TestDefinitions_ExamplesThatAreCommentedOutCanBeUsed(t *testing.T) {
	t.Parallel()
	before, rest, found := strings.Cut(readRoot(t, "upstreams.example.yaml"), moreChains)
	require.True(t, found)
	more, after, found := strings.Cut(rest, endOfTheChain)
	require.True(t, found)
	var used strings.Builder
	for line := range strings.Lines(more) {
		if strings.HasPrefix(line, "#  ") {
			used.WriteString(line[1:])
		}
	}
	file, err := read(before + "\n" + used.String() + "\n#" + after)
	require.NoError(t, err)
	for _, id := range []string{
		"sepolia", "base_sepolia", "bnb", "avalanche_c", "gnosis", "linea", "scroll", "zksync_era", "hyperevm",
		"solana_devnet",
	} {
		_, known := file.Known.Lookup(id)
		expect.True(t, known, id)
		expect.AtLeast(t, len(file.Chains[id].Upstreams), 2)
	}
}

package chain_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

func sepolia() chain.Definition {
	return chain.Definition{
		ID: "sepolia", Title: "Sepolia", ChainID: 11155111, BlockTime: 12 * time.Second, FinalDepth: 32,
		MaxLogBlocks: 100,
		Methods: []chain.Addition{
			{Name: "zks_L1BatchNumber", Weight: 1, TTL: 2 * time.Second},
			{Name: "arbtrace_block", Weight: 2, Needs: chain.ArbTrace},
		},
	}
}

func devnet() chain.Definition {
	return chain.Definition{
		ID: "solana_devnet", Title: "Solana Devnet", Family: chain.Solana,
		GenesisHash: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
	}
}

// with returns the built-in chains and further ones.
func with(t *testing.T, definitions ...chain.Definition) *chain.Set {
	t.Helper()
	set := chain.BuiltIn()
	for _, d := range definitions {
		next, wrong := set.With(d)
		require.Empty(t, wrong)
		set = next
	}
	return set
}

func TestSet_WithListsAddedChainsAfterTheBuiltInOnes(t *testing.T) {
	t.Parallel()
	set := with(t, devnet(), sepolia())
	expect.EqualSlices(t, set.IDs()[6:], []string{"sepolia", "solana_devnet"})
	expect.Len(t, chain.BuiltIn().All(), 6)
	c, ok := set.Lookup("sepolia")
	require.True(t, ok)
	expect.False(t, c.IsBuiltIn())
	expect.Equal(t, c.Title, "Sepolia")
	chainID, _ := c.Method([]byte("eth_chainId"))
	expect.Equal(t, string(c.LocalResult(chainID)), `"0xaa36a7"`)
	expect.True(t, set.Equal(with(t, sepolia(), devnet())))
	expect.False(t, set.Equal(chain.BuiltIn()))
	expect.True(t, chain.BuiltIn().Equal(nil))
}

func TestDefinition_HasItsOwnDepthCapAndMethods(t *testing.T) {
	t.Parallel()
	c, _ := with(t, sepolia()).Lookup("sepolia")
	expect.True(t, c.Deep(68, 100))
	expect.False(t, c.Deep(69, 100))
	logs, _ := c.Method([]byte("eth_getLogs"))
	_, refusal := logs.Weigh([]byte(`[{"fromBlock":"0x0","toBlock":"0x64"}]`), chain.Heads{Latest: 1000})
	require.True(t, refusal != nil)
	expect.Equal[any](t, refusal.Data["max_blocks"], 100)
	added, ok := c.Method([]byte("zks_L1BatchNumber"))
	require.True(t, ok)
	expect.Equal(t, added.Cache, chain.Short)
	expect.Equal(t, added.TTL, 2*time.Second)
	heavy, _ := c.Method([]byte("arbtrace_block"))
	expect.Equal(t, heavy.Class, chain.Heavy)
	expect.Equal(t, heavy.Weight, 2)
	expect.True(t, c.Serves(chain.ArbTrace))
	expect.False(t, c.Serves(chain.Bor))
	_, ok = c.Method([]byte("bor_getAuthor"))
	expect.False(t, ok)

	eth, _ := chain.BuiltIn().Lookup("eth_mainnet")
	logs, _ = eth.Method([]byte("eth_getLogs"))
	_, refusal = logs.Weigh([]byte(`[{"fromBlock":"0x0","toBlock":"0x64"}]`), chain.Heads{Latest: 1000})
	expect.True(t, refusal == nil, "the cap of one chain is not another's")
}

func TestDefinition_OfASolanaClusterHasItsGenesisAndSlots(t *testing.T) {
	t.Parallel()
	c, _ := with(t, devnet()).Lookup("solana_devnet")
	expect.Equal(t, c.GenesisHash(), devnet().GenesisHash)
	expect.Equal(t, c.BlockTime, 400*time.Millisecond)
	symbol, decimals := c.Coin()
	expect.Equal(t, symbol, "SOL")
	expect.Equal(t, decimals, 9)
	_, ok := c.Method([]byte("getSlot"))
	expect.True(t, ok)
}

func TestDefinition_IsRefusedWithWhatToChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change       func(*chain.Definition)
		member, rule string
	}{
		"built in":      {func(d *chain.Definition) { d.ID = "eth_mainnet" }, "", "built in: leave define out"},
		"twice":         {func(d *chain.Definition) { d.ID = "gnosis" }, "", "defined already"},
		"form of id":    {func(d *chain.Definition) { d.ID = "Sepolia" }, "", "give 1 to 32 of a-z, 0-9 and _"},
		"reserved":      {func(d *chain.Definition) { d.ID = "none" }, "", "are taken"},
		"no title":      {func(d *chain.Definition) { d.Title = "" }, "title", "give the name"},
		"title of one":  {func(d *chain.Definition) { d.Title = "ethereum" }, "title", "eth_mainnet has this title"},
		"control":       {func(d *chain.Definition) { d.Title = "a\nb" }, "title", "give the name"},
		"no chain id":   {func(d *chain.Definition) { d.ChainID = 0 }, "chain_id", "give the EIP-155 chain id"},
		"id of base":    {func(d *chain.Definition) { d.ChainID = 8453 }, "chain_id", "8453 is the id of base_mainnet"},
		"id of another": {func(d *chain.Definition) { d.ChainID = 100 }, "chain_id", "100 is the id of gnosis"},
		"genesis": {
			func(d *chain.Definition) { d.GenesisHash = devnet().GenesisHash }, "genesis_hash", "leave it out",
		},
		"block time": {func(d *chain.Definition) { d.BlockTime = time.Hour }, "block_time", "10ms to 10m"},
		"no time":    {func(d *chain.Definition) { d.BlockTime = 0 }, "block_time", "10ms to 10m"},
		"depth":      {func(d *chain.Definition) { d.FinalDepth = 2e6 }, "finality_depth", "from 1 to 1000000"},
		"cap":        {func(d *chain.Definition) { d.MaxLogBlocks = 10_001 }, "max_log_blocks", "from 1 to 10000"},
		"fee":        {func(d *chain.Definition) { d.L1Fee = "scroll" }, "l1_fee", "give op_stack or arbitrum"},
		"coin":       {func(d *chain.Definition) { d.Coin = "a b" }, "coin", "give the symbol"},
		"built-in method": {
			method(chain.Addition{Name: "eth_call", Weight: 1}), "methods.eth_call", "every chain of the family has it",
		},
		"refused method": {
			method(chain.Addition{Name: "admin_peers", Weight: 1}), "methods.admin_peers", "never relayed (admin_*)",
		},
		"submission": {
			method(chain.Addition{Name: "zks_sendRawTransactionWithDetailedOutput", Weight: 1}),
			"methods.zks_sendRawTransactionWithDetailedOutput", "it submits",
		},
		"re-submission": {
			method(chain.Addition{Name: "zks_resend", Weight: 1}), "methods.zks_resend", "it submits",
		},
		"broadcast": {
			method(chain.Addition{Name: "zks_broadcastTransaction", Weight: 1}), "methods.zks_broadcastTransaction",
			"it submits",
		},
		"submission in a further part": {
			method(chain.Addition{Name: "zks_private_sendRaw", Weight: 1}), "methods.zks_private_sendRaw", "it submits",
		},
		"weight": {method(chain.Addition{Name: "zks_x1", Weight: 3}), "methods.zks_x1", "weight is 1, or 2"},
		"ttl": {
			method(chain.Addition{Name: "zks_x1", Weight: 1, TTL: 2 * time.Hour}), "methods.zks_x1", "ttl is 1s to 1h",
		},
		"needs": {
			method(chain.Addition{Name: "zks_x1", Weight: 1, Needs: "gold"}), "methods.zks_x1", "needs is one of",
		},
		"name": {method(chain.Addition{Name: "a b", Weight: 1}), "methods", "a name is"},
	} {
		t.Run(name, func(t *testing.T) {
			gnosis := chain.Definition{ID: "gnosis", Title: "Gnosis", ChainID: 100, BlockTime: 5 * time.Second}
			d := sepolia()
			tc.change(&d)
			set, wrong := with(t, gnosis).With(d)
			expect.True(t, set == nil)
			expect.Contains(t, wrong[tc.member], tc.rule)
		})
	}
}

func method(a chain.Addition) func(*chain.Definition) {
	return func(d *chain.Definition) { d.Methods = []chain.Addition{a} }
}

func TestDefinition_OfASolanaClusterTakesNoEVMMembers(t *testing.T) {
	t.Parallel()
	d := devnet()
	d.ChainID, d.FinalDepth, d.MaxLogBlocks, d.L1Fee = 1, 1, 1, chain.OPStackL1Fee
	_, wrong := chain.BuiltIn().With(d)
	for _, member := range []string{"chain_id", "finality_depth", "max_log_blocks", "l1_fee"} {
		expect.Contains(t, wrong[member], "it is for EVM chains")
	}
	d = devnet()
	d.GenesisHash = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
	_, wrong = chain.BuiltIn().With(d)
	expect.Contains(t, wrong["genesis_hash"], "the hash of solana_mainnet")
}

package chain_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestSet_NilIsTheBuiltInChains(t *testing.T) {
	t.Parallel()
	var none *chain.Set
	expect.EqualSlices(t, none.IDs(), []string{
		"eth_mainnet", "base_mainnet", "arbitrum_one", "optimism_mainnet", "polygon_pos", "solana_mainnet",
	})
	expect.Equal(t, none.Title("eth_mainnet"), "Ethereum")
	expect.Equal(t, none.Title("sepolia"), "sepolia")
}

func TestWithChainID_MarksAPrivateChain(t *testing.T) {
	t.Parallel()
	eth, _ := chain.BuiltIn().Lookup("eth_mainnet")
	expect.False(t, eth.WithChainID(1).Private())
	expect.True(t, eth.WithChainID(31337).Private())
}

package operation_test

import (
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
)

func moreChains(t *testing.T) *chain.Set {
	t.Helper()
	set, wrong := chain.BuiltIn().With(chain.Definition{
		ID: "gnosis", Title: "Gnosis", ChainID: 100, BlockTime: 5 * time.Second,
	})
	require.Empty(t, wrong)
	set, wrong = set.With(chain.Definition{
		ID: "solana_devnet", Title: "Devnet", Family: chain.Solana,
		GenesisHash: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
	})
	require.Empty(t, wrong)
	return set
}

func field(ids ...any) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Enum: ids} }

func TestListChains_AddsChainsOfTheFamiliesThatAFieldTakes(t *testing.T) {
	t.Parallel()
	evm := []any{"eth_mainnet", "base_mainnet", "arbitrum_one", "optimism_mainnet", "polygon_pos"}
	every := append(append([]any{}, evm...), "solana_mainnet")
	for name, tc := range map[string]struct {
		field   *huma.Schema
		evmOnly bool
		added   []any
	}{
		"every chain":        {field(every...), false, []any{"gnosis", "solana_devnet"}},
		"a tool's":           {field(every...), true, []any{"gnosis"}},
		"EVM chains":         {field(evm...), false, []any{"gnosis"}},
		"one built-in chain": {field("base_mainnet"), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(tc.field.Enum)
			s := &huma.Schema{Properties: map[string]*huma.Schema{"chain": tc.field}}
			operation.ListChains(s, moreChains(t), tc.evmOnly)
			expect.EqualSlices(t, tc.field.Enum[before:], tc.added)
		})
	}
}

func TestListChains_LeavesProfilesAlone(t *testing.T) {
	t.Parallel()
	list := field("eth_mainnet", "base_mainnet", "arbitrum_one", "optimism_mainnet", "polygon_pos", "solana_mainnet")
	s := &huma.Schema{Properties: map[string]*huma.Schema{"chains": {Type: huma.TypeArray, Items: list}}}
	operation.ListChains(s, moreChains(t), false)
	expect.Len(t, list.Enum, 6)
}

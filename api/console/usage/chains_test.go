package usage

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestChainSelection_OffersAddedChainsByTheirTitles(t *testing.T) {
	t.Parallel()
	known, wrong := chain.BuiltIn().With(chain.Definition{
		ID: "gnosis", Title: "Gnosis Chain", ChainID: 100, BlockTime: 5 * time.Second,
	})
	require.Empty(t, wrong)
	offered := chainSelection(known, "gnosis").Options
	require.Len(t, offered, 8)
	expect.Equal(t, offered[7], view.Option{Value: "gnosis", Text: "Gnosis Chain", Chosen: true})
	expect.Len(t, chainSelection(nil, "").Options, 7)
	expect.Equal(t, view.Reader{Chains: known}.ChainTitle("gnosis"), "Gnosis Chain")
	expect.Equal(t, view.Reader{}.ChainTitle("gnosis"), "gnosis", "of a chain that was removed")
}

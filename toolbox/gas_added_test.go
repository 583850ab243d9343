package toolbox

import (
	"maps"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestGas_OfAnAddedChainFollowsItsModelOfL1Fees(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		model   chain.L1Fee
		answers map[string]reply
		fee     string // of a transfer's data; empty for none
	}{
		"no fee":   {chain.NoL1Fee, nil, ""},
		"OP stack": {chain.OPStackL1Fee, map[string]reply{oracleCall: {wordsHex(12_345_678_901)}}, "12345678901"},
	} {
		t.Run(name, func(t *testing.T) {
			known, wrong := chain.BuiltIn().With(chain.Definition{
				ID: "added", Title: "Added", ChainID: 84532, BlockTime: 2 * time.Second, L1Fee: tc.model,
			})
			require.Empty(t, wrong)
			f := &fakeChain{t: t, answers: map[string]reply{
				"eth_feeHistory": {history(1, []int64{7, 7}, "0.5", row(1, 2, 3))},
			}}
			maps.Copy(f.answers, tc.answers)
			g, err := NewGasOracle(f, known, atNoon).Recommend(t.Context(), "added")
			require.NoError(t, err)
			expect.Equal(t, g.ComputedFrom.MinPriorityFee, "1000000")
			if tc.fee == "" {
				expect.True(t, g.L1DataFee == nil)
				return
			}
			require.NotNil(t, g.L1DataFee)
			expect.Equal(t, g.L1DataFee.Fee, tc.fee)
		})
	}
}

package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// Where the rollups' fees are read, as keys of the fake chain.
const (
	oracleCall = "0x420000000000000000000000000000000000000f 0x49948e0e"
	nodeCall   = "0x00000000000000000000000000000000000000c8 0xc94e6eeb"
)

// offers are the tips and the maximum fees of slow, standard and fast.
type offers [6]string

func offersOf(r *GasRecommendations) offers {
	return offers{
		r.Slow.MaxPriorityFeePerGas, r.Standard.MaxPriorityFeePerGas, r.Fast.MaxPriorityFeePerGas,
		r.Slow.MaxFeePerGas, r.Standard.MaxFeePerGas, r.Fast.MaxFeePerGas,
	}
}

// history returns an answer of eth_feeHistory: base fees, shares of gas, and a row of tips each.
func history(oldest int, base []int64, ratio string, tips ...string) string {
	fees := make([]string, len(base))
	for i, b := range base {
		fees[i] = fmt.Sprintf(`"0x%x"`, b)
	}
	return fmt.Sprintf(`{"oldestBlock":"0x%x","baseFeePerGas":[%s],"gasUsedRatio":[%s],"reward":[%s]}`,
		oldest, strings.Join(fees, ","), ratio, strings.Join(tips, ","))
}

func row(slow, standard, fast int64) string {
	return fmt.Sprintf(`["0x%x","0x%x","0x%x"]`, slow, standard, fast)
}

func TestGas_IsRecommendedFromTheBlocksThatCount(t *testing.T) {
	t.Parallel()
	const m = milliGwei
	for name, tc := range map[string]struct {
		on      chain.ID
		history string
		base    string
		want    offers
		counted int
		noted   bool
	}{
		"odd number of blocks": {
			chain.EthMainnet, history(100, []int64{7, 7, 7, 1000}, "0.5,0.5,0.5", row(1*m, 5*m, 9*m),
				row(3*m, 6*m, 7*m), row(2*m, 4*m, 8*m)), "1000",
			offers{"2000000", "5000000", "8000000", "2001250", "5001500", "8002000"},
			3, false,
		},
		"even number of blocks, the mean rounded down": {
			chain.EthMainnet, history(100, []int64{7, 7, 1000}, "0.5,1", row(1*m, 5*m, 9*m), row(2*m+1, 6*m, 9*m)),
			"1000",
			offers{"1500000", "5500000", "9000000", "1501250", "5501500", "9002000"},
			2, false,
		},
		"emptier blocks are left out, a tenth is enough": {
			chain.EthMainnet, history(100, []int64{7, 7, 7, 1000}, "0.0999,0.1,0", row(70*m, 80*m, 90*m),
				row(2*m, 3*m, 4*m), row(0, 0, 0)), "1000",
			offers{"2000000", "3000000", "4000000", "2001250", "3001500", "4002000"},
			1, false,
		},
		"nearly empty blocks alone": {
			chain.EthMainnet, history(100, []int64{7, 7, 1000}, "0.01,0.02", row(70*m, 80*m, 90*m),
				row(70*m, 80*m, 90*m)), "1000",
			offers{"1000000", "1000000", "1000000", "1001250", "1001500", "1002000"},
			0, true,
		},
		"below the floor": {
			chain.PolygonPoS, history(100, []int64{7, 1000}, "0.5", row(1, 26_000*m, 30_000*m)),
			"1000",
			offers{"25000000000", "26000000000", "30000000000", "25000001250", "26000001500", "30000002000"},
			1, false,
		},
		"columns that fall are levelled": {
			chain.EthMainnet, history(100, []int64{7, 1000}, "0.5", row(9*m, 5*m, 7*m)),
			"1000",
			offers{"9000000", "9000000", "9000000", "9001250", "9001500", "9002000"},
			1, false,
		},
		"a tiny base fee keeps its room": {
			chain.EthMainnet, history(100, []int64{7, 7}, "0.5", row(m, m, m)),
			"7",
			offers{"1000000", "1000000", "1000000", "1000009", "1000011", "1000014"},
			1, false,
		},
		"no base fee at all yet": {
			chain.EthMainnet, history(100, []int64{0, 0}, "0.5", row(m, m, m)),
			"0",
			offers{"1000000", "1000000", "1000000", "1000000", "1000000", "1000000"},
			1, false,
		},
		"no tips are told": {
			chain.EthMainnet,
			`{"oldestBlock":"0x64","baseFeePerGas":["0x7","0x3e8"],"gasUsedRatio":[0.5],"reward":null}`, "1000",
			offers{"1000000", "1000000", "1000000", "1001250", "1001500", "1002000"},
			0, true,
		},
		"rows that lack something": {
			chain.EthMainnet, history(100, []int64{7, 7, 7, 7, 1000}, "0.5,0.5,0.5,0.5", `["0x1"]`, `null`,
				`["0x1",null,"0x3"]`, row(2*m, 3*m, 4*m)), "1000",
			offers{"2000000", "3000000", "4000000", "2001250", "3001500", "4002000"},
			1, false,
		},
		"a share that is null": {
			chain.EthMainnet, history(100, []int64{7, 7, 1000}, "null,0.5", row(70*m, 80*m, 90*m), row(2*m, 3*m, 4*m)),
			"1000",
			offers{"2000000", "3000000", "4000000", "2001250", "3001500", "4002000"},
			1, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeChain{t: t, answers: map[string]reply{"eth_feeHistory": {tc.history}}}
			g, err := NewGasOracle(f, nil, atNoon).Recommend(t.Context(), tc.on)
			if err != nil {
				t.Fatal(err)
			}
			if got := offersOf(&g.Recommendations); got != tc.want {
				t.Errorf("recommends %v, want %v", got, tc.want)
			}
			in := expect.In(t, "base fee")
			expect.Equal(in, g.BaseFeePerGas, tc.base)
			expect.Equal(in, g.ComputedFrom.BlocksCounted, tc.counted)
			expect.Equal(in, g.Note != "", tc.noted)
			expect.Equal(t, g.Chain, tc.on)
			expect.Nil(t, g.L1DataFee)
			expect.True(t, g.ComputedAt.Equal(noon), g.ComputedAt)
			expect.Equal(t, g.ComputedAt.Location(), time.UTC)
		})
	}
}

func TestGas_AsksForTwentyBlocksAndThreePercentilesAndNamesThem(t *testing.T) {
	t.Parallel()
	f := &fakeChain{
		t: t, answers: map[string]reply{
			"eth_feeHistory": {history(0x7b, []int64{7, 7, 1_500_000_000}, "0.5,0.5", row(1, 2, 3), row(1, 2, 3))},
		},
	}
	g, err := NewGasOracle(f, nil, atNoon).Recommend(t.Context(), chain.EthMainnet)
	if err != nil {
		t.Fatal(err)
	}
	params, err := json.Marshal(f.asked[0].Params)
	require.NoError(t, err)
	expect.Equal(t, string(params), `["0x14","latest",[10,50,90]]`)
	expect.Len(t, f.asked, 1)
	want := GasHistory{
		Blocks: 2, BlocksCounted: 2, OldestBlock: 123, NewestBlock: 124, MinPriorityFee: "1000000",
		MinPriorityFeeGwei: "0.001",
	}
	if g.ComputedFrom != want {
		t.Errorf("computed from %+v", g.ComputedFrom)
	}
	slow := GasOffer{
		MaxPriorityFeePerGas: "1000000", MaxPriorityFeePerGasGwei: "0.001", MaxFeePerGas: "1876000000",
		MaxFeePerGasGwei: "1.876",
	}
	if g.Recommendations.Slow != slow || g.BaseFeePerGasGwei != "1.5" {
		t.Errorf("%+v over %s gwei", g.Recommendations.Slow, g.BaseFeePerGasGwei)
	}
}

func TestGas_InvalidHistoryIsAFailureOfTheService(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.NoUpstream, "")
	for name, tc := range map[string]struct {
		answer any
		want   fault.Reason
	}{
		"null":      {"null", fault.UpstreamFailed},
		"no object": {`"0x1"`, fault.UpstreamFailed},
		"no base fee": {
			`{"oldestBlock":"0x1","baseFeePerGas":[],"gasUsedRatio":[0.5],"reward":[]}`, fault.UpstreamFailed,
		},
		"a null base fee": {
			`{"oldestBlock":"0x1","baseFeePerGas":["0x1",null],"gasUsedRatio":[0.5]}`, fault.UpstreamFailed,
		},
		"no blocks": {
			`{"oldestBlock":"0x0","baseFeePerGas":["0x7"],"gasUsedRatio":[],"reward":[]}`, fault.UpstreamFailed,
		},
		"no blocks, null":    {`{"oldestBlock":"0x0","gasUsedRatio":null}`, fault.UpstreamFailed},
		"too few base fees":  {history(1, []int64{7}, "0.5", row(1, 2, 3)), fault.UpstreamFailed},
		"too many base fees": {history(1, []int64{7, 7, 7}, "0.5", row(1, 2, 3)), fault.UpstreamFailed},
		"too many rows":      {history(1, []int64{7, 7}, "0.5", row(1, 2, 3), row(1, 2, 3)), fault.UpstreamFailed},
		"more than asked for": {
			history(1, make([]int64, 22), strings.TrimSuffix(strings.Repeat("0.5,", 21), ",")), fault.UpstreamFailed,
		},
		"a tip that is no hex": {history(1, []int64{7, 7}, "0.5", `["1","2","3"]`), fault.UpstreamFailed},
		"a tip of 257 bits": {
			history(1, []int64{7, 7}, "0.5", `["0x1`+strings.Repeat("0", 64)+`","0x1","0x1"]`), fault.UpstreamFailed,
		},
		"a negative base fee": {
			`{"oldestBlock":"0x1","baseFeePerGas":["0x1","-0x1"],"gasUsedRatio":[0.5]}`, fault.UpstreamFailed,
		},
		"a share that is words": {history(1, []int64{7, 7}, `"half"`, row(1, 2, 3)), fault.UpstreamFailed},
		"an error of the node":  {&node.Error{Code: -32000, Message: "nope"}, fault.UpstreamFailed},
		"nobody to ask":         {down, fault.NoUpstream},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeChain{t: t, answers: map[string]reply{"eth_feeHistory": {tc.answer}}}
			_, err := NewGasOracle(f, nil, atNoon).Recommend(t.Context(), chain.EthMainnet)
			wantFault(t, err, tc.want)
		})
	}
	if _, err := NewGasOracle(&fakeChain{t: t}, nil, atNoon).Recommend(t.Context(), chain.SolanaMainnet); err == nil {
		t.Error("Solana has a fee market")
	}
}

func TestGas_OPStackChainsAddTheDataFeeOfAPlainTransfer(t *testing.T) {
	t.Parallel()
	for id, chainID := range map[chain.ID]string{chain.BaseMainnet: "822105", chain.OptimismMainnet: "0a"} {
		f := &fakeChain{t: t, answers: map[string]reply{
			"eth_feeHistory": {history(1, []int64{7, 7}, "0.5", row(1, 2, 3))}, oracleCall: {wordsHex(12_345_678_901)},
		}}
		g, err := NewGasOracle(f, nil, atNoon).Recommend(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		fee := g.L1DataFee
		in := expect.In(t, "%s", id)
		require.NotNil(in, fee)
		require.Equal(in, fee.Fee, "12345678901")
		require.Equal(in, fee.FeeGwei, "12.345678901")
		require.False(in, fee.InGasLimit)
		require.Nil(in, fee.Gas)
		require.Equal(in, g.Note, "")
		i := slices.IndexFunc(f.asked, func(q node.Query) bool { return q.Method == "eth_call" })
		msg, err := json.Marshal(f.asked[i].Params[0])
		if err != nil {
			t.Fatal(err)
		}
		// Offset, length and content of the bytes argument: the EIP-1559 transfer as it is signed,
		// written by hand.
		fields := chainID + "8204d2" + "830f4240" + "8405f5e100" + "825208" +
			"945aaeb6053f3e94c9b9a09f33669435e7ef1beaed" + "8801b69b4ba630f34e" + "80" + "c0"
		transfer := fmt.Sprintf("02%02x", 0xc0+len(fields)/2) + fields
		argument := fmt.Sprintf("0x49948e0e%064x%064x%s", 32, len(transfer)/2, transfer)
		argument += strings.Repeat("0", 128-len(transfer))
		if !strings.Contains(string(msg), argument+`"`) || fee.Bytes != len(transfer)/2 {
			t.Errorf("%s: asked %s, want %s", id, msg, argument)
		}
	}
}

func TestGas_ArbitrumTakesNoTipsAndItsDataIsPaidInGas(t *testing.T) {
	t.Parallel()
	f := &fakeChain{t: t, answers: map[string]reply{
		"eth_feeHistory": {history(1, []int64{7, 20_000_000}, "0.5", row(1, 2, 3))},
		nodeCall:         {wordsHex(25_000, 4_000, 20_000_001, 31_000_000_000)},
	}}
	g, err := NewGasOracle(f, nil, atNoon).Recommend(t.Context(), chain.ArbitrumOne)
	if err != nil {
		t.Fatal(err)
	}
	if got := offersOf(&g.Recommendations); got != (offers{"0", "0", "0", "25000000", "30000000", "40000000"}) {
		t.Errorf("recommends %v", got)
	}
	fee := g.L1DataFee
	require.NotNil(t, fee)
	require.Equal(t, fee.Fee, "80000004000")
	require.True(t, fee.InGasLimit)
	require.NotNil(t, fee.Gas)
	require.Equal(t, *fee.Gas, 4_000)
	require.Equal(t, fee.L1BaseFeePerGas, "31000000000")
	i := slices.IndexFunc(f.asked, func(q node.Query) bool { return q.Method == "eth_call" })
	msg, err := json.Marshal(f.asked[i].Params[0])
	want := fmt.Sprintf("0xc94e6eeb%064s%064x%064x%064x", strings.ToLower(transferTo.Hex()[2:]), 0, 96, 0)
	if err != nil || !strings.Contains(string(msg), `"`+want+`"`) {
		t.Errorf("asked %s, want %s", msg, want)
	}
}

func TestGas_DataFeeIsCompleteOrAbsent(t *testing.T) {
	t.Parallel()
	fees := history(1, []int64{7, 7}, "0.5", row(1, 2, 3))
	for name, tc := range map[string]struct {
		on     chain.ID
		call   string
		answer any
		want   fault.Reason // 0 for an answer without the fee and with a note
	}{
		"a network without the oracle":         {chain.BaseMainnet, oracleCall, `"0x"`, 0},
		"a network without the node interface": {chain.ArbitrumOne, nodeCall, `"0x"`, 0},
		"the oracle reverts": {
			chain.OptimismMainnet, oracleCall, &node.Error{Code: 3, Message: "execution reverted"},
			fault.UpstreamFailed,
		},
		"half a word":         {chain.BaseMainnet, oracleCall, `"0x1234"`, fault.UpstreamFailed},
		"two words":           {chain.BaseMainnet, oracleCall, wordsHex(1, 2), fault.UpstreamFailed},
		"three words of four": {chain.ArbitrumOne, nodeCall, wordsHex(1, 2, 3), fault.UpstreamFailed},
		"more gas than there can be": {
			chain.ArbitrumOne, nodeCall, wordsHex(1, -1, 3, 4), fault.UpstreamFailed,
		},
		"no upstream": {
			chain.ArbitrumOne, nodeCall, fault.New(fault.UpstreamTimeout, ""), fault.UpstreamTimeout,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeChain{t: t, answers: map[string]reply{"eth_feeHistory": {fees}, tc.call: {tc.answer}}}
			g, err := NewGasOracle(f, nil, atNoon).Recommend(t.Context(), tc.on)
			if tc.want != 0 {
				wantFault(t, err, tc.want)
				return
			}
			require.NoError(t, err)
			expect.Nil(t, g.L1DataFee)
			expect.NotEqual(t, g.Note, "")
			expect.Equal(t, g.BaseFeePerGas, "7")
		})
	}
}

// bothAtOnce answers a call only while another one is in flight.
type bothAtOnce struct {
	*fakeChain

	first, second chan struct{}
}

func (b *bothAtOnce) Call(ctx context.Context, q node.Query) (json.RawMessage, error) {
	mine, other := b.first, b.second
	if q.Method == "eth_call" {
		mine, other = other, mine
	}
	close(mine)
	select {
	case <-other:
		return b.fakeChain.Call(ctx, q)
	case <-ctx.Done():
		return nil, errors.New("the other call did not come")
	}
}

func TestGas_AsksConcurrently(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	f := &fakeChain{t: t, answers: map[string]reply{
		"eth_feeHistory": {history(1, []int64{7, 7}, "0.5", row(1, 2, 3))}, oracleCall: {wordsHex(1)},
	}}
	if _, err := NewGasOracle(&bothAtOnce{f, make(chan struct{}), make(chan struct{})}, nil, atNoon).Recommend(ctx,
		chain.BaseMainnet); err != nil {
		t.Error(err)
	}
}

func TestMedian_LeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	given := []*big.Int{big.NewInt(3), big.NewInt(1), big.NewInt(2)}
	if m := median(given); m.Int64() != 2 || given[0].Int64() != 3 {
		t.Errorf("median %s, input now %v", m, given)
	}
	if m := median([]*big.Int{big.NewInt(5), big.NewInt(2)}); m.Int64() != 3 {
		t.Errorf("median %s", m)
	}
}

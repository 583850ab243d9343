package rpc_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/sandbox/contracts"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox"
)

// use calls a toolbox route and decodes its answer.
func (c *conformance) use(path string, into any) {
	c.T.Helper()
	a := c.Get(path, c.key)
	if a.Status != http.StatusOK {
		c.T.Fatalf("%s: HTTP %d %s", path, a.Status, a.Body)
	}
	c.Must(json.Unmarshal([]byte(a.Body), into))
}

// amount parses a decimal string.
func (c *conformance) amount(text string) *big.Int {
	c.T.Helper()
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || n.String() != text {
		c.T.Fatalf("%q is no decimal integer", text)
	}
	return n
}

func TestToolbox_GasAndTransactionsAgreeWithTheSandboxsEVMChains(t *testing.T) {
	t.Parallel()
	for _, on := range chain.BuiltIn().All() {
		if on.Family != chain.EVM {
			continue
		}
		t.Run(string(on.ID), func(t *testing.T) {
			t.Parallel()
			c := conform(t, on)
			slow := c.gasAgrees()
			c.dataFeeAgrees()
			c.transactionsAgree(slow)
		})
	}
}

// gasAgrees checks a recommendation against the node's own fee history of the same blocks, and
// returns the slowest offer.
func (c *conformance) gasAgrees() toolbox.GasOffer {
	c.T.Helper()
	var g toolbox.Gas
	c.use("/toolbox/gas/"+string(c.on.ID), &g)
	var history struct {
		Base   []*hexutil.Big   `json:"baseFeePerGas"`
		Full   []float64        `json:"gasUsedRatio"`
		Reward [][]*hexutil.Big `json:"reward"`
	}
	c.read(&history, "eth_feeHistory", hexutil.Uint64(g.ComputedFrom.Blocks),
		hexutil.Uint64(g.ComputedFrom.NewestBlock), []int{10, 50, 90})
	base := history.Base[len(history.Base)-1].ToInt()
	in := expect.In(c.T, "%s", c.on.ID)
	require.Equal(in, g.ComputedFrom.Blocks, 20)
	require.NotEqual(in, g.ComputedFrom.BlocksCounted, 0)
	require.Equal(in, g.BaseFeePerGas, base.String())
	require.NotEqual(in, base.Sign(), 0)
	floor, before := c.amount(g.ComputedFrom.MinPriorityFee), new(big.Int)
	for k, offer := range []toolbox.GasOffer{
		g.Recommendations.Slow, g.Recommendations.Standard, g.Recommendations.Fast,
	} {
		tip, limit := c.amount(offer.MaxPriorityFeePerGas), c.amount(offer.MaxFeePerGas)
		below, above := 0, 0 // of the blocks that count
		for i, row := range history.Reward {
			if history.Full[i] < 0.1 {
				continue
			}
			if row[k].ToInt().Cmp(tip) <= 0 {
				below++
			}
			if row[k].ToInt().Cmp(tip) >= 0 {
				above++
			}
		}
		isMedian := 2*below >= g.ComputedFrom.BlocksCounted && 2*above >= g.ComputedFrom.BlocksCounted
		in := expect.In(c.T, "%s", c.on.ID)
		if !isMedian && tip.Cmp(floor) != 0 {
			expect.Equal(in, tip.Cmp(before), 0, g.ComputedFrom.BlocksCounted, below, above)
		}
		expect.AtLeast(in, tip.Cmp(before), 0, g.ComputedFrom.BlocksCounted, below, above)
		expect.AtLeast(in, tip.Cmp(floor), 0, g.ComputedFrom.BlocksCounted, below, above)
		room := new(big.Int).Sub(new(big.Int).Sub(limit, tip), base) // a quarter, half, or all of the base fee
		if want := new(big.Int).Div(new(big.Int).Mul(base, big.NewInt([]int64{1, 2, 4}[k])),
			big.NewInt(4)); room.CmpAbs(want) < 0 || new(big.Int).Sub(room, want).CmpAbs(common.Big1) > 0 {
			c.T.Errorf("%s: room of %s over %s", c.on.ID, room, base)
		}
		before = tip
	}
	return g.Recommendations.Slow
}

// dataFeeAgrees checks the data fee against the contract's own answers.
func (c *conformance) dataFeeAgrees() {
	c.T.Helper()
	var g toolbox.Gas
	c.use("/toolbox/gas/"+string(c.on.ID), &g)
	switch fee := g.L1DataFee; c.on.ID {
	case chain.BaseMainnet, chain.OptimismMainnet:
		var limit hexutil.Big
		oracle, err := contracts.Named("GasPriceOracle")
		c.Must(err)
		c.readCall(&limit, sandbox.GasPriceOracle,
			c.pack(oracle.ABI, "getL1FeeUpperBound", big.NewInt(int64(fee.Bytes))))
		got := c.amount(fee.Fee)
		in := expect.In(c.T, "%s", c.on.ID)
		expect.Greater(in, got.Sign(), 0)
		expect.AtMost(in, got.Cmp(limit.ToInt()), 0)
		expect.False(in, fee.InGasLimit)
	case chain.ArbitrumOne:
		in := expect.In(c.T, "%s", c.on.ID)
		require.NotNil(in, fee.Gas)
		expect.NotEqual(in, *fee.Gas, 0)
		expect.True(in, fee.InGasLimit)
		expect.Greater(in, c.amount(fee.Fee).Sign(), 0)
		expect.Greater(in, c.amount(fee.L1BaseFeePerGas).Sign(), 0)
	default:
		if fee != nil {
			c.T.Errorf("%s: %+v", c.on.ID, fee)
		}
	}
}

// readCall calls a contract on the node and decodes its result as one word.
func (c *conformance) readCall(into *hexutil.Big, to common.Address, data hexutil.Bytes) {
	c.T.Helper()
	var word common.Hash
	c.read(&word, "eth_call", map[string]any{"to": to, "data": data}, "latest")
	*into = hexutil.Big(*word.Big())
}

// submit signs a transaction with an offer and sends it through the gateway.
func (c *conformance) submit(offer toolbox.GasOffer, nonce uint64, to *common.Address, data []byte) common.Hash {
	c.T.Helper()
	id := new(big.Int).SetUint64(c.on.ChainID)
	tx, err := types.SignNewTx(c.box.Accounts()[4].Key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, To: to, Data: data, Gas: 100_000, Value: big.NewInt(params.GWei),
		GasTipCap: c.amount(offer.MaxPriorityFeePerGas), GasFeeCap: c.amount(offer.MaxFeePerGas),
	})
	c.Must(err)
	raw, err := tx.MarshalBinary()
	c.Must(err)
	c.RPC(c.key, c.on.ID, apitest.Call("eth_sendRawTransaction", list(hexutil.Bytes(raw)))).Result()
	return tx.Hash()
}

// transactionsAgree sends transactions that succeed, fail and wait, with the slowest offer, and
// checks their status against their receipts.
func (c *conformance) transactionsAgree(slow toolbox.GasOffer) {
	c.T.Helper()
	to := c.box.Accounts()[5].Address
	reverting := common.FromHex("0x60006000fd")
	for want, hash := range map[toolbox.TxState]common.Hash{
		toolbox.TxConfirmed: c.submit(slow, 0, &to, nil),
		toolbox.TxFailed:    c.submit(slow, 1, nil, reverting),
		toolbox.TxPending:   c.submit(slow, 9, &to, nil), // waits for the lower nonces
		toolbox.TxUnknown:   {7},
	} {
		var receipt *types.Receipt
		if want == toolbox.TxConfirmed || want == toolbox.TxFailed {
			testkit.Eventually(c.T, apitest.Timeout, func() bool {
				c.read(&receipt, "eth_getTransactionReceipt", hash)
				return receipt != nil
			}, "the transaction is mined")
		}
		var s toolbox.TxStatus
		c.use("/toolbox/tx/"+string(c.on.ID)+"/0x"+strings.ToUpper(hash.Hex()[2:]), &s)
		if s.Status != want || s.Hash != hash.Hex() || s.Chain != c.on.ID {
			c.T.Errorf("%s: a transaction that is %s is %+v", c.on.ID, want, s)
			continue
		}
		if receipt == nil {
			if s.BlockNumber != nil || s.Confirmations != nil {
				c.T.Errorf("%s: %+v", c.on.ID, s)
			}
			continue
		}
		var head hexutil.Uint64
		c.read(&head, "eth_blockNumber")
		block := receipt.BlockNumber.Uint64()
		in := expect.In(c.T, "%s", c.on.ID)
		expect.Equal(in, *s.BlockNumber, block)
		expect.Between(in, *s.Confirmations, 1, uint64(head)-block+1)
		expect.Equal(in, c.amount(s.GasUsed).Uint64(), receipt.GasUsed)
		expect.Equal(in, s.EffectiveGasPrice, receipt.EffectiveGasPrice.String())
		if c.amount(s.EffectiveGasPrice).Cmp(c.amount(slow.MaxFeePerGas)) > 0 {
			c.T.Errorf("%s: paid %s with an offer of %+v", c.on.ID, s.EffectiveGasPrice, slow)
		}
	}
}

func TestToolbox_TransactionsAgreeWithTheSandboxsSolana(t *testing.T) {
	t.Parallel()
	on, _ := chain.BuiltIn().Lookup(string(chain.SolanaMainnet))
	c := conform(t, on)
	from, to := c.box.SolanaAccounts()[5].Key, c.box.SolanaAccounts()[6].Key[ed25519.SeedSize:]
	send := func(lamports uint64) string {
		t.Helper()
		var latest struct {
			Value struct{ Blockhash string } `json:"value"`
		}
		c.read(&latest, "getLatestBlockhash")
		blockhash, err := base58.Decode(latest.Value.Blockhash)
		c.Must(err)
		wire, _ := transferWire(from, to, blockhash, lamports, false)
		sent := list(base64.StdEncoding.EncodeToString(wire), map[string]any{
			"encoding": "base64", "skipPreflight": true,
		})
		return strings.Trim(c.RPC(c.key, c.on.ID, apitest.Call("sendTransaction", sent)).Result(), `"`)
	}
	for want, signature := range map[toolbox.TxState]string{
		toolbox.TxConfirmed: send(1_000_000),
		toolbox.TxFailed:    send(1 << 62), // more than the balance
		toolbox.TxUnknown:   base58.Encode(append(make([]byte, 63), 7)),
	} {
		t.Run(string(want), func(t *testing.T) {
			var told struct {
				Value []*struct {
					Slot               uint64
					ConfirmationStatus string
				}
			}
			if want != toolbox.TxUnknown {
				testkit.Eventually(t, apitest.Timeout, func() bool {
					c.read(&told, "getSignatureStatuses", []string{signature})
					return told.Value[0] != nil && told.Value[0].ConfirmationStatus != "processed"
				}, "the transaction is confirmed")
			}
			var s toolbox.TxStatus
			c.use("/toolbox/tx/solana_mainnet/"+signature, &s)
			if s.Status != want || s.Hash != signature || (s.Error != "") != (want == toolbox.TxFailed) {
				t.Errorf("a transaction that is %s is %+v", want, s)
				return
			}
			if want != toolbox.TxUnknown {
				require.NotNil(t, s.Slot)
				expect.Equal(t, *s.Slot, told.Value[0].Slot)
				if s.ConfirmationStatus != "confirmed" {
					expect.Equal(t, s.ConfirmationStatus, "finalized")
				}
			}
		})
	}
}

func TestToolbox_PricesAgreeWithTheSandboxsFeeds(t *testing.T) {
	t.Parallel()
	on, _ := chain.BuiltIn().Lookup(string(chain.EthMainnet))
	c := conform(t, on)
	feed, err := contracts.Named("PriceFeed")
	c.Must(err)
	var all toolbox.Prices
	c.use("/toolbox/prices", &all)
	for symbol, at := range map[string]common.Address{
		"eth": sandbox.FeedETH, "btc": sandbox.FeedBTC, "link": sandbox.FeedLINK,
	} {
		t.Run(symbol, func(t *testing.T) {
			var answer hexutil.Big
			c.readCall(&answer, at, c.pack(feed.ABI, "latestAnswer"))
			p := all.Prices[symbol]
			if p.Price == nil || p.Stale || p.Feed != at.Hex() || p.UpdatedAt == nil ||
				time.Since(*p.UpdatedAt) > time.Hour {
				t.Errorf("%+v", p)
				return
			}
			dollars, ok := new(big.Rat).SetString(*p.Price)
			if !ok || dollars.Cmp(new(big.Rat).SetFrac(answer.ToInt(), big.NewInt(100_000_000))) != 0 {
				t.Errorf("%s, the feed answers %s", *p.Price, answer.ToInt())
			}
		})
	}
	old := time.Now().Add(-2 * time.Hour).Truncate(time.Second)
	from, chainID := c.box.Accounts()[4], big.NewInt(1)
	for nonce, submitted := range []struct {
		to     common.Address
		answer int64
		at     time.Time
	}{{sandbox.FeedBTC, 6_000_012_345_678, old}, {sandbox.FeedLINK, -1, time.Now()}} {
		tx, err := types.SignNewTx(from.Key, types.LatestSignerForChainID(chainID), &types.DynamicFeeTx{
			ChainID: chainID, Nonce: uint64(nonce), To: &submitted.to, Gas: 2_000_000, //nolint:gosec // an index
			GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(500 * params.GWei),
			//nolint:gosec // after 1970
			Data: c.pack(feed.ABI, "submit", big.NewInt(submitted.answer), uint64(submitted.at.Unix())),
		})
		c.Must(err)
		raw, err := tx.MarshalBinary()
		c.Must(err)
		c.RPC(c.key, on.ID, apitest.Call("eth_sendRawTransaction", list(hexutil.Bytes(raw)))).Result()
		c.mined(tx)
	}
	var some toolbox.Prices
	c.use("/toolbox/prices?symbols=btc,link", &some)
	btc := some.Prices["btc"]
	in := expect.In(t, "an old answer")
	require.NotNil(in, btc.Price)
	expect.Equal(in, *btc.Price, "60000.12345678")
	expect.True(in, btc.Stale)
	expect.True(in, btc.UpdatedAt.Equal(old), old)
	if link := some.Prices["link"]; link.Price != nil || !link.Stale {
		t.Errorf("an answer below zero: %+v", link)
	}
	if len(some.Prices) != 2 {
		t.Errorf("%+v", some)
	}
}

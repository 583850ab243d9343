package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/chainaccess/gateway/internal/sandbox/internal/evm"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// assetTransfers holds the members of an alchemy_getAssetTransfers result that the tests read.
type assetTransfers struct {
	Transfers []struct {
		Block    hexutil.Uint64  `json:"blockNum"`
		ID       string          `json:"uniqueId"`
		Hash     common.Hash     `json:"hash"`
		From     common.Address  `json:"from"`
		To       *common.Address `json:"to"`
		Value    *float64        `json:"value"`
		Asset    *string         `json:"asset"`
		Category string          `json:"category"`
		Raw      struct {
			Value   *hexutil.Big    `json:"value"`
			Address *common.Address `json:"address"`
			Decimal *hexutil.Uint64 `json:"decimal"`
		} `json:"rawContract"`
		Metadata *struct {
			At time.Time `json:"blockTimestamp"`
		} `json:"metadata"`
	} `json:"transfers"`
	PageKey string `json:"pageKey"`
}

type query map[string]any

func (s *Sandbox) transfers(t *testing.T, id chain.ID, q query) assetTransfers {
	t.Helper()
	var answer assetTransfers
	must(t, call(t, s.upstream(t, id, 0).URL, "alchemy_getAssetTransfers", &answer, q))
	return answer
}

func code(err error) int {
	if refused, ok := errors.AsType[*rpcError](err); ok {
		return refused.Code
	}
	return 0
}

func TestDataMethods_OnlyTheFirstEVMUpstreamHasThem(t *testing.T) {
	t.Parallel()
	with, without := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}}),
		start(t, Options{Chains: []chain.ID{chain.BaseMainnet}, NoData: true})
	owner := with.Accounts()[0].Address
	if err := call(t, with.upstream(t, chain.BaseMainnet, 0).URL, "alchemy_getTokenBalances", nil, owner,
		"erc20"); err != nil {
		t.Error(err)
	}
	for name, u := range map[string]*Upstream{
		"second":             with.upstream(t, chain.BaseMainnet, 1),
		"first without data": without.upstream(t, chain.BaseMainnet, 0),
	} {
		for _, method := range []string{
			"alchemy_getTokenBalances", "alchemy_getAssetTransfers", "alchemy_getTokenMetadata",
		} {
			if err := call(t, u.URL, method, nil, owner, "erc20"); code(err) != -32601 {
				t.Errorf("%s: %s answered %v", name, method, err)
			}
		}
		must(t, call(t, u.URL, "eth_chainId", nil))
	}
}

func TestAssetTransfers_AreThoseOfTheChain(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet}})
	owner, url := s.Accounts()[0].Address, s.upstream(t, chain.EthMainnet, 0).URL
	const until = "0x80" // in the history, so the result does not grow
	var logs []types.Log
	must(t, call(t, url, "eth_getLogs", &logs, query{
		"fromBlock": "0x0", "toBlock": until, "topics": []any{evm.TransferTopic, nil, common.BytesToHash(owner[:])},
	}))
	want := map[string]string{}
	for _, l := range logs {
		want[fmt.Sprintf("%s:log:%d", l.TxHash, l.Index)] = common.BytesToHash(l.Data).Big().String()
	}
	for n := range 129 {
		var block struct {
			Transactions []struct {
				Hash  common.Hash     `json:"hash"`
				To    *common.Address `json:"to"`
				Value *hexutil.Big    `json:"value"`
			} `json:"transactions"`
		}
		must(t, call(t, url, "eth_getBlockByNumber", &block, hexutil.Uint64(n), true)) //nolint:gosec // small
		for _, tx := range block.Transactions {
			if tx.To != nil && *tx.To == owner {
				want[tx.Hash.Hex()+":external"] = tx.Value.ToInt().String()
			}
		}
	}
	if len(want) < 6 {
		t.Fatalf("the history has %d transfers to %s", len(want), owner)
	}
	found, got := s.transfers(t, chain.EthMainnet, query{
		"toAddress": owner, "toBlock": until, "category": []string{
			"external", "internal", "erc20", "erc721", "erc1155",
		}, "withMetadata": true, "order": "desc",
	}), map[string]string{}
	for i, f := range found.Transfers {
		got[f.ID] = f.Raw.Value.ToInt().String()
		if i > 0 && f.Block > found.Transfers[i-1].Block {
			t.Errorf("block %d follows %d", f.Block, found.Transfers[i-1].Block)
		}
		//nolint:gosec // a date
		if block := blockAt(t, url, f.Block.String()); f.Metadata == nil || f.Metadata.At.Unix() != int64(block.Time) {
			t.Errorf("transfer of block %d is dated %v", f.Block, f.Metadata)
		}
		coin := f.Category == "external"
		expect.Equal(t, coin, f.Asset != nil && *f.Asset == "ETH")
		expect.Equal(t, coin, f.Raw.Address == nil)
		expect.HasPrefix(t, f.ID, f.Hash.Hex())
	}
	if !maps.Equal(want, got) {
		t.Errorf("the index has %v, the chain %v", got, want)
	}
}

func TestAssetTransfers_PageFilterAndRefuseLikeTheProviders(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	url := s.upstream(t, chain.BaseMainnet, 0).URL
	all := s.transfers(t, chain.BaseMainnet, query{
		"toBlock": "0x80", "category": []string{"external", "erc20"}, "excludeZeroValue": false,
	})
	ids := func(a assetTransfers) (list []string) {
		for _, f := range a.Transfers {
			list = append(list, f.ID)
		}
		return list
	}
	for _, order := range []string{"asc", "desc"} {
		q, paged, pages := query{
			"toBlock": "0x80", "category": []string{"external", "erc20"}, "excludeZeroValue": false, "order": order,
			"maxCount": "0x7",
		},
			[]string{}, 0
		for {
			page := s.transfers(t, chain.BaseMainnet, q)
			paged = append(paged, ids(page)...)
			pages++
			if page.PageKey == "" {
				break
			}
			q["pageKey"] = page.PageKey
		}
		if order == "desc" {
			slices.Reverse(paged)
		}
		if pages < 3 || !slices.Equal(paged, ids(all)) {
			t.Errorf("%s: %d pages give %d of %d transfers", order, pages, len(paged), len(all.Transfers))
		}
		q["maxCount"] = "0x8"
		if err := call(t, url, "alchemy_getAssetTransfers", nil, q); code(err) != -32602 {
			t.Errorf("a page key of another query answered %v", err)
		}
	}
	emitter := s.LogEmitter(chain.BaseMainnet)
	tokens := s.transfers(t, chain.BaseMainnet, query{
		"toBlock": "0x80", "category": []string{"external", "erc20"}, "contractAddresses": []any{emitter},
	})
	for _, f := range tokens.Transfers {
		if f.Raw.Address != nil && *f.Raw.Address != emitter || f.Raw.Value.ToInt().Sign() == 0 {
			t.Errorf("%+v is of another contract, or of value zero", f)
		}
	}
	for name, q := range map[string]query{
		"no category":    {},
		"wrong category": {"category": []string{"token", "nonsense"}},
		"wrong order":    {"category": []string{"erc20"}, "order": "newest"},
		"too many":       {"category": []string{"erc20"}, "maxCount": "0x3e9"},
		"wrong key":      {"category": []string{"erc20"}, "pageKey": "3fa85f64-5717-4562-b3fc-2c963f66afa6"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(t, url, "alchemy_getAssetTransfers", nil, q); code(err) != -32602 {
				t.Errorf("%s answered %v", name, err)
			}
		})
	}
	if err := call(t, url, "alchemy_getAssetTransfers", nil, query{
		"category": []string{"internal"},
	}); code(err) != -32600 {
		t.Errorf("internal transfers of Base answered %v", err)
	}
}

func TestTokenBalances_AreWhatTheTokensSay(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.PolygonPoS}})
	owner, url, emitter := s.Accounts()[3].Address, s.upstream(t, chain.PolygonPoS, 0).URL,
		s.LogEmitter(chain.PolygonPoS)
	type amount struct {
		Contract common.Address `json:"contractAddress"`
		Balance  *common.Hash   `json:"tokenBalance"`
		Error    *string        `json:"error"`
	}
	type balances struct {
		Address common.Address `json:"address"`
		Tokens  []amount       `json:"tokenBalances"`
	}
	var held, listed, native balances
	must(t, call(t, url, "alchemy_getTokenBalances", &held, owner, "erc20", query{"maxCount": 100}))
	// Any call makes the emitter log a transfer, and every account has received one.
	found := slices.IndexFunc(held.Tokens, func(a amount) bool { return a.Contract == emitter })
	expect.Equal(t, held.Address, owner)
	require.AtLeast(t, found, 0)
	require.NotNil(t, held.Tokens[found].Balance)
	expect.Equal(t, held.Tokens[found].Balance.Big().Int64(), 1)
	nobody := common.HexToAddress("0x00000000000000000000000000000000000e0a00")
	must(t, call(t, url, "alchemy_getTokenBalances", &listed, owner, []any{emitter, nobody}))
	in := expect.In(t, "asked for two contracts")
	require.Len(in, listed.Tokens, 2)
	expect.Nil(in, listed.Tokens[0].Error)
	expect.NotNil(in, listed.Tokens[1].Error)
	expect.Nil(in, listed.Tokens[1].Balance)
	must(t, call(t, url, "alchemy_getTokenBalances", &native, owner, "NATIVE_TOKEN"))
	for name, params := range map[string][]any{
		"wrong spec": {owner, "erc721"}, "wrong list": {owner, []string{"0x1"}}, "no address": {},
		"wrong address": {"0x12", "erc20"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(t, url, "alchemy_getTokenBalances", nil, params...); code(err) != -32602 {
				t.Errorf("%s answered %v", name, err)
			}
		})
	}
}

package sandbox

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// slot1967 returns one of the storage slots of EIP-1967.
func slot1967(name string) common.Hash {
	hash := crypto.Keccak256Hash([]byte("eip1967.proxy." + name)).Big()
	return common.BigToHash(hash.Sub(hash, big.NewInt(1)))
}

func TestProxies_OfEveryKindReachTheSameCode(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	writer := s.Accounts()[2]
	for _, at := range []common.Address{Overloads, Unverified, StorageProxy, BeaconProxy, MinimalProxy} {
		c := s.contract(t, chain.BaseMainnet, "Overloads", at)
		if receipt := c.send(t, writer, c.named(t, "note(string)"),
			"hello"); receipt.Status != types.ReceiptStatusSuccessful || len(receipt.Logs) != 2 {
			t.Fatalf("%s: receipt %+v", at, receipt)
		}
		if count, _ := c.ask(t, "count", writer.Address)[0].(*big.Int); count.Int64() != 1 {
			t.Errorf("%s counted %s, want its own 1", at, count)
		}
	}
	loop := s.contract(t, chain.BaseMainnet, "Overloads", LoopingProxy)
	if out, err := loop.try(t, "count", writer.Address); err == nil {
		t.Errorf("a loop of proxies answered %v", out)
	}
	for _, tc := range []struct {
		at   common.Address
		slot string
		want common.Address
	}{
		{StorageProxy, "implementation", Overloads},
		{BeaconProxy, "beacon", genesis.Beacon},
		{BeaconProxy, "implementation", common.Address{}},
		{LoopingProxy, "implementation", genesis.LoopB},
	} {
		t.Run(tc.slot, func(t *testing.T) {
			var slot common.Hash
			must(t, call(t, loop.url, "eth_getStorageAt", &slot, tc.at, slot1967(tc.slot), "latest"))
			if common.BytesToAddress(slot.Bytes()) != tc.want {
				t.Errorf("%s names %s as %s, want %s", tc.at, slot, tc.slot, tc.want)
			}
		})
	}
	var code hexutil.Bytes
	must(t, call(t, loop.url, "eth_getCode", &code, MinimalProxy, "latest"))
	if len(code) != 45 || !bytes.Contains(code, Overloads.Bytes()) {
		t.Errorf("the minimal proxy is %s", code)
	}
}

func TestMulticall_AnswersManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.ArbitrumOne}})
	token := s.usdc(t, chain.ArbitrumOne)
	symbol, err := token.ABI.Pack("symbol")
	must(t, err)
	type call3 struct {
		Target       common.Address
		AllowFailure bool
		CallData     []byte
	}
	out := s.contract(t, chain.ArbitrumOne, "Multicall3", Multicall3).ask(t, "aggregate3", []call3{
		{token.at, false, symbol}, {Overloads, true, []byte{1, 2, 3, 4}},
	})
	results, _ := out[0].([]struct {
		Success    bool   `json:"success"`
		ReturnData []byte `json:"returnData"`
	})
	require.Len(t, results, 2, out)
	expect.True(t, results[0].Success, out)
	expect.True(t, bytes.Contains(results[0].ReturnData, []byte("USDC")), results[0].ReturnData, out)
	expect.False(t, results[1].Success, out)
}

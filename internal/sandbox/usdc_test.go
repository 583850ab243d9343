package sandbox

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/chainaccess/gateway/internal/sandbox/internal/evm"
	"github.com/chainaccess/gateway/relay/chain"
)

var evmChains = map[chain.ID]uint64{
	chain.EthMainnet: 1, chain.BaseMainnet: 8453, chain.ArbitrumOne: 42161, chain.OptimismMainnet: 10,
	chain.PolygonPoS: 137,
}

// send signs a call, sends it, and waits for its receipt.
func (c contract) send(t *testing.T, from EVMAccount, method string, args ...any) *types.Receipt {
	t.Helper()
	input, err := c.ABI.Pack(method, args...)
	must(t, err)
	var nonce hexutil.Uint64
	must(t, call(t, c.url, "eth_getTransactionCount", &nonce, from.Address, "pending"))
	var chainID hexutil.Big
	must(t, call(t, c.url, "eth_chainId", &chainID))
	tx, err := types.SignNewTx(from.Key, types.LatestSignerForChainID(chainID.ToInt()), &types.DynamicFeeTx{
		ChainID: chainID.ToInt(), Nonce: uint64(nonce), To: &c.at, Data: input, Gas: 500_000,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	must(t, err)
	raw, err := tx.MarshalBinary()
	must(t, err)
	must(t, call(t, c.url, "eth_sendRawTransaction", nil, hexutil.Bytes(raw)))
	var receipt *types.Receipt
	eventually(t, method+" is mined", func() bool {
		must(t, call(t, c.url, "eth_getTransactionReceipt", &receipt, tx.Hash()))
		return receipt != nil
	})
	return receipt
}

func (s *Sandbox) usdc(t *testing.T, id chain.ID) contract {
	t.Helper()
	return s.contract(t, id, "FiatTokenV2_2", USDC(id))
}

func TestUSDC_IsTheRealTokenOnEveryChain(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	for id, chainID := range evmChains {
		token := s.usdc(t, id)
		for method, want := range map[string]any{
			"name": "USD Coin", "symbol": "USDC", "version": "2", "currency": "USD", "decimals": uint8(6),
			"owner": s.Minter().Address,
		} {
			t.Run(method, func(t *testing.T) {
				if got := token.ask(t, method)[0]; got != want {
					t.Errorf("%s: %s is %v, want %v", id, method, got, want)
				}
			})
		}
		domain := apitypes.TypedDataDomain{
			//nolint:gosec // small
			Name: "USD Coin", Version: "2", ChainId: math.NewHexOrDecimal256(int64(chainID)),
			VerifyingContract: USDC(id).Hex(),
		}
		want, err := (&apitypes.TypedData{Types: usdcTypes, Domain: domain}).HashStruct("EIP712Domain", domain.Map())
		must(t, err)
		if got := token.ask(t, "DOMAIN_SEPARATOR")[0]; got != [32]byte(want) {
			t.Errorf("%s: signatures are for %x, want %x", id, got, want)
		}
		for i, account := range s.Accounts() {
			if balance, _ := token.ask(t, "balanceOf", account.Address)[0].(*big.Int); balance.Cmp(
				big.NewInt(999_000_000_000)) < 0 {
				t.Errorf("%s: account %d has %s", id, i, balance)
			}
		}
		var slot common.Hash
		must(t, call(t, token.url, "eth_getStorageAt", &slot, USDC(id),
			crypto.Keccak256Hash([]byte("org.zeppelinos.proxy.implementation")), "latest"))
		var code hexutil.Bytes
		must(t, call(t, token.url, "eth_getCode", &code, common.BytesToAddress(slot.Bytes()), "latest"))
		if len(code) < 20_000 {
			t.Errorf("%s: behind the proxy stands %s with %d bytes", id, slot, len(code))
		}
	}
}

var usdcTypes = apitypes.Types{
	"EIP712Domain": {
		{Name: "name", Type: "string"},
		{Name: "version", Type: "string"},
		{Name: "chainId", Type: "uint256"},
		{Name: "verifyingContract", Type: "address"},
	},
	"TransferWithAuthorization": {
		{Name: "from", Type: "address"},
		{Name: "to", Type: "address"},
		{Name: "value", Type: "uint256"},
		{Name: "validAfter", Type: "uint256"},
		{Name: "validBefore", Type: "uint256"},
		{Name: "nonce", Type: "bytes32"},
	},
}

func TestUSDC_MovesByASignatureThatSomebodyElseRelays(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}})
	token := s.usdc(t, chain.BaseMainnet)
	payer, relayer, to := s.Accounts()[3], s.Accounts()[4],
		common.HexToAddress("0x00000000000000000000000000000000c0ffee01")
	nonce, value := crypto.Keccak256Hash([]byte("once")), big.NewInt(12_345_678)
	before := big.NewInt(time.Now().Add(24 * time.Hour).Unix())
	hash, _, err := apitypes.TypedDataAndHash(apitypes.TypedData{
		Types: usdcTypes, PrimaryType: "TransferWithAuthorization",
		Domain: apitypes.TypedDataDomain{
			Name: "USD Coin", Version: "2", ChainId: math.NewHexOrDecimal256(8453),
			VerifyingContract: USDC(chain.BaseMainnet).Hex(),
		},
		Message: apitypes.TypedDataMessage{
			"from": payer.Address.Hex(), "to": to.Hex(), "value": value.String(), "validAfter": "0",
			"validBefore": before.String(), "nonce": nonce.Hex(),
		},
	})
	must(t, err)
	signature, err := crypto.Sign(hash, payer.Key)
	must(t, err)
	signature[64] += 27
	transfer := token.named(t, "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)")
	receipt := token.send(t, relayer, transfer, payer.Address, to, value, new(big.Int), before, nonce, signature)
	if receipt.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("receipt %+v", receipt)
	}
	if got, _ := token.ask(t, "balanceOf", to)[0].(*big.Int); got.Cmp(value) != 0 {
		t.Errorf("%s arrived, want %s", got, value)
	}
	moved := false
	for _, l := range receipt.Logs {
		moved = moved || l.Topics[0] == evm.TransferTopic && common.BytesToAddress(l.Topics[1].Bytes()) == payer.Address
	}
	if !moved || token.ask(t, "authorizationState", payer.Address, nonce)[0] != true {
		t.Errorf("no transfer from the payer in %+v, or its nonce is not used", receipt.Logs)
	}
	if again := token.send(t, relayer, transfer, payer.Address, to, value, new(big.Int), before, nonce,
		signature); again.Status != types.ReceiptStatusFailed {
		t.Error("the same signature moved money twice")
	}
	if mint := token.send(t, s.Minter(), "mint", to, value); mint.Status != types.ReceiptStatusSuccessful {
		t.Error("the minter cannot mint")
	}
}

func TestUSDC_HistoryHasItGoingInAndOutOfFundedAccounts(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.PolygonPoS}})
	url := s.upstream(t, chain.PolygonPoS, 0).URL
	in, out := map[common.Address]int{}, map[common.Address]int{}
	var logs []types.Log
	must(t, call(t, url, "eth_getLogs", &logs, map[string]any{
		"fromBlock": "0x0", "toBlock": "0x80", "address": USDC(chain.PolygonPoS), "topics": []any{evm.TransferTopic},
	}))
	for _, l := range logs {
		out[common.BytesToAddress(l.Topics[1].Bytes())]++
		in[common.BytesToAddress(l.Topics[2].Bytes())]++
	}
	for i, account := range s.Accounts() {
		if in[account.Address] == 0 || i >= 7 && out[account.Address] == 0 {
			t.Errorf("account %d: %d transfers in, %d out", i, in[account.Address], out[account.Address])
		}
	}
	from := blockAt(t, url, "latest").Number
	eventually(t, "USDC moves between the last three accounts", func() bool {
		must(t, call(t, url, "eth_getLogs", &logs, map[string]any{
			"fromBlock": from, "address": USDC(chain.PolygonPoS),
		}))
		return len(logs) > 2
	})
	for _, l := range logs {
		if to := common.BytesToAddress(l.Topics[2].Bytes()); to != s.Accounts()[7].Address &&
			to != s.Accounts()[8].Address && to != s.Accounts()[9].Address {
			t.Errorf("later USDC goes to %s", to)
		}
	}
}

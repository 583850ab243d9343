// Package contracts has no code. It contains the source and artefact of the validator, which
// package wallet embeds, and tests both against contracts on a real chain.
package contracts_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

const patience = 30 * time.Second

// node is a real Ethereum node, called over HTTP like an upstream.
type node struct {
	upstream  *sandbox.Upstream
	deployer  *ecdsa.PrivateKey
	nonce     uint64
	contracts map[string]contract
	gas       uint64 // overrides the gas limit of calls when set
}

// contract is a compiled contract of testdata/Wallets.sol.
type contract struct {
	ABI      abi.ABI       `json:"abi"`
	Bytecode hexutil.Bytes `json:"bytecode"`
}

func ethereum(t *testing.T) *node {
	t.Helper()
	s, err := sandbox.Start(t.Context(), sandbox.Options{
		Chains: []chain.ID{chain.EthMainnet}, BlockTime: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	text, err := os.ReadFile("testdata/Wallets.json")
	if err != nil {
		t.Fatal(err)
	}
	var artefact struct {
		Contracts map[string]contract `json:"contracts"`
	}
	if err := json.Unmarshal(text, &artefact); err != nil {
		t.Fatal(err)
	}
	return &node{upstream: s.Upstreams()[0], deployer: s.Accounts()[0].Key, contracts: artefact.Contracts}
}

// Call implements ChainCaller as doc.go describes, with a node instead of the pool.
func (n *node) Call(ctx context.Context, msg wallet.CallMsg) ([]byte, error) {
	if n.gas != 0 {
		msg.Gas = n.gas
	}
	params, err := json.Marshal(msg.Params())
	if err != nil {
		return nil, err
	}
	return n.ask(ctx, "eth_call", params)
}

func (n *node) ask(ctx context.Context, method string, params []byte) ([]byte, error) {
	result, inBand, err := n.post(ctx, method, params)
	switch {
	case err != nil:
		return nil, err
	case inBand != nil:
		return nil, wallet.ReadError(inBand.Code, inBand.Message)
	}
	return wallet.ReadResult(result)
}

type inBandError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (n *node) post(ctx context.Context, method string,
	params []byte,
) (result json.RawMessage, inBand *inBandError, err error) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}`, method, params)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.upstream.URL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *inBandError    `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, nil, err
	}
	return answer.Result, answer.Error, nil
}

// deploy deploys a contract and waits until it is mined.
func (n *node) deploy(t *testing.T, name string, args ...any) wallet.Address {
	t.Helper()
	arguments, err := n.contracts[name].ABI.Constructor.Inputs.Pack(args...)
	if err != nil {
		t.Fatal(err)
	}
	code := append(append([]byte(nil), n.contracts[name].Bytecode...), arguments...)
	return wallet.Address(n.send(t, nil, code).ContractAddress)
}

// send sends a transaction and waits until it is mined.
func (n *node) send(t *testing.T, to *wallet.Address, data []byte) *types.Receipt {
	t.Helper()
	id := big.NewInt(1)
	tx, err := types.SignNewTx(n.deployer, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: n.nonce, To: (*common.Address)(to), Data: data, Gas: 3_000_000,
		GasTipCap: big.NewInt(params.GWei), GasFeeCap: big.NewInt(100 * params.GWei),
	})
	if err != nil {
		t.Fatal(err)
	}
	n.nonce++
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.ask(t.Context(), "eth_sendRawTransaction", fmt.Appendf(nil, `["0x%x"]`, raw)); err != nil {
		t.Fatal(err)
	}
	var receipt *types.Receipt
	testkit.Eventually(t, patience, func() bool {
		result, inBand, err := n.post(t.Context(), "eth_getTransactionReceipt", fmt.Appendf(nil, `["%s"]`, tx.Hash()))
		return err == nil && inBand == nil && json.Unmarshal(result, &receipt) == nil && receipt != nil
	}, "the transaction is mined")
	if receipt.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("the transaction failed: %+v", receipt)
	}
	return receipt
}

// input encodes a call of a contract's function.
func (n *node) input(t *testing.T, name, function string, args ...any) []byte {
	t.Helper()
	contract := n.contracts[name]
	data, err := contract.ABI.Pack(function, args...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// addressFrom calls a function that returns an address.
func (n *node) addressFrom(t *testing.T, to wallet.Address, name, function string, args ...any) wallet.Address {
	t.Helper()
	word, err := n.Call(t.Context(), wallet.CallMsg{To: &to, Data: n.input(t, name, function, args...), Gas: 1_000_000})
	if err != nil || len(word) != 32 {
		t.Fatalf("%s: %x, %v", function, word, err)
	}
	return wallet.Address(word[12:])
}

func (n *node) hasCode(t *testing.T, at wallet.Address) bool {
	t.Helper()
	code, err := n.ask(t.Context(), "eth_getCode", fmt.Appendf(nil, `["%s","latest"]`, at))
	if err != nil {
		t.Fatal(err)
	}
	return len(code) > 0
}

// wrap encodes a signature in the form of EIP-6492.
func wrap(t *testing.T, factory wallet.Address, factoryData, signature []byte) []byte {
	t.Helper()
	var arguments abi.Arguments
	for _, name := range []string{"address", "bytes", "bytes"} {
		kind, err := abi.NewType(name, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, abi.Argument{Type: kind})
	}
	inner, err := arguments.Pack(common.Address(factory), factoryData, signature)
	if err != nil {
		t.Fatal(err)
	}
	ending, err := hex.DecodeString(strings.Repeat("6492", 16))
	if err != nil {
		t.Fatal(err)
	}
	return append(inner, ending...)
}

// key returns a key of the tests.
func key(t *testing.T, seed string) (*ecdsa.PrivateKey, wallet.Address) {
	t.Helper()
	k, err := crypto.ToECDSA(crypto.Keccak256([]byte(seed)))
	if err != nil {
		t.Fatal(err)
	}
	return k, wallet.Address(crypto.PubkeyToAddress(k.PublicKey))
}

// sign returns 65 bytes with v 27 or 28, as contracts expect them.
func sign(t *testing.T, k *ecdsa.PrivateKey, hash [32]byte) []byte {
	t.Helper()
	signature, err := crypto.Sign(hash[:], k)
	if err != nil {
		t.Fatal(err)
	}
	signature[64] += 27
	return signature
}

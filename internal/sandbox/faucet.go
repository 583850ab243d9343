package sandbox

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/internal/sandbox/thismachine"
	"github.com/chainaccess/gateway/relay/chain"
)

// FaucetPath is the path at which a development gateway serves the faucet.
const FaucetPath = "/dev/faucet"

// The faucet sends 50 USDC, and coins for the gas of a thousand transfers, at most thirty times a
// minute.
const (
	faucetUSDC    = 50_000_000
	faucetGas     = params.Ether / 100
	faucetAMinute = 30
)

const (
	faucetTimeout = 20 * time.Second // some blocks
	faucetBody    = 1 << 10
	faucetCallGas = 120_000
	faucetLook    = 100 * time.Millisecond
)

// Given is the faucet's answer: what it sent, and where the chain's RPC is served without a key.
type Given struct {
	Address common.Address `json:"address"`
	Chain   chain.ID       `json:"chain"`
	USDC    string         `json:"usdc"` // atomic units
	Wei     string         `json:"wei"`
	Tx      common.Hash    `json:"tx_hash"` // of the USDC
	RPC     string         `json:"rpc_url"`
}

// faucet sends coins and USDC on one chain.
type faucet struct {
	key   *ecdsa.PrivateKey
	rpc   string
	now   func() time.Time
	turns sync.Mutex // one request at a time, so that nonces are consecutive

	mu    sync.Mutex // guards what follows
	since time.Time
	given int
}

// Faucet returns a handler that sends USDC and gas coins on Base to the address in a POST of
// {"address":"0x…"}; nil when Base does not run. The Host of a request must be an IP address or
// localhost, which prevents DNS rebinding by web pages.
func (s *Sandbox) Faucet(now func() time.Time) http.Handler {
	if !s.Runs(chain.BaseMainnet) {
		return nil
	}
	f := &faucet{key: s.keys.faucet, now: now}
	for _, u := range s.upstreams {
		if u.Chain == chain.BaseMainnet {
			f.rpc = u.URL
			break
		}
	}
	return f
}

func (f *faucet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	var asked struct {
		Address string `json:"address"`
	}
	switch {
	case !thismachine.Named(r.Host):
		http.Error(w, "ask the faucet by an IP address or as localhost", http.StatusForbidden)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, `POST {"address":"0x…"}`, http.StatusMethodNotAllowed)
	case r.Header.Get("Origin") != "":
		http.Error(w, "the faucet is for programs, not for pages", http.StatusForbidden)
	case json.NewDecoder(http.MaxBytesReader(w, r.Body, faucetBody)).Decode(&asked) != nil ||
		!common.IsHexAddress(asked.Address):
		http.Error(w, `send {"address":"0x…"} with 40 hexadecimal digits`, http.StatusUnprocessableEntity)
	case !f.take():
		w.Header().Set("Retry-After", "60")
		http.Error(w, "the faucet gave all that it gives in a minute: ask again in one", http.StatusTooManyRequests)
	default:
		ctx, cancel := context.WithTimeout(r.Context(), faucetTimeout)
		defer cancel()
		given, err := f.give(ctx, common.HexToAddress(asked.Address))
		if err != nil {
			http.Error(w, "the faucet could not give: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(given) // the client may have disconnected
	}
}

func (f *faucet) take() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.since) >= time.Minute {
		f.since, f.given = now, 0
	}
	f.given++
	return f.given <= faucetAMinute
}

// give sends coins and USDC and waits until both transactions are mined.
func (f *faucet) give(ctx context.Context, to common.Address) (Given, error) {
	f.turns.Lock()
	defer f.turns.Unlock()
	node, err := ethclient.DialContext(ctx, f.rpc)
	if err != nil {
		return Given{}, err
	}
	defer node.Close()
	token, err := contracts.Named("FiatTokenV2_2")
	if err != nil {
		return Given{}, err
	}
	transfer, err := token.ABI.Pack("transfer", to, big.NewInt(faucetUSDC))
	if err != nil {
		return Given{}, err
	}
	usdc := genesis.USDC(chain.BaseMainnet)
	if _, err := f.send(ctx, node, to, big.NewInt(faucetGas), nil); err != nil {
		return Given{}, fmt.Errorf("coins: %w", err)
	}
	tx, err := f.send(ctx, node, usdc, nil, transfer)
	if err != nil {
		return Given{}, fmt.Errorf("USDC: %w", err)
	}
	return Given{
		Address: to, Chain: chain.BaseMainnet, USDC: big.NewInt(faucetUSDC).String(),
		Wei: big.NewInt(faucetGas).String(), Tx: tx.Hash(), RPC: f.rpc,
	}, nil
}

// send sends a transaction and waits until it is mined.
func (f *faucet) send(ctx context.Context, node *ethclient.Client, to common.Address, value *big.Int,
	data []byte,
) (*types.Transaction, error) {
	tx, err := SignCall(ctx, node, f.key, to, value, data)
	if err != nil {
		return nil, err
	}
	if err := node.SendTransaction(ctx, tx); err != nil {
		return nil, err
	}
	return tx, AwaitMined(ctx, node, tx.Hash())
}

// AwaitMined waits until a transaction is mined. It returns an error when the transaction reverted.
func AwaitMined(ctx context.Context, node *ethclient.Client, tx common.Hash) error {
	tick := time.NewTicker(faucetLook)
	defer tick.Stop()
	for {
		receipt, err := node.TransactionReceipt(ctx, tx)
		switch {
		case err == nil && receipt.Status == types.ReceiptStatusSuccessful:
			return nil
		case err == nil:
			return fmt.Errorf("transaction %s failed", tx)
		case !errors.Is(err, ethereum.NotFound):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("transaction %s is in no block yet: %w", tx, ctx.Err())
		case <-tick.C:
		}
	}
}

// SignCall signs a transaction with the account's next nonce, at twice the present fees.
func SignCall(ctx context.Context, node *ethclient.Client, key *ecdsa.PrivateKey, to common.Address, value *big.Int,
	data []byte,
) (*types.Transaction, error) {
	from := crypto.PubkeyToAddress(key.PublicKey)
	nonce, err := node.PendingNonceAt(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("nonce: %w", err)
	}
	id, err := node.ChainID(ctx)
	if err != nil {
		return nil, fmt.Errorf("chain id: %w", err)
	}
	price, err := node.SuggestGasPrice(ctx)
	if err != nil {
		return nil, fmt.Errorf("gas price: %w", err)
	}
	tip, err := node.SuggestGasTipCap(ctx)
	if err != nil {
		return nil, fmt.Errorf("tip: %w", err)
	}
	return types.SignNewTx(key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: nonce, To: &to, Value: value, Data: data, Gas: faucetCallGas, GasTipCap: tip,
		GasFeeCap: price.Mul(price, big.NewInt(2)),
	})
}

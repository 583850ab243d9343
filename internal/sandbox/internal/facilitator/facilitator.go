// Package facilitator is an x402 facilitator for one token of one chain: POST /verify says whether
// a payment of the scheme exact would settle, POST /settle has it settled by a relayer and answers
// when it is mined. It shares nothing with the gateway that asks it.
package facilitator

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
)

// Config of a Facilitator. All fields are required.
type Config struct {
	URL     string // of a node of the chain
	Token   common.Address
	ABI     abi.ABI // of the token: FiatTokenV2_2
	Network string  // what version 1 of the protocol calls the chain
	Relayer *ecdsa.PrivateKey
}

// Facilitator answers HTTP. It is safe for concurrent use.
type Facilitator struct {
	Config

	chain   *ethclient.Client
	chainID *big.Int
	method  string     // of the token's ABI: the transfer that takes a signature as bytes, as contract wallets need it
	sending sync.Mutex // held while the relayer's next nonce is taken and used

	settlements atomic.Int64
	// after befalls the answer of a settlement that is mined; it says whether it answered instead.
	after atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

// New reaches the node. Close ends that.
func New(ctx context.Context, c Config) (*Facilitator, error) {
	chain, err := ethclient.DialContext(ctx, c.URL)
	if err != nil {
		return nil, fmt.Errorf("sandbox facilitator: %w", err)
	}
	f := &Facilitator{Config: c, chain: chain}
	const inBytes = 7 // arguments; that of keys alone has nine
	for name, m := range c.ABI.Methods {
		if m.RawName == "transferWithAuthorization" && len(m.Inputs) == inBytes {
			f.method = name
		}
	}
	if f.chainID, err = chain.ChainID(ctx); err != nil {
		chain.Close()
		return nil, fmt.Errorf("sandbox facilitator: %w", err)
	}
	return f, nil
}

// Close ends its connections to the node.
func (f *Facilitator) Close() { f.chain.Close() }

// Settlements counts the requests to settle.
func (f *Facilitator) Settlements() int64 { return f.settlements.Load() }

// After has settlements that are mined answered otherwise; nil ends that.
func (f *Facilitator) After(answer func(http.ResponseWriter, *http.Request) bool) {
	if answer == nil {
		f.after.Store(nil)
		return
	}
	f.after.Store(&answer)
}

const (
	maxBody     = 64 << 10
	mineTimeout = 25 * time.Second
	leastLeft   = 6 // seconds of the chain's time that a payment must be valid still
)

// refusal is a no, in a word of the protocol.
type refusal string

func (r refusal) Error() string { return string(r) }

// ServeHTTP answers /verify and /settle.
func (f *Facilitator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || (r.URL.Path != "/verify" && r.URL.Path != "/settle") {
		http.NotFound(w, r)
		return
	}
	var asked request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&asked); err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"error": "the body is no request to a facilitator"})
		return
	}
	// what is sent is waited for, whoever asked
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), mineTimeout)
	defer cancel()
	p, err := f.judge(ctx, &asked)
	if r.URL.Path == "/verify" {
		f.answerVerdict(w, p, err)
		return
	}
	f.settlements.Add(1)
	var tx common.Hash
	if err == nil {
		tx, err = f.settle(ctx, p)
	}
	if after := f.after.Load(); err == nil && after != nil && (*after)(w, r) {
		return
	}
	f.answerOutcome(w, &asked, p, tx, err)
}

func (f *Facilitator) answerVerdict(w http.ResponseWriter, p *payment, err error) {
	verdict := map[string]any{"isValid": err == nil}
	if p != nil {
		verdict["payer"] = p.From
	}
	no, isRefusal := errors.AsType[refusal](err)
	switch {
	case isRefusal:
		verdict["invalidReason"] = string(no)
	case err != nil:
		verdict["invalidReason"] = "unexpected_verify_error"
	}
	answer(w, http.StatusOK, verdict)
}

func (f *Facilitator) answerOutcome(w http.ResponseWriter, asked *request, p *payment, tx common.Hash, err error) {
	outcome := map[string]any{"success": err == nil, "network": asked.Requirements.Network, "transaction": ""}
	if p != nil {
		outcome["payer"] = p.From
	}
	if tx != (common.Hash{}) {
		outcome["transaction"] = tx
	}
	no, isRefusal := errors.AsType[refusal](err)
	switch {
	case isRefusal:
		outcome["errorReason"] = string(no)
	case err != nil:
		outcome["errorReason"] = "unexpected_settle_error"
	}
	answer(w, http.StatusOK, outcome)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked may be gone
}

// call is the transfer that a payment is for.
func (f *Facilitator) call(p *payment) ([]byte, error) {
	return f.ABI.Pack(f.method, p.From, p.To, p.value, p.validAfter, p.validBefore, p.Nonce, []byte(p.signature))
}

// simulate runs the transfer without sending it.
func (f *Facilitator) simulate(ctx context.Context, p *payment) error {
	input, err := f.call(p)
	if err != nil {
		return fmt.Errorf("write the transfer: %w", err)
	}
	_, err = f.chain.CallContract(ctx, ethereum.CallMsg{
		From: crypto.PubkeyToAddress(f.Relayer.PublicKey), To: &f.Token, Data: input,
	}, nil)
	return err
}

// settle sends the transfer and waits until it is mined. With an error and a hash it was sent.
func (f *Facilitator) settle(ctx context.Context, p *payment) (common.Hash, error) {
	tx, err := f.send(ctx, p)
	if err != nil {
		return common.Hash{}, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		receipt, err := f.chain.TransactionReceipt(ctx, tx)
		switch {
		case err == nil && receipt.Status == types.ReceiptStatusSuccessful:
			return tx, nil
		case err == nil:
			return tx, refusal("invalid_transaction_state")
		case !errors.Is(err, ethereum.NotFound):
			return tx, err
		}
		select {
		case <-ctx.Done():
			return tx, ctx.Err()
		case <-tick.C:
		}
	}
}

// send signs with the relayer's next nonce.
func (f *Facilitator) send(ctx context.Context, p *payment) (common.Hash, error) {
	input, err := f.call(p)
	if err != nil {
		return common.Hash{}, err
	}
	f.sending.Lock()
	defer f.sending.Unlock()
	nonce, err := f.chain.PendingNonceAt(ctx, crypto.PubkeyToAddress(f.Relayer.PublicKey))
	if err != nil {
		return common.Hash{}, err
	}
	head, err := f.chain.HeaderByNumber(ctx, nil)
	if err != nil {
		return common.Hash{}, err
	}
	const gas, tip, headroom = 400_000, 1_000_000_000, 3
	price := new(big.Int).Add(new(big.Int).Mul(head.BaseFee, big.NewInt(headroom)), big.NewInt(tip))
	tx, err := types.SignNewTx(f.Relayer, types.LatestSignerForChainID(f.chainID), &types.DynamicFeeTx{
		ChainID: f.chainID, Nonce: nonce, To: &f.Token, Data: input, Gas: gas, GasTipCap: big.NewInt(tip),
		GasFeeCap: price,
	})
	if err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), f.chain.SendTransaction(ctx, tx)
}

// request is what a facilitator is asked.
type request struct {
	Version int `json:"x402Version"`
	Payment struct {
		Version  int `json:"x402Version"`
		Scheme   string
		Network  string
		Accepted struct{ Scheme, Network string }
		Payload  struct {
			Signature     hexutil.Bytes
			Authorization payment
		}
	} `json:"paymentPayload"`
	Requirements struct {
		Scheme, Network, MaxAmountRequired, Amount string
		Asset, PayTo                               common.Address
		Extra                                      struct{ Name, Version string }
	} `json:"paymentRequirements"`
}

// payment is an authorization (EIP-3009).
type payment struct {
	From, To                       common.Address
	Value, ValidAfter, ValidBefore string
	Nonce                          common.Hash

	value, validAfter, validBefore *big.Int
	signature                      hexutil.Bytes
}

// read turns the numbers of a payment into integers.
func (p *payment) read() bool {
	ok := true
	for text, to := range map[*string]**big.Int{
		&p.Value: &p.value, &p.ValidAfter: &p.validAfter, &p.ValidBefore: &p.validBefore,
	} {
		n, err := strconv.ParseUint(*text, 10, 63)
		*to = new(big.Int).SetUint64(n)
		ok = ok && err == nil
	}
	return ok
}

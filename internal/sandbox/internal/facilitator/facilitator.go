// Package facilitator is an x402 facilitator for one token on one chain: POST /verify reports
// whether a payment with scheme exact would settle, and POST /settle settles it through a relayer
// and answers when it is mined. It shares no code with the gateway that calls it.
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

// Config configures a Facilitator. All fields are required.
type Config struct {
	URL     string // of a node of the chain
	Token   common.Address
	ABI     abi.ABI // of the token: FiatTokenV2_2
	Network string  // the chain's name in version 1 of the protocol
	Relayer *ecdsa.PrivateKey
}

// Facilitator serves HTTP. It is safe for concurrent use.
type Facilitator struct {
	Config

	chain   *ethclient.Client
	chainID *big.Int
	method  string     // of the token's ABI: the transfer that takes a signature as bytes, as contract wallets need it
	sending sync.Mutex // held while the relayer's next nonce is read and used

	settlements atomic.Int64
	// after may replace the answer to a settlement that was mined; it reports whether it answered.
	after atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

// New connects to the node. The caller closes the Facilitator.
func New(ctx context.Context, c Config) (*Facilitator, error) {
	chain, err := ethclient.DialContext(ctx, c.URL)
	if err != nil {
		return nil, fmt.Errorf("sandbox facilitator: %w", err)
	}
	f := &Facilitator{Config: c, chain: chain}
	const inBytes = 7 // arguments; the overload with v, r and s has nine
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

// Close closes the connections to the node.
func (f *Facilitator) Close() { f.chain.Close() }

// Settlements returns the number of settle requests.
func (f *Facilitator) Settlements() int64 { return f.settlements.Load() }

// After sets a function that may replace the answers to settlements that were mined; nil removes
// it.
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
	leastLeft   = 6 // seconds of the chain's time for which a payment must still be valid
)

// refusal is an invalid reason of the protocol.
type refusal string

func (r refusal) Error() string { return string(r) }

// ServeHTTP serves /verify and /settle.
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
	// wait for a sent transaction even when the client disconnects
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
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}

// call encodes the transfer of a payment.
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

// settle sends the transfer and waits until it is mined. An error with a hash means that it was
// sent.
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

// send sends the transfer with the relayer's next nonce.
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

// request is the body of a request.
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

// read parses the numbers of a payment and reports whether they are valid.
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

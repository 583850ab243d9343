package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// paymentEnv is a gateway that sells per call on the sandbox's Base with two API processes.
type paymentEnv struct {
	*flowRig

	box   *sandbox.Sandbox
	node  *ethclient.Client
	payer sandbox.EVMAccount
}

// The payment in atomic units of USDC, and its confirmations.
const (
	payment       = 90_000
	confirmations = 1
)

func openPaymentEnv(t *testing.T) *paymentEnv {
	t.Helper()
	// Faster blocks would run ahead of the clock.
	box, err := sandbox.Start(t.Context(), sandbox.Options{
		Chains: []chain.ID{chain.BaseMainnet}, BlockTime: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	text := "chains:\n  base_mainnet:\n    upstreams:\n"
	for _, u := range box.Upstreams() {
		text += fmt.Sprintf("      - { name: %s, url: %q, supply: public }\n", u.Name, u.URL)
	}
	s := &paymentEnv{box: box, payer: box.Accounts()[7]}
	s.flowRig = newFlowRig(t, text, "X402_PAY_TO="+box.Seller().Address.Hex(),
		fmt.Sprintf("X402_MIN_CONFIRMATIONS=%d", confirmations))
	if s.node, err = ethclient.DialContext(t.Context(), box.Upstreams()[0].URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.node.Close)
	return s
}

// pay pays for a bundle, waits until the payment has enough confirmations, and returns the
// transaction and the payer's signature.
func (s *paymentEnv) pay() (hash, signature string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	data := slices.Concat(crypto.Keccak256([]byte("transfer(address,uint256)"))[:4],
		common.LeftPadBytes(s.box.Seller().Address.Bytes(), 32), common.LeftPadBytes(big.NewInt(payment).Bytes(), 32))
	tx, err := sandbox.SignCall(ctx, s.node, s.payer.Key, sandbox.USDC(chain.BaseMainnet), nil, data)
	s.must(err)
	s.must(s.node.SendTransaction(ctx, tx))
	s.must(sandbox.AwaitMined(ctx, s.node, tx.Hash()))
	receipt, err := s.node.TransactionReceipt(ctx, tx.Hash())
	s.must(err)
	testkit.Eventually(s.t, patience, func() bool {
		head, err := s.node.BlockNumber(ctx)
		return err == nil && head >= receipt.BlockNumber.Uint64()+confirmations
	}, "the payment is deep enough")
	hash = tx.Hash().Hex()
	digest := wallet.TextHash("Chain Access Gateway x402 redeem\n" + hash)
	raw, err := crypto.Sign(digest[:], s.payer.Key)
	s.must(err)
	raw[crypto.RecoveryIDOffset] += 27
	return hash, hexutil.Encode(raw)
}

// redeemed is the result of a redeem. Status is 0 when the connection broke.
type redeemed struct {
	Status     int
	Credential string     `json:"credential"`
	Units      plan.Units `json:"units"`
	Tier       string     `json:"tier"`
	ExpiresAt  time.Time  `json:"expires_at"`
	text       string
}

// redeem redeems a payment at a process, from a network of its own.
func (s *paymentEnv) redeem(at *role, visitor int, hash, signature string) (r redeemed) {
	body, _ := json.Marshal(map[string]string{"tx_hash": hash, "tier": "balanced", "signature": signature})
	r.Status, r.text = s.post(at, "/x402/redeem", body, "X-Forwarded-For", fmt.Sprintf("198.51.%d.1", visitor%250))
	_ = json.Unmarshal([]byte(r.text), &r) // an error leaves it empty
	return r
}

// redeemAsTold retries a redeem for as long as Retry-After says, as clients do: on a busy machine,
// the flow takes longer than an answer waits.
func (s *paymentEnv) redeemAsTold(at *role, visitor int, hash, signature string) redeemed {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	again := time.NewTicker(5 * time.Second) // the value of Retry-After
	defer again.Stop()
	for {
		r := s.redeem(at, visitor, hash, signature)
		if r.Status != http.StatusServiceUnavailable {
			return r
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return r
		}
	}
}

// call requests a block number with a credential and returns the HTTP status.
func (s *paymentEnv) call(at *role, credential string) int {
	status, _ := s.post(at, "/rpc/base_mainnet",
		[]byte(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`), "X-PAYMENT", credential)
	return status
}

// post posts JSON; the status is 0 when there was no answer.
func (s *paymentEnv) post(at *role, path string, body []byte, header, value string) (status int, text string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.url()+path, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(all)
}

// check checks that the receipt has one settlement with one grant, that at least that many keys
// were made, and that one of them works.
func (s *paymentEnv) check(hash string, keys int) {
	s.t.Helper()
	var receipt struct {
		Settlements []struct {
			Bought struct {
				Units plan.Units `json:"units"`
			} `json:"bought"`
		} `json:"settlements"`
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.serve[1].url()+"/x402/receipts/"+hash+".json",
		http.NoBody)
	s.must(err)
	resp, err := http.DefaultClient.Do(req)
	s.must(err)
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&receipt); err != nil || len(receipt.Settlements) != 1 {
		s.t.Errorf("the receipt has %+v, %v", receipt, err)
	}
	of := "FROM settlements AS s JOIN keys AS k ON k.account_id = s.account_id WHERE s.tx_hash = $1"
	tx := common.HexToHash(hash).Bytes()
	for what, c := range map[string]struct {
		sql         string
		least, most int
	}{
		"settlements": {"SELECT count(*) FROM settlements WHERE tx_hash = $1", 1, 1},
		"packs": {
			"SELECT count(*) FROM settlements AS s JOIN packs AS p ON p.account_id = s.account_id WHERE s.tx_hash = $1",
			1, 1,
		},
		"keys":        {"SELECT count(*) " + of, keys, 1 << 20},
		"active keys": {"SELECT count(*) " + of + " AND k.status = 'active' AND k.id = s.key_id", 1, 1},
		"all active":  {"SELECT count(*) " + of + " AND k.status = 'active'", 1, 1},
	} {
		if n := s.number(c.sql, tx); n < c.least || n > c.most {
			s.t.Errorf("%d %s, want %d to %d", n, what, c.least, c.most)
		}
	}
}

func TestRedeem_GrantsOnceWhateverBecomesOfTheProcesses(t *testing.T) {
	t.Parallel()
	s := openPaymentEnv(t)
	for _, p := range append(s.serve[:], s.worker) {
		s.start(p)
	}
	for _, p := range s.serve {
		s.await(p)
	}
	s.redeemsAtOnce()
	s.redeemsAgainElsewhere()
	for _, p := range append(s.serve[:], s.worker) {
		if err := p.Stop(t.Context()); err != nil {
			t.Errorf("%s did not end in order: %v: %s", p.name, err, p.Tail(5))
		}
	}
	s.checkLogs()
}

// redeemsAtOnce sends two hundred redeems of one payment to two processes. In the end one
// credential works.
func (s *paymentEnv) redeemsAtOnce() {
	s.t.Helper()
	hash, signature := s.pay()
	all := make([]redeemed, 200)
	var under sync.WaitGroup
	start := make(chan struct{})
	for i := range all {
		under.Go(func() {
			<-start
			all[i] = s.redeemAsTold(s.serve[i%2], i, hash, signature)
		})
	}
	close(start)
	under.Wait()
	var bought plan.Units
	s.must(s.db.QueryRow(s.t.Context(), "SELECT units FROM settlements WHERE tx_hash = $1",
		common.HexToHash(hash).Bytes()).Scan(&bought))
	given := map[string]bool{}
	for i := range all {
		switch r := &all[i]; {
		case r.Status == http.StatusOK && r.Credential != "" && r.Tier == "balanced" && r.Units == bought:
			given[r.Credential] = true
		// the rate limit of a settlement's rotations; the caller may retry
		case r.Status == http.StatusTooManyRequests:
		default:
			s.t.Errorf("redeem %d: HTTP %d: %.300s", i, r.Status, r.text)
		}
	}
	works := 0
	for credential := range given {
		switch status := s.call(s.serve[works%2], credential); status {
		case http.StatusOK:
			works++
		case http.StatusPaymentRequired:
		default:
			s.t.Errorf("a credential is answered with HTTP %d", status)
		}
	}
	s.t.Logf("%d credentials were given", len(given))
	if works != 1 {
		s.t.Errorf("%d of %d credentials work", works, len(given))
	}
	s.check(hash, len(given))
}

// redeemsAgainElsewhere kills a process before it answers. Another process returns the credential,
// or a new one for the same units.
func (s *paymentEnv) redeemsAgainElsewhere() {
	s.t.Helper()
	hash, signature := s.pay()
	victim, other := s.serve[0], s.serve[1]
	s.must(victim.Stop(s.t.Context()))
	s.doomed(victim, faultpoint.RedeemDecided, 1)
	s.await(victim)
	if lost := s.redeem(victim, 0, hash, signature); lost.Status != 0 {
		s.t.Fatalf("the process that is killed answered HTTP %d: %s", lost.Status, lost.text)
	}
	s.buried(victim, string(faultpoint.RedeemDecided))
	s.check(hash, 1) // the settlement was decided
	again := s.redeemAsTold(other, 0, hash, signature)
	if again.Status != http.StatusOK || again.Credential == "" {
		s.t.Fatalf("redeemed again: HTTP %d: %s", again.Status, again.text)
	}
	var units int64
	var ends time.Time
	s.must(s.db.QueryRow(s.t.Context(), "SELECT units, window_ends FROM settlements WHERE tx_hash = $1",
		common.HexToHash(hash).Bytes()).Scan(&units, &ends))
	if int64(again.Units) != units || !again.ExpiresAt.Equal(ends) {
		s.t.Errorf("redeemed again: %s units until %s; granted were %d thousandths until %s", again.Units,
			again.ExpiresAt, units, ends)
	}
	if status := s.call(other, again.Credential); status != http.StatusOK {
		s.t.Errorf("the credential is answered with HTTP %d", status)
	}
	s.start(victim)
	s.await(victim)
	if status := s.call(victim, again.Credential); status != http.StatusOK {
		s.t.Errorf("where the first one was lost the credential is answered with HTTP %d", status)
	}
	s.check(hash, 1)
}

package solana

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/mr-tron/base58"

	"github.com/chainaccess/gateway/internal/sandbox/internal/devkey"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// bundle is a node behind a server, with a funded key and one without an account.
type bundle struct {
	*testing.T
	node       *Node
	url        string
	rich, poor ed25519.PrivateKey
}

const (
	fast   = 25 * time.Millisecond // finality after 0.8 s; blockhashes expire after 3 s
	steady = defaultSlotTime       // nothing expires while a test runs
)

func setup(t *testing.T, slotTime time.Duration) *bundle {
	t.Helper()
	b := &bundle{T: t}
	funded := make([]ed25519.PrivateKey, 3)
	for i := range funded {
		k, err := devkey.Solana(uint32(i)) //nolint:gosec // 0 to 2
		b.must(err)
		funded[i] = k
	}
	b.rich = funded[0]
	poor, err := devkey.Solana(77)
	b.must(err)
	b.poor = poor
	b.node, err = Start(t.Context(), Config{SlotTime: slotTime, Funded: funded, Logger: slog.New(slog.DiscardHandler)})
	b.must(err)
	server := httptest.NewServer(b.node.Handler())
	b.url = server.URL
	t.Cleanup(func() {
		server.Close()
		b.must(b.node.Close())
	})
	return b
}

func (b *bundle) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) post(body []byte) []byte {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url, bytes.NewReader(body))
	b.must(err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	b.must(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	b.must(err)
	return answer
}

// call decodes the result into into, or returns the node's error.
func (b *bundle) call(into any, method string, params ...any) *rpcError {
	b.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "x", "method": method, "params": params})
	b.must(err)
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	b.must(json.Unmarshal(b.post(body), &answer))
	if answer.Error == nil && into != nil {
		b.must(json.Unmarshal(answer.Result, into))
	}
	return answer.Error
}

func (b *bundle) get(into any, method string, params ...any) {
	b.Helper()
	if err := b.call(into, method, params...); err != nil {
		b.Fatalf("%s: %d %s", method, err.Code, err.Message)
	}
}

func (b *bundle) eventually(what string, done func() bool) {
	b.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for !done() {
		select {
		case <-deadline.C:
			b.Fatalf("%s: not in time", what)
		case <-pause.C:
		}
	}
}

func (b *bundle) blockhash(commitment string) key {
	b.Helper()
	var latest struct {
		Value struct {
			Blockhash string `json:"blockhash"`
		} `json:"value"`
	}
	b.get(&latest, "getLatestBlockhash", map[string]string{"commitment": commitment})
	k, err := parseKey(latest.Value.Blockhash)
	b.must(err)
	return k
}

func (b *bundle) balance(k key, commitment string) uint64 {
	b.Helper()
	var balance struct {
		Value uint64 `json:"value"`
	}
	b.get(&balance, "getBalance", k, map[string]string{"commitment": commitment})
	return balance.Value
}

type status struct {
	Slot          uint64          `json:"slot"`
	Confirmations *int            `json:"confirmations"`
	Err           json.RawMessage `json:"err"`
	Status        string          `json:"confirmationStatus"`
}

func (b *bundle) status(sig string) *status {
	b.Helper()
	var statuses struct {
		Value []*status `json:"value"`
	}
	b.get(&statuses, "getSignatureStatuses", []string{sig})
	return statuses.Value[0]
}

func encode64(w *wire) string { return base64.StdEncoding.EncodeToString(w.raw) }

var base64Encoding = map[string]any{"encoding": "base64"}

func TestLedger_SlotsHeightsAndTransactionsAdvance(t *testing.T) {
	t.Parallel()
	b := setup(t, fast)
	type state struct {
		Slot   uint64 `json:"absoluteSlot"`
		Height uint64 `json:"blockHeight"`
		Count  uint64 `json:"transactionCount"`
		Epoch  uint64 `json:"epoch"`
		Index  uint64 `json:"slotIndex"`
	}
	var first, now state
	b.get(&first, "getEpochInfo")
	b.eventually("slots advance", func() bool {
		b.get(&now, "getEpochInfo")
		return now.Slot > first.Slot+40 && now.Height > first.Height && now.Count > first.Count
	})
	if now.Slot != now.Epoch*slotsPerEpoch+now.Index || now.Height >= now.Slot {
		t.Errorf("epoch info %+v", now)
	}
	var processedSlot, finalizedSlot uint64
	b.get(&finalizedSlot, "getSlot")
	b.get(&processedSlot, "getSlot", map[string]string{"commitment": processed})
	if processedSlot < finalizedSlot+finalizedDepth {
		t.Errorf("processed %d, finalized %d", processedSlot, finalizedSlot)
	}
}

func TestTransfer_MovesLamportsAndProgressesToFinalized(t *testing.T) {
	t.Parallel()
	b := setup(t, fast)
	from, to := publicKey(b.rich), publicKey(b.poor)
	const amount = 2_000_000
	before := b.balance(from, processed)
	w := transfer(b.rich, to, amount, b.blockhash(finalized))
	var sig string
	b.get(&sig, "sendTransaction", encode64(w), base64Encoding)
	if sig != w.signatures[0].String() {
		t.Fatalf("answered signature %s, sent %s", sig, w.signatures[0])
	}
	rank := map[string]int{processed: 1, confirmed: 2, finalized: 3}
	best, seen := 0, map[string]bool{}
	b.eventually("finalized", func() bool {
		s := b.status(sig)
		if s == nil {
			if best > 0 {
				t.Fatal("the status disappeared")
			}
			return false
		}
		require.AtLeast(t, rank[s.Status], best)
		require.Equal(t, s.Status == finalized, s.Confirmations == nil)
		require.Equal(t, string(s.Err), "null")
		best, seen[s.Status] = rank[s.Status], true
		return s.Status == finalized
	})
	if !seen[confirmed] {
		t.Errorf("statuses seen: %v", seen)
	}
	if got := b.balance(to, finalized); got != amount {
		t.Errorf("receiver has %d", got)
	}
	if got := b.balance(from, finalized); got != before-amount-signatureFee {
		t.Errorf("sender has %d of %d", got, before)
	}
	var found struct {
		Slot uint64 `json:"slot"`
		Meta struct {
			Fee  uint64   `json:"fee"`
			Pre  []uint64 `json:"preBalances"`
			Post []uint64 `json:"postBalances"`
		} `json:"meta"`
	}
	b.get(&found, "getTransaction", sig, map[string]any{"maxSupportedTransactionVersion": 0})
	if found.Meta.Fee != signatureFee || found.Meta.Post[1]-found.Meta.Pre[1] != amount {
		t.Errorf("transaction %+v", found)
	}
	var block struct {
		Signatures []string `json:"signatures"`
	}
	b.get(&block, "getBlock", found.Slot, map[string]any{"transactionDetails": "signatures"})
	if !slices.Contains(block.Signatures, sig) {
		t.Errorf("block %d has %v", found.Slot, block.Signatures)
	}
	var history []struct {
		Signature string `json:"signature"`
	}
	b.get(&history, "getSignaturesForAddress", to)
	if len(history) != 1 || history[0].Signature != sig {
		t.Errorf("history %+v", history)
	}
}

func TestBalance_FinalizedTrailsProcessed(t *testing.T) {
	t.Parallel()
	b := setup(t, fast)
	to := publicKey(b.poor)
	b.get(nil, "sendTransaction", encode64(transfer(b.rich, to, 1_000_000, b.blockhash(finalized))), base64Encoding)
	trailed := false
	b.eventually("the balance is final", func() bool {
		final, now := b.balance(to, finalized), b.balance(to, processed)
		trailed = trailed || now > final
		return final > 0
	})
	if !trailed {
		t.Error("finalized was never behind processed")
	}
}

func TestSendTransaction_RefusesWithNativeCodes(t *testing.T) {
	t.Parallel()
	b := setup(t, steady)
	hash := b.blockhash(finalized)
	to := publicKey(b.poor)
	forged := transfer(b.rich, to, 1_000_000, hash)
	forged.raw[1] ^= 1
	truncated := transfer(b.rich, to, 1_000_000, hash)
	outOfRange := transfer(b.rich, to, 1_000_000, hash)
	outOfRange.raw[len(outOfRange.raw)-17] = 9 // the program's index
	for _, c := range []struct {
		name    string
		encoded string
		code    int
		err     string
	}{
		{"forged signature", encode64(forged), -32003, ""},
		{"blockhash unknown", encode64(transfer(b.rich, to, 1_000_000, key{1})), -32002, `"BlockhashNotFound"`},
		{"payer without account", encode64(transfer(b.poor, publicKey(b.rich), 1, hash)), -32002, `"AccountNotFound"`},
		{
			"more than the balance", encode64(transfer(b.rich, to, 1<<60, hash)), -32002,
			`{"InstructionError":[0,{"Custom":1}]}`,
		},
		{
			"receiver below rent", encode64(transfer(b.rich, to, 5, hash)), -32002,
			`{"InsufficientFundsForRent":{"account_index":1}}`,
		},
		{"cut off", base64.StdEncoding.EncodeToString(truncated.raw[:100]), -32602, ""},
		{"program index out of range", encode64(outOfRange), -32602, ""},
		{"not base64", "!!!", -32602, ""},
		{"empty", "", -32602, ""},
		{"too large", base64.StdEncoding.EncodeToString(make([]byte, 1_233)), -32602, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := b.call(nil, "sendTransaction", c.encoded, base64Encoding)
			if got == nil || got.Code != c.code {
				t.Errorf("%+v, want code %d", got, c.code)
				return
			}
			if c.err != "" {
				data, ok := got.Data.(map[string]any)
				if !ok {
					t.Errorf("data %v", got.Data)
				}
				cause, err := json.Marshal(data["err"])
				b.must(err)
				if string(cause) != c.err {
					t.Errorf("err %s, want %s", cause, c.err)
				}
			}
		})
	}
}

func TestSendTransaction_RepeatedIsRefusedAndExecutedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, fast)
	to := publicKey(b.poor)
	w := transfer(b.rich, to, 1_000_000, b.blockhash(finalized))
	for range 3 {
		b.get(nil, "sendTransaction", encode64(w), map[string]any{"encoding": "base64", "skipPreflight": true})
	}
	sig := w.signatures[0].String()
	b.eventually("finalized", func() bool { s := b.status(sig); return s != nil && s.Status == finalized })
	if got := b.call(nil, "sendTransaction", encode64(w), base64Encoding); got == nil || got.Code != -32002 {
		t.Errorf("sent again: %+v", got)
	}
	if got := b.balance(to, finalized); got != 1_000_000 {
		t.Errorf("receiver has %d", got)
	}
}

func TestSendTransaction_ForgedWithoutPreflightIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t, fast)
	w := transfer(b.rich, publicKey(b.poor), 1_000_000, b.blockhash(finalized))
	w.raw[1] ^= 1
	var sig string
	b.get(&sig, "sendTransaction", base58.Encode(w.raw), map[string]any{"skipPreflight": true})
	var from uint64
	b.get(&from, "getSlot", map[string]string{"commitment": processed})
	b.eventually("slots pass", func() bool {
		var now uint64
		b.get(&now, "getSlot", map[string]string{"commitment": processed})
		return now > from+5
	})
	if s := b.status(sig); s != nil {
		t.Errorf("a forged transaction landed: %+v", s)
	}
}

func TestBlockhashes_Age(t *testing.T) {
	t.Parallel()
	b := setup(t, fast)
	var latest struct {
		Value struct {
			Last uint64 `json:"lastValidBlockHeight"`
		} `json:"value"`
	}
	b.get(&latest, "getLatestBlockhash", map[string]string{"commitment": processed})
	hash := b.blockhash(processed)
	valid := func() bool {
		var answer struct {
			Value bool `json:"value"`
		}
		b.get(&answer, "isBlockhashValid", hash, map[string]string{"commitment": processed})
		return answer.Value
	}
	if !valid() {
		t.Fatal("a fresh blockhash is not valid")
	}
	b.eventually("the blockhash expires", func() bool { return !valid() })
	var height uint64
	b.get(&height, "getBlockHeight", map[string]string{"commitment": processed})
	if last := latest.Value.Last; height <= last || height > last+maxAge/2 {
		t.Errorf("expired at height %d, last valid %d", height, last)
	}
	err := b.call(nil, "sendTransaction", encode64(transfer(b.rich, publicKey(b.poor), 1_000_000, hash)),
		map[string]any{"encoding": "base64", "preflightCommitment": processed})
	if err == nil || err.Code != -32002 {
		t.Errorf("expired blockhash: %+v", err)
	}
}

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

const patience = 30 * time.Second

// start runs chains with a short block and slot time.
func start(t *testing.T, o Options) *Sandbox {
	t.Helper()
	if o.BlockTime == 0 {
		o.BlockTime = 50 * time.Millisecond
	}
	if o.SlotTime == 0 {
		o.SlotTime = 20 * time.Millisecond
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// upstream returns the n-th upstream of a chain.
func (s *Sandbox) upstream(t *testing.T, id chain.ID, n int) *Upstream {
	t.Helper()
	for _, u := range s.Upstreams() {
		if u.Chain == id {
			if n == 0 {
				return u
			}
			n--
		}
	}
	t.Fatalf("no such upstream of %s", id)
	return nil
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// call sends a request and decodes the result; it returns a JSON-RPC error as *rpcError.
func call(t *testing.T, url, method string, result any, params ...any) error {
	t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
		ID     int             `json:"id"`
	}
	if err := post(t.Context(), url, body, &answer); err != nil {
		return err
	}
	switch {
	case answer.Error != nil:
		return answer.Error
	case answer.ID != 7:
		return fmt.Errorf("%s answered id %d", method, answer.ID)
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

func post(ctx context.Context, url string, body []byte, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually polls until done returns true; it fails the test after patience.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for !done() {
		select {
		case <-deadline.C:
			t.Fatalf("%s: not within %s", what, patience)
		case <-pause.C:
		}
	}
}

func TestStart_RunsAllChainsBehindTwoUpstreamsEach(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	count, names := map[chain.ID]int{}, map[string]bool{}
	for _, u := range s.Upstreams() {
		count[u.Chain]++
		names[u.Name] = true
		if !u.Running() {
			t.Errorf("%s does not run", u.Name)
		}
	}
	for _, w := range world {
		if count[w.id] != 2 {
			t.Errorf("%s has %d upstreams", w.id, count[w.id])
		}
	}
	expect.Len(t, names, 12)
	expect.True(t, names["sandbox-eth-a"])
	expect.True(t, names["sandbox-solana-b"])
}

func TestStart_RunsOnlyTheChainsAskedFor(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.PolygonPoS}})
	got := s.Upstreams()
	if len(got) != 2 || got[0].Chain != chain.PolygonPoS {
		t.Errorf("upstreams %v", got)
	}
	if _, err := Start(t.Context(), Options{Chains: []chain.ID{"dogecoin"}}); err == nil {
		t.Error("an unknown chain was accepted")
	}
	must(t, s.Close())
	if got[0].Running() || call(t, got[0].URL, "eth_chainId", nil) == nil {
		t.Error("an upstream runs after Close")
	}
}

func TestUpstream_StoppedOneRefusesAndReturnsAtTheSameAddress(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.EthMainnet, chain.SolanaMainnet}})
	for id, method := range map[chain.ID]string{chain.EthMainnet: "eth_blockNumber", chain.SolanaMainnet: "getSlot"} {
		a, b := s.upstream(t, id, 0), s.upstream(t, id, 1)
		must(t, call(t, a.URL, method, nil))
		must(t, a.Stop())
		if err := call(t, a.URL, method, nil); err == nil {
			t.Errorf("%s answers after Stop", a.Name)
		}
		must(t, call(t, b.URL, method, nil))
		must(t, a.Stop())
		must(t, a.Start())
		must(t, a.Start())
		must(t, call(t, a.URL, method, nil))
		if a.Requests() != 2 || b.Requests() != 1 {
			t.Errorf("%s counted %d requests, %s %d", a.Name, a.Requests(), b.Name, b.Requests())
		}
	}
}

func TestUpstream_KeepsConnectionsOpen(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.ArbitrumOne, chain.SolanaMainnet}})
	for id, method := range map[chain.ID]string{chain.ArbitrumOne: "eth_chainId", chain.SolanaMainnet: "getHealth"} {
		u := s.upstream(t, id, 0)
		must(t, call(t, u.URL, method, nil))
		reused := connectionsReused(t, u.URL, method, 5)
		if reused < 4 {
			t.Errorf("%s reused %d of 5 connections", u.Name, reused)
		}
	}
}

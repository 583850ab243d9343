package contracts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/node"
)

// Slots of EIP-1967, as written in the standard.
const (
	implementationSlot = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
	beaconSlot         = "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50"
)

// bundle is a service with a scripted chain and a scripted Sourcify.
type bundle struct {
	*contracts.Service

	chain    *scriptedChain
	sourcify *scripted
	names    *scripted // the signature database
	clock    time.Time
}

func setup(t *testing.T) *bundle {
	t.Helper()
	h := &bundle{
		chain: &scriptedChain{answers: map[string]string{}}, sourcify: script(t), names: script(t), clock: time.Now(),
	}
	answers, err := cache.New(cache.Options{Bytes: 8 << 20, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	//nolint:usetesting // the test's own context is over by then
	t.Cleanup(func() { _ = answers.Close(context.Background()) })
	h.Service = contracts.New(contracts.Options{
		Node: h.chain, SourcifyURL: h.sourcify.URL, SignaturesURL: h.names.URL, Answers: answers,
		Now: func() time.Time { return h.clock },
	})
	return h
}

// scripted is an HTTP server with an answer per path; other paths are 404 with another program's
// body.
type scripted struct {
	*httptest.Server

	mu      sync.Mutex // guards what follows
	answers map[string]http.HandlerFunc
	asked   int
}

func script(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{answers: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked++
		answer := s.answers[r.URL.String()]
		s.mu.Unlock()
		if answer == nil {
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *scripted) on(path string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = answer
}

// requests returns the number of requests so far.
func (s *scripted) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// says answers with a status and a body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// lookup returns the path of Sourcify's API for a contract of Ethereum.
func lookup(address string) string {
	return "/server/v2/contract/1/" + checksummed(address) + "?fields=abi,compilation,proxyResolution"
}

func checksummed(address string) string { return mustAddress(address).Checksummed() }

func mustAddress(address string) wallet.Address {
	a, err := wallet.ParseAddress(address)
	if err != nil {
		panic(err)
	}
	return a
}

const notAProxy = `{"isProxy":false,"proxyType":null,"implementations":[]}`

// verified makes Sourcify know a contract, in the form of its API, version 2.
func (h *bundle) verified(address, name, abi, proxy string) {
	h.sourcify.on(lookup(address),
		says(http.StatusOK, fmt.Sprintf(`{"abi":%s,"compilation":{"language":"Solidity","compiler":"solc",
		"compilerVersion":"0.8.30+commit.73712a01","compilerSettings":{},"name":%q,"fullyQualifiedName":"src/%s.sol:%s"},"proxyResolution":%s,
		"matchId":"1","creationMatch":null,"runtimeMatch":"exact_match","verifiedAt":"2025-01-01T00:00:00Z","match":"exact_match","chainId":"1","address":%q}`,
			abi, name, name, name, proxy, checksummed(address))))
}

// unverified makes Sourcify answer that it does not know a contract.
func (h *bundle) unverified(address string) {
	h.sourcify.on(lookup(address), says(http.StatusNotFound,
		fmt.Sprintf(`{"match":null,"creationMatch":null,"runtimeMatch":null,"chainId":"1","address":%q}`,
			checksummed(address))))
}

// scriptedChain answers by method and parameters; other calls find a contract that is no proxy.
type scriptedChain struct {
	mu      sync.Mutex // guards what follows
	answers map[string]string
	fails   map[string]error
	asked   int
	past    uint64 // its generation
}

func (c *scriptedChain) Call(_ context.Context, q node.Query) (json.RawMessage, error) {
	text, err := json.Marshal(q.Params)
	if err != nil {
		return nil, err
	}
	key := strings.ToLower(q.Method + string(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if q.Chain != chain.EthMainnet {
		return nil, errors.New("another chain was asked")
	}
	if err := c.fails[q.Method]; err != nil {
		return nil, err
	}
	if answer, ok := c.answers[key]; ok {
		return json.RawMessage(answer), nil
	}
	switch q.Method {
	case "eth_getCode":
		return json.RawMessage(`"0x60806040"`), nil
	case "eth_getStorageAt":
		return json.RawMessage(`"0x` + strings.Repeat("0", 64) + `"`), nil
	}
	return nil, &node.Error{Code: 3, Message: "execution reverted"}
}

func (c *scriptedChain) ChainID(chain.ID) (uint64, bool) { return 1, true }

func (c *scriptedChain) Generation(chain.ID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.past
}

func (c *scriptedChain) on(call, answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[strings.ToLower(call)] = answer
}

// fail makes a method fail from now on; a nil error ends that.
func (c *scriptedChain) fail(method string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fails := maps.Clone(c.fails)
	if fails == nil {
		fails = map[string]error{}
	}
	fails[method] = err
	c.fails = fails
}

func (c *scriptedChain) code(address, code string) {
	c.on(fmt.Sprintf(`eth_getCode["%s","latest"]`, address), `"`+code+`"`)
}

// slot sets a storage slot of the token.
func (c *scriptedChain) slot(slot, value string) {
	c.on(fmt.Sprintf(`eth_getStorageAt["%s","%s","latest"]`, token, slot),
		`"0x`+fmt.Sprintf("%064s", strings.TrimPrefix(value, "0x"))+`"`)
}

// returns makes a call of a contract return an address.
func (c *scriptedChain) returns(of, data, value string) {
	c.on(fmt.Sprintf(`eth_call[{"data":"%s","to":"%s"},"latest"]`, data, of),
		`"0x`+fmt.Sprintf("%064s", strings.TrimPrefix(value, "0x"))+`"`)
}

// abi returns the ABI of the token.
func (h *bundle) abi(t *testing.T) (contracts.ABI, time.Duration) {
	t.Helper()
	a, err := wallet.ParseAddress(token)
	if err != nil {
		t.Fatal(err)
	}
	found, kept, err := h.ABI(t.Context(), chain.EthMainnet, a)
	if err != nil {
		t.Fatal(err)
	}
	return found, kept
}

// fails expects that reading the token's ABI fails.
func (h *bundle) fails(t *testing.T, what string, reason fault.Reason) {
	t.Helper()
	refusal := h.failure(t, what, reason)
	if reason == fault.NoUpstream &&
		(refusal.RetryAfter < time.Second || !strings.Contains(refusal.Message, "Nothing was charged")) {
		t.Errorf("%s: refused with %q and %s to wait", what, refusal.Message, refusal.RetryAfter)
	}
}

func (h *bundle) failure(t *testing.T, what string, reason fault.Reason) *fault.Error {
	t.Helper()
	a, err := wallet.ParseAddress(token)
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := h.ABI(t.Context(), chain.EthMainnet, a)
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok || refusal.Reason != reason {
		t.Fatalf("%s: gave %+v, %v; want %s", what, found, err, reason)
	}
	return refusal
}

package ens

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

var (
	holder    = common.HexToAddress("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
	universal = common.Address(universalResolver)
	checked   = time.Date(2026, 11, 22, 3, 4, 5, 6, time.FixedZone("", 3600))
)

// step is the chain's answer to one call.
type step func() (json.RawMessage, error)

func gives(data []byte) step {
	return func() (json.RawMessage, error) { return json.Marshal(hexutil.Bytes(data)) }
}

func reverts(data []byte) step {
	text, _ := json.Marshal(hexutil.Bytes(data))
	return func() (json.RawMessage, error) {
		return nil, &node.Error{Code: 3, Message: "execution reverted", Data: text}
	}
}

func fails(err error) step { return func() (json.RawMessage, error) { return nil, err } }

// scripted is a chain that answers calls in order, and records them.
type scripted struct {
	t     *testing.T
	steps []step
	asked [][]byte
}

func (s *scripted) Call(ctx context.Context, q node.Query) (json.RawMessage, error) {
	s.t.Helper()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(q.Params)
	if err != nil {
		s.t.Fatal(err)
	}
	var params []any
	var message struct {
		To   string
		Data hexutil.Bytes
	}
	if err := errors.Join(json.Unmarshal(text, &params), json.Unmarshal(text, &[]any{&message})); err != nil {
		s.t.Fatal(err)
	}
	if q.Chain != chain.EthMainnet || q.Method != "eth_call" || len(params) != 2 || params[1] != "latest" ||
		message.To != "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe" || q.MaxAnswer != maxCall {
		s.t.Errorf("asked %+v with %s", q, text)
	}
	s.asked = append(s.asked, message.Data)
	if len(s.asked) > len(s.steps) {
		s.t.Fatalf("call %d of the chain, want %d", len(s.asked), len(s.steps))
	}
	return s.steps[len(s.asked)-1]()
}

// gateways answers requests with a function, and records them.
type gateways struct {
	answer func(egress.Request) (egress.Answer, error)

	mu    sync.Mutex // guards asked
	asked []egress.Request
}

func (g *gateways) Do(_ context.Context, r egress.Request) (egress.Answer, error) {
	g.mu.Lock()
	g.asked = append(g.asked, r)
	g.mu.Unlock()
	return g.answer(r)
}

// urls returns the requested URLs, sorted, because those of a batch are requested in parallel.
func (g *gateways) urls() string {
	var all []string
	for _, r := range g.asked {
		all = append(all, r.URL)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// answering returns {"data": …} with status 200.
func answering(data string) *gateways {
	return &gateways{answer: func(egress.Request) (egress.Answer, error) {
		return egress.Answer{Status: 200, Body: []byte(`{"data":"` + data + `"}`)}, nil
	}}
}

// withStatus returns gateways with a status per URL, and an answer if it is 200.
func withStatus(statuses map[string]int) *gateways {
	return &gateways{answer: func(r egress.Request) (egress.Answer, error) {
		status, known := statuses[r.URL]
		if !known {
			return egress.Answer{}, errors.New("connection refused")
		}
		return egress.Answer{Status: status, Body: []byte(`{"data":"0x01"}`)}, nil
	}}
}

// names returns a resolver on a scripted chain.
func names(t *testing.T, g fetcher, steps ...step) (*Names, *scripted) {
	t.Helper()
	s := &scripted{t: t, steps: steps}
	t.Cleanup(func() {
		if len(s.asked) != len(steps) {
			t.Errorf("the chain was called %d times, want %d", len(s.asked), len(steps))
		}
	})
	return New(s, g, func() time.Time { return checked }), s
}

// resolved returns the result of the Universal Resolver's resolve().
func resolved(t *testing.T, answer []byte) []byte {
	t.Helper()
	return pack(t, "bytes address", answer, common.Address{9})
}

// reversed returns the result of the Universal Resolver's reverse().
func reversed(t *testing.T, name string) []byte {
	t.Helper()
	return pack(t, "string,address,address", name, common.Address{9}, common.Address{8})
}

// offchain returns an off-chain lookup of the Universal Resolver.
func offchain(t *testing.T, sender common.Address, urls []string, data []byte) []byte {
	t.Helper()
	return packed(t, "OffchainLookup(address,string[],bytes,bytes4,bytes)", "address string[] bytes bytes4 bytes",
		sender, urls, data, [4]byte{0xca, 0x11, 0xba, 0xcc}, []byte("extra"))
}

// failed returns the fault in an error.
func failed(t *testing.T, err error, want fault.Reason) *fault.Error {
	t.Helper()
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok || refusal.Reason != want {
		t.Fatalf("%v, want %s", err, want)
	}
	return refusal
}

func address(a common.Address) *wallet.Address {
	w := wallet.Address(a)
	return &w
}

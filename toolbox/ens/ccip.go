package ens

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
)

// Limits of one resolution: consecutive lookups, lookups in a batch, requests to gateways, and the
// total time with gateways.
const (
	maxHops     = 4
	maxBatch    = 8
	maxRequests = 16
	maxWait     = 5 * time.Second
)

var errTooSlow = fmt.Errorf("gateways took more than %s", maxWait)

// localBatch is the URL with which a contract asks the client to process a batch itself (ENSIP-21).
const localBatch = "x-batch-gateway:true"

var callQuery = selectorOf("query((address,string[],bytes)[])") // of a batch gateway (ENSIP-21)

// lookup is an OffchainLookup of a contract (EIP-3668).
type lookup struct {
	sender   wallet.Address
	urls     []string
	data     []byte
	callback selector
	extra    []byte
}

// session is one resolution with its remaining limits, across all its calls to the chain.
type session struct {
	names *Names
	hops  int           // lookups that were followed
	wait  time.Duration // remaining part of maxWait
	left  atomic.Int64  // requests that may still be sent to gateways

	mu      sync.Mutex // guards failure
	failure error      // a gateway's latest, for this question
	asked   bool       // whether a gateway's answer was sent to the chain, for this question
}

func (n *Names) begin() *session {
	s := &session{names: n, wait: maxWait}
	s.left.Store(maxRequests)
	return s
}

// read calls the Universal Resolver and follows its off-chain lookups. The error is a *revert if
// the contract answered with one, and a *fault.Error if the service, the chain or a gateway failed.
// It wraps ctx's error if time ran out.
func (s *session) read(ctx context.Context, data []byte) ([]byte, error) {
	s.failure, s.asked = nil, false
	for {
		out, err := s.names.ethCall(ctx, data)
		r := asRevert(err)
		if r == nil {
			return out, err
		}
		if r.selector != failLookOffchain {
			return nil, s.verdict(r)
		}
		if s.hops == maxHops {
			return nil, gatewayFault(fmt.Errorf("more than %d lookups one after the other", maxHops))
		}
		s.hops++
		l, ok := readLookup(r.args)
		if !ok || l.sender != universalResolver {
			return nil, gatewayFault(
				errors.New("a lookup that cannot be read, or of another contract than the one called"))
		}
		answer, err := s.answer(ctx, &l)
		if err != nil {
			return nil, err
		}
		data = call(l.callback, blob(answer), blob(l.extra))
		s.asked = true
	}
}

// verdict separates a contract's finding from a gateway's failure. After a gateway's answer, a
// resolver's refusal is about that answer: its signature, its proof, its age. The Universal
// Resolver names its reasons, so a revert without one is no finding: the node ran out of gas, or
// hides the reason.
func (s *session) verdict(r *revert) error {
	if !s.asked {
		if r.selector == (selector{}) {
			// not r itself, which errors.As would find as the contract's answer
			return fault.New(fault.UpstreamFailed, "").Wrap(errors.New(r.Error()))
		}
		return r
	}
	switch r.selector {
	case failHTTP, failText, failBatchAnswer, failResolver, selector{}:
		if s.failure != nil {
			return gatewayFault(s.failure)
		}
		return gatewayFault(errors.New(r.Error())) // nor here
	}
	return r
}

// readLookup decodes OffchainLookup(address sender, string[] urls, bytes callData, bytes4
// callbackFunction, bytes extraData).
func readLookup(e encoded) (l lookup, ok bool) {
	var fine [5]bool
	l.sender, fine[0] = e.address()
	l.urls, fine[1] = readURLs(e, 1)
	l.data, fine[2] = e.bytes(2)
	l.callback, fine[3] = e.selector(3)
	l.extra, fine[4] = e.bytes(4)
	return l, fine == [5]bool{true, true, true, true, true}
}

// readURLs decodes at most maxURLs URLs.
func readURLs(e encoded, i int) ([]string, bool) {
	n, items, ok := e.list(i)
	if !ok {
		return nil, false
	}
	var urls []string
	for i := range min(n, maxURLs) {
		url, ok := items.bytes(i)
		if !ok {
			return nil, false
		}
		urls = append(urls, string(url))
	}
	return urls, true
}

// answer returns a gateway's answer to a lookup, within the remaining part of maxWait.
func (s *session) answer(ctx context.Context, l *lookup) ([]byte, error) {
	began := s.names.now()
	limited, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	answer, err := s.gather(limited, l)
	s.wait -= s.names.now().Sub(began)
	if limited.Err() != nil && ctx.Err() == nil {
		return nil, gatewayFault(errTooSlow)
	}
	return answer, err
}

// gather asks gateways. It splits a batch itself, whatever gateways the batch names: no third-party
// batch gateway sees all of it, and the address guard checks each request.
func (s *session) gather(ctx context.Context, l *lookup) ([]byte, error) {
	if len(l.data) >= len(callQuery) && selector(l.data[:4]) == callQuery {
		return s.batch(ctx, l.data[4:])
	}
	if slices.Contains(l.urls, localBatch) {
		return nil, gatewayFault(errors.New("a batch that is none"))
	}
	return s.ask(ctx, l)
}

// batch answers query(Request[]) with (bool[] failures, bytes[] responses), asking for all in
// parallel (ENSIP-21).
func (s *session) batch(ctx context.Context, data encoded) ([]byte, error) {
	n, items, ok := data.list(0)
	if !ok || n > maxBatch {
		return nil, gatewayFault(fmt.Errorf("a batch that cannot be read, or of more than %d lookups", maxBatch))
	}
	requests := make([]lookup, n)
	for i := range requests {
		if requests[i], ok = readRequest(items, i); !ok {
			return nil, gatewayFault(errors.New("a lookup of a batch that cannot be read"))
		}
	}
	failures, responses := make([]value, n), make([]value, n)
	var all parallel.Group
	for i := range requests {
		all.Go(func() error {
			answer, err := s.ask(ctx, &requests[i])
			failures[i], responses[i] = number(0), blob(answer)
			if err != nil {
				failures[i], responses[i] = number(1), blob(encodeFailure(err))
			}
			return nil
		})
	}
	_ = all.Wait() // failures are in the answer
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask gateways: %w", err)
	}
	return encode(list(failures...), list(responses...)), nil
}

// readRequest decodes item i of a list of (address sender, string[] urls, bytes data).
func readRequest(items encoded, i int) (l lookup, ok bool) {
	e, ok := items.at(i)
	if !ok {
		return l, false
	}
	var fine [3]bool
	l.sender, fine[0] = e.address()
	l.urls, fine[1] = readURLs(e, 1)
	l.data, fine[2] = e.bytes(2)
	return l, fine == [3]bool{true, true, true}
}

// encodeFailure encodes a gateway's failure for the contract.
func encodeFailure(err error) []byte {
	if told, ok := errors.AsType[*statusError](err); ok {
		return call(failHTTP, number(told.status), blob(nil))
	}
	return call(failText, blob([]byte("no usable answer")))
}

// gatewayFault returns the fault for a failure of the gateway of a name's records. It does not
// repeat the gateway's text.
func gatewayFault(cause error) *fault.Error {
	if told, ok := errors.AsType[*statusError](cause); ok && told.refused() {
		return fault.New(fault.UpstreamFailed,
			"The records of this name are kept off-chain (EIP-3668), and their gateway refused with HTTP %d. Check "+
				"the name; asking again helps only when the gateway's operator changes something. Nothing was charged.",
			told.status).Wrap(cause)
	}
	return fault.New(fault.UpstreamFailed,
		"The records of this name are kept off-chain (EIP-3668), and their gateway gave no answer that the name's "+
			"resolver takes. A gateway must stand at a public address and answer by https on port 443. Ask again "+
			"later. Nothing was charged.").Wrap(cause)
}

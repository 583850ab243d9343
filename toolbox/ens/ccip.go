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

// What one resolution may take: lookups one after the other, lookups in a batch, and requests to
// gateways and time with them in all.
const (
	maxHops     = 4
	maxBatch    = 8
	maxRequests = 16
	maxWait     = 5 * time.Second
)

var errTooSlow = fmt.Errorf("gateways took more than %s", maxWait)

// localBatch is the URL by which a contract asks the client itself to be the gateway of a batch
// (ENSIP-21).
const localBatch = "x-batch-gateway:true"

var callQuery = selectorOf("query((address,string[],bytes)[])") // of a batch gateway (ENSIP-21)

// lookup is what a contract asks for outside of the chain (EIP-3668).
type lookup struct {
	sender   wallet.Address
	urls     []string
	data     []byte
	callback selector
	extra    []byte
}

// session is one resolution with what its lookups may still take, however many questions it puts to
// the chain.
type session struct {
	names *Names
	hops  int           // lookups that were followed
	wait  time.Duration // what is left of maxWait
	left  atomic.Int64  // requests that may still be sent to gateways

	mu      sync.Mutex // guards failure
	failure error      // the newest of a gateway, of this question
	asked   bool       // whether the answer of any gateway went to the chain, of this question
}

func (n *Names) begin() *session {
	s := &session{names: n, wait: maxWait}
	s.left.Store(maxRequests)
	return s
}

// read calls the Universal Resolver and follows it off the chain. An error is a *revert when the
// contract has an answer of its own to give, a *fault.Error when the service, the chain or a
// gateway failed, and wraps that of ctx when time ran out.
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

// verdict tells what a contract found out from what a gateway did to it. What a resolver refuses
// once a gateway answered is that answer: its signature, its proof, its age. The Universal Resolver
// names its reasons, so a revert without one is no finding of a contract: a node that ran out of
// gas, or keeps the reason to itself.
func (s *session) verdict(r *revert) error {
	if !s.asked {
		if r.selector == (selector{}) {
			// not r itself, which would be found in it as the contract's answer
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

// readLookup reads OffchainLookup(address sender, string[] urls, bytes callData, bytes4
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

// readURLs reads as many as are tried.
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

// answer returns what a gateway says to a lookup, in what is left of the resolution's time with
// gateways.
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

// gather asks gateways. A batch is taken apart here, whatever gateways it names: a stranger's
// service need not see all of it, and the guard on addresses holds for each of its requests.
func (s *session) gather(ctx context.Context, l *lookup) ([]byte, error) {
	if len(l.data) >= len(callQuery) && selector(l.data[:4]) == callQuery {
		return s.batch(ctx, l.data[4:])
	}
	if slices.Contains(l.urls, localBatch) {
		return nil, gatewayFault(errors.New("a batch that is none"))
	}
	return s.ask(ctx, l)
}

// batch answers query(Request[]) with (bool[] failures, bytes[] responses), asking for all at once
// (ENSIP-21).
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
	_ = all.Wait() // what fails stands in the answer
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask gateways: %w", err)
	}
	return encode(list(failures...), list(responses...)), nil
}

// readRequest reads item i of a list of (address sender, string[] urls, bytes data).
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

// encodeFailure writes a gateway's failure as contracts are told it.
func encodeFailure(err error) []byte {
	if told, ok := errors.AsType[*statusError](err); ok {
		return call(failHTTP, number(told.status), blob(nil))
	}
	return call(failText, blob([]byte("no usable answer")))
}

// gatewayFault is the failure of whoever keeps a name's records. None of its words reach the
// client.
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

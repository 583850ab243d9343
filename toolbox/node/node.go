// Package node asks the nodes of a chain for the service itself, through the chain's upstreams:
// answers that the toolbox is made of, and wallets that are contracts. What it asks belongs to no
// account and is not charged by itself; whoever asks bounds how often.
package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// Reader is safe for concurrent use.
type Reader struct {
	pool  *upstream.Pool
	links chain.Links
}

// New makes a reader over a pool that it does not own.
func New(pool *upstream.Pool, links chain.Links) *Reader { return &Reader{pool, links} }

// Query is one read of a chain. Only methods that change nothing may be asked: a read is sent again
// to another upstream when one fails.
type Query struct {
	Chain  chain.ID
	Method string
	Params []any // marshalled as they are; nil for none
	// Needs is what an upstream must be capable of.
	Needs chain.Capability
	// Supply is public when it is not set: the toolbox lives from it (docs/interface.md, 1.4).
	Supply plan.Supply
	// MaxAnswer bounds the answer in bytes; 0 takes a mebibyte.
	MaxAnswer int64
	// Empty says of a result that the upstream does not know what was asked for, so that others are
	// asked too. Nil: every result is an answer.
	Empty func(result []byte) bool
}

// Error is an in-band error of a node: an answer to what was asked.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"` // of a revert, a JSON string of 0x and its bytes
}

// Error is for logs and never shown to clients: the words are the node's.
func (e *Error) Error() string { return fmt.Sprintf("the node answered %d: %.200s", e.Code, e.Message) }

const (
	callTimeout = 10 * time.Second // of one query, all attempts together
	maxAnswer   = 1 << 20
)

var errBroken = errors.New("the answer is no JSON")

// Call returns the result of a query, which is null when the node says so. An error is a
// *fault.Error when the service failed to get an answer, and an *Error when a node answered with
// one.
func (r *Reader) Call(ctx context.Context, q Query) (json.RawMessage, error) {
	on, ok := r.pool.Chain(q.Chain)
	if !ok {
		return nil, fault.New(fault.NoUpstream, "This gateway has no upstream for %s. Nothing was charged.", q.Chain)
	}
	params := []byte("[]")
	if len(q.Params) > 0 {
		var err error
		if params, err = json.Marshal(q.Params); err != nil {
			return nil, fmt.Errorf("parameters of %s: %w", q.Method, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, refusal := on.Read(ctx, &upstream.Request{
		Method: []byte(q.Method), Params: params, Supply: supplyOf(q), Tier: plan.Balanced, Links: r.links,
		Needs: q.Needs, MaxAnswer: maxOf(q), Empty: q.Empty,
	})
	if refusal != nil {
		return nil, serviceFailure(refusal)
	}
	defer answer.Release()
	return whole(answer, maxOf(q))
}

// ChainID is the chain's EIP-155 id, which an operator may have overridden; false when there is no
// upstream for the chain.
func (r *Reader) ChainID(id chain.ID) (uint64, bool) {
	on, ok := r.pool.Chain(id)
	if !ok {
		return 0, false
	}
	return on.ChainID, true
}

// Generation grows when the chain reorganises so deeply that what was read before holds no longer.
func (r *Reader) Generation(id chain.ID) uint64 {
	on, ok := r.pool.Chain(id)
	if !ok {
		return 0
	}
	return on.Generation()
}

// Availability tells how a chain stands with a capability; one without upstreams here lacks it.
func (r *Reader) Availability(id chain.ID, of chain.Capability) upstream.Availability {
	on, ok := r.pool.Chain(id)
	if !ok {
		return upstream.Absent
	}
	return on.Availability(of)
}

func supplyOf(q Query) plan.Supply {
	if q.Supply == "" {
		return plan.Public
	}
	return q.Supply
}

func maxOf(q Query) int64 {
	if q.MaxAnswer == 0 {
		return maxAnswer
	}
	return q.MaxAnswer
}

// serviceFailure keeps a client from being told to change a request that it never made: what
// upstreams refuse of our own question is our failure.
func serviceFailure(f *fault.Error) *fault.Error {
	switch f.Reason {
	case fault.RangeTooLarge, fault.MethodNotServed, fault.ParameterRefused:
		return fault.New(fault.UpstreamFailed, "").Wrap(f)
	default:
		return f
	}
}

// whole takes a whole answer out of what may stream.
func whole(a *upstream.Answer, limit int64) (json.RawMessage, error) {
	if a.Error != nil {
		e := &Error{}
		if err := json.Unmarshal(a.Error, e); err != nil {
			return nil, fault.New(fault.UpstreamFailed, "").Wrap(fmt.Errorf("an error of a node: %w", err))
		}
		return nil, e
	}
	result := append(json.RawMessage(nil), a.Result...)
	if a.Rest != nil {
		rest, err := io.ReadAll(a.Rest) // bounded by MaxAnswer
		if result = append(result, rest...); err == nil && !jsonrpc.Valid(result) {
			err = errBroken
		}
		if err != nil {
			return nil, fault.New(fault.UpstreamFailed, "").Wrap(err)
		}
	}
	if int64(len(result)) > limit { // what fits an upstream's peek is not held against it
		return nil, fault.New(fault.UpstreamFailed, "").Wrap(upstream.ErrTooLarge)
	}
	return result, nil
}

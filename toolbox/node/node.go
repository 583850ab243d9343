// Package node reads chains for the gateway itself, through the chains' upstreams: for the toolbox
// and for contract wallets. Its reads belong to no account and are not charged; the caller must
// limit their rate.
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

// New returns a reader on pool, which the caller closes.
func New(pool *upstream.Pool, links chain.Links) *Reader { return &Reader{pool, links} }

// Query is one read of a chain. It must be a method without side effects, because a failed read is
// retried on another upstream.
type Query struct {
	Chain  chain.ID
	Method string
	Params []any // marshalled unchanged; nil for none
	// Needs is the capability that an upstream must have.
	Needs chain.Capability
	// Supply defaults to public, which the toolbox uses (docs/interface.md, 1.4).
	Supply plan.Supply
	// MaxAnswer is the limit of the answer in bytes; 0 means 1 MiB.
	MaxAnswer int64
	// Empty reports whether a result means that the upstream does not know the object, so that
	// others are asked too. Nil accepts every result.
	Empty func(result []byte) bool
}

// Error is an in-band error of a node, which is a valid answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"` // of a revert, a JSON string of 0x and its bytes
}

// Error is for logs and must not be shown to clients: the text is the node's.
func (e *Error) Error() string { return fmt.Sprintf("the node answered %d: %.200s", e.Code, e.Message) }

const (
	callTimeout = 10 * time.Second // of one query, all attempts together
	maxAnswer   = 1 << 20
)

var errBroken = errors.New("the answer is no JSON")

// Call returns the result of a query, which may be null. The error is a *fault.Error if the service
// failed to get an answer, and an *Error if a node answered with one.
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
		Needs: q.Needs, MaxAnswer: maxOf(q), Empty: q.Empty, Logs: logsOf(on, q.Method, params),
	})
	if refusal != nil {
		return nil, serviceFailure(refusal)
	}
	defer answer.Release()
	return whole(answer, maxOf(q))
}

// logsOf returns the range of an eth_getLogs query, which is split when upstreams take only shorter
// ranges; nil for every other query.
func logsOf(on *upstream.Chain, name string, params []byte) *chain.LogSpan {
	method, known := on.Method([]byte(name))
	if !known {
		return nil
	}
	heads, _ := on.CorroboratedHeads()
	span, ok := method.LogSpan(params, heads)
	if !ok {
		return nil
	}
	return &span
}

// ChainID returns the chain's EIP-155 id, which an operator may have overridden; false if the chain
// has no upstreams.
func (r *Reader) ChainID(id chain.ID) (uint64, bool) {
	on, ok := r.pool.Chain(id)
	if !ok {
		return 0, false
	}
	return on.ChainID, true
}

// Generation returns the chain's generation, which grows after a deep reorg that invalidates
// earlier reads.
func (r *Reader) Generation(id chain.ID) uint64 {
	on, ok := r.pool.Chain(id)
	if !ok {
		return 0
	}
	return on.Generation()
}

// Availability returns a chain's availability of a capability; a chain without upstreams lacks it.
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

// serviceFailure converts upstreams' refusals of our own request to fault.UpstreamFailed, so that
// the client is not asked to change a request that it did not make.
func serviceFailure(f *fault.Error) *fault.Error {
	switch f.Reason {
	case fault.RangeTooLarge, fault.MethodNotServed, fault.ParameterRefused:
		return fault.New(fault.UpstreamFailed, "").Wrap(f)
	default:
		return f
	}
}

// whole returns the complete result of an answer that may stream.
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
	if int64(len(result)) > limit { // the upstream does not enforce the limit on answers that it does not stream
		return nil, fault.New(fault.UpstreamFailed, "").Wrap(upstream.ErrTooLarge)
	}
	return result, nil
}

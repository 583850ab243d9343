package settlement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// maxAnswer bounds one answer in bytes: a block of several thousand transaction hashes, a receipt
// of as many logs.
const maxAnswer = 4 << 20

// errAlone says that no upstream could be asked: none is left, or all that are have no room or are
// out of service.
var errAlone = errors.New("no other upstream can be asked")

// others reports whether another upstream than by is configured, in whatever state: one that is at
// its limit may know what by denies.
func (r *Reader) others(by string) bool {
	on, ok := r.pool.Chain(r.on)
	return ok && slices.ContainsFunc(on.Names(), without(by))
}

// inBandError is an error that a node answered with.
type inBandError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error names the code alone: the words are the node's.
func (e *inBandError) Error() string { return fmt.Sprintf("a node answered with error %d", e.Code) }

// among says which upstreams may be asked; nil for all.
type among func(name string) bool

func only(name string) among    { return func(n string) bool { return n == name } }
func without(name string) among { return func(n string) bool { return n != name } }

// ask returns the result of a read and the name of the upstream that gave it. Of the whole supply,
// because money hangs on it. nullAsksOn has others asked too where one answers null.
func (r *Reader) ask(ctx context.Context, method string, params []any, who among,
	nullAsksOn bool,
) (json.RawMessage, string, error) {
	on, ok := r.pool.Chain(r.on)
	if !ok {
		return nil, "", errAlone
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, "", fmt.Errorf("parameters of %s: %w", method, err)
	}
	q := &upstream.Request{
		Method: []byte(method), Params: encoded, Supply: plan.Premium, Tier: plan.Balanced, MaxAnswer: maxAnswer,
		May: who,
	}
	if nullAsksOn {
		q.Empty = isNull
	}
	answer, refusal := on.Read(ctx, q)
	if refusal != nil {
		if refusal.Reason == fault.NoUpstream && q.Asked.Attempts == 0 {
			return nil, "", errAlone
		}
		return nil, q.Asked.Upstream, refusal
	}
	defer answer.Release()
	result, err := whole(answer)
	return result, q.Asked.Upstream, err
}

func isNull(result []byte) bool { return string(result) == "null" }

// whole takes a whole answer out of what may stream.
func whole(a *upstream.Answer) (json.RawMessage, error) {
	if a.Error != nil {
		e := &inBandError{}
		if err := json.Unmarshal(a.Error, e); err != nil {
			return nil, fmt.Errorf("an error of a node: %w", err)
		}
		return nil, e
	}
	result := append(json.RawMessage(nil), a.Result...)
	if a.Rest == nil {
		return result, nil
	}
	rest, err := io.ReadAll(a.Rest) // bounded by MaxAnswer
	if err != nil {
		return nil, fmt.Errorf("read on: %w", err)
	}
	if result = append(result, rest...); !jsonrpc.Valid(result) {
		return nil, errors.New("the answer is no JSON")
	}
	return result, nil
}

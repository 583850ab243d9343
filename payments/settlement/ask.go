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

// maxAnswer bounds one answer in bytes. A block of several thousand transaction hashes fits, and so
// does a receipt with as many logs.
const maxAnswer = 4 << 20

// errAlone: no upstream can be asked. Either none is left, or the remaining ones are at capacity or
// out of service.
var errAlone = errors.New("no other upstream can be asked")

// others reports whether an upstream other than by is configured, whatever its state. One that is
// at capacity now may know what by denies.
func (r *Reader) others(by string) bool {
	on, ok := r.pool.Chain(r.on)
	return ok && slices.ContainsFunc(on.Names(), without(by))
}

// inBandError is a JSON-RPC error that a node answered with.
type inBandError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error includes only the code: the message is the node's own text.
func (e *inBandError) Error() string { return fmt.Sprintf("a node answered with error %d", e.Code) }

// among reports whether an upstream may be asked. nil allows all of them.
type among func(name string) bool

func only(name string) among    { return func(n string) bool { return n == name } }
func without(name string) among { return func(n string) bool { return n != name } }

// ask returns the result of a read and the name of the upstream that answered. It reads from
// premium supply because money depends on the answer. With nullAsksOn, a null result makes it ask
// further upstreams.
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

// whole reads an answer completely, including its streamed rest.
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

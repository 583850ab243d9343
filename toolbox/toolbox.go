// Package toolbox computes answers that need several calls of a chain: gas fees, the status of
// transactions, prices, balances, transfers. It reads through toolbox/node and computes in
// integers. It knows nothing of keys, charges and caches (package service), nor of HTTP.
package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/toolbox/node"
)

// caller calls a chain's upstreams; node.Reader implements it.
type caller interface {
	Call(ctx context.Context, q node.Query) (json.RawMessage, error)
}

var _ caller = (*node.Reader)(nil)

// maxOfAnswer is the default limit of an upstream's answer in bytes. Typical answers stay below a
// tenth of it.
const maxOfAnswer = 256 << 10

// ask decodes the result of one call into out. A node's own error and a result of another form are
// fault.UpstreamFailed: the client did not make the call and cannot correct it.
func ask(ctx context.Context, chains caller, id chain.ID, out any, method string, params ...any) error {
	return askFor(ctx, chains, out, node.Query{Chain: id, Method: method, Params: params})
}

func askFor(ctx context.Context, chains caller, out any, q node.Query) error {
	q.MaxAnswer = cmp.Or(q.MaxAnswer, maxOfAnswer)
	result, err := chains.Call(ctx, q)
	if inBand, ok := errors.AsType[*node.Error](err); ok {
		return unusable(q.Chain, q.Method, inBand)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(result, out); err != nil {
		return unusable(q.Chain, q.Method, err)
	}
	return nil
}

// unusable returns the fault for an upstream's answer that cannot be used.
func unusable(id chain.ID, what string, cause error) *fault.Error {
	return fault.New(fault.UpstreamFailed, "").Wrap(fmt.Errorf("%s of %s: %w", what, id, cause))
}

// stamp returns an instant in the form of answers: UTC, in whole seconds.
func stamp(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }

// joinNotes joins sentences.
func joinNotes(first, second string) string {
	if first == "" {
		return second
	}
	return first + " " + second
}

// Package toolbox owns answers that take several calls of a chain: what gas costs, what became of a
// transaction, prices, balances, transfers. It asks through toolbox/node and computes in integers.
// It knows nothing of keys, charges and caches (capability does), nor of HTTP.
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

// caller asks a chain's upstreams, as node.Reader does.
type caller interface {
	Call(ctx context.Context, q node.Query) (json.RawMessage, error)
}

var _ caller = (*node.Reader)(nil)

// maxOfAnswer bounds what is read of one upstream's answer, in bytes, when the query does not say.
// None of those is a tenth of it.
const maxOfAnswer = 256 << 10

// ask reads the result of one call into out. A node's own error and a result of another form are
// upstream_failed: the client asked for nothing of the kind and can mend nothing.
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

// unusable is the refusal when upstreams answered and no use can be made of it.
func unusable(id chain.ID, what string, cause error) *fault.Error {
	return fault.New(fault.UpstreamFailed, "").Wrap(fmt.Errorf("%s of %s: %w", what, id, cause))
}

// stamp is an instant as answers show it: UTC, in whole seconds.
func stamp(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }

// joinNotes puts sentences one after the other.
func joinNotes(first, second string) string {
	if first == "" {
		return second
	}
	return first + " " + second
}

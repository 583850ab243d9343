package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
)

// dataCaller asks chains whose upstreams may have an index of owners, as node.Reader does.
type dataCaller interface {
	caller
	Availability(id chain.ID, of chain.Capability) upstream.Availability
}

var _ dataCaller = (*node.Reader)(nil)

// The data service belongs to paid plans, which have bought premium supply: every upstream may be
// asked.
const dataSupply = plan.Premium

// dataPause is when to come back when no upstream has the data: the next round of probes is over by
// then.
const dataPause = 5 * time.Second

// noData is the refusal while no upstream of a chain has what the data service is made of.
func noData(id chain.ID, cause error) *fault.Error {
	f := fault.New(fault.NoUpstream,
		"No upstream of %s that keeps token balances and transfers by owner answers right now. Nothing was charged; "+
			"retry in a few seconds, or read the chain itself through /rpc/%s.", id, id).Wrap(cause)
	f.RetryAfter = dataPause
	return f
}

// askIndex reads a result that takes an upstream of capability chain.Data. That none gave a usable
// one is no_upstream: those that are left lack the data.
func askIndex(ctx context.Context, chains dataCaller, out any, q node.Query) error {
	q.Needs = chain.Data
	err := askAny(ctx, chains, out, q)
	if f, told := errors.AsType[*fault.Error](err); told && f.Reason == fault.UpstreamFailed {
		return noData(q.Chain, err)
	}
	return err
}

// askAny reads a result that every upstream can give, and that is not null.
func askAny(ctx context.Context, chains dataCaller, out any, q node.Query) error {
	var result json.RawMessage
	q.Supply = dataSupply
	if err := askFor(ctx, chains, &result, q); err != nil {
		return err
	}
	if string(result) == "null" {
		return unusable(q.Chain, q.Method, errNull)
	}
	if err := json.Unmarshal(result, out); err != nil {
		return unusable(q.Chain, q.Method, err)
	}
	return nil
}

var errNull = errors.New("the result is null")

// quantity is a number as upstreams write it: 0x and hexadecimal digits, of 256 bits at most. Null
// stays nil.
type quantity struct{ *big.Int }

const maxDigits = 64 // of 256 bits

// UnmarshalJSON takes leading zeros, which some providers write. What is no such number is an
// error.
func (q *quantity) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("a quantity: %w", err)
	}
	digits, found := strings.CutPrefix(text, "0x")
	if !found || len(digits) > maxDigits || strings.ContainsAny(digits, "+-_") {
		return fmt.Errorf("%.80q is no quantity", text)
	}
	if digits == "" {
		digits = "0" // an empty word, as nodes write a missing value
	}
	n, ok := new(big.Int).SetString(digits, 16)
	if !ok {
		return fmt.Errorf("%.80q is no quantity", text)
	}
	q.Int = n
	return nil
}

// maxAmountDecimals is how many decimals an amount is written with; 256 bits have no more digits.
const maxAmountDecimals = 77

// formatted writes an amount with its decimals; nil when they are not known, or no number of
// decimals.
func formatted(amount *big.Int, decimals *int) *string {
	if amount == nil || decimals == nil || *decimals < 0 || *decimals > maxAmountDecimals {
		return nil
	}
	text := decimal(amount, *decimals)
	return &text
}

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

// dataCaller calls chains and reports their capabilities; node.Reader implements it.
type dataCaller interface {
	caller
	Availability(id chain.ID, of chain.Capability) upstream.Availability
}

var _ dataCaller = (*node.Reader)(nil)

// The data service belongs to paid plans, which include premium supply: every upstream may be used.
const dataSupply = plan.Premium

// dataPause is the Retry-After when no upstream has the data: a round of probes has ended by then.
const dataPause = 5 * time.Second

// noData returns the fault for a chain without a usable upstream that has the data.
func noData(id chain.ID, cause error) *fault.Error {
	f := fault.New(fault.NoUpstream,
		"No upstream of %s that keeps token balances and transfers by owner answers right now. Nothing was charged; "+
			"retry in a few seconds, or read the chain itself through /rpc/%s.", id, id).Wrap(cause)
	f.RetryAfter = dataPause
	return f
}

// askIndex makes a call that needs an upstream with chain.Data. If none returns a usable result,
// the error is fault.NoUpstream: the remaining upstreams lack the data.
func askIndex(ctx context.Context, chains dataCaller, out any, q node.Query) error {
	q.Needs = chain.Data
	err := askAny(ctx, chains, out, q)
	if f, told := errors.AsType[*fault.Error](err); told && f.Reason == fault.UpstreamFailed {
		return noData(q.Chain, err)
	}
	return err
}

// askAny makes a call that every upstream supports, and refuses a null result.
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

// quantity is a number as upstreams encode it: 0x and hexadecimal digits, at most 256 bits. Null
// stays nil.
type quantity struct{ *big.Int }

const maxDigits = 64 // of 256 bits

// UnmarshalJSON accepts leading zeros, which some providers write. Anything else that is no
// quantity is an error.
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
		digits = "0" // nodes write a missing value as an empty word
	}
	n, ok := new(big.Int).SetString(digits, 16)
	if !ok {
		return fmt.Errorf("%.80q is no quantity", text)
	}
	q.Int = n
	return nil
}

// maxAmountDecimals is the maximum number of decimals of an amount; 256 bits have no more digits.
const maxAmountDecimals = 77

// formatted formats an amount with its decimals; nil if they are unknown or out of range.
func formatted(amount *big.Int, decimals *int) *string {
	if amount == nil || decimals == nil || *decimals < 0 || *decimals > maxAmountDecimals {
		return nil
	}
	text := decimal(amount, *decimals)
	return &text
}

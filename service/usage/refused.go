package usage

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Refused is a reason why calls were refused, with what to do about it.
type Refused struct {
	FailedReason

	Meaning   string   `json:"meaning"`
	Steps     []string `json:"next_steps" doc:"the most helpful first"`
	RequestID string   `json:"request_id,omitempty" format:"uuid" doc:"of the newest such call, which a ticket takes; absent where none is among the account's 500 newest failures"`
}

// maxRefused is the number of reasons shown.
const maxRefused = 5

// UsedSince returns what an account used since an instant. It equals the spend of get_usage_stats,
// which splits it by step.
func (r *Reader) UsedSince(ctx context.Context, c *operation.Call, since time.Time) (plan.Units, error) {
	services, err := r.store.SumServices(ctx, c.Account.ID, account.KeyID{}, since)
	if err != nil {
		return 0, operation.ToFault(err, "usage")
	}
	var used plan.Units
	for _, units := range services {
		used += units
	}
	return used, nil
}

// RefusedToday returns why calls of the last 24 hours were refused or failed.
func (r *Reader) RefusedToday(ctx context.Context, c *operation.Call) ([]Refused, error) {
	w := usagedb.UsageWindow{Account: c.Account.ID, Since: spans["24h"].since(r.now())}
	failures, err := r.store.Failures(ctx, &w, maxRefused)
	if err != nil {
		return nil, operation.ToFault(err, "usage")
	}
	list := []Refused{}
	if len(failures.ByReason) == 0 {
		return list, nil
	}
	newest, err := r.newestFailures(ctx, &w)
	if err != nil {
		return nil, err
	}
	for i, f := range reasonsOf(failures.ByReason) {
		of := Refused{FailedReason: f, Steps: []string{}, RequestID: newest[f.Reason]}
		if reason, known := fault.Named(failures.ByReason[i].Reason); known {
			entry := reason.Entry()
			of.Meaning, of.Steps = entry.Meaning, entry.Steps
		}
		list = append(list, of)
	}
	return list, nil
}

// newestFailures returns the request id of the newest failed call of each reason, among the newest
// maxSifted failures. A reason that is older than all of these is missing.
func (r *Reader) newestFailures(ctx context.Context, w *usagedb.UsageWindow) (map[string]string, error) {
	calls, err := r.store.FailedCalls(ctx, w, r.now(), maxSifted)
	if err != nil {
		return nil, operation.ToFault(err, "call")
	}
	newest := make(map[string]string, maxRefused)
	for i := range calls {
		if c := &calls[i]; newest[c.Outcome] == "" {
			newest[c.Outcome] = c.RequestID.String()
		}
	}
	return newest, nil
}

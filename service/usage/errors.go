package usage

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// ErrorSummary is what was refused or failed.
type ErrorSummary struct {
	Requests  int64          `json:"requests" doc:"calls that came"`
	Failures  int64          `json:"failures" doc:"those of them that were refused, or given back because the service failed; errors that are a chain's answer, such as reverts, are none"`
	Rate      MaybeFigure    `json:"failure_rate" doc:"share from 0 to 1; null without requests"`
	Reasons   []FailedReason `json:"by_reason" doc:"at most 20, the most frequent first"`
	Methods   []FailedMethod `json:"by_method" doc:"at most 20, the most frequent first; truncated says whether there are more"`
	Truncated bool           `json:"truncated" doc:"whether either list leaves out some"`
	Recent    []FailedCall   `json:"recent" doc:"the newest failures of the window, at most 20, without parameters and results; calls are kept for as long as the terms say"`
	Beyond    int64          `json:"counted_only" doc:"refused calls of the window that recent can never list: of many in a minute with the same key and reason, the first few and the newest are kept, the others counted"`
}

// FailedReason counts failures of a reason.
type FailedReason struct {
	Reason   string `json:"reason" example:"rate_window"`
	Code     int    `json:"code" example:"-32005" doc:"JSON-RPC code of the refusal; explain_error says what to do about it"`
	Title    string `json:"title"`
	Requests int64  `json:"requests"`
}

// FailedMethod counts failures of a method on a chain.
type FailedMethod struct {
	Chain    string `json:"chain" doc:"empty for calls that concern none"`
	Method   string `json:"method" doc:"empty for calls refused before it was known"`
	Requests int64  `json:"requests"`
}

// FailedCall is a call that failed.
type FailedCall struct {
	RequestID  string    `json:"request_id" format:"uuid" doc:"as the answer's X-Request-Id; a ticket takes it"`
	Index      int       `json:"index" doc:"place in its batch, 0 for a single call"`
	At         time.Time `json:"at"`
	Chain      chain.ID  `json:"chain"`
	Method     string    `json:"method"`
	Reason     string    `json:"reason"`
	Code       int       `json:"code"`
	HTTPStatus int       `json:"http_status"`
	DurationMS Figure    `json:"duration_ms"`
}

const (
	maxSeries = 10
	maxRecent = 20
)

func (h *handlers) errorReport(ctx context.Context, l *look) error {
	failures, err := h.Store.Failures(ctx, &l.window, maxEntries)
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	steps, err := h.steps(ctx, l)
	if err != nil {
		return err
	}
	recent, err := h.Store.FailedCalls(ctx, &l.window, l.now, maxRecent)
	if err != nil {
		return operation.ToFault(err, "call")
	}
	beyond, err := h.Store.RefusedBeyond(ctx, &l.window)
	if err != nil {
		return operation.ToFault(err, "call")
	}
	summary := ErrorSummary{
		Beyond: beyond, Reasons: reasonsOf(failures.ByReason), Methods: []FailedMethod{}, Recent: []FailedCall{},
	}
	summary.Truncated = failures.AllReasons > int64(len(failures.ByReason)) ||
		failures.AllMethods > int64(len(failures.ByMethod))
	for i := range steps {
		summary.Requests += steps[i].Requests
		summary.Failures += steps[i].Refused()
	}
	summary.Rate = share(summary.Failures, summary.Requests)
	for _, g := range failures.ByMethod {
		summary.Methods = append(summary.Methods, FailedMethod{g.Chain, g.Method, g.Requests})
	}
	for i := range recent {
		summary.Recent = append(summary.Recent, failedCall(&recent[i]))
	}
	l.out.Summary.Errors = &summary
	return h.failureSeries(ctx, l, steps, &failures)
}

// codeOf returns the code and the title of a reason by its recorded name.
func codeOf(name string) (code int, title string) {
	reason, known := fault.Named(name)
	if !known {
		return 0, name
	}
	entry := reason.Entry()
	return entry.Code, entry.Title
}

// failureSeries adds a series for each of the methods with the most failures, and one for the rest.
func (h *handlers) failureSeries(ctx context.Context, l *look, steps []usagedb.UsageStep,
	failures *usagedb.Failures,
) error {
	largest := failures.ByMethod[:min(len(failures.ByMethod), maxSeries)]
	if len(largest) == 0 {
		return nil
	}
	recorded, err := h.Store.FailureSteps(ctx, &l.window, l.step, largest)
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	left := make([]int64, len(steps))
	for i := range steps {
		left[i] = steps[i].Refused()
	}
	place := map[[2]string]int{}
	for i, g := range largest {
		place[[2]string{g.Chain, g.Method}] = i
		l.out.Series = append(l.out.Series, StatsSeries{
			Name: "failures", Chain: g.Chain, Method: g.Method, Unit: "requests", Values: l.zeros(),
		})
	}
	for _, r := range recorded {
		at, inside := l.place(l.now, r.Start)
		if !inside {
			continue
		}
		l.out.Series[place[[2]string{r.Chain, r.Method}]].Values[at] = count(r.Requests)
		left[at] -= r.Requests
	}
	if rest := failures.AllMethods - int64(len(largest)); rest > 0 {
		last := StatsSeries{Name: "failures", Rest: rest, Unit: "requests", Values: l.zeros()}
		for i := range left {
			last.Values[i] = count(max(0, left[i]))
		}
		l.out.Series = append(l.out.Series, last)
	}
	return nil
}

package status

import (
	"context"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// StatusDays is the number of days, including today, in a chain's history.
const StatusDays = 90

// Status is the state of the chains, now and in the past.
type Status struct {
	State     chain.State    `json:"state" enum:"up,degraded,down,unknown" doc:"the worst state of a chain; unknown when none was measured lately"`
	Chains    []ChainStatus  `json:"chains"`
	Incidents []IncidentView `json:"incidents" doc:"times in which a chain was down for five minutes or longer: those that go on, and those that ended within 90 days, the newest first, 50 at most"`
	Recorded  bool           `json:"recorded" doc:"false while the record does not answer: then there is what this process sees now, and nothing of the past"`
	MadeAt    time.Time      `json:"made_at"`
	Note      string         `json:"note"`
}

// ChainStatus is the state of a chain, now and in the past.
type ChainStatus struct {
	Chain      chain.ID    `json:"chain"`
	Title      string      `json:"title"`
	Family     string      `json:"family" enum:"evm,solana"`
	State      chain.State `json:"state" enum:"up,degraded,down,unknown" doc:"up: calls are answered, and another upstream takes over when one fails; degraded: calls are answered, with something amiss; down: no upstream can be used; unknown: nobody has measured it within two minutes"`
	Why        string      `json:"why,omitempty" enum:"no_upstream,one_upstream_left,head_stands_still,calls_lost" doc:"what is amiss; absent when nothing is"`
	MeasuredAt *time.Time  `json:"measured_at" nullable:"true" doc:"when probes last looked; null when they did not yet"`
	Head       *uint64     `json:"head" nullable:"true" doc:"block number, or slot on Solana, that several upstreams vouch for; null while it is not known"`
	Upstreams  int         `json:"upstreams" doc:"how many there are"`
	Usable     int         `json:"usable_upstreams" doc:"to how many of them calls may go now"`
	ProbeMS    *float64    `json:"probe_ms" nullable:"true" doc:"what the newest probe of the quickest usable upstream took, from the gateway; null when none is usable"`
	LastHour   CallFigures `json:"last_hour"`
	LastDay    CallFigures `json:"last_24_hours"`
	Uptime     *float64    `json:"uptime_percent" nullable:"true" doc:"share of the measured time of these days in which it was not down, rounded down; null without any"`
	Days       []StatusDay `json:"days" doc:"the last 90 days (UTC), the oldest first, today last"`
}

// CallFigures counts calls that upstreams were asked for. Cache hits are not counted.
type CallFigures struct {
	Calls    int64    `json:"calls" doc:"that upstreams were asked for"`
	Rerouted int64    `json:"rerouted" doc:"reads that another upstream answered after one failed"`
	Lost     int64    `json:"lost" doc:"that no upstream answered"`
	Errors   *float64 `json:"error_percent" nullable:"true" doc:"share of calls that no upstream answered; null without calls"`
	P50      *float64 `json:"p50_ms" nullable:"true" doc:"half of the answers of upstreams to reads took at most so long; null without any"`
	P95      *float64 `json:"p95_ms" nullable:"true" doc:"nineteen of twenty took at most so long"`
}

// StatusDay is one UTC day of a chain.
type StatusDay struct {
	Day   string      `json:"day" format:"date"`
	State chain.State `json:"state" enum:"up,degraded,down,unknown" doc:"down from a minute down in all; degraded from five minutes degraded or down; unknown when nobody measured it"`
	// Up, Degraded, Down and Unknown add up to the length of the day, or to its time until now.
	Up       int64    `json:"up_seconds"`
	Degraded int64    `json:"degraded_seconds"`
	Down     int64    `json:"down_seconds"`
	Unknown  int64    `json:"unknown_seconds" doc:"in which nobody measured it"`
	Uptime   *float64 `json:"uptime_percent" nullable:"true" doc:"share of the measured time in which it was not down, rounded down; null without any"`
	Calls    int64    `json:"calls"`
	Rerouted int64    `json:"rerouted"`
	Lost     int64    `json:"lost"`
}

// IncidentView is a period in which a chain was down.
type IncidentView struct {
	ID      string     `json:"id"`
	Chain   chain.ID   `json:"chain"`
	Title   string     `json:"title"`
	BeganAt time.Time  `json:"began_at"`
	EndedAt *time.Time `json:"ended_at" nullable:"true" doc:"null while it lasts"`
	Seconds int64      `json:"seconds" doc:"how long it lasted, or lasts until now"`
}

const statusNote = "Probes look at every upstream every few seconds; a chain is an incident when it was down for " +
	"five minutes, and the incident is over after five minutes well. Latency is measured from the gateway to its " +
	"upstreams. Days are UTC."

func (h *handlers) getStatus() *operation.Operation[operation.Nothing, Status] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_status", Title: "How the chains stand", Access: operation.Everybody, PerNetwork: true, Reads: true,
		Route: operation.Route{Method: "GET", Path: "/status.json", Status: 200},
		Description: "Says of each chain how it stands now, how long answers took, how many calls were rerouted or " +
			"lost, and how it stood in the last 90 days, with its incidents. It needs no key, costs nothing, and is " +
			"made anew every ten seconds.",
	}, func(ctx context.Context, _ *operation.Call, _ operation.Nothing) (Status, error) {
		return h.Status.Status(ctx)
	})
}

// Reader knows the state of the chains, now and in the past.
type Reader struct {
	store   *store.Store
	pool    *upstream.Pool
	logger  *slog.Logger
	now     func() time.Time
	reports *operation.ReportCache
}

// NewReader returns a reader of what this process sees and PostgreSQL has recorded.
func NewReader(s *store.Store, pool *upstream.Pool, logger *slog.Logger, now func() time.Time) *Reader {
	return &Reader{store: s, pool: pool, logger: logger, now: now, reports: operation.NewReportCache(now)}
}

// Status returns the state of the chains, up to ReportTTL old. The result is shared: callers
// must not modify it.
func (r *Reader) Status(ctx context.Context) (Status, error) {
	return operation.Cached(ctx, r.reports, operation.ReportKey{Name: "status"}, r.makeStatus)
}

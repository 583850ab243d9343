package operation

import (
	"log/slog"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/admission"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Dependencies are what running an operation needs. The caller owns them.
type Dependencies struct {
	Store     *store.Store
	Limits    *limits.Limits
	Meter     *meter.Meter
	Networks  *netlimit.Limits
	People    *people.People
	Recorder  *usagedb.Recorder
	Pool      *upstream.Pool // which chains are served
	Links     chain.Links
	PublicURL string // without a trailing slash
	Now       func() time.Time
	Logger    *slog.Logger
	Metrics   *telemetry.Operations // nil: nothing is counted
	Answers   *cache.Cache          // nil disables caching of metered operations
	Latencies *meter.Latencies      // nil: latencies are not measured
	Refunds   *telemetry.Calls      // nil: refunds are not counted
	Tracer    *telemetry.Tracer     // nil: nothing is traced
}

// Runner runs operations: it identifies their callers, limits or meters them, binds and checks
// their input, and records them. It lists the operations that were defined.
type Runner struct {
	deps     Dependencies
	gate     admission.Gate
	flights  cache.Group[cache.Key, useResult] // uses that share a run
	failures *telemetry.LogLimit[failureKind]
	schemas  huma.Registry
	named    map[string]Definition
	all      []Definition
}

// NewRunner returns a runner without operations.
func NewRunner(d Dependencies) *Runner { //nolint:gocritic // read once at the start
	return &Runner{
		deps: d, gate: admission.Gate{
			Limits: d.Limits, Meter: d.Meter, Logger: d.Logger, Metrics: d.Refunds, Tracer: d.Tracer,
		},
		failures: telemetry.NewLogLimit[failureKind](telemetry.LinesPerKind, telemetry.LogInterval, d.Now),
		schemas:  newRegistry(), named: map[string]Definition{},
	}
}

// All returns the operations in the order of their definition.
func (r *Runner) All() []Definition { return slices.Clone(r.all) }

// Schemas returns the types that inputs and outputs refer to, for an API description.
func (r *Runner) Schemas() huma.Registry { return r.schemas }

// UnitsOf returns the cost of a use of an operation by its name, or 0 if there is none.
func (r *Runner) UnitsOf(name string) plan.Units {
	op := r.named[name]
	if op == nil {
		return 0
	}
	meta := op.Meta()
	return meta.Units
}

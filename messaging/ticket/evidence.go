package ticket

import (
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Evidence is what the service knew about a ticket's subject when it was filed. It holds no
// parameters, results, keys or addresses.
type Evidence struct {
	GatheredAt time.Time       `json:"gathered_at"`
	Call       *ReportedCall   `json:"call,omitempty" doc:"the call that the ticket is about; absent when none was named"`
	Refusals   []RefusalCount  `json:"refusals" doc:"refused and failed calls of the 24 hours before, as recorded, most frequent first; at most 20 lines"`
	Fences     FencesThen      `json:"fences"`
	Chain      *ChainCondition `json:"chain_status,omitempty" doc:"of the call's chain; absent without a call of a chain that is served"`
}

// ReportedCall is a call record.
type ReportedCall struct {
	RequestID  string     `json:"request_id" format:"uuid"`
	At         time.Time  `json:"at"`
	Place      int        `json:"index" doc:"place in the batch, 0 for a single request"`
	Batch      int        `json:"batch_size" doc:"calls of the request"`
	Chain      chain.ID   `json:"chain" doc:"empty when the call was of no chain"`
	Service    string     `json:"service"`
	Method     string     `json:"method"`
	Class      string     `json:"class"`
	Tier       string     `json:"tier" doc:"cheap, balanced, fast, or empty when none was chosen"`
	Outcome    string     `json:"outcome" doc:"ok, hit, or the reason of a refusal"`
	Code       int        `json:"code" doc:"error.code of the refusal; 0 when the call was answered"`
	HTTPStatus int        `json:"http_status"`
	Units      plan.Units `json:"units" doc:"weighted units that it was charged"`
	Attempts   int        `json:"attempts" doc:"upstreams that were asked"`
	Millis     int64      `json:"duration_ms"`
}

// RefusalCount counts calls that were refused in the same way.
type RefusalCount struct {
	Reason string    `json:"reason"`
	Code   int       `json:"code" doc:"error.code; 0 for a reason that has none"`
	Chain  chain.ID  `json:"chain"`
	Method string    `json:"method"`
	Count  int64     `json:"count"`
	Last   time.Time `json:"last_hour" doc:"the hour of the newest"`
}

// FencesThen are the limits at that time.
type FencesThen struct {
	Plan    string     `json:"plan" doc:"key of the account's plan"`
	Status  string     `json:"account_status" enum:"active,suspended"`
	Account FenceList  `json:"account"`
	Key     *KeyFences `json:"key,omitempty" doc:"of the key that called; absent when none is known"`
}

// FenceList lists the services that are off, and those with a cap.
type FenceList struct {
	Off  []string              `json:"services_off"`
	Caps map[string]plan.Units `json:"caps" doc:"weighted units of a period, by service"`
}

// KeyFences are the limits of a key, identified by its prefix.
type KeyFences struct {
	Prefix string      `json:"key_prefix"`
	Door   string      `json:"door"`
	Status string      `json:"status" enum:"active,revoked"`
	Cap    *plan.Units `json:"monthly_request_cap" nullable:"true" doc:"null for no cap of its own"`
	Daily  *plan.Units `json:"units_per_day" nullable:"true" doc:"null for none"`
	FenceList
}

// ChainCondition is the state of a chain by the newest probes.
type ChainCondition struct {
	Chain      chain.ID   `json:"chain"`
	State      ChainState `json:"state" enum:"up,degraded,down,unknown" doc:"degraded: some upstreams cannot be used; down: none can"`
	Head       uint64     `json:"head" doc:"block number, or slot on Solana; 0 when not known"`
	MeasuredAt *time.Time `json:"measured_at" nullable:"true" doc:"null before the first probe"`
	Usable     int        `json:"usable_upstreams"`
	Upstreams  int        `json:"upstreams"`
}

// ChainState summarizes a chain's condition.
type ChainState string

// The states of a chain.
const (
	ChainUp       ChainState = "up"
	ChainDegraded ChainState = "degraded"
	ChainDown     ChainState = "down"
	ChainUnknown  ChainState = "unknown"
)

// Symptom returns the symptom by which the ticket joins another; nil without a call.
func (e *Evidence) Symptom() *Symptom {
	if e.Call == nil {
		return nil
	}
	return &Symptom{Code: e.Call.Code, Chain: e.Call.Chain, Method: e.Call.Method}
}

func (e *Evidence) chainDown() bool { return e.Chain != nil && e.Chain.State == ChainDown }

// CodeOf returns error.code of an outcome; 0 for an outcome that is no refusal.
func CodeOf(outcome string) int {
	if reason, ok := fault.Named(outcome); ok {
		return reason.Entry().Code
	}
	return 0
}

// ours reports whether a reason is the service's own failure, or may have left a request of the
// customer's unfinished.
func ours(reason string) bool {
	r, ok := fault.Named(reason)
	return ok && (r == fault.OutcomeUnknown || r.Entry().HTTP >= firstServerError)
}

const firstServerError = 500

// money are the refusals that a payment lifts.
var money = map[fault.Reason]bool{
	fault.PlanQuota: true, fault.PlanLacksService: true, fault.PaymentRequired: true, fault.SettlementRedeemed: true,
	fault.SettlementOver: true,
}

// Category derives what the ticket is about: a failure of the service, a payment, or else a
// question. It uses the call, or without one the most frequent refusal.
func (e *Evidence) Category() Category {
	if e.chainDown() {
		return Incident
	}
	var reason string
	switch {
	case e.Call != nil:
		reason = e.Call.Outcome
	case len(e.Refusals) > 0:
		reason = e.Refusals[0].Reason
	}
	if ours(reason) {
		return Incident
	}
	if r, ok := fault.Named(reason); ok && money[r] {
		return Billing
	}
	return Question
}

// Priority derives the priority: low without a paid plan, else normal; one step higher for an
// incident, and one more when the chain is down.
func (e *Evidence) Priority(about Category, pays bool) Priority {
	p, steps := Low, 0
	if pays {
		p = Normal
	}
	if about == Incident {
		steps++
	}
	if e.chainDown() {
		steps++
	}
	return p.raised(steps)
}

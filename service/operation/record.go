package operation

import (
	"cmp"
	"encoding/binary"
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Classes of uses that are not relayed, in usage and in call records. Management operations cost no
// units and are only rate limited.
const (
	classManagement = "management"
	classToolbox    = "toolbox"
	classData       = "data"
)

func classOf(s account.Service) string {
	if s == account.Data {
		return classData
	}
	return classToolbox
}

// Values recorded for a use whose client left, as on the relay.
const (
	outcomeClientGone = "client_gone"
	statusClientGone  = 499
)

// record records a call for support and statistics, without arguments, results or keys.
func (r *Runner) record(c *Call, m *Meta, counts *telemetry.Operation, refusal *fault.Error) {
	took := r.deps.Now().Sub(c.Started)
	outcome := meter.OutcomeOK
	status := cmp.Or(m.Route.Status, http.StatusOK) // without a route it is answered as a result
	if refusal != nil {
		outcome, status = refusal.Reason.String(), refusal.HTTP()
	}
	counts.Done(outcomeOf(refusal), 0, took)
	if c.Account.ID.IsZero() {
		return
	}
	call := usagedb.Call{
		RequestID: c.RequestID, StartedAt: c.Started, Account: c.Account.ID, Key: c.Key.ID, Method: m.Name,
		Class: classManagement, Outcome: outcome, HTTPStatus: status, Duration: took,
	}
	if refusal != nil && outcomeOf(refusal) == telemetry.Refused {
		r.deps.Recorder.Refused(c.Network, call)
	} else {
		r.deps.Recorder.Record(call)
	}
}

// failureKind groups failed uses in the log.
type failureKind struct {
	capability string
	reason     fault.Reason
}

// recordUse records a metered use. written is the size of its response in bytes.
func (r *Runner) recordUse(u *use, m *Meta, counts *telemetry.Operation, refusal *fault.Error, written int) {
	took := r.deps.Now().Sub(u.Started)
	outcome, told, status := outcomeOf(refusal), meter.OutcomeOK, cmp.Or(m.Route.Status, http.StatusOK)
	switch {
	case u.clientGone:
		outcome, told, status = telemetry.ClientGone, outcomeClientGone, statusClientGone
	case refusal != nil:
		told, status = refusal.Reason.String(), refusal.HTTP()
	case u.hit:
		outcome, told = telemetry.Hit, meter.OutcomeHit
	}
	call := &u.toll
	units := call.Metered.Units
	if !call.Charged {
		units = 0
	}
	counts.Done(outcome, units, took)
	if refusal != nil && refusal.Cause != nil && !u.clientGone {
		if leftOut, ok := r.failures.Let(failureKind{m.Name, refusal.Reason}); ok {
			r.deps.Logger.Warn("use failed", "request_id", u.RequestID, "capability", m.Name, "chain",
				call.Metered.Chain,
				"outcome", told, "cause", refusal.Cause, "left_out", leftOut)
		}
	}
	if call.Subject == nil {
		return
	}
	rec := usagedb.Call{
		RequestID: u.RequestID, StartedAt: u.Started, Account: call.Subject.Account, Key: call.Subject.Key,
		Chain: chain.ID(call.Metered.Chain), Service: call.Metered.Service, Method: m.Name, Class: call.Metered.Class,
		Outcome: told, HTTPStatus: status, Units: units, Duration: took, ResponseBytes: int64(written),
	}
	if refusal != nil && !call.Admitted() {
		r.deps.Recorder.Refused(u.Network, rec)
	} else {
		r.deps.Recorder.Record(rec)
	}
	if refusal == nil {
		r.deps.Latencies.Observe(call.Subject, &call.Metered, took)
	}
}

func outcomeOf(refusal *fault.Error) telemetry.Outcome {
	if refusal == nil {
		return telemetry.OK
	}
	return telemetry.OutcomeOf(refusal)
}

// appendChain appends the part of a cache key that identifies a chain: its name, id and generation.
func (r *Runner) appendChain(b []byte, id chain.ID) []byte {
	b = append(b, id...)
	if on, ok := r.deps.Pool.Chain(id); ok && id != "" {
		b = binary.BigEndian.AppendUint64(b, on.ChainID)
		b = binary.BigEndian.AppendUint64(b, on.Generation())
	}
	return b
}

package relay

import (
	"context"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/usagedb"
)

// The outcome and HTTP status of a call whose client did not wait for the whole answer. It is
// charged. 499 is the status that nginx logs.
const (
	outcomeClientGone = "client_gone"
	statusClientGone  = 499
)

// record records the call for support and statistics, without parameters, results or keys: as a row
// (many refused calls as one sum), in the metrics, on its span and, if the service failed, in the
// log.
func (reply *Reply) record(httpStatus int, written int64) {
	c := &reply.call
	rec := usagedb.Call{
		RequestID: c.RequestID, Index: c.Index, StartedAt: c.started, Account: c.Subject.Account, Key: c.Subject.Key,
		Service: service, Method: c.Metered.Method, Class: c.Metered.Class, Tier: c.Metered.Tier,
		Outcome: meter.OutcomeOK, HTTPStatus: httpStatus, Duration: reply.relay.Now().Sub(c.started),
		RequestBytes: c.bytes, ResponseBytes: written,
	}
	if c.envelope.Chain != nil {
		rec.Chain = c.envelope.Chain.ID
	}
	outcome := reply.outcome()
	switch outcome {
	case telemetry.ClientGone:
		rec.Outcome, rec.HTTPStatus = outcomeClientGone, statusClientGone
	case telemetry.Hit:
		rec.Outcome = meter.OutcomeHit
	case telemetry.Refused, telemetry.Failed, telemetry.OutcomeUnknown:
		rec.Outcome = reply.Fault.Reason.String()
	case telemetry.OK, telemetry.UpstreamError:
	}
	if c.Charged {
		rec.Units = c.Metered.Units
	}
	rec.Upstream, rec.Attempts, rec.Cost = c.asked.Upstream, c.asked.Attempts, c.asked.Cost
	if rec.Cost > 0 {
		reply.relay.Costs.Call(c.started, rec.Account.UUID, string(rec.Chain), rec.Cost)
	}
	if reply.Fault != nil && !c.Admitted() {
		reply.relay.Recorder.Refused(c.envelope.Network, rec)
	} else {
		reply.relay.Recorder.Record(rec)
	}
	reply.count(&rec, outcome)
	answered := outcome == telemetry.OK || outcome == telemetry.UpstreamError || outcome == telemetry.Hit
	if answered && !c.method.Waits { // waiting for a block is no latency of ours
		reply.relay.Latencies.Observe(c.Subject, &c.Metered, rec.Duration)
	}
	reply.relay.log.write(&rec, reply.Fault, outcome)
	if c.span != nil {
		reply.mark(&rec, outcome)
	}
}

func (reply *Reply) outcome() telemetry.Outcome {
	switch {
	case reply.call.clientGone:
		return telemetry.ClientGone
	case reply.Fault != nil:
		return telemetry.OutcomeOf(reply.Fault)
	case reply.Hit:
		return telemetry.Hit
	case reply.Error != nil:
		return telemetry.UpstreamError
	}
	return telemetry.OK
}

func (reply *Reply) count(rec *usagedb.Call, outcome telemetry.Outcome) {
	c := &reply.call
	done := telemetry.Call{
		Class: telemetry.ClassOf(c.method, chain.Class(rec.Class)), Outcome: outcome, Tier: c.envelope.Tier,
		Units: rec.Units, Gate: reply.Timing.Gate, Route: reply.Timing.Route, Upstream: reply.Timing.Upstream,
		Total: rec.Duration, Asked: rec.Attempts > 0 || reply.Timing.Upstream > 0, Streamed: c.streamed,
		RequestBytes: rec.RequestBytes, AnswerBytes: rec.ResponseBytes,
	}
	if reply.Fault != nil && outcome != telemetry.ClientGone {
		done.Reason = reply.Fault.Reason
	}
	reply.relay.Metrics.Done(rec.Chain, &done)
}

// mark sets the record's fields as attributes of the span.
func (reply *Reply) mark(rec *usagedb.Call, outcome telemetry.Outcome) {
	span := reply.call.span
	span.Set("gateway.chain", string(rec.Chain))
	span.Set("rpc.method", rec.Method) // a name from the catalog, or empty
	span.Set("gateway.outcome", outcome.String())
	span.Set("gateway.class", rec.Class)
	span.Set("gateway.tier", rec.Tier)
	span.Set("gateway.upstream", rec.Upstream)
	span.Set("gateway.cache", map[bool]string{true: "hit", false: "miss"}[reply.Hit])
	span.SetInt("gateway.attempts", rec.Attempts)
	if reply.Fault != nil {
		span.Set("gateway.reason", reply.Fault.Reason.String())
		span.SetInt("rpc.jsonrpc.error_code", reply.Fault.Code())
	}
	if reply.call.endSpan {
		span.SetInt("gateway.index", rec.Index)
		span.End()
	}
}

// CacheFigures returns CacheStats in the form of package telemetry.
func (r *Relay) CacheFigures() telemetry.CacheFigures {
	s := r.CacheStats()
	return telemetry.CacheFigures{
		Local: s.LocalHits, Short: s.ShortHits, Memory: s.MemoryHits, Redis: s.RedisHits, Misses: s.Misses,
		Shared: s.Followers, Stores: s.Stores, Evictions: s.Evictions, Bytes: s.Bytes, Entries: s.Entries,
		RedisErrors: s.RedisErrors, Corrupt: s.Corrupt, DroppedWrites: s.DroppedWrites,
	}
}

// callLog logs each call that the service failed, at most a few of a kind per interval. At level
// debug it logs every call.
type callLog struct {
	logger *slog.Logger
	all    bool
	limit  *telemetry.LogLimit[failureKind]
}

// failureKind is the key of the rate limit on log lines.
type failureKind struct {
	chain  chain.ID
	reason fault.Reason
}

func newCallLog(logger *slog.Logger, now func() time.Time) callLog {
	return callLog{
		logger: logger, all: logger.Enabled(context.Background(), slog.LevelDebug),
		limit: telemetry.NewLogLimit[failureKind](telemetry.LinesPerKind, telemetry.LogInterval, now),
	}
}

func (l *callLog) write(rec *usagedb.Call, f *fault.Error, outcome telemetry.Outcome) {
	failed := f != nil && outcome != telemetry.ClientGone && (outcome != telemetry.Refused || f.Cause != nil)
	if !failed {
		if l.all {
			l.logger.LogAttrs(context.Background(), slog.LevelDebug, "call", attributes(rec, f)...)
		}
		return
	}
	leftOut, ok := l.limit.Let(failureKind{rec.Chain, f.Reason})
	if !ok && !l.all {
		return
	}
	level := slog.LevelWarn
	if f.Reason == fault.InternalFault {
		level = slog.LevelError
	}
	l.logger.LogAttrs(context.Background(), level, "call failed",
		append(attributes(rec, f), slog.Int("left_out", leftOut))...)
}

func attributes(rec *usagedb.Call, f *fault.Error) []slog.Attr {
	list := []slog.Attr{
		slog.String("request_id", rec.RequestID.String()), slog.Int("index", rec.Index),
		slog.String("chain", string(rec.Chain)), slog.String("method", rec.Method), slog.String("outcome", rec.Outcome),
		slog.Int("status", rec.HTTPStatus), slog.String("upstream", rec.Upstream), slog.Int("attempts", rec.Attempts),
		slog.Duration("took", rec.Duration), slog.Int64("bytes", rec.ResponseBytes),
	}
	if f != nil && f.Cause != nil {
		list = append(list, slog.Any("cause", f.Cause))
	}
	return list
}

package wire

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/meter"
)

// Intervals between checks of Redis: normally, and while it may evict usage, when nothing is
// admitted; and their timeout.
const (
	healthInterval = time.Minute
	mendedInterval = 5 * time.Second
	healthTimeout  = 10 * time.Second
)

// redisHealth watches whether the meter's Redis is configured to keep its data.
type redisHealth struct {
	meter  *meter.Meter
	log    *slog.Logger
	last   atomic.Pointer[meter.Health] // nil while Redis cannot be checked
	logged meter.Health                 // last state that was logged
	every  time.Duration

	usage   bool // whether to count unflushed usage, too
	waiting atomic.Pointer[meter.Unflushed]
}

// watchRedis registers the health of Redis as metrics; with usage, also the unflushed usage.
func watchRedis(m *meter.Meter, metrics *telemetry.Metrics, log *slog.Logger, usage bool) *redisHealth {
	w := &redisHealth{meter: m, log: log, usage: usage, every: healthInterval, logged: meter.Health{AppendOnly: true}}
	gauge := func(name, help string, value func(*meter.Health) float64) {
		metrics.Gauge(name, help, func() float64 {
			if h := w.last.Load(); h != nil {
				return value(h)
			}
			return math.NaN()
		})
	}
	gauge("gateway_redis_evicts",
		"Whether the meter's Redis may delete usage, by its maxmemory-policy. Nothing is admitted then.",
		func(h *meter.Health) float64 { return oneIf(h.Evicts()) })
	gauge("gateway_redis_policy_unknown", "Whether a server of the meter's Redis does not say its maxmemory-policy.",
		func(h *meter.Health) float64 { return oneIf(h.Unknown) })
	gauge("gateway_redis_append_only", "Whether every server of the meter's Redis logs its writes to a file.",
		func(h *meter.Health) float64 { return oneIf(h.AppendOnly) })
	gauge("gateway_redis_write_failed", "Whether the meter's Redis failed to write to its disk the last time.",
		func(h *meter.Health) float64 { return oneIf(h.Failed != "") })
	gauge("gateway_redis_memory_used_bytes", "Memory that the fullest server of the meter's Redis uses.",
		func(h *meter.Health) float64 { return float64(h.Used) })
	gauge("gateway_redis_memory_limit_bytes", "Memory that this server may use; 0 for no limit.",
		func(h *meter.Health) float64 { return float64(h.Limit) })
	if usage {
		w.serveUsage(metrics)
	}
	return w
}

func (w *redisHealth) serveUsage(metrics *telemetry.Metrics) {
	gauge := func(name, help string, value func(*meter.Unflushed) float64) {
		metrics.Gauge(name, help, func() float64 {
			if u := w.waiting.Load(); u != nil {
				return value(u)
			}
			return math.NaN()
		})
	}
	gauge("gateway_usage_unflushed_buckets", "Buckets of usage in Redis that are not in PostgreSQL.",
		func(u *meter.Unflushed) float64 { return float64(u.Buckets) })
	gauge("gateway_usage_unflushed_bytes", "Memory of Redis that they take, estimated from some of them.",
		func(u *meter.Unflushed) float64 { return float64(u.Bytes) })
	gauge("gateway_usage_unflushed_oldest_seconds", "Since when the oldest of them was open, by Redis' clock.",
		func(u *meter.Unflushed) float64 { return u.Oldest.Seconds() })
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// refuse checks Redis before calls are accepted and returns an error if it may evict usage.
func (w *redisHealth) refuse(ctx context.Context) error {
	w.look(ctx)
	if h := w.last.Load(); h != nil && h.Evicts() {
		return fmt.Errorf(
			"REDIS_URL: Redis has maxmemory-policy %s, by which it deletes usage that is not billed yet; set it to "+
				"noeviction (CONFIG SET maxmemory-policy noeviction, and in its configuration), or give the gateway "+
				"a Redis of its own", h.Policy)
	}
	return nil
}

// run checks Redis periodically until ctx ends.
func (w *redisHealth) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		w.look(ctx)
		wait := w.every
		if h := w.last.Load(); h != nil && h.Evicts() {
			wait = min(wait, mendedInterval)
		}
		timer.Reset(wait)
	}
}

func (w *redisHealth) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	h, err := w.meter.CheckHealth(ctx)
	if err != nil {
		w.last.Store(nil)
		w.log.Warn("Redis health check failed; will retry in a minute", "error", err)
	} else {
		w.last.Store(&h)
		w.tell(&h)
	}
	if !w.usage {
		return
	}
	w.waiting.Store(nil)
	if u, err := w.meter.Unflushed(ctx); err == nil {
		w.waiting.Store(&u)
	}
}

// tell logs changes of the health.
func (w *redisHealth) tell(h *meter.Health) {
	if h.Evicts() && h.Policy != w.logged.Policy {
		w.log.Error("Redis may delete usage, so nothing is admitted: set maxmemory-policy to noeviction", "policy",
			h.Policy)
	} else if !h.Evicts() && w.logged.Evicts() {
		w.log.Info("Redis no longer deletes data; calls are admitted again", "policy", h.Policy)
	}
	if h.Unknown && !w.logged.Unknown {
		w.log.Error(
			"Redis does not report its maxmemory-policy, so nobody would notice if it deleted usage: set it to " +
				"noeviction, and allow INFO to the user of REDIS_URL (ACL SETUSER NAME +info)")
	}
	if w.logged.AppendOnly && !h.AppendOnly && h.Policy != "" {
		w.log.Warn("Redis has no append-only file: if it stops, up to 20 seconds of usage are lost; set appendonly yes")
	}
	if h.Failed != "" && h.Failed != w.logged.Failed {
		w.log.Error("Redis cannot write to its disk: check its log and the free space", "failed", h.Failed)
	}
	w.logged = *h
}

package meter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrEvicts is returned while a Redis may delete usage: its maxmemory-policy evicts keys when it is
// full.
var ErrEvicts = errors.New("maxmemory-policy of Redis is not noeviction, so it may delete usage that is not billed yet")

// Health is what a Redis reports about itself; for a cluster, the worst of its masters. What a
// server does not report is zero.
type Health struct {
	Policy     string // maxmemory-policy, one other than noeviction if any master has one; empty when none reports it
	Unknown    bool   // a server does not report its policy, so nobody would notice that it deletes usage
	AppendOnly bool   // every write is logged to a file
	Failed     string // the INFO field of the last failed write to disk; empty for none
	Used       int64  // bytes, of the server with the largest share used
	Limit      int64  // bytes, of that server, from maxmemory; 0 for none
}

// noEviction is the policy under which a full Redis refuses writes.
const noEviction = "noeviction"

// Evicts reports whether Redis may delete usage.
func (h *Health) Evicts() bool { return h.Policy != "" && h.Policy != noEviction }

// CheckHealth checks every Redis. While one of them may delete usage, Admit and Ping return
// ErrEvicts, until a check of all of them finds it fixed. It returns an error when none could be
// checked; the previous state then stays.
func (m *Meter) CheckHealth(ctx context.Context) (Health, error) {
	type answer struct {
		health Health
		err    error
	}
	answers := make(chan answer, 1)
	n, err := m.eachMaster(ctx, func(r redis.Cmdable) {
		h, err := healthOf(ctx, r)
		answers <- answer{h, err}
	})
	worst, seen := Health{AppendOnly: true}, 0
	for range n {
		a := <-answers
		if a.err != nil {
			err = a.err
			continue
		}
		seen++
		worst.merge(&a.health)
	}
	if seen == 0 {
		return Health{}, fmt.Errorf("look at Redis: %w", err)
	}
	switch found := m.evicts.Load(); {
	case worst.Evicts():
		m.evicts.Store(&worst.Policy)
	case found != nil && (seen < n || worst.Unknown): // the one that evicts may be the one that did not answer
		worst.Policy = *found
	default:
		m.evicts.Store(nil)
	}
	return worst, nil
}

func (h *Health) merge(o *Health) {
	if !h.Evicts() && o.Policy != "" {
		h.Policy = o.Policy
	}
	h.Unknown = h.Unknown || o.Unknown
	h.AppendOnly = h.AppendOnly && o.AppendOnly
	if h.Failed == "" {
		h.Failed = o.Failed
	}
	if h.fullness() <= o.fullness() {
		h.Used, h.Limit = o.Used, o.Limit
	}
}

// fullness is the share of its memory that a server has used; 0 without a limit.
func (h *Health) fullness() float64 {
	if h.Limit == 0 {
		return 0
	}
	return float64(h.Used) / float64(h.Limit)
}

// healthOf reads INFO, which managed servers allow where they forbid CONFIG.
func healthOf(ctx context.Context, r redis.Cmdable) (Health, error) {
	fields, embedded := map[string]string{}, false
	for _, section := range []string{"memory", "persistence"} { // servers before version 7 take one at a time
		text, err := r.Info(ctx, section).Result()
		if refused, answered := errors.AsType[redis.Error](err); answered {
			// The embedded server of development has no such section; others may forbid INFO.
			embedded = embedded || strings.Contains(refused.Error(), "is not supported")
			continue
		}
		if err != nil {
			return Health{}, err
		}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				fields[name] = value
			}
		}
	}
	h := Health{Policy: fields["maxmemory_policy"], AppendOnly: fields["aof_enabled"] == "1"}
	h.Unknown = h.Policy == "" && !embedded
	h.Used, _ = strconv.ParseInt(fields["used_memory"], 10, 64) // 0 when it does not say
	h.Limit, _ = strconv.ParseInt(fields["maxmemory"], 10, 64)
	for _, name := range []string{"aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status"} {
		if status := fields[name]; status != "" && status != "ok" {
			h.Failed = name
			break
		}
	}
	return h, nil
}

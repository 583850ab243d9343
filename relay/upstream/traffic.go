package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/latency"
)

// slotMinutes is the length of a slot; the current one and the one before it are kept.
const (
	slotMinutes = healthMinutes
	keptMinutes = 2 * slotMinutes
	SlotLength  = slotMinutes * time.Minute
)

// Slot is what processes observed of a chain's calls in five minutes of the clock. Slots of several
// processes can be added; a process replaces its own.
type Slot struct {
	Start time.Time `json:"start"`
	// Calls counts reads and submissions, without those whose client went away. Rerouted were
	// answered by another upstream after one returned no usable answer, Lost by none.
	Calls    int64 `json:"calls"`
	Rerouted int64 `json:"rerouted"`
	Lost     int64 `json:"lost"`
	// Attempts counts the calls' attempts, and Failed those that failed or were throttled.
	Attempts int64 `json:"attempts"`
	Failed   int64 `json:"failed"`
	// Latencies counts the response times of reads by bucket of account.Latency; empty buckets are
	// omitted. The upstreams' histograms have other bounds, so a duration may be one bucket off.
	Latencies map[int]int64 `json:"latencies"`
}

// traffic is what a process observed of a chain's calls, apart from the upstreams' health. It
// records only calls with more or less than one attempt, and calls without an answer; all others
// are counted by their attempts.
type traffic struct {
	mu      sync.Mutex // guards minutes
	minutes [keptMinutes]trafficMinute
}

type trafficMinute struct {
	index                          int64
	again, unasked, rerouted, lost int64
}

// note records a finished call, as traffic.note does. Calls to special upstreams say nothing about
// the chain.
func (c *Chain) note(attempts int, rerouted, lost bool) {
	if c.kind == node {
		c.traffic.note(c.now(), attempts, rerouted, lost)
	}
}

// note records a finished call. A call whose client went away adds nothing to Slot.Calls, because
// its last attempt is not observed.
func (t *traffic) note(now time.Time, attempts int, rerouted, lost bool) {
	index := now.Unix() / 60
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &t.minutes[index%keptMinutes]
	if m.index != index {
		*m = trafficMinute{index: index}
	}
	if attempts == 0 {
		m.unasked++
	} else {
		m.again += int64(attempts - 1)
	}
	if rerouted {
		m.rerouted++
	}
	if lost {
		m.lost++
	}
}

// isLost reports whether a call got no answer through no fault of its own.
func isLost(ctx context.Context, f *fault.Error) bool {
	if f == nil || errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	switch f.Reason {
	case fault.NoUpstream, fault.UpstreamFailed, fault.UpstreamTimeout, fault.OutcomeUnknown:
		return true
	default: // the request itself cannot be answered
		return false
	}
}

// Slots returns what this process observed of the chain's calls in the previous and the current
// slot.
func (c *Chain) Slots() []Slot {
	running := c.now().Truncate(SlotLength)
	return []Slot{c.slot(running.Add(-SlotLength)), c.slot(running)}
}

func (c *Chain) slot(start time.Time) Slot {
	s := Slot{Start: start.UTC(), Latencies: map[int]int64{}}
	first := start.Unix() / 60
	for _, e := range c.endpoints {
		e.health.addTo(&s, first)
	}
	t := &c.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Calls = s.Attempts
	for i := range t.minutes {
		if m := &t.minutes[i]; m.index >= first && m.index < first+slotMinutes {
			s.Calls += m.unasked - m.again
			s.Rerouted += m.rerouted
			s.Lost += m.lost
		}
	}
	s.Calls = max(s.Calls, s.Rerouted+s.Lost, 0) // a call's attempts may be in the slot before
	return s
}

// addTo adds what was observed of an upstream in the minutes of a slot.
func (h *health) addTo(s *Slot, first int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.minutes {
		m := &h.minutes[i]
		if m.index < first || m.index >= first+slotMinutes {
			continue
		}
		failed := m.failed + m.throttled + m.forgivenFailed
		// a stream that broke off may have begun in the minute before
		s.Attempts += max(m.calls+m.forgivenCalls, failed)
		s.Failed += failed
		for class := range m.latencies {
			for bucket, n := range m.latencies[class].Buckets() {
				s.Latencies[account.LatencyBucketOf(latency.BucketMiddle(bucket))] += int64(n)
			}
		}
	}
}

func (s *Slot) add(other *Slot) {
	s.Calls += other.Calls
	s.Rerouted += other.Rerouted
	s.Lost += other.Lost
	s.Attempts += other.Attempts
	s.Failed += other.Failed
	for bucket, n := range other.Latencies {
		s.Latencies[bucket] += n
	}
}

// mergeSlots adds up what processes reported, by slot, the newest last.
func mergeSlots(reported [][]Slot) []Slot {
	by := map[time.Time]*Slot{}
	for _, slots := range reported {
		for i := range slots {
			start := slots[i].Start.UTC()
			if by[start] == nil {
				by[start] = &Slot{Start: start, Latencies: map[int]int64{}}
			}
			by[start].add(&slots[i])
		}
	}
	all := make([]Slot, 0, len(by))
	for _, s := range by {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Slot) int { return cmp.Compare(a.Start.Unix(), b.Start.Unix()) })
	return all
}

// slotsLast is how long slots stay on the board. A process that ended during a slot is counted in
// it until the slot is over and recorded.
const slotsLast = 2*SlotLength + time.Minute

func slotsKey(id chain.ID, process string) string { return boardKey(id) + ":slots:" + process }

// putSlots publishes this process's slots of a chain on the board.
func putSlots(ctx context.Context, pipe redis.Pipeliner, c *Chain, process string) error {
	raw, err := json.Marshal(c.Slots())
	if err != nil {
		return err
	}
	pipe.Set(ctx, slotsKey(c.ID, process), raw, slotsLast)
	return nil
}

// ReadSlots returns the sum of what all API processes observed of the calls of these chains, for
// the slots that they still report, the newest last.
func (b *Board) ReadSlots(ctx context.Context, ids ...chain.ID) (map[chain.ID][]Slot, error) {
	processes, err := b.rdb.ZRange(ctx, processesKey, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read slots: %w", err)
	}
	all := make(map[chain.ID][]Slot, len(ids))
	if len(processes) == 0 {
		return all, nil
	}
	for _, id := range ids {
		keys := make([]string, len(processes))
		for i, p := range processes {
			keys[i] = slotsKey(id, p)
		}
		values, err := b.rdb.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, fmt.Errorf("read slots of %s: %w", id, err)
		}
		var reported [][]Slot
		for _, v := range values {
			raw, ok := v.(string)
			if !ok {
				continue
			}
			var slots []Slot
			if err := json.Unmarshal([]byte(raw), &slots); err != nil {
				return nil, fmt.Errorf("read slots of %s: a process reported what is no JSON: %w", id, err)
			}
			reported = append(reported, slots)
		}
		all[id] = mergeSlots(reported)
	}
	return all, nil
}

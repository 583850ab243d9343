package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/latency"
)

// Figures is what processes observed of an upstream's calls in the last five minutes. Figures of
// several processes can be added.
type Figures struct {
	Upstream    string `json:"upstream"`
	Fingerprint string `json:"fingerprint"`
	Calls       int64  `json:"calls"`
	Failed      int64  `json:"failed"`
	Throttled   int64  `json:"throttled"`
	// Compared counts results of verified and copied reads in the last ten minutes, Disagreed those
	// that contradicted most upstreams, or the answer that the client got.
	Compared  int64 `json:"compared,omitempty"`
	Disagreed int64 `json:"disagreed,omitempty"`
	// Out is how many of Processes exclude the upstream at the moment.
	Out       int `json:"out"`
	Processes int `json:"processes"`
	// Latencies counts answers by histogram bucket, first those to standard reads, then those to
	// heavy ones. Empty buckets are omitted.
	Latencies [readClasses]map[int]uint32 `json:"latencies"`
}

// Figures returns what this process observed of the chain's upstreams.
func (c *Chain) Figures() []Figures {
	all := make([]Figures, 0, len(c.endpoints))
	for e := range c.all() {
		f := e.health.figures(c.now())
		f.Upstream, f.Fingerprint, f.Processes = e.Name, e.fingerprint, 1
		all = append(all, f)
	}
	return all
}

func (h *health) figures(now time.Time) Figures {
	h.mu.Lock()
	defer h.mu.Unlock()
	var f Figures
	f.Calls, f.Failed, f.Throttled = h.counts(now)
	f.Compared, f.Disagreed = h.comparisons(now)
	if h.out {
		f.Out = 1
	}
	index := now.Unix() / 60
	for class := range f.Latencies {
		var all latency.Histogram
		for i := range h.minutes {
			if m := &h.minutes[i]; index-m.index < healthMinutes {
				all.Merge(&m.latencies[class])
			}
		}
		f.Latencies[class] = maps.Collect(all.Buckets())
	}
	return f
}

func (f *Figures) add(other Figures) {
	f.Upstream, f.Fingerprint = other.Upstream, other.Fingerprint
	f.Calls += other.Calls
	f.Failed += other.Failed
	f.Throttled += other.Throttled
	f.Compared += other.Compared
	f.Disagreed += other.Disagreed
	f.Out += other.Out
	f.Processes += other.Processes
	for class, counts := range other.Latencies {
		if f.Latencies[class] == nil {
			f.Latencies[class] = make(map[int]uint32, len(counts))
		}
		for bucket, n := range counts {
			f.Latencies[class][bucket] += n
		}
	}
}

// quantiles returns the quantiles of the answers to these classes of reads.
func (f *Figures) quantiles(classes ...int) latency.Quantiles {
	var all latency.Histogram
	for _, class := range classes {
		for bucket, n := range f.Latencies[class] {
			all.AddBucket(bucket, n)
		}
	}
	return all.Quantiles()
}

// Figures expire after figuresLast, so that an ended process is soon forgotten. At most
// maxProcesses are tracked.
const (
	figuresEvery = 5 * time.Second
	figuresLast  = 4 * figuresEvery
	maxProcesses = 1000
	processesKey = "{board}:processes"
)

func figuresKey(id chain.ID, process string) string { return boardKey(id) + ":figures:" + process }

// ReportFigures publishes the pool's figures, and its upstreams' unknown errors and learned limits,
// on the board every few seconds until ctx ends. process is a unique name of this process.
func (b *Board) ReportFigures(ctx context.Context, p *Pool, process string, log *slog.Logger) {
	tick := time.NewTicker(figuresEvery)
	defer tick.Stop()
	for {
		err := errors.Join(b.putFigures(ctx, p, process), b.putAllUnknown(ctx, p), b.shareLogLimits(ctx, p))
		if err != nil && ctx.Err() == nil {
			log.Debug("figures not reported", "error", err) // Watch reports an unreachable board
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *Board) putFigures(ctx context.Context, p *Pool, process string) error {
	now := p.now()
	_, err := b.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, id := range p.Chains() {
			c, ok := p.Chain(id)
			if !ok {
				continue
			}
			raw, err := json.Marshal(c.Figures())
			if err != nil {
				return err
			}
			pipe.Set(ctx, figuresKey(id, process), raw, figuresLast)
			if err := putSlots(ctx, pipe, c, process); err != nil {
				return err
			}
		}
		pipe.ZAdd(ctx, processesKey, redis.Z{Score: float64(now.Unix()), Member: process})
		pipe.ZRemRangeByScore(ctx, processesKey, "-inf", strconv.FormatInt(now.Add(-time.Hour).Unix(), 10))
		pipe.ZRemRangeByRank(ctx, processesKey, 0, -maxProcesses-1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("report figures: %w", err)
	}
	return nil
}

// ReadFigures returns the sum of what all API processes observed of the upstreams of these chains.
func (b *Board) ReadFigures(ctx context.Context, ids ...chain.ID) (map[chain.ID][]Figures, error) {
	processes, err := b.rdb.ZRange(ctx, processesKey, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	all := make(map[chain.ID][]Figures, len(ids))
	for _, id := range ids {
		if len(processes) == 0 {
			break
		}
		keys := make([]string, len(processes))
		for i, p := range processes {
			keys[i] = figuresKey(id, p)
		}
		values, err := b.rdb.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, fmt.Errorf("read figures of %s: %w", id, err)
		}
		if all[id], err = mergeFigures(values); err != nil {
			return nil, fmt.Errorf("read figures of %s: %w", id, err)
		}
	}
	return all, nil
}

// mergeFigures adds up what processes reported. A value is nil if the process's figures have
// expired.
func mergeFigures(values []any) ([]Figures, error) {
	type upstream struct{ name, fingerprint string }
	places := make(map[upstream]int)
	var merged []Figures
	for _, v := range values {
		raw, ok := v.(string)
		if !ok {
			continue
		}
		var reported []Figures
		if json.Unmarshal([]byte(raw), &reported) != nil {
			return nil, errors.New("a process reported what is no JSON")
		}
		for _, f := range reported {
			of := upstream{f.Upstream, f.Fingerprint}
			place, ok := places[of]
			if !ok {
				place = len(merged)
				places[of] = place
				merged = append(merged, Figures{})
			}
			merged[place].add(f)
		}
	}
	return merged, nil
}

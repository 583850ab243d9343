package upstream

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/ratelimit"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// Board holds snapshots of probes, cordons of operators and figures of API processes, for every
// process to read. It is in the same Redis as the meter.
type Board struct{ rdb redis.UniversalClient }

//go:embed publish.lua
var publishSource string

var publishScript = redis.NewScript(publishSource)

// NewBoard returns a board on rdb, which the caller closes.
func NewBoard(rdb redis.UniversalClient) *Board { return &Board{rdb: rdb} }

func boardKey(id chain.ID) string      { return "{board}:" + string(id) }
func generationKey(id chain.ID) string { return boardKey(id) + ":generation" }
func cordonKey(id chain.ID) string     { return boardKey(id) + ":cordoned" }

// rateKey is the key of an upstream's rate. Two accounts at one address have a rate each.
func rateKey(id chain.ID, e *Endpoint) string {
	return boardKey(id) + ":rate:" + e.fingerprint + ":" + e.Name
}

// toldKey is the key of what clients were told about a chain. A chain id that the operator changes
// is another chain, whose heads have nothing to do with those of before.
func toldKey(c *chain.Chain) string { return fmt.Sprintf("%s:told:%d", boardKey(c.ID), c.ChainID) }

// Posted is what the board holds about one chain.
type Posted struct {
	// Snapshot is the newest one; unless Known, only its Generation is valid.
	Snapshot Snapshot
	Known    bool
	// Cordons are the upstreams that operators took out of rotation, by name.
	Cordons map[string]Cordon
	// LogLimits are learned limits of eth_getLogs, by the upstream's fingerprint.
	LogLimits map[string]LogLimit
}

// Publish replaces the chain's snapshot on the board.
func (b *Board) Publish(ctx context.Context, s Snapshot) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("publish the probes of %s: %w", s.Chain, err)
	}
	err = publishScript.Run(ctx, b.rdb, []string{boardKey(s.Chain), generationKey(s.Chain)}, raw, s.Generation).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("publish the probes of %s: %w", s.Chain, err)
	}
	return nil
}

// Forget deletes the snapshots of chains and raises their generations, so that no earlier verdict
// is used and no earlier cached answer is served. It keeps the cordons.
func (b *Board) Forget(ctx context.Context, chains ...*chain.Chain) error {
	_, err := b.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, c := range chains {
			p.Del(ctx, boardKey(c.ID), toldKey(c))
			p.Incr(ctx, generationKey(c.ID))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget the probes: %w", err)
	}
	return nil
}

// Read returns what the board holds about one chain.
func (b *Board) Read(ctx context.Context, id chain.ID) (Posted, error) {
	all, err := b.ReadAll(ctx, id)
	return all[id], err
}

// ReadAll returns what the board holds about these chains, in one round trip. The error names each
// chain that could not be read completely. Such a chain is left out, unless its cordons could be
// read: then it has only those.
func (b *Board) ReadAll(ctx context.Context, ids ...chain.ID) (map[chain.ID]Posted, error) {
	type reads struct {
		snapshot, generation *redis.StringCmd
		cordons, logLimits   *redis.MapStringStringCmd
	}
	asked := make([]reads, len(ids))
	_, err := b.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			asked[i] = reads{
				p.Get(ctx, boardKey(id)), p.Get(ctx, generationKey(id)), p.HGetAll(ctx, cordonKey(id)),
				p.HGetAll(ctx, logLimitKey(id)),
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read the board: %w", err)
	}
	all := make(map[chain.ID]Posted, len(ids))
	var faults []error
	for i, id := range ids {
		posted, err := decodePosted(asked[i].snapshot, asked[i].generation, asked[i].cordons)
		if err != nil {
			faults = append(faults, fmt.Errorf("read the board of %s: %w", id, err))
			if posted.Cordons == nil {
				continue
			}
		}
		posted.LogLimits = decodeLogLimits(asked[i].logLimits.Val())
		all[id] = posted
	}
	return all, errors.Join(faults...)
}

func decodePosted(snapshot, generation *redis.StringCmd, cordons *redis.MapStringStringCmd) (Posted, error) {
	named, err := cordons.Result()
	if err != nil {
		return Posted{}, err
	}
	alone := Posted{Cordons: decodeCordons(named)} // a cordon holds even if nothing else can be read
	posted := alone
	raw, err := snapshot.Bytes()
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return alone, err
	default:
		if err := json.Unmarshal(raw, &posted.Snapshot); err != nil {
			return alone, err
		}
		posted.Known = true
	}
	text, err := generation.Result()
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return alone, err
	default:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return alone, errors.New("the generation is not a number")
		}
		posted.Snapshot.Generation = max(posted.Snapshot.Generation, n)
	}
	return posted, nil
}

// Watch applies the board to the pool until ctx ends. While the board cannot be read the last
// verdicts stay in force, so that an outage of the board does not stop the relay.
func (b *Board) Watch(ctx context.Context, p *Pool, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	readable := true
	for {
		all, err := b.ReadAll(ctx, p.Chains()...)
		if (err == nil) != readable && ctx.Err() == nil {
			readable = err == nil
			if readable {
				log.Info("board readable again")
			} else {
				log.Warn("board not readable, keeping the last verdicts", "error", err)
			}
		}
		for id, posted := range all {
			c, ok := p.Chain(id)
			if !ok {
				continue // a reload removed it in the meantime
			}
			before := c.Generation()
			c.follow(posted)
			if now := c.Generation(); before != 0 && now > before {
				log.Warn("reorg deeper than finality: answers cached before are no longer served",
					"chain", id, "generation", now)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func budgetKey(id chain.ID, name string) string { return boardKey(id) + ":budget:" + name }

// ShareRates makes the rates and budgets of upstreams those of all processes. share keeps them so
// until its context ends. process is a unique name of this process.
func (b *Board) ShareRates(p *Pool, process string, log *slog.Logger) (share func(ctx context.Context)) {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	sharer := ratelimit.NewSharer(ratelimit.Redis(b.rdb), ratelimit.RedisBooks(b.rdb), process, p.now, log)
	p.rates = sharer
	p.instrument(p.set.Load())
	return func(ctx context.Context) { sharer.Run(ctx, p.limits) }
}

// RecoverBudgets has Redis take over what was spent of budgets that it does not know, for example
// because it lost its data. sum returns what requests to an upstream cost since a day, in the
// provider's units.
func (p *Pool) RecoverBudgets(ctx context.Context,
	sum func(ctx context.Context, chain, upstream string, since time.Time) (int64, error),
) error {
	var failed error
	for id, c := range p.set.Load().chains {
		for e := range c.all() {
			since, lost := e.limits.Lost(p.now())
			if !lost {
				continue
			}
			units, err := sum(ctx, string(id), e.Name, since)
			if err != nil {
				failed = err
				continue
			}
			e.limits.Recover(units)
		}
	}
	return failed
}

// limits returns those of every upstream that may get calls.
func (p *Pool) limits() (all []*ratelimit.Limits) {
	for _, c := range p.set.Load().chains {
		for e := range c.all() {
			all = append(all, e.limits)
		}
		for _, e := range c.leavingEndpoints() {
			all = append(all, e.limits)
		}
	}
	return all
}

// Cordon is an operator's order not to use an upstream, not even as a last resort, until it is
// removed. Probes of it continue, but do not count towards the head.
type Cordon struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Cordon takes an upstream out of rotation in every process, within a second. It survives probes
// and restarts.
func (b *Board) Cordon(ctx context.Context, id chain.ID, name string, c Cordon) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("cordon %s of %s: %w", name, id, err)
	}
	if err := b.rdb.HSet(ctx, cordonKey(id), name, raw).Err(); err != nil {
		return fmt.Errorf("cordon %s of %s: %w", name, id, err)
	}
	return nil
}

// Uncordon removes a cordon; false if there was none.
func (b *Board) Uncordon(ctx context.Context, id chain.ID, name string) (bool, error) {
	n, err := b.rdb.HDel(ctx, cordonKey(id), name).Result()
	if err != nil {
		return false, fmt.Errorf("uncordon %s of %s: %w", name, id, err)
	}
	return n > 0, nil
}

// decodeCordons keeps an upstream cordoned even if its record cannot be decoded.
func decodeCordons(named map[string]string) map[string]Cordon {
	cordons := make(map[string]Cordon, len(named))
	for name, raw := range named {
		var c Cordon
		if json.Unmarshal([]byte(raw), &c) != nil {
			c = Cordon{}
		}
		cordons[name] = c
	}
	return cordons
}

// UnknownError is an error of an upstream that no rule knows.
type UnknownError = rules.UnknownError

// The board keeps unknown errors of a chain for a week after the last, at most maxReported kinds.
// One hash has the first error of each kind, the others its count and its time.
const (
	unknownLast = 7 * 24 * time.Hour
	maxReported = 200
)

func unknownKey(id chain.ID) string      { return boardKey(id) + ":unknown" }
func unknownCountKey(id chain.ID) string { return unknownKey(id) + ":count" }
func unknownTimeKey(id chain.ID) string  { return unknownKey(id) + ":last" }

// field returns the name of an error's kind at an upstream.
func field(upstream string, kind rules.ErrorKind) string {
	return upstream + " " + strconv.Itoa(kind.Code) + " " + kind.Shape
}

// putAllUnknown adds what this process counted to the board. What cannot be written is left for the
// next report.
func (b *Board) putAllUnknown(ctx context.Context, p *Pool) error {
	var failed error
	for id, c := range p.set.Load().chains {
		for e := range c.all() {
			taken := e.unknown.Take()
			if len(taken) == 0 {
				continue
			}
			if err := b.putUnknown(ctx, id, e.Name, taken); err != nil {
				e.unknown.Restore(taken)
				failed = err
			}
		}
	}
	return failed
}

func (b *Board) putUnknown(ctx context.Context, id chain.ID, upstream string,
	taken map[rules.ErrorKind]*rules.UnknownError,
) error {
	known, err := b.rdb.HKeys(ctx, unknownKey(id)).Result()
	if err != nil {
		return fmt.Errorf("report unknown errors: %w", err)
	}
	room := maxReported - len(known)
	_, err = b.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for kind, t := range taken {
			field := field(upstream, kind)
			if !slices.Contains(known, field) {
				if room--; room < 0 {
					continue
				}
			}
			first := *t
			first.Upstream, first.Count, first.Last = upstream, 0, time.Time{}
			raw, err := json.Marshal(first)
			if err != nil {
				return err
			}
			pipe.HSetNX(ctx, unknownKey(id), field, raw)
			pipe.HIncrBy(ctx, unknownCountKey(id), field, t.Count)
			pipe.HSet(ctx, unknownTimeKey(id), field, t.Last.Format(time.RFC3339))
		}
		for _, key := range []string{unknownKey(id), unknownCountKey(id), unknownTimeKey(id)} {
			pipe.Expire(ctx, key, unknownLast)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("report unknown errors: %w", err)
	}
	return nil
}

// UnknownErrors returns the errors of a chain's upstreams that no rule knows, as all processes
// counted them in the last days, the most frequent first.
func (b *Board) UnknownErrors(ctx context.Context, id chain.ID) ([]UnknownError, error) {
	var firsts, counts, times *redis.MapStringStringCmd
	_, err := b.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		firsts, counts, times = pipe.HGetAll(ctx, unknownKey(id)), pipe.HGetAll(ctx, unknownCountKey(id)),
			pipe.HGetAll(ctx, unknownTimeKey(id))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read unknown errors of %s: %w", id, err)
	}
	all := make([]UnknownError, 0, len(firsts.Val()))
	for field, raw := range firsts.Val() {
		var u UnknownError
		if err := json.Unmarshal([]byte(raw), &u); err != nil {
			return nil, fmt.Errorf("read unknown errors of %s: %w", id, err)
		}
		u.Count, _ = strconv.ParseInt(counts.Val()[field], 10, 64)
		u.Last, _ = time.Parse(time.RFC3339, times.Val()[field])
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b UnknownError) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Upstream, b.Upstream),
			cmp.Compare(a.Message, b.Message))
	})
	return all, nil
}

// ForgetUnknownErrors deletes what is recorded of a chain, for example after rules were added.
func (b *Board) ForgetUnknownErrors(ctx context.Context, id chain.ID) error {
	if err := b.rdb.Del(ctx, unknownKey(id), unknownCountKey(id), unknownTimeKey(id)).Err(); err != nil {
		return fmt.Errorf("forget unknown errors of %s: %w", id, err)
	}
	return nil
}

package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// blame is what an answer counts as in the upstream's health.
type blame uint8

const (
	blameNobody blame = iota
	blameThrottle
	blameFailure
)

// verdict answers three questions: whether to try another upstream, whether to blame this one, and
// (passOn) whether the client may see its error if no other upstream does better.
type verdict struct {
	meaning rules.Meaning
	another bool
	blame   blame
	passOn  bool
}

var verdicts = [...]verdict{
	rules.Answer:      {rules.Answer, false, blameNobody, true},
	rules.Range:       {rules.Range, true, blameNobody, false},
	rules.Plan:        {rules.Plan, true, blameNobody, false},
	rules.Billing:     {rules.Billing, true, blameFailure, false},
	rules.Throttled:   {rules.Throttled, true, blameThrottle, false},
	rules.MissingData: {rules.MissingData, true, blameNobody, true},
	rules.ExecTimeout: {rules.ExecTimeout, true, blameNobody, true},
	rules.Absent:      {rules.Absent, true, blameNobody, false},
	rules.Unsupported: {rules.Unsupported, true, blameNobody, true},
	rules.Denied:      {rules.Denied, true, blameFailure, false},
	rules.NodeFailure: {rules.NodeFailure, true, blameNobody, false},
	rules.Unknown:     {rules.Unknown, true, blameNobody, true},
	rules.NullID:      {rules.NullID, true, blameNobody, false},
	rules.Broken:      {rules.Broken, true, blameFailure, false},
	rules.Unreachable: {rules.Unreachable, true, blameFailure, false},
}

// tooLarge is the verdict on an answer that announces a length above our own limit, of which
// nothing was read. Another upstream is asked, because the length may be wrong.
var tooLarge = verdicts[rules.Range]

// judge returns the verdict on an answer that is no result. object is the error of its body, if
// that has one. byStatus is set when the HTTP status decided.
func (e *Endpoint) judge(status int, object, asked []byte) (v verdict, byStatus bool) {
	found := e.errors.Load().Judge(&rules.Error{
		Family: e.family, Status: status, Method: transport.MethodOf(asked), Asked: asked, Object: object,
	})
	return verdicts[found.Meaning], found.ByStatus
}

// refuses reports whether an HTTP status alone makes an answer no result.
func (e *Endpoint) refuses(status int) (verdict, bool) {
	meaning, refused := e.errors.Load().Refuses(e.family, status)
	return verdicts[meaning], refused
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

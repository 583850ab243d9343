package upstream

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
)

// noLogLimit is the limit of an upstream that takes any range of blocks, as far as is known.
const noLogLimit = math.MaxUint64

// How long a learned limit holds. Then one call tries the whole range again, because a plan with a
// provider may have changed. A guess holds for less, and so does a limit below minGuess, which no
// guess is: a refusal in words that are misread must not make every call a hundred.
const (
	statedFor  = time.Hour
	guessedFor = 10 * time.Minute
	minGuess   = 10
)

// LogLimit is a limit that an upstream's refusals showed: the most blocks that it takes in one
// eth_getLogs.
type LogLimit struct {
	Blocks uint64
	Until  time.Time
}

// logLimit is what is known of an upstream's limit. A lower limit replaces a higher one at once;
// the other way only when it has expired. So processes that learn at the same time agree on the
// lowest, in whatever order they hear of each other.
type logLimit struct {
	declared uint64 // in the upstreams file; 0 for none
	learned  atomic.Pointer[LogLimit]
	unshared atomic.Bool // learned by this process and not on the board yet
}

// blocks returns the limit now, noLogLimit for none.
func (l *logLimit) blocks(now time.Time) uint64 {
	limit := uint64(noLogLimit)
	if l.declared > 0 {
		limit = l.declared
	}
	if learned := l.learned.Load(); learned != nil && now.Before(learned.Until) {
		limit = min(limit, learned.Blocks)
	}
	return limit
}

// learn takes over a limit, and reports whether it is lower than what was known. It holds for
// statedFor at most, whatever clock set its end.
func (l *logLimit) learn(now time.Time, news LogLimit) bool {
	if end := now.Add(statedFor); news.Until.After(end) {
		news.Until = end
	}
	if news.Blocks == 0 || !now.Before(news.Until) {
		return false
	}
	for {
		known := l.learned.Load()
		if known != nil && now.Before(known.Until) && known.Blocks <= news.Blocks {
			return false
		}
		if l.learned.CompareAndSwap(known, &news) {
			return true
		}
	}
}

// refused learns from a refusal of a range of blocks, and reports whether the upstream will now get
// shorter ranges.
func (l *logLimit) refused(now time.Time, said logrange.Refusal) bool {
	news := LogLimit{Blocks: said.Limit, Until: now.Add(statedFor)}
	if !said.Stated && said.Limit < minGuess {
		return false
	}
	if !said.Stated || said.Limit < minGuess {
		news.Until = now.Add(guessedFor)
	}
	lower := l.learn(now, news)
	if lower {
		l.unshared.Store(true)
	}
	return lower
}

//go:embed learn_log_limit.lua
var learnSource string

var learnScript = redis.NewScript(learnSource)

func logLimitKey(id chain.ID) string { return boardKey(id) + ":log_limits" }

// shareLogLimits puts what this process learned on the board. What cannot be written is left for
// the next time.
func (b *Board) shareLogLimits(ctx context.Context, p *Pool) error {
	for id, c := range p.set.Load().chains {
		for _, e := range c.endpoints {
			if !e.logLimit.unshared.CompareAndSwap(true, false) {
				continue
			}
			learned := e.logLimit.learned.Load()
			err := learnScript.Run(ctx, b.rdb, []string{logLimitKey(id)}, e.fingerprint, learned.Blocks,
				learned.Until.Unix(), p.now().Unix(), int(statedFor/time.Second)).Err()
			if err != nil && !errors.Is(err, redis.Nil) {
				e.logLimit.unshared.Store(true)
				return fmt.Errorf("share the log limits of %s: %w", id, err)
			}
		}
	}
	return nil
}

// decodeLogLimits returns what the board holds by fingerprint. What cannot be read is left out: a
// limit is learned again for the price of one refusal.
func decodeLogLimits(fields map[string]string) map[string]LogLimit {
	limits := make(map[string]LogLimit, len(fields))
	for fingerprint, raw := range fields {
		blocks, until, _ := strings.Cut(raw, " ")
		n, err := strconv.ParseUint(blocks, 10, 64)
		end, err2 := strconv.ParseInt(until, 10, 64)
		if err == nil && err2 == nil {
			limits[fingerprint] = LogLimit{n, time.Unix(end, 0)}
		}
	}
	return limits
}

func (e *Endpoint) followLogLimit(posted Posted, now time.Time) {
	if l, ok := posted.LogLimits[e.fingerprint]; ok {
		e.logLimit.learn(now, l)
	}
}

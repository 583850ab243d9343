package upstream

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
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

// gathering is what one call holds of answers that are copied into memory.
type gathering struct {
	memory   Memory // nil for no bound
	maxBytes int64  // of all answers
	tooMany  func() *fault.Error
	bytes    atomic.Int64 // of all answers
	held     atomic.Int64 // bytes taken from memory
}

// giveBack returns all memory.
func (g *gathering) giveBack() {
	if held := g.held.Swap(0); g.memory != nil && held > 0 {
		g.memory.Give(int(held))
	}
}

// body is an answer that is copied into memory.
type body struct {
	of    *gathering
	bytes []byte
	held  int
}

func (b *body) readAll(answer *Answer) (*fault.Error, error) {
	if f := b.grow(len(answer.Result)); f != nil {
		return f, nil
	}
	if f := b.count(len(answer.Result)); f != nil {
		return f, nil
	}
	b.bytes = append(b.bytes, answer.Result...)
	for answer.Rest != nil {
		if len(b.bytes) == cap(b.bytes) {
			if f := b.grow(max(len(b.bytes), transport.PeekBytes)); f != nil {
				return f, nil
			}
		}
		n, err := answer.Rest.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if f := b.count(n); f != nil {
			return f, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case errors.Is(err, ErrTooLarge):
			return b.of.tooMany(), nil
		case err != nil:
			return nil, err
		}
	}
	return nil, nil
}

// count refuses bytes beyond maxBytes.
func (b *body) count(n int) *fault.Error {
	if b.of.bytes.Add(int64(n)) > b.of.maxBytes {
		return b.of.tooMany()
	}
	return nil
}

// grow makes room for more bytes.
func (b *body) grow(more int) *fault.Error {
	if m := b.of.memory; m != nil {
		if !m.Take(more) {
			f := fault.New(fault.UpstreamFailed,
				"The gateway holds as many answers as it has memory for. Retry in a second, or ask for less. "+
					"Nothing was charged.")
			f.RetryAfter = atLimit
			return f
		}
		b.of.held.Add(int64(more))
	}
	b.held += more
	b.bytes = append(make([]byte, 0, cap(b.bytes)+more), b.bytes...)
	return nil
}

// trim returns the memory that a complete answer does not fill: what a buffer that doubles leaves
// free, for as long as the call is held.
func (b *body) trim() {
	left := b.held - len(b.bytes)
	if left < transport.PeekBytes {
		return
	}
	b.bytes = append(make([]byte, 0, len(b.bytes)), b.bytes...)
	b.held -= left
	if m := b.of.memory; m != nil {
		m.Give(left)
		b.of.held.Add(int64(-left))
	}
}

// drop returns the memory of an answer that is not needed.
func (b *body) drop() {
	b.of.bytes.Add(int64(-len(b.bytes)))
	if m := b.of.memory; m != nil {
		m.Give(b.held)
		b.of.held.Add(int64(-b.held))
	}
	*b = body{of: b.of}
}

// gathered returns the answer of these pieces, which streams if it is long. It holds their memory
// until it is released.
func (g *gathering) gathered(pieces net.Buffers) *Answer {
	total := 0
	for _, piece := range pieces {
		total += len(piece)
	}
	result := make([]byte, min(total, transport.PeekBytes))
	_, _ = io.ReadFull(&pieces, result) // it has so many
	a := &Answer{Result: result}
	a.OnRelease(g.giveBack)
	if total > transport.PeekBytes {
		a.Rest = &pieces
	}
	return a
}

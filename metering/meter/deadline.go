package meter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/internal/telemetry"
)

// An admission carries a deadline by Redis' clock, after which its script must not run: it is
// before the sender gives up. So a Redis that hangs and comes back charges nothing that was
// answered "not relayed" in the meantime.
const (
	// runWithin is how long after sending a script may start. The rest of redisconn.AnswerTime is
	// for its reply.
	runWithin = redisconn.AnswerTime * 3 / 4
	// clockEvery is how often Redis' clock is read while there are calls. The reading is part of a
	// pipeline.
	clockEvery = time.Second
)

// clock is a pipeliner's estimate of its server's clock.
type clock struct {
	mu    sync.Mutex // guards the rest
	known bool
	// ahead is at least how far the server's clock, in time since 1970, is ahead of
	// telemetry.Elapsed: a reading is taken to be of when its reply arrived. A deadline derived
	// from it is never too late unless that clock is set back.
	ahead  time.Duration
	readAt time.Duration // telemetry.Elapsed of the reading
}

// read asks the server for its time.
func (c *clock) read(ctx context.Context, rdb redis.Cmdable) error {
	t, err := rdb.Time(ctx).Result()
	if err == nil {
		c.note(t)
	}
	return err
}

// note records a reading that has just arrived.
func (c *clock) note(t time.Time) {
	now := telemetry.Elapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readAt, c.ahead, c.known = now, time.Duration(t.UnixNano())-now, true
}

// forget makes the clock be read again before the next admission is sent.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// notAfter returns the deadline of what is sent now, in ms since 1970 by the server's clock. old
// reports whether the clock is due for another reading; ok is false when it must be read before
// anything is sent.
func (c *clock) notAfter() (moment int64, old, ok bool) {
	now := telemetry.Elapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	return (now + runWithin + c.ahead).Milliseconds(), now-c.readAt > clockEvery, c.known
}

// marks are the names under which a worker's charges are noted (admit.lua), one for each call of a
// shard in a pipeline, made when needed. The first is random and the prefix of the others. After a
// loss they are renewed, so that marks which a refund still needs are not overwritten.
type marks []any

// nth returns the mark of the nth call of its shard in a pipeline, from 0.
func (m *marks) nth(n int) any {
	if len(*m) == 0 {
		*m = append(*m, nonce()[:8])
	}
	for len(*m) <= n {
		*m = append(*m, fmt.Sprintf("%s:%d", (*m)[0], len(*m)))
	}
	return (*m)[n]
}

func (m *marks) renew() { *m = (*m)[:0] }

// Positions of the arguments of an admission that are set when it is sent.
const (
	notAfterArg = 14
	markArg     = 15
)

// stamp sets an admission's deadline and mark.
func stamp(cmd *redis.Cmd, notAfter, mark any) {
	args := cmd.Args()
	args[notAfterArg], args[markArg] = notAfter, mark
}

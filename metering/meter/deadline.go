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

// An admission carries the last moment, by Redis' clock, at which its script may still run: before
// whoever sent it gives up. So a Redis that hangs and comes back charges nothing that was answered
// "not relayed" in the meantime.
const (
	// runWithin is how long after it is sent a script may begin. The rest of redisconn.AnswerTime
	// is for its reply to arrive.
	runWithin = redisconn.AnswerTime * 3 / 4
	// clockEvery is how often Redis' clock is read while there are calls; the reading travels with
	// a pipeline.
	clockEvery = time.Second
)

// clock is what the lanes to a server know of its clock.
type clock struct {
	mu    sync.Mutex // guards the rest
	known bool
	// ahead is by how much the server's clock, in time since 1970, is ahead of telemetry.Elapsed,
	// at least: the instant of a reading is taken to be when its reply arrived. What is derived
	// from it is never too late while that clock is not set back.
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

// note takes a reading that has just arrived.
func (c *clock) note(t time.Time) {
	now := telemetry.Elapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readAt, c.ahead, c.known = now, time.Duration(t.UnixNano())-now, true
}

// forget has the clock read again before another admission is sent.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// notAfter returns the last moment for what is sent now, in ms since 1970 by the server's clock,
// and whether it is time for another reading. It is not ok when the clock must be read before
// anything is sent.
func (c *clock) notAfter() (moment int64, old, ok bool) {
	now := telemetry.Elapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	return (now + runWithin + c.ahead).Milliseconds(), now-c.readAt > clockEvery, c.known
}

// marks are the names under which the charges of a lane note themselves: strings, one for each call
// of a shard in a pipeline, made when needed. The first names the lane; it is another after each
// loss, so that marks which are asked for later are not overwritten.
type marks []any

// nth is the name of the nth call of its shard in a pipeline.
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

// The arguments of an admission that are set when it leaves, by their place in the command.
const (
	notAfterArg = 14
	markArg     = 15
)

// stamp says until when an admission may run, and under which name it notes a charge.
func stamp(cmd *redis.Cmd, notAfter, mark any) {
	args := cmd.Args()
	args[notAfterArg], args[markArg] = notAfter, mark
}

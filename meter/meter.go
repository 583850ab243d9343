// Package meter owns admission: rate windows, allowances, counters and usage buckets in Redis, each change one Lua script and
// one round trip. It holds projections of accounts and keys but does not know PostgreSQL, which is the record; package fences
// loads what is missing here, package flush carries usage there.
//
// No command is ever repeated by the client: a lost reply is an error, and at most one charge.
package meter

import (
	"context"
	_ "embed" // for the scripts
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/telemetry"
)

// SlotLength is how long a usage bucket stays open.
const SlotLength = 10 * time.Second

//go:embed admit.lua
var admitSource string

//go:embed settle.lua
var settleSource string

//go:embed push.lua
var pushSource string

//go:embed seed.lua
var seedSource string

//go:embed seal.lua
var sealSource string

//go:embed take.lua
var takeSource string

//go:embed give.lua
var giveSource string

// Meter is the client of the meter. It is safe for concurrent use.
type Meter struct {
	rdb   redis.UniversalClient
	lanes *lanes

	admit, settle, push, seed, seal, take, give *redis.Script
}

// Open connects to the Redis at url (redis://, rediss:// or unix://) and loads the scripts.
func Open(ctx context.Context, url string) (*Meter, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL is not a Redis address: expected redis://host:port/0: %w", redact(err))
	}
	opts.MaxRetries = -1 // a repeated admission would charge twice
	opts.ReadTimeout = time.Second
	opts.WriteTimeout = time.Second
	opts.DialTimeout = 2 * time.Second
	opts.DialerRetries = 1 // whoever waits for a lane waits for its connection too
	opts.ContextTimeoutEnabled = true
	opts.Protocol = 2 // the third looks for pushed messages, which nobody sends here, before every reply
	return New(ctx, redis.NewClient(opts))
}

// New makes a meter over a client that must not retry by itself (MaxRetries -1). The meter owns the client from then on.
func New(ctx context.Context, rdb redis.UniversalClient) (*Meter, error) {
	m := &Meter{
		rdb:    rdb,
		admit:  redis.NewScript(admitSource),
		settle: redis.NewScript(settleSource),
		push:   redis.NewScript(pushSource),
		seed:   redis.NewScript(seedSource),
		seal:   redis.NewScript(sealSource),
		take:   redis.NewScript(takeSource),
		give:   redis.NewScript(giveSource),
	}
	if err := m.loadScripts(ctx); err != nil {
		_ = rdb.Close()
		return nil, err
	}
	m.lanes = startLanes(rdb)
	return m, nil
}

// Close answers what is under way or queued, refuses what comes later, and closes the connection. Closing again does nothing.
func (m *Meter) Close() error {
	if !m.lanes.stop() {
		return nil
	}
	return m.rdb.Close()
}

// Measure has round trips measured from now on.
func (m *Meter) Measure(p *telemetry.Pipelines) { m.lanes.pipelines.Store(p) }

// Ping tells whether Redis answers.
func (m *Meter) Ping(ctx context.Context) error { return m.rdb.Ping(ctx).Err() }

// Client is the connection, for the board that other packages keep beside the meter.
func (m *Meter) Client() redis.UniversalClient { return m.rdb }

// Now is Redis' own time, by which slots and windows go.
func (m *Meter) Now(ctx context.Context) (time.Time, error) { return m.rdb.Time(ctx).Result() }

func (m *Meter) loadScripts(ctx context.Context) error {
	for _, s := range []*redis.Script{m.admit, m.settle, m.push, m.seed, m.seal, m.take, m.give} {
		if err := s.Load(ctx, m.rdb).Err(); err != nil {
			return fmt.Errorf("load the meter's scripts into Redis: %w", err)
		}
	}
	return nil
}

// run executes a script outside the shared pipelines, for work off the hot path. Scripts that Redis has forgotten are sent
// again: a NOSCRIPT answer proves that nothing ran.
func (m *Meter) run(ctx context.Context, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	cmd := s.EvalSha(ctx, m.rdb, keys, args...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return s.Eval(ctx, m.rdb, keys, args...)
	}
	return cmd
}

func tag(shard int) string { return fmt.Sprintf("{u%04d}:", shard) }

func accountTag(id account.ID) string { return tag(account.Shard(id)) }

// redact keeps an address, which may hold a password, out of an error.
func redact(error) error { return errBadAddress }

var errBadAddress = fmt.Errorf("the address could not be parsed")

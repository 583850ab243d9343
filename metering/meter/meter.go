// Package meter owns admission: rate windows, allowances, counters and usage buckets in Redis, each
// change one Lua script and one round trip. It holds projections of accounts and keys but does not
// know PostgreSQL, which is the record; package fences loads what is missing here, package flush
// carries usage there.
//
// No command is ever repeated by the client: a lost reply is an error, and at most one charge. Only
// what a cluster refused without running it is sent again, to the node that it named.
package meter

import (
	"context"
	_ "embed" // for the scripts
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/internal/telemetry"
)

// SlotLength is how long a usage bucket stays open.
const SlotLength = 10 * time.Second

// SealDelay is how long after its slot a bucket is sealed: so far may the clock of a Redis that
// takes over be behind the one that it takes over from, without anything being written into a
// bucket that is recorded already.
const SealDelay = 2 * time.Second

//go:embed admit.lua
var admitSource string

//go:embed refund.lua
var refundSource string

//go:embed push.lua
var pushSource string

//go:embed load.lua
var loadSource string

//go:embed seed.lua
var seedSource string

//go:embed seal.lua
var sealSource string

//go:embed return_quota.lua
var returnQuotaSource string

//go:embed limit.lua
var limitSource string

//go:embed claim_deployment.lua
var claimDeploymentSource string

//go:embed forget.lua
var forgetSource string

// Meter is the client of the meter. It is safe for concurrent use.
type Meter struct {
	rdb       redis.UniversalClient
	scripts   scriptRunner
	pipelines atomic.Pointer[telemetry.Pipelines]
	evicts    atomic.Pointer[string] // the policy that may delete usage, as CheckHealth found last; nil for none

	admit, refund, push, load, seed, seal, returnQuota, limit, claimDeployment, forget *redis.Script
}

// Open connects to the Redis at address, of which package redisconn says the forms, and loads the
// scripts.
func Open(ctx context.Context, address string) (*Meter, error) {
	return OpenTLS(ctx, address, redisconn.Certificates{})
}

// OpenTLS is Open with certificates for a connection that is encrypted.
func OpenTLS(ctx context.Context, address string, certificates redisconn.Certificates) (*Meter, error) {
	where, err := redisconn.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL %w", err)
	}
	rdb, err := redisconn.Open(where, certificates)
	if err != nil {
		return nil, err
	}
	return New(ctx, rdb)
}

// OpenLater is OpenTLS for who can do without Redis for a while: it does not look whether Redis
// answers. What needs it fails until it does, and sends its script along the first time.
func OpenLater(address string, certificates redisconn.Certificates) (*Meter, error) {
	where, err := redisconn.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL %w", err)
	}
	rdb, err := redisconn.Open(where, certificates)
	if err != nil {
		return nil, err
	}
	return over(rdb), nil
}

// New makes a meter over a client of package redisconn, or another that sends nothing twice by
// itself. The meter owns it from then on.
func New(ctx context.Context, rdb redis.UniversalClient) (*Meter, error) {
	m := over(rdb)
	if err := m.loadScripts(ctx); err != nil {
		_ = m.Close()
		return nil, err
	}
	return m, nil
}

func over(rdb redis.UniversalClient) *Meter {
	m := &Meter{
		rdb:             rdb,
		admit:           redis.NewScript(admitSource),
		refund:          redis.NewScript(refundSource),
		push:            redis.NewScript(pushSource),
		load:            redis.NewScript(loadSource),
		seed:            redis.NewScript(seedSource),
		seal:            redis.NewScript(sealSource),
		returnQuota:     redis.NewScript(returnQuotaSource),
		limit:           redis.NewScript(limitSource),
		claimDeployment: redis.NewScript(claimDeploymentSource),
		forget:          redis.NewScript(forgetSource),
	}
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		m.scripts = newClusterPipeliner(cluster, &m.pipelines)
	} else {
		m.scripts = startPipeliner(rdb, &m.pipelines)
	}
	return m
}

// Close answers what is under way or queued, refuses what comes later, and closes the connection.
// Closing again does nothing.
func (m *Meter) Close() error {
	if !m.scripts.stop() {
		return nil
	}
	return m.rdb.Close()
}

// Measure has round trips measured from now on.
func (m *Meter) Measure(p *telemetry.Pipelines) { m.pipelines.Store(p) }

// Client is the connection, for the board that other packages keep beside the meter.
func (m *Meter) Client() redis.UniversalClient { return m.rdb }

// Ping reports whether Redis answers, and may be used as CheckHealth found. Of a cluster one master
// is enough: calls of the others are refused, but not all.
func (m *Meter) Ping(ctx context.Context) error {
	if m.evicts.Load() != nil {
		return ErrEvicts
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error)
	n, err := m.eachMaster(ctx, func(r redis.Cmdable) {
		select {
		case answers <- r.Ping(ctx).Err():
		case <-ctx.Done():
		}
	})
	for range n {
		if err = <-answers; err == nil {
			return nil
		}
	}
	return err
}

// Now is Redis' own time, by which slots and windows go. Each master of a cluster has its own: of
// those that answer, it is the earliest, so what is over then is over everywhere.
func (m *Meter) Now(ctx context.Context) (time.Time, error) {
	type answer struct {
		now time.Time
		err error
	}
	answers := make(chan answer, 1)
	n, err := m.eachMaster(ctx, func(r redis.Cmdable) {
		now, err := r.Time(ctx).Result()
		answers <- answer{now, err}
	})
	var earliest time.Time
	for range n {
		a := <-answers
		switch {
		case a.err != nil:
			err = a.err
		case earliest.IsZero() || a.now.Before(earliest):
			earliest = a.now
		}
	}
	if earliest.IsZero() {
		return time.Time{}, err
	}
	return earliest, nil
}

// NowOf is the time of the master that serves an account, by which its slots, days and windows go.
// It waits for no other master.
func (m *Meter) NowOf(ctx context.Context, id account.ID) (time.Time, error) {
	cluster, ok := m.rdb.(*redis.ClusterClient)
	if !ok {
		return m.rdb.Time(ctx).Result()
	}
	master, err := cluster.MasterForKey(ctx, accountTag(id))
	if err != nil {
		return time.Time{}, err
	}
	return master.Time(ctx).Result()
}

// loadScripts spares the first calls from sending whole scripts. A master of a cluster that cannot
// be reached gets them with its first call; when none can be, there is no meter.
func (m *Meter) loadScripts(ctx context.Context) error {
	answers := make(chan error, 1)
	n, err := m.eachMaster(ctx, func(r redis.Cmdable) {
		var err error
		for _, s := range []*redis.Script{
			m.admit, m.refund, m.push, m.load, m.seed, m.seal, m.returnQuota, m.limit, latencyScript,
		} {
			if err = s.Load(ctx, r).Err(); err != nil {
				break
			}
		}
		answers <- err
	})
	loaded := 0
	for range n {
		if failed := <-answers; failed != nil {
			err = failed
		} else {
			loaded++
		}
	}
	if loaded == 0 {
		return fmt.Errorf("load the meter's scripts into Redis: %w", err)
	}
	return nil
}

// eachMaster starts do for each master of a cluster, or for the one server, and gives their number.
// It waits for none.
func (m *Meter) eachMaster(ctx context.Context, do func(redis.Cmdable)) (int, error) {
	cluster, ok := m.rdb.(*redis.ClusterClient)
	if !ok {
		go do(m.rdb)
		return 1, nil
	}
	all, err := masters(ctx, cluster)
	for master := range all {
		go do(master)
	}
	return len(all), err
}

// run executes a script outside the shared pipelines, for work off the hot path. Scripts that Redis
// has forgotten are sent again: a NOSCRIPT answer proves that nothing ran.
func (m *Meter) run(ctx context.Context, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	cmd := s.EvalSha(ctx, m.rdb, keys, args...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return s.Eval(ctx, m.rdb, keys, args...)
	}
	return cmd
}

func tag(shard int) string { return fmt.Sprintf("{u%04d}:", shard) }

func accountTag(id account.ID) string { return tag(account.Shard(id)) }

// Package meter implements admission in Redis: rate windows, allowances, counters and usage
// buckets. Each change is one Lua script and one round trip. It holds projections of accounts and
// keys but does not know PostgreSQL, which is the record: package limits loads what is missing
// here, and package flush moves usage there.
//
// The client never retries a command: a lost reply is an error, and at most one charge. Only a
// command that a cluster refused without running it is sent again, to the node that the cluster
// named.
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

// SealDelay is how long after the end of its slot a bucket is sealed. It bounds the clock skew of a
// failover: a replica that takes over may be this far behind and still writes nothing into a bucket
// that PostgreSQL has already.
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
	evicts    atomic.Pointer[string] // the eviction policy that CheckHealth found last; nil for none

	admit, refund, push, load, seed, seal, returnQuota, limit, claimDeployment, forget *redis.Script
}

// Open connects to the Redis at address, in one of the forms of redisconn.Parse, and loads the
// scripts.
func Open(ctx context.Context, address string) (*Meter, error) {
	return OpenTLS(ctx, address, redisconn.Certificates{})
}

// OpenTLS is Open with certificates for an encrypted connection.
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

// OpenLater is OpenTLS for a caller that can do without Redis for a while: it does not connect.
// Calls fail until Redis answers; each script is sent with its first call.
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

// New returns a meter over a client of package redisconn, or any other client that never retries by
// itself. The meter owns the client and closes it. New waits while Redis loads its data.
func New(ctx context.Context, rdb redis.UniversalClient) (*Meter, error) {
	m := over(rdb)
	err := m.loadScripts(ctx)
	for tries := 0; redis.HasErrorPrefix(err, "LOADING") && tries < loadingTries; tries++ {
		select {
		case <-time.After(loadingPause):
			err = m.loadScripts(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		_ = m.Close()
		return nil, err
	}
	return m, nil
}

// A Redis that was restarted answers LOADING until it has read its data. New waits about two
// minutes for it.
const (
	loadingTries = 1200
	loadingPause = 100 * time.Millisecond
)

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

// Close answers the calls that are running or queued, refuses later ones, and closes the
// connection. It is idempotent.
func (m *Meter) Close() error {
	if !m.scripts.stop() {
		return nil
	}
	return m.rdb.Close()
}

// Measure records round trips in p from now on.
func (m *Meter) Measure(p *telemetry.Pipelines) { m.pipelines.Store(p) }

// Client returns the connection, for the board that other packages keep in the same Redis.
func (m *Meter) Client() redis.UniversalClient { return m.rdb }

// Ping returns nil when Redis answers, and ErrEvicts while CheckHealth finds that it may delete
// usage. In a cluster one master is enough: calls to the others fail, but not all calls.
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

// Now returns Redis' time, by which slots and windows are counted. In a cluster it is the earliest
// of the masters that answer, so an interval that has ended by it has ended on all of them.
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

// NowOf returns the time of the master that serves an account, by which the account's slots, days
// and windows are counted. It waits for no other master.
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

// loadScripts loads the scripts, so that the first calls need not send them whole. A master of a
// cluster that cannot be reached gets each script with its first call. It is an error when no
// master can be reached.
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

// eachMaster starts do in a goroutine for each master of a cluster, or for the one server, and
// returns how many it started. It does not wait for them.
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

// run executes a script outside the shared pipelines, for work off the hot path. A script that
// Redis does not have is sent whole: a NOSCRIPT answer proves that nothing ran.
func (m *Meter) run(ctx context.Context, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	cmd := s.EvalSha(ctx, m.rdb, keys, args...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return s.Eval(ctx, m.rdb, keys, args...)
	}
	return cmd
}

func tag(shard int) string { return fmt.Sprintf("{u%04d}:", shard) }

func accountTag(id account.ID) string { return tag(account.Shard(id)) }

package chaos_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/devstack/process"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
)

// patience is how long a condition may take on a loaded machine.
const patience = 3 * time.Minute

// rig is a gateway under load: two API processes and a worker of the real program, with their own
// Redis, PostgreSQL and upstreams. Its methods must be called from the test's goroutine, except
// those of the load.
type rig struct {
	t      *testing.T
	random *rand.Rand
	dir    string
	env    []string

	redis    *testkit.RedisServer
	rdb      *redis.Client
	proxy    *proxy                  // between the API processes and Redis; nil for none
	postgres *testkit.PostgresServer // nil: a database on the server that tests share
	url      string                  // of the database
	db       *pgxpool.Pool
	serve    [2]*role
	worker   *role

	store       *store.Store // these four create keys, change limits and flush the rest
	meter       *meter.Meter
	hasher      *account.Hasher
	limits      *limits.Limits
	keys        []apiKey
	connections []*connection
	log         *callLog
	stop        chan struct{} // closed to end the load
	load        sync.WaitGroup
	clockOff    time.Duration // offset of Redis' clock
	// outages are the times when the meter did not answer, its replies were lost, or it could not
	// be loaded.
	outages []outage
	// atEnd holds checks to run when everything is in PostgreSQL.
	atEnd []func()
	// wiped is the loss of all data in Redis, if there was one.
	wiped *wipe
}

// role is a process of the gateway, which may be restarted.
type role struct {
	name, address string // address is empty for the worker
	starts        int
	*process.Process
}

// program returns what the next start of the role runs. With -older, serve-1 is always the older
// program, and the worker is each of the two in turn.
func (r *role) program(t *testing.T) string {
	t.Helper()
	r.starts++
	if *older != "" && (r.name == "serve-1" || r.address == "" && r.starts%2 == 0) {
		return *older
	}
	return program(t)
}

func (r *role) url() string { return "http://" + r.address }

// needs are the special needs of a scenario.
type needs struct {
	ownPostgres bool // a server that can be stopped
	clock       bool // a Redis with a clock that can be set
}

func newRig(t *testing.T, n needs) *rig {
	t.Helper()
	name := fnv.New64a()
	_, _ = io.WriteString(name, t.Name())
	t.Logf("seed %d", *seed)
	program(t) // takes long the first time
	r := &rig{
		t: t, dir: t.ArtifactDir(), stop: make(chan struct{}),
		random: rand.New(rand.NewPCG(*seed, name.Sum64())), //nolint:gosec // moments, no secret
	}
	options := []testkit.RedisOption{testkit.WithAppendOnly()}
	if n.clock {
		options = append(options, testkit.WithClock())
	}
	r.redis = testkit.Redis(t, options...)
	r.rdb = redis.NewClient(&redis.Options{Addr: r.redis.Addr, MaxRetries: -1})
	r.proxy = startProxy(t, r.redis.Addr, r.random.Uint64())
	if n.ownPostgres {
		r.postgres = testkit.OwnPostgres(t)
		r.url = r.postgres.URL
	} else {
		r.url = testkit.Postgres(t)
	}
	var err error
	if r.db, err = pgxpool.New(t.Context(), r.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.rdb.Close(); r.db.Close() })
	r.log = openLog(t, filepath.Join(r.dir, "calls.jsonl"))
	file := r.writeUpstreams()
	r.startProbes(file)
	const pepper = "fault-pepper-of-at-least-thirty-two-bytes"
	r.env = append(os.Environ(),
		"DATABASE_URL="+r.url, "KEY_PEPPER="+pepper, "UPSTREAMS_FILE="+file, "METRICS_ADDRESS=127.0.0.1:0",
		"CALL_TIMEOUT=2s", "DRAIN_DELAY=0s", "DRAIN_TIMEOUT=10s", "GOMAXPROCS=2",
		// The flusher needs no Temporal, and the harness makes the probes.
		"TEMPORAL_ADDRESS="+testkit.ClosedAddress(t),
	)
	host := ownHost()
	for i := range r.serve {
		r.serve[i] = &role{name: fmt.Sprintf("serve-%d", i), address: fmt.Sprintf("%s:%d", host, 8080+i)}
		r.start(r.serve[i])
	}
	r.worker = &role{name: "worker"}
	r.start(r.worker)
	r.openAccounts(pepper)
	for _, s := range r.serve {
		r.await(s)
	}
	return r
}

// ownHost returns a loopback address that no other program uses, out of sixteen million on Linux:
// while a process is dead, its port must not go to another program, in particular not to another
// rig's gateway.
func ownHost() string {
	n := rand.Uint32() //nolint:gosec // an address, no secret
	return fmt.Sprintf("127.%d.%d.%d", 64+n%128, n>>8%256, 1+n>>16%254)
}

func (r *rig) urls() []string {
	var all []string
	for _, s := range r.serve {
		all = append(all, s.url())
	}
	return all
}

// start starts a role; more is added to its environment, such as a fault point.
func (r *rig) start(p *role, more ...string) {
	r.t.Helper()
	args, own := []string{"worker"}, []string{"REDIS_URL=" + r.redis.URL}
	if p.address != "" {
		args, own = []string{"serve"}, append(own, "LISTEN_ADDRESS="+p.address)
		if r.proxy != nil {
			own[0] = "REDIS_URL=redis://" + r.proxy.addr + "/0"
		}
	}
	var err error
	p.Process, err = process.Start(process.Spec{
		Name: p.name, Path: p.program(r.t), Args: args, Env: slices.Concat(r.env, own, more), Dir: r.dir,
		LogFile: filepath.Join(r.dir, p.name+".log"), Stop: []syscall.Signal{syscall.SIGTERM}, Grace: 30 * time.Second,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	started := p.Process
	r.t.Cleanup(func() { _ = started.Kill() })
}

// await waits until an API process is ready.
func (r *rig) await(p *role) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() bool {
		select {
		case <-p.Exited():
			r.t.Fatalf("%s ended by itself: %s", p.name, p.Tail(5))
		default:
		}
		return ready(r.t, p.url())
	}, "%s is ready: %s", p.name, p.Tail(5))
}

func ready(t *testing.T, base string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// writeUpstreams starts two upstreams, which act as the parameters of a call say, and writes the
// upstreams file.
func (r *rig) writeUpstreams() string {
	r.t.Helper()
	text := "chains:\n  eth_mainnet:\n    upstreams:\n"
	for _, name := range []string{"a", "b"} {
		up := testkit.Upstream(r.t)
		up.Default(func(x *testkit.Exchange) {
			switch params := string(x.Request.Params); {
			case strings.Contains(params, failWord):
				testkit.Status(http.StatusInternalServerError)(x)
			case strings.Contains(params, revertBy):
				testkit.Error(revertCode, "execution reverted")(x)
			case strings.Contains(params, hangWord):
				testkit.Hang(nil)(x)
			default:
				testkit.Result("0x1")(x)
			}
		})
		up.On("eth_chainId", testkit.Result("0x1"))
		up.On("eth_blockNumber", testkit.Result("0x1000000"))
		up.On("eth_getLogs", testkit.Result([]string{}))
		text += fmt.Sprintf("      - { name: %s, url: %q }\n", name, up.URL)
	}
	file := filepath.Join(r.dir, "upstreams.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return file
}

// startProbes probes the upstreams and publishes the results on the board until the test ends, as a
// worker with Temporal would.
func (r *rig) startProbes(file string) {
	r.t.Helper()
	providers, err := config.LoadUpstreams(file)
	if err != nil {
		r.t.Fatal(err)
	}
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		r.t.Fatal(err)
	}
	board := upstream.NewBoard(r.rdb)
	ctx, cancel := context.WithCancel(r.t.Context())
	var probing sync.WaitGroup
	probing.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			if snapshot, err := pool.Probe(ctx, chain.EthMainnet); err == nil {
				_ = board.Publish(ctx, snapshot) // Redis may be down
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	r.t.Cleanup(func() {
		cancel()
		probing.Wait()
		pool.Close()
	})
}

// pause waits for a random time while the load continues.
func (r *rig) pause(least, limit time.Duration) {
	r.t.Helper()
	timer := time.NewTimer(least + time.Duration(r.random.Int64N(int64(limit-least)+1)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.t.Context().Done():
	}
}

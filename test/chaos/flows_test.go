package chaos_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"

	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/store"
)

// flowRig is a gateway with durable flows: API processes and a worker of the real program with
// Temporal, without a load.
type flowRig struct {
	*rig

	temporal client.Client
	space    string // Temporal namespace
}

// newFlowRig starts the servers that the processes need, but none of the processes. upstreams is
// the text of the upstreams file.
func newFlowRig(t *testing.T, upstreams string, more ...string) *flowRig {
	t.Helper()
	name := fnv.New64a()
	_, _ = io.WriteString(name, t.Name())
	t.Logf("seed %d", *seed)
	program(t) // takes long the first time
	r := &flowRig{rig: &rig{
		//nolint:gosec // moments, no secret
		t: t, dir: t.ArtifactDir(), random: rand.New(rand.NewPCG(*seed, name.Sum64())),
		redis: testkit.Redis(t), url: testkit.Postgres(t), worker: &role{name: "worker"},
	}}
	host := ownHost()
	for i := range r.serve {
		r.serve[i] = &role{name: fmt.Sprintf("serve-%d", i), address: fmt.Sprintf("%s:%d", host, 8080+i)}
	}
	var err error
	if r.db, err = pgxpool.New(t.Context(), r.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.db.Close)
	if r.store, err = store.Open(t.Context(), r.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.store.Close)
	server := testkit.Temporal(t)
	r.temporal, r.space = server.Dial(t), server.Namespace
	file := filepath.Join(r.dir, "upstreams.yaml")
	if err := os.WriteFile(file, []byte(upstreams), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(),
		"DATABASE_URL="+r.url, "KEY_PEPPER="+flowPepper, "UPSTREAMS_FILE="+file, "METRICS_ADDRESS=127.0.0.1:0",
		"DRAIN_DELAY=0s", "DRAIN_TIMEOUT=10s", "GOMAXPROCS=2", "TEMPORAL_ADDRESS="+server.Address,
		"TEMPORAL_NAMESPACE="+server.Namespace, "PROBE_INTERVAL=500ms", "PUBLIC_URL="+r.serve[0].url(),
		"TRUSTED_PROXIES=1",
	)
	r.env = append(r.env, more...)
	return r
}

const flowPepper = "flows-pepper-of-at-least-thirty-two-bytes"

// doomed starts a process that is killed at the given hit of a fault point.
func (r *flowRig) doomed(p *role, at faultpoint.Point, hit int) {
	r.t.Helper()
	where := fmt.Sprintf("%s:%d", at, hit)
	r.t.Logf("%s is to die at %s", p.name, where)
	r.start(p, "GATEWAY_FAULTPOINT="+where)
}

// must fails the test on an error.
func (r *flowRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// number returns the number that a query of PostgreSQL returns.
func (r *flowRig) number(sql string, args ...any) (n int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	r.must(r.db.QueryRow(ctx, sql, args...).Scan(&n))
	return n
}

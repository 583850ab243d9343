package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/devstack/process"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

const (
	benchPepper = "bench-pepper-of-at-least-thirty-two-bytes"
	// benchKeys is the number of keys that share a load, per plan, each with its own account: the
	// widest rate window allows 300 calls per second.
	benchKeys = 256
	// probeEvery is the worker role's default interval between probes.
	probeEvery = 5 * time.Second
	rpcPath    = "/rpc/eth_mainnet"
)

// gateway is an API process, with the probes that the worker role would make.
type gateway struct {
	*process.Process

	url        string
	pprof      string
	stopProbes context.CancelFunc
	probes     sync.WaitGroup
}

// buildGateway builds the program, migrates the database and creates the keys.
func (r *rig) buildGateway(ctx context.Context) error {
	r.sayf("building the gateway")
	program := filepath.Join(r.dir, "gateway")
	//nolint:gosec // a path of ours
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./cmd/gateway")
	build.Stdout, build.Stderr = r.progress, r.progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the gateway: %w", err)
	}
	migrate := exec.CommandContext(ctx, program, "migrate", "up") //nolint:gosec // built above
	migrate.Env = append(os.Environ(), "DATABASE_URL="+r.stack.DatabaseURL)
	if text, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w: %s", err, text)
	}
	for _, planKey := range []string{plan.Enterprise, plan.Growth} {
		if err := r.makeKeys(ctx, planKey); err != nil {
			return fmt.Errorf("make keys: %w", err)
		}
	}
	r.program = program
	return nil
}

// freshGateway replaces the running gateway with a new one in front of the given nodes.
func (r *rig) freshGateway(ctx context.Context, nodes ...*nodeProcess) (*gateway, error) {
	if err := r.stopGateway(ctx); err != nil {
		return nil, err
	}
	file, err := r.writeUpstreams(nodes)
	if err != nil {
		return nil, err
	}
	stopProbes, probes, err := r.probe(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("probe the nodes: %w", err)
	}
	g := &gateway{stopProbes: stopProbes}
	g.probes.Go(probes)
	r.gateway = g
	var addresses [3]string // the last one is for Temporal, which nothing here needs
	for i := range addresses {
		if addresses[i], err = freeAddress(ctx); err != nil {
			return nil, err
		}
	}
	g.url, g.pprof = "http://"+addresses[0], "http://"+addresses[1]+"/debug/pprof"
	env := append(os.Environ(), "DATABASE_URL="+r.stack.DatabaseURL, "REDIS_URL="+r.stack.RedisURL,
		"KEY_PEPPER="+benchPepper, "UPSTREAMS_FILE="+file, "LISTEN_ADDRESS="+addresses[0],
		"METRICS_ADDRESS="+addresses[1], "TEMPORAL_ADDRESS="+addresses[2], "TRUSTED_PROXIES=1", "DRAIN_DELAY=0s",
		"DRAIN_TIMEOUT=5s")
	if g.Process, err = r.start("gateway", r.program, env, "serve"); err != nil {
		return nil, err
	}
	return g, await(ctx, g.Process, g.url+"/readyz", http.StatusOK)
}

// stopGateway stops the running gateway, if any.
func (r *rig) stopGateway(ctx context.Context) error {
	g := r.gateway
	if g == nil {
		return nil
	}
	r.gateway = nil
	g.stopProbes()
	g.probes.Wait()
	if g.Process == nil {
		return nil
	}
	return g.Stop(ctx)
}

func (r *rig) writeUpstreams(nodes []*nodeProcess) (string, error) {
	text := &strings.Builder{}
	fmt.Fprintf(text, "chains:\n  %s:\n    upstreams:\n", chain.EthMainnet)
	for _, n := range nodes {
		fmt.Fprintf(text, "      - { name: %s, url: \"http://%s\" }\n", n.name, n.address)
	}
	file := filepath.Join(r.dir, "upstreams.yaml")
	return file, os.WriteFile(file, []byte(text.String()), 0o600)
}

// probe measures the nodes and publishes the results on the board once. The returned function
// probes repeats that at the worker role's interval.
func (r *rig) probe(ctx context.Context, file string) (stop context.CancelFunc, probes func(), err error) {
	providers, err := config.LoadUpstreams(file)
	if err != nil {
		return nil, nil, err
	}
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		return nil, nil, err
	}
	opts, err := redis.ParseURL(r.stack.RedisURL)
	if err != nil {
		return nil, nil, err
	}
	rdb := redis.NewClient(opts)
	ctx, cancel := context.WithCancel(ctx)
	stop = func() {
		cancel()
		pool.Close()
		_ = rdb.Close() // nothing is in flight
	}
	round := func() error {
		snapshot, err := pool.Probe(ctx, chain.EthMainnet)
		if err != nil {
			return err
		}
		return upstream.NewBoard(rdb).Publish(ctx, snapshot)
	}
	if err := round(); err != nil {
		stop()
		return nil, nil, err
	}
	return stop, func() {
		for pause(ctx, probeEvery) == nil {
			if err := round(); err != nil && !errors.Is(err, context.Canceled) {
				r.sayf("probe: %v", err)
			}
		}
	}, nil
}

func (r *rig) makeKeys(ctx context.Context, planKey string) error {
	s, err := store.Open(ctx, r.stack.DatabaseURL)
	if err != nil {
		return err
	}
	defer s.Close()
	hasher, err := account.NewHasher([]byte(benchPepper))
	if err != nil {
		return err
	}
	var keys []string
	for range benchKeys {
		id := account.NewID()
		if _, err := s.CreateAccount(ctx,
			accountdb.NewAccount{ID: id, Kind: accountdb.KindOwner, Plan: planKey}); err != nil {
			return err
		}
		key, err := account.MintKey(rand.Reader)
		if err != nil {
			return err
		}
		digest := key.Digest(hasher)
		_, err = s.CreateKey(ctx, accountdb.NewKey{
			ID: account.NewKeyID(), Account: id, Digest: digest[:], Prefix: key.Prefix(), Name: "bench",
			Door: account.DoorAccount, Daily: account.Unlimited,
		})
		if err != nil {
			return err
		}
		keys = append(keys, key.Reveal())
	}
	r.keys[planKey] = keys
	return nil
}

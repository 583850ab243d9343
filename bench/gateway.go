package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/upstream"
)

const (
	benchPepper = "bench-pepper-of-at-least-thirty-two-bytes"
	// benchKeys of a plan share a load, each with an account of its own: the widest rate window is 300 calls a second.
	benchKeys = 256
)

const upstreamsFile = `chains:
  eth_mainnet:
    upstreams:
      - { name: node, url: "http://%s" }
`

func (r *rig) startGateway(ctx context.Context, node string, progress io.Writer) error {
	fmt.Fprintln(progress, "building the gateway")
	program := filepath.Join(r.dir, "gateway")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "./cmd/gateway") //nolint:gosec // a path of ours
	build.Stdout, build.Stderr = progress, progress
	if err := build.Run(); err != nil {
		return err
	}
	file := filepath.Join(r.dir, "upstreams.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, upstreamsFile, node), 0o600); err != nil {
		return err
	}
	migrate := exec.CommandContext(ctx, program, "migrate", "up") //nolint:gosec // built above
	migrate.Env = append(os.Environ(), "DATABASE_URL="+r.stack.DatabaseURL)
	if text, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w: %s", err, text)
	}
	if err := r.publishBoard(ctx, file); err != nil {
		return err
	}
	for _, l := range loads {
		if err := r.makeKeys(ctx, l.plan); err != nil {
			return err
		}
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	metrics, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "serve") //nolint:gosec // built above
	cmd.Env = append(os.Environ(), "DATABASE_URL="+r.stack.DatabaseURL, "REDIS_URL="+r.stack.RedisURL, "KEY_PEPPER="+benchPepper,
		"UPSTREAMS_FILE="+file, "LISTEN_ADDRESS="+address, "METRICS_ADDRESS="+metrics)
	if err := r.start(cmd); err != nil {
		return err
	}
	r.gateway, r.pprof = "http://"+address, "http://"+metrics+"/debug/pprof"
	return await(ctx, r.gateway+"/readyz", http.StatusOK)
}

// publishBoard probes the upstream once, as the worker role does, so that the API may route to it.
func (r *rig) publishBoard(ctx context.Context, file string) error {
	providers, err := config.LoadUpstreams(file, []string{string(chain.EthMainnet)})
	if err != nil {
		return err
	}
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		return err
	}
	defer pool.Close()
	snapshot, err := pool.Probe(ctx, chain.EthMainnet)
	if err != nil {
		return err
	}
	opts, err := redis.ParseURL(r.stack.RedisURL)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opts)
	defer func() { _ = rdb.Close() }()
	return upstream.NewBoard(rdb).Publish(ctx, snapshot)
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
	for range benchKeys {
		id := account.NewID()
		if _, err := s.CreateAccount(ctx, store.NewAccount{ID: id, Kind: store.KindOwner, Plan: planKey}); err != nil {
			return err
		}
		key, err := account.MintKey(rand.Reader)
		if err != nil {
			return err
		}
		digest := key.Digest(hasher)
		_, err = s.CreateKey(ctx, store.NewKey{
			ID: account.NewKeyID(), Account: id, Digest: digest[:], Prefix: key.Prefix(), Name: "bench",
			Door: account.DoorAccount, Daily: account.Unlimited,
		})
		if err != nil {
			return err
		}
		r.keys[planKey] = append(r.keys[planKey], key.Reveal())
	}
	return nil
}

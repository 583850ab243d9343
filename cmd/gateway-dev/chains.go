package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/relay/chain"
)

func fileProviders(path string) (config.Upstreams, error) {
	if path == "" {
		return config.Upstreams{Chains: map[string]config.ChainUpstreams{}}, nil
	}
	u, err := config.LoadUpstreams(path)
	if err != nil {
		return u, fmt.Errorf("--upstreams: %w", err)
	}
	return u, nil
}

// addSandbox runs the chains that the upstreams file does not name, each behind two upstreams. It
// returns nil when the file names all chains.
func addSandbox(ctx context.Context, providers *config.Upstreams, data string,
	log *slog.Logger,
) (*sandbox.Sandbox, error) {
	var rest []chain.ID
	for _, c := range chain.BuiltIn().All() {
		if _, named := providers.Chains[string(c.ID)]; !named {
			rest = append(rest, c.ID)
		}
	}
	if len(rest) == 0 {
		return nil, nil //nolint:nilnil // no sandbox is needed, which is no error
	}
	box, err := sandbox.Start(ctx, sandbox.Options{DataDir: filepath.Join(data, "chains"), Logger: log, Chains: rest})
	if err != nil {
		return nil, fmt.Errorf("sandbox chains: %w", err)
	}
	for _, u := range box.Upstreams() {
		c := providers.Chains[string(u.Chain)]
		c.Upstreams = append(c.Upstreams, config.Upstream{Name: u.Name, URL: u.URL, Supply: "public"})
		providers.Chains[string(u.Chain)] = c
	}
	return box, nil
}

// configuration returns the configuration of both roles. With a sandbox, Sourcify and the CCIP
// gateway are the sandbox's own.
func configuration(stack *devstack.Stack, address string, box *sandbox.Sandbox) config.Config {
	cfg := config.Config{
		DatabaseURL: stack.DatabaseURL, RedisURL: stack.RedisURL, TemporalAddress: stack.TemporalAddress,
		TemporalNamespace: "default", KeyPepper: developmentPepper, MetricsAddress: "127.0.0.1:0",
		PublicURL: "http://" + address, Contact: "support@chainaccess.example", MaxBodyBytes: 4 << 20,
		MaxAnswerBytes: 512 << 20, BatchMemoryBytes: 256 << 20, CallTimeout: 30 * time.Second,
		ProbeInterval: 2 * time.Second, DrainTimeout: 10 * time.Second,
		// The cache shares the meter's Redis. Production must not do that, because that Redis
		// evicts nothing; here nothing fills it, and each start clears the cache.
		CacheRedisURL: stack.RedisURL, CacheBytes: 64 << 20,
		// Blocks of the sandbox are final within seconds.
		ServiceTitle: "Chain Access Gateway", X402Asset: config.USDCOnBase, X402AssetName: "USD Coin",
		X402AssetVersion: "2", X402MinConfirmations: 2, X402CorroborateAbove: 1_000_000,
		X402FinalityDelay: 30 * time.Second, PriceHeartbeat: time.Hour, SourcifyURL: "https://sourcify.dev",
		SignaturesURL: "https://api.4byte.sourcify.dev",
	}
	if box != nil {
		cfg.SourcifyURL, cfg.SignaturesURL = box.Sourcify().URL, box.Sourcify().URL
		if gateway := box.CCIPGateway(); gateway != nil {
			cfg.TrustedGateways = strings.TrimPrefix(gateway.URL, "http://")
		}
		if box.Runs(chain.BaseMainnet) { // on another chain nobody here could collect the payments
			cfg.X402PayTo, cfg.X402FacilitatorURL = box.Seller().Address.Hex(), box.Facilitator().URL
		}
	}
	return cfg
}

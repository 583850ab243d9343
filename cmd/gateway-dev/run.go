package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chainaccess/gateway/cache"
	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/sandbox"
	"github.com/chainaccess/gateway/telemetry"
)

type options struct {
	listen    string
	data      string
	upstreams string
	payTo     string
	plan      string
	headless  bool
}

// developmentPepper is public: keys of a development gateway open nothing else.
const developmentPepper = "chain-access-gateway-development-pepper"

const (
	readyTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// run starts everything, prints the lines that a newcomer needs, and stops everything when ctx ends.
func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	providers, err := fileProviders(o.upstreams)
	if err != nil {
		return err
	}
	keyPlan, err := planNamed(o.plan)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: choose another address with --listen: %w", o.listen, errors.Unwrap(err))
	}
	defer func() { _ = listener.Close() }() // closed already when the API ran
	data, err := filepath.Abs(o.data)
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	// Others may pass through it: PostgreSQL runs as another user when this one is root. What is in it closes itself.
	if err := os.MkdirAll(data, 0o711); err != nil { //nolint:gosec // see above
		return fmt.Errorf("--data: choose a folder that can be written: %w", err)
	}
	logFile, err := os.OpenFile(filepath.Join(data, "gateway.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the user names the folder
	if err != nil {
		return fmt.Errorf("--data: choose a folder that can be written: %w", err)
	}
	defer func() { _ = logFile.Close() }()
	log := telemetry.NewLogger(logFile, "text", slog.LevelInfo)
	wire.LogRedis(log)
	say := func(msg string) { fmt.Fprintln(progress, msg) }

	stack, err := devstack.Start(ctx, devstack.Options{
		DataDir: data, Headless: o.headless, EmbeddedRedis: true, Progress: say, Logger: log,
		DatabaseURL: os.Getenv("DATABASE_URL"), RedisURL: os.Getenv("REDIS_URL"), TemporalAddress: os.Getenv("TEMPORAL_ADDRESS"),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, within(ctx, stopTimeout, stack.Close)) }()
	if err := wire.Migrate(ctx, stack.DatabaseURL, wire.Up, logFile); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	box, err := addSandbox(ctx, &providers, data, log)
	if err != nil {
		return err
	}
	if box != nil {
		defer func() { err = errors.Join(err, box.Close()) }()
	}
	cfg := configuration(stack, listener.Addr().String(), box)
	if o.payTo != "" {
		cfg.X402PayTo = o.payTo
	}
	// The chains behind the names may be others than last time, or have begun anew.
	if err := errors.Join(wire.ForgetBoard(ctx, cfg), cache.Forget(ctx, cfg.CacheRedisURL)); err != nil {
		return err
	}
	mails, mailRoute, err := catchMail(ctx, &cfg, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mails.Close()) }()
	cards, err := takeCards(ctx, &cfg, data, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cards.Close()) }()
	routes := []wire.Route{mailRoute, {Prefix: staffPath, Handler: staffDesk(cfg)}}
	if box != nil && box.Runs(chain.BaseMainnet) {
		routes = append(routes, wire.Route{Prefix: sandbox.FaucetPath, Handler: box.Faucet(time.Now)})
	}
	return serve(ctx, cfg, keyPlan, providers, listener, routes, stack, log, say, func(key string) {
		fmt.Fprintf(out, "ready base_url=%s temporal_ui=%s\n", cfg.PublicURL, orNone(stack.TemporalUI))
		fmt.Fprintf(out, "key %s\n", key)
		fmt.Fprintf(out, "curl -s %s/rpc/eth_mainnet -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' "+
			"-d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_blockNumber\",\"params\":[]}'\n", cfg.PublicURL, key)
		say("mails are caught and shown at " + cfg.PublicURL + mailRoute.Prefix)
		say("plans and packs are sold by the sandbox's Stripe at " + cards.URL + "; the card 4242 4242 4242 4242 pays")
		if cfg.SellsPerCall() {
			say("calls can be paid for: gateway-dev pay --url " + cfg.PublicURL + " does all of it")
		}
		say("log in " + filepath.Join(data, "gateway.log") + "; Ctrl-C stops everything")
	})
}

func fileProviders(path string) (config.Upstreams, error) {
	if path == "" {
		return config.Upstreams{Chains: map[string]config.ChainUpstreams{}}, nil
	}
	u, err := config.LoadUpstreams(path, wire.ChainNames())
	if err != nil {
		return u, fmt.Errorf("--upstreams: %w", err)
	}
	return u, nil
}

// addSandbox runs the chains that no file names, each behind two upstreams. It gives nil when the file names all.
func addSandbox(ctx context.Context, providers *config.Upstreams, data string, log *slog.Logger) (*sandbox.Sandbox, error) {
	var rest []chain.ID
	for _, c := range chain.All() {
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

// configuration is that of both roles. Contracts and names off the chain are asked of the sandbox's own servers when there is a sandbox.
func configuration(stack *devstack.Stack, address string, box *sandbox.Sandbox) config.Config {
	cfg := config.Config{
		DatabaseURL: stack.DatabaseURL, RedisURL: stack.RedisURL, TemporalAddress: stack.TemporalAddress, TemporalNamespace: "default",
		KeyPepper: developmentPepper, MetricsAddress: "127.0.0.1:0", PublicURL: "http://" + address,
		Contact: "support@chainaccess.example", MaxBodyBytes: 1 << 20, MaxAnswerBytes: 512 << 20, BatchMemoryBytes: 256 << 20, CallTimeout: 30 * time.Second,
		ProbeInterval: 2 * time.Second, DrainTimeout: 10 * time.Second,
		// The meter's own Redis, which production must not share: it evicts nothing. Here nothing fills it, and each start forgets.
		CacheRedisURL: stack.RedisURL, CacheBytes: 64 << 20,
		// The chain is paid on from its first start; blocks are final within seconds there.
		ServiceTitle: "Chain Access Gateway", X402Asset: config.USDCOnBase, X402AssetName: "USD Coin", X402AssetVersion: "2", X402MinConfirmations: 2, X402CorroborateAbove: 1_000_000, X402FinalityDelay: 30 * time.Second,
		PriceHeartbeat: time.Hour, SourcifyURL: "https://sourcify.dev", SignaturesURL: "https://api.4byte.sourcify.dev",
	}
	if box != nil {
		cfg.SourcifyURL, cfg.SignaturesURL = box.Sourcify().URL, box.Sourcify().URL
		if gateway := box.CCIPGateway(); gateway != nil {
			cfg.TrustedGateways = strings.TrimPrefix(gateway.URL, "http://")
		}
		if box.Runs(chain.BaseMainnet) { // on a chain of somebody else's, nobody here could take what was paid
			cfg.X402PayTo, cfg.X402FacilitatorURL = box.Seller().Address.Hex(), box.Facilitator().URL
		}
	}
	return cfg
}

// serve runs both roles until ctx ends or one of them or a server fails, and calls ready once everything answers.
func serve(ctx context.Context, cfg config.Config, keyPlan plan.Plan, providers config.Upstreams, listener net.Listener, routes []wire.Route,
	stack *devstack.Stack, log *slog.Logger, say func(string), ready func(key string),
) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx)) // the worker goes on until the API has stopped
	defer stopWork()
	var roles sync.WaitGroup
	var errs [3]error
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		errs[0] = wire.Work(work, cfg, providers, stack.RedisEmbedded, log, nil)
		stop(errs[0])
	}()
	roles.Go(func() {
		errs[1] = wire.Serve(ctx, cfg, providers, listener, log, nil, routes...)
		stop(errs[1])
	})
	roles.Go(func() {
		select {
		case errs[2] = <-stack.Failed():
			stop(errs[2])
		case <-ctx.Done():
		}
	})
	key, err := awaitReady(ctx, cfg, keyPlan, say)
	if err == nil {
		ready(key)
		<-ctx.Done()
	} else {
		stop(err)
	}
	roles.Wait()
	stopWork()
	<-worked
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(errs[0], errs[1], errs[2], err)
}

// within calls f with a deadline of its own, also when ctx is over.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	defer cancel()
	return f(ctx)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

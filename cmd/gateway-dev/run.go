package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/listen"
	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
)

type options struct {
	listen    string
	data      string
	upstreams string
	payTo     string
	plan      string
	headless  bool
}

// developmentPepper is public: keys of a development gateway are valid nowhere else.
const developmentPepper = "chain-access-gateway-development-pepper"

const (
	readyTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// run starts everything, prints what a newcomer needs, and stops everything when ctx ends.
func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	providers, err := fileProviders(o.upstreams)
	if err != nil {
		return err
	}
	keyPlan, err := planNamed(o.plan)
	if err != nil {
		return err
	}
	listener, err := listen.Listen(ctx, o.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: choose another address with --listen: %w", o.listen, errors.Unwrap(err))
	}
	defer func() { _ = listener.Close() }() // already closed if the API ran
	data, logFile, err := openData(o.data)
	if err != nil {
		return err
	}
	defer func() { _ = logFile.Close() }()
	log := telemetry.NewLogger(logFile, "text", slog.LevelInfo)
	wire.LogRedis(log)
	wire.LogStandard(log)
	say := func(msg string) { fmt.Fprintln(progress, msg) }

	stack, err := devstack.Start(ctx, devstack.Options{
		DataDir: data, Headless: o.headless, EmbeddedRedis: true, Progress: say, Logger: log,
		DatabaseURL: os.Getenv("DATABASE_URL"), RedisURL: os.Getenv("REDIS_URL"),
		TemporalAddress: os.Getenv("TEMPORAL_ADDRESS"),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, within(ctx, stopTimeout, stack.Close)) }()
	if err := operator.Migrate(ctx, stack.DatabaseURL, operator.Up, logFile); err != nil {
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
	// The chains behind the names may have changed or restarted since the last run.
	err = errors.Join(operator.ForgetBoard(ctx, cfg, providers), cache.Forget(ctx, cfg.CacheRedisURL))
	if err != nil {
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
		greet(out, &cfg, stack.TemporalUI, key)
		say("mails are caught and shown at " + cfg.PublicURL + mailRoute.Prefix)
		say("plans and packs are sold by the sandbox's Stripe at " + cards.URL + "; the card 4242 4242 4242 4242 pays")
		if cfg.SellsPerCall() {
			say("calls can be paid for: gateway-dev pay --url " + cfg.PublicURL + " does all of it")
		}
		say("log in " + logFile.Name() + "; Ctrl-C stops everything")
	})
}

// openData creates the folder for all state and opens the log in it.
func openData(dir string) (data string, logFile *os.File, err error) {
	if data, err = filepath.Abs(dir); err != nil {
		return "", nil, fmt.Errorf("--data: %w", err)
	}
	// Other users may traverse it: PostgreSQL runs as another user when this one is root. Its
	// contents have their own permissions.
	if err = os.MkdirAll(data, 0o711); err == nil { //nolint:gosec // see above
		//nolint:gosec // the user names the folder
		logFile, err = os.OpenFile(filepath.Join(data, "gateway.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return "", nil, fmt.Errorf("--data: choose a folder that can be written: %w", err)
	}
	return data, logFile, nil
}

// greet prints the gateway's URL, a key, and a curl command that works.
func greet(out io.Writer, cfg *config.Config, temporalUI, key string) {
	fmt.Fprintf(out, "ready base_url=%s temporal_ui=%s\n", cfg.PublicURL, cmp.Or(temporalUI, "none"))
	fmt.Fprintf(out, "key %s\n", key)
	fmt.Fprintf(out, "curl -s %s/rpc/eth_mainnet -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' "+
		"-d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_blockNumber\",\"params\":[]}'\n", cfg.PublicURL, key)
}

// serve runs both roles until ctx ends or a role or server fails, and calls ready once everything
// answers.
func serve(ctx context.Context, cfg config.Config, keyPlan plan.Plan, providers config.Upstreams, listener net.Listener,
	routes []wire.Route, stack *devstack.Stack, log *slog.Logger, say func(string), ready func(key string),
) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx)) // the worker runs until the API has stopped
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

// within calls f with a timeout of its own, even when ctx has ended.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	defer cancel()
	return f(ctx)
}

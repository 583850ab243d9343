// Command gateway runs the roles of the Chain Access Gateway in production (serve, worker,
// migrate), inspects and controls a running gateway (ops), and checks upstreams files (check). It
// is configured by environment variables; docs/configuration.md lists them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/listen"
	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
)

// gcPercent lets the heap grow further between collections than Go's default of 100. The heap is
// small and calls produce garbage, so fewer collections save about a twelfth of a call's CPU time
// (make bench). GOGC in the environment takes precedence.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var started bool
	err := command(&started).ExecuteContext(ctx)
	stop()
	if err != nil {
		if !started { // the command line itself was at fault
			err = fmt.Errorf("%w; gateway --help lists the commands", err)
		}
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(exitCode(err))
	}
}

// coded is an error with its own exit code.
type coded struct {
	error
	code int
}

func (e coded) Unwrap() error { return e.error }

// exitCode returns the exit code of an error; 1 if it has none of its own.
func exitCode(err error) int {
	if e, ok := errors.AsType[coded](err); ok {
		return e.code
	}
	return 1
}

// command returns the root command. started is set once the command line was parsed.
func command(started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "gateway",
		Short: "One endpoint per chain, one key, one meter",
		Long: "gateway runs the roles of the Chain Access Gateway and has the commands to operate it. It is " +
			"configured by environment variables; docs/configuration.md lists them.",
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(*cobra.Command, []string) { *started = true },
	}
	root.AddCommand(serveCommand(), workerCommand(), migrateCommand(), opsCommand(), checkCommand())
	return root
}

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API until SIGTERM, then drain open requests",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, providers, log, err := setUp(config.Serve)
			if err != nil {
				return err
			}
			listener, err := listen.Listen(cmd.Context(), cfg.ListenAddress)
			if err != nil {
				return fmt.Errorf("LISTEN_ADDRESS: choose a free port: %w", err)
			}
			return wire.Serve(cmd.Context(), cfg, providers, listener, log, reloadOnHangup(cmd.Context(), cfg, log))
		},
	}
}

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run the durable workflows and the usage flusher until SIGTERM",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, providers, log, err := setUp(config.Worker)
			if err != nil {
				return err
			}
			return wire.Work(cmd.Context(), cfg, providers, false, log, reloadOnHangup(cmd.Context(), cfg, log))
		},
	}
}

func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "migrate up|down|status",
		Short:     "Apply all PostgreSQL migrations, roll back the newest one, or list them",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{string(operator.Up), string(operator.Down), string(operator.Status)},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := config.FromEnvironment(config.Migrate)
			if err != nil {
				return err
			}
			return operator.Migrate(cmd.Context(), cfg.DatabaseURL, operator.Direction(args[0]), cmd.OutOrStdout())
		},
	}
}

func setUp(role config.Role) (config.Config, config.Upstreams, *slog.Logger, error) {
	cfg, err := config.FromEnvironment(role)
	if err != nil {
		return cfg, config.Upstreams{}, nil, err
	}
	providers, err := config.LoadUpstreams(cfg.UpstreamsFile)
	if err != nil {
		return cfg, providers, nil, fmt.Errorf("UPSTREAMS_FILE: %w", err)
	}
	log := telemetry.NewLogger(os.Stderr, cfg.LogFormat, cfg.LogLevel)
	wire.LogRedis(log)
	wire.LogStandard(log)
	return cfg, providers, log, nil
}

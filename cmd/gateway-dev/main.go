// Command gateway-dev runs the whole gateway on one machine: PostgreSQL, Redis and Temporal (found
// or started), sandbox chains, API and worker. When everything answers it prints a line that begins
// with "ready", a fresh key, and a curl command that works.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/metering/plan"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal kills the process at once; what it started dies with it.
	context.AfterFunc(ctx, stop)
	ctx, unfollow := followGoRun(ctx)
	var started bool
	err := command(&started).ExecuteContext(ctx)
	unfollow()
	stop()
	if err != nil {
		if !started { // the command line itself was at fault
			err = fmt.Errorf("%w; gateway-dev --help lists the flags", err)
		}
		fmt.Fprintln(os.Stderr, "gateway-dev:", err)
		os.Exit(1)
	}
}

// command returns the root command. started is set once the command line was parsed.
func command(started *bool) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "gateway-dev",
		Short: "Run the whole gateway on this machine, with sandbox chains",
		Long: `gateway-dev runs the whole gateway on this machine: it finds or starts PostgreSQL, Redis and Temporal, applies the
migrations, starts the sandbox chains, the API and the worker, and prints a new key with a working curl command.
Servers that already run are used if DATABASE_URL, REDIS_URL or TEMPORAL_ADDRESS name them.
Ctrl-C stops everything that it started and nothing else. The data is kept for the next start.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PreRun:        func(*cobra.Command, []string) { *started = true },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.AddCommand(payCommand(started))
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:8080", "address of the API, HOST:PORT")
	cmd.Flags().StringVar(&o.data, "data", ".dev", "folder for the state")
	cmd.Flags().StringVar(&o.upstreams, "upstreams", "",
		"use this upstreams file instead of the sandbox for the chains it names")
	cmd.Flags().StringVar(&o.payTo, "pay-to", "",
		"address that receives pay-per-call payments on base_mainnet, if the upstreams file has that chain; the "+
			"sandbox has its own seller")
	cmd.Flags().StringVar(&o.plan, "plan", plan.Door1,
		"plan of the key that is printed; any plan but door1 creates an account")
	cmd.Flags().BoolVar(&o.headless, "headless", false, "run Temporal without its UI")
	return cmd
}

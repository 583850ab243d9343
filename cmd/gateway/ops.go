package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

func opsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "Inspect and operate a running gateway",
		Long: `gateway ops inspects and operates a running gateway. Commands for upstreams need REDIS_URL and
UPSTREAMS_FILE. Commands for accounts, audit and recover need DATABASE_URL and REDIS_URL. Commands for tickets,
feedback, wishes and staff need DATABASE_URL. Those that answer also need KEY_PEPPER, PUBLIC_URL and CONTACT with
the same values as the servers, because they queue mails.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(opsUpstreamsCommand(), opsAccountCommand(), opsSettlementsCommand(), opsBillingCommand(),
		opsStatementsCommand(), opsAuditCommand(), opsTicketsCommand(), opsFeedbackCommand(), opsWishlistCommand(),
		opsWaitlistCommand(), opsStaffCommand(), opsRecoverCommand(), opsCostsCommand())
	return cmd
}

func opsUpstreamsCommand() *cobra.Command {
	var on string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "upstreams",
		Short: "List every upstream with its health, or take one out of rotation",
		Long: `gateway ops upstreams lists every upstream as the probes and all API processes together see it.

SCORE, in milliseconds, decides which upstream a call uses: lower is better. P50, P95 and ERRORS cover the calls of
the last five minutes. A time with ~ comes from probes, because there were too few calls. LAG is in blocks. RATE
is what all processes together may start; ~ marks one that the provider's refusals lowered. BUDGET is
what is spent of the month's. CAN lists the capabilities that probes found; ? marks those that are not known.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, providers, err := setUpOps()
			if err != nil {
				return err
			}
			all, err := operator.Upstreams(cmd.Context(), cfg, providers, on)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return writeUpstreams(cmd.OutOrStdout(), all, time.Now())
		},
	}
	cmd.PersistentFlags().StringVar(&on, "chain", "", "only this chain")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.AddCommand(cordonCommand(&on), uncordonCommand(&on), errorsCommand(&on))
	return cmd
}

func cordonCommand(on *string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cordon NAME",
		Short: "Take an upstream out of rotation in every process",
		Long: `gateway ops upstreams cordon takes an upstream out of rotation in every process within a second. It
gets no more calls, even if it is the last one left. Without --chain, this applies to every chain with an upstream
of this name. It lasts until uncordon.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, providers, err := setUpOps()
			if err != nil {
				return err
			}
			order := upstream.Cordon{By: operatorName(), At: time.Now().UTC().Truncate(time.Second), Reason: reason}
			ids, err := operator.Cordon(cmd.Context(), cfg, providers, args[0], *on, order)
			return tell(cmd.OutOrStdout(), "cordoned", args[0], ids, err)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for other operators")
	return cmd
}

func uncordonCommand(on *string) *cobra.Command {
	return &cobra.Command{
		Use:   "uncordon NAME",
		Short: "Take an upstream back into rotation",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, providers, err := setUpOps()
			if err != nil {
				return err
			}
			ids, err := operator.Uncordon(cmd.Context(), cfg, providers, args[0], *on)
			return tell(cmd.OutOrStdout(), "uncordoned", args[0], ids, err)
		},
	}
}

func tell(out io.Writer, done, name string, ids []chain.ID, err error) error {
	if err != nil {
		return err
	}
	for _, id := range ids {
		fmt.Fprintf(out, "%s %s of %s\n", done, name, id)
	}
	return nil
}

// quiet discards the log of the Redis client: the command's error has the cause.
var quiet = slog.New(slog.DiscardHandler)

func setUpOps() (config.Config, config.Upstreams, error) {
	wire.LogRedis(quiet)
	cfg, err := config.FromEnvironment(config.Ops)
	if err != nil {
		return cfg, config.Upstreams{}, err
	}
	providers, err := config.LoadUpstreams(cfg.UpstreamsFile)
	if err != nil {
		return cfg, providers, fmt.Errorf("UPSTREAMS_FILE: %w", err)
	}
	return cfg, providers, nil
}

// operatorName returns the name and host of the user who runs the command.
func operatorName() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

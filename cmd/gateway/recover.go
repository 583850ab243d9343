package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/internal/config"
)

func opsRecoverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "recover",
		Short: "Reload Redis from PostgreSQL after a restore",
		Long: `gateway ops recover begins a new epoch: the accounts, keys and counters in Redis are dropped and
loaded again from PostgreSQL, whatever their version. Usage that is not in PostgreSQL yet is kept.

A restore to a point in time, a promoted standby and a new cluster begin one by themselves within ten seconds. Run
it after any other restore: a disk snapshot, or a dump that was loaded into the same cluster. An unnecessary run
costs one load of each account that makes calls.

Exit codes: 0 when it is in force, 3 when it has begun but Redis does not answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wire.LogRedis(quiet)
			cfg, err := config.FromEnvironment(config.OpsRecord)
			if err != nil {
				return err
			}
			done, err := operator.Recover(cmd.Context(), cfg)
			if errors.Is(err, operator.ErrNotInForce) {
				return coded{err, notInForce}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"epoch %d is in force: %d projections and counters are reloaded from PostgreSQL\n", done.Epoch,
				done.Forgotten)
			return err
		},
	}
}

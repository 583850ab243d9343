package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

func opsStaffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "staff",
		Short: "Manage who answers tickets in the console",
		Long: `gateway ops staff gives users the staff role or removes it. Staff see and answer the tickets and
the feedback of every account at /staff/tickets and /staff/feedback. A change takes effect with the next request and
is logged with the operator's name.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(staffListCommand(), staffChangeCommand(true), staffChangeCommand(false))
	return cmd
}

func staffListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List users with the role", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			all, err := operator.Staff(cmd.Context(), cfg)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return writeStaff(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func staffChangeCommand(add bool) *cobra.Command {
	use, short, done, same := "remove EMAIL", "Remove the role", "is no longer staff",
		"was not staff; nothing changed"
	if add {
		use, short, done, same = "add EMAIL", "Give the role to a user who has signed in before", "is staff",
			"was staff already; nothing changed"
	}
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			email, refusal := account.ParseEmail(args[0])
			if refusal != nil {
				return fmt.Errorf("give the e-mail address with which they sign in, not %q", shortened(args[0]))
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			changed, err := operator.ChangeStaff(cmd.Context(), cfg, email, add, accountdb.Author{
				Actor: operatorName(), Origin: "ops",
			})
			if err != nil {
				return err
			}
			if !changed {
				done = same
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", email.Address(), done)
			return err
		},
	}
}

func writeStaff(out io.Writer, all []operator.StaffView) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "SINCE", "ADDED BY", "LAST SIGNED IN", "ADDRESS")
	for i := range all {
		s := &all[i]
		line(table, moment(s.Since), s.AddedBy, momentOrDash(s.LastSignedIn), s.Email)
	}
	return endOfList(table, len(all), supportdb.MaxStaff)
}

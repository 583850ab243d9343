package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/plan"
)

func opsStatementsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "statements",
		Short: "Show statements, and close periods that are over",
		Long: `gateway ops statements shows the statements of accounts and closes periods that are over. It needs
only DATABASE_URL, neither Temporal nor a worker. docs/operations/runbooks.md says what to do when a close is stuck.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(statementsShowCommand(), statementsCloseCommand())
	return cmd
}

func statementsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ACCOUNT [PERIOD]", Short: "List the periods of an account, or show the statement of one as JSON",
		Args: cobra.RangeArgs(1, 2),
		Long: `gateway ops statements show lists the billing periods of an account. ACCOUNT is its id, the id of a
key or the first 12 characters of a key. With PERIOD, the date on which a period began, it prints the statement as
the customer gets it, and closes the period if that is possible.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				if err := knownDate(args[1]); err != nil {
					return err
				}
				found, err := operator.Statement(cmd.Context(), cfg, args[0], args[1])
				if err != nil {
					return err
				}
				return writeJSON(cmd.OutOrStdout(), found)
			}
			_, periods, err := operator.Statements(cmd.Context(), cfg, args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), listedPeriods(periods))
			}
			return writePeriods(cmd.OutOrStdout(), periods)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func knownDate(period string) error {
	if _, err := time.Parse(time.DateOnly, period); err != nil {
		return fmt.Errorf("a period is the date on which it began, like 2026-11-01, not %q", shortened(period))
	}
	return nil
}

// listedPeriod is a period in the output of --json.
type listedPeriod struct {
	Period   string           `json:"period"`
	StartsAt time.Time        `json:"starts_at"`
	EndsAt   time.Time        `json:"ends_at"`
	Status   statement.Status `json:"status"`
}

func listedPeriods(periods []statement.Entry) []listedPeriod {
	all := make([]listedPeriod, len(periods))
	for i := range periods {
		p := &periods[i]
		all[i] = listedPeriod{p.Name, p.Start, p.End, p.Status}
	}
	return all
}

func writePeriods(out io.Writer, periods []statement.Entry) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "PERIOD", "STARTS", "ENDS", "STATUS", "REQUESTS", "UNITS")
	for i := range periods {
		p, requests, used := &periods[i], "-", "-"
		if p.Closed {
			requests, used = plan.Group(fmt.Sprint(p.Requests)), p.Units.Grouped()
		}
		line(table, p.Name, moment(p.Start), moment(p.End), string(p.Status), requests, used)
	}
	return table.Flush()
}

func statementsCloseCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "close ACCOUNT PERIOD | close --all", Short: "Close a period that is over, or all that are",
		Args: cobra.MaximumNArgs(2),
		Long: `gateway ops statements close freezes the statement of a period once all its usage is recorded, five
minutes past its end. A closed statement does not change. --all does the same as the daily sweep. Both are
idempotent and safe to run at the same time as the sweep.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) || !all && len(args) != 2 {
				return errors.New("give an account and a period, or --all")
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if all {
				log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
				return operator.SweepStatements(cmd.Context(), cfg, log, func(sum statement.Swept) {
					fmt.Fprintln(out, sweptWords(&sum))
				})
			}
			if err := knownDate(args[1]); err != nil {
				return err
			}
			closed, err := operator.CloseStatement(cmd.Context(), cfg, args[0], args[1])
			if err != nil {
				return err
			}
			return tellClosed(out, args[1], &closed)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all periods of all accounts that are over and recorded")
	return cmd
}

func sweptWords(s *statement.Swept) string {
	words := fmt.Sprintf("%s: %s closed, %s adjusted", counted(s.Accounts, "account"), counted(s.Closed, "statement"),
		counted(s.Adjusted, "earlier period"))
	if s.Waiting > 0 {
		words += ", " + counted(s.Waiting, "period") + " over and not recorded yet"
	}
	if s.Failed > 0 {
		words += ", " + counted(s.Failed, "account") + " failed"
	}
	return words
}

// tellClosed prints the result of closing a period. A period that is not closed is an error, so
// that scripts notice it.
func tellClosed(out io.Writer, period string, c *operator.ClosedPeriod) error {
	switch {
	case c.Closed:
		_, err := fmt.Fprintf(out, "closed: account %s, period %s, %s\n", c.Account, period, c.Hash)
		return err
	case c.Watermark.IsZero():
		return fmt.Errorf(
			"not closed: no usage was ever flushed, so it is not known whether all of %s is recorded; check that a "+
				"worker runs", period)
	}
	return fmt.Errorf(
		"not closed: period %s ends at %s, and usage is recorded up to %s; it must be recorded until five minutes "+
			"past the end", period, moment(c.Ends), moment(c.Watermark))
}

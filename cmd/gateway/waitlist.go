package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// maxInvited is the maximum of addresses that one command invites.
const maxInvited = 500

func opsWaitlistCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "waitlist", Short: "List who waits for access, and invite them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(waitlistListCommand(), waitlistInviteCommand(), waitlistRemoveCommand())
	return cmd
}

func waitlistListCommand() *cobra.Command {
	var status, before string
	var limit int
	var asJSON bool
	statuses := supportdb.WaitlistStatuses()
	names := strings.Join(statuses, ", ") + ", all"
	list := &cobra.Command{
		Use: "list [--status STATUS] [--before ADDRESS]", Short: "List addresses, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := []string{status}
			switch {
			case status == "all":
				chosen = statuses
			case !slices.Contains(statuses, status):
				return fmt.Errorf("--status: there is no status %q: choose from %s; addresses that left are deleted",
					shortened(status), names)
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			var last *account.Email
			if before != "" {
				email, refusal := account.ParseEmail(before)
				if refusal != nil {
					return fmt.Errorf("--before takes an address that list shows: %s", refusal.Message)
				}
				last = &email
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			all, err := operator.Waitlist(cmd.Context(), cfg, chosen, last, limit)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return writeWaitlist(cmd.OutOrStdout(), all, limit)
		},
	}
	list.Flags().StringVar(&status, "status", "all", "only this status: "+names)
	list.Flags().StringVar(&before, "before", "", "only addresses that joined before this one, for the next page")
	list.Flags().IntVar(&limit, "limit", 100, "how many")
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return list
}

func waitlistInviteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "invite ADDRESS…", Short: "Mail confirmed addresses that they have access, each once",
		Args: cobra.RangeArgs(1, maxInvited),
		RunE: func(cmd *cobra.Command, args []string) error {
			emails := make([]account.Email, len(args))
			for i, text := range args { // validate all addresses before anybody is told
				email, refusal := account.ParseEmail(text)
				if refusal != nil {
					return fmt.Errorf("%q: %s", shortened(text), refusal.Message)
				}
				emails[i] = email
			}
			cfg, err := config.FromEnvironment(config.OpsDesk)
			if err != nil {
				return err
			}
			by := accountdb.Author{Actor: operatorName(), Origin: "ops"}
			return operator.InviteWaiting(cmd.Context(), cfg, emails, by,
				func(email account.Email, what string) {
					_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", notify.Spoken(email.Address()), what)
				})
		},
	}
}

func waitlistRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove ADDRESS", Short: "Delete an address at its owner's request; nobody else can put it back",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			email, refusal := account.ParseEmail(args[0])
			if refusal != nil {
				return fmt.Errorf("%q: %s", shortened(args[0]), refusal.Message)
			}
			cfg, err := config.FromEnvironment(config.OpsDesk)
			if err != nil {
				return err
			}
			was, err := operator.LeaveWaitlist(cmd.Context(), cfg, email)
			if err != nil {
				return err
			}
			said := "is off the waitlist"
			if !was {
				said = "was not on the waitlist; nothing changed"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", notify.Spoken(email.Address()), said)
			return err
		},
	}
}

func writeWaitlist(out io.Writer, all []operator.WaitingView, limit int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "JOINED", "STATUS", "WHO", "NEWS", "ADDRESS", "SOURCE")
	for i := range all {
		w := &all[i]
		news := "no"
		switch {
		case w.ProductUpdates && w.ConfirmedAt.IsZero():
			news = "requested, unconfirmed"
		case w.ProductUpdates:
			news = "yes"
		}
		line(table, moment(w.JoinedAt), w.Status, w.Qualifier, news, notify.Spoken(w.Email),
			orDash(notify.Spoken(w.Source)))
	}
	last := ""
	if len(all) > 0 {
		last = notify.Spoken(all[len(all)-1].Email)
	}
	return endOfPage(table, len(all), limit, last)
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

func opsFeedbackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "feedback", Short: "List feedback from customers, and answer it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := listCommand("List feedback, newest first", supportdb.FeedbackStatuses(),
		func(cmd *cobra.Command, cfg config.Config, statuses []string, before uuid.UUID, limit int, asJSON bool) error {
			all, err := operator.Feedback(cmd.Context(), cfg, statuses, supportdb.FeedbackID{UUID: before}, limit)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return writeFeedback(cmd.OutOrStdout(), all, limit)
		})
	answer := answerCommand("Set the status of feedback, and mail the answer to its author",
		supportdb.FeedbackStatuses(),
		func(cmd *cobra.Command, cfg config.Config, id uuid.UUID, a *supportdb.Answer) error {
			return operator.AnswerFeedback(cmd.Context(), cfg, supportdb.FeedbackID{UUID: id}, *a)
		})
	cmd.AddCommand(list, answer)
	return cmd
}

func opsWishlistCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "wishlist", Short: "List requests for enterprise agreements, and answer them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := listCommand("List requests, newest first", supportdb.WishStatuses(),
		func(cmd *cobra.Command, cfg config.Config, statuses []string, before uuid.UUID, limit int, asJSON bool) error {
			all, err := operator.Wishes(cmd.Context(), cfg, statuses, supportdb.WishID{UUID: before}, limit)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return writeWishes(cmd.OutOrStdout(), all, limit)
		})
	answer := answerCommand("Set the status of a request, and mail the reply to the address that was given",
		supportdb.WishAnswers(), func(cmd *cobra.Command, cfg config.Config, id uuid.UUID, a *supportdb.Answer) error {
			return operator.AnswerWish(cmd.Context(), cfg, supportdb.WishID{UUID: id}, *a)
		})
	cmd.AddCommand(list, answer)
	return cmd
}

// listCommand returns a command that lists entries by status.
func listCommand(short string, statuses []string, show func(*cobra.Command, config.Config, []string, uuid.UUID, int,
	bool) error,
) *cobra.Command {
	var status, older string
	var limit int
	var asJSON bool
	names := strings.Join(statuses, ", ") + ", all"
	cmd := &cobra.Command{
		Use: "list [--status STATUS] [--before ID]", Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := []string{status}
			switch {
			case status == "all":
				chosen = statuses
			case !slices.Contains(statuses, status):
				return fmt.Errorf("--status: there is no status %q: choose from %s", shortened(status), names)
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			var before uuid.UUID
			if older != "" {
				var err error
				if before, err = uuid.Parse(older); err != nil {
					return fmt.Errorf("--before takes an id that list shows, not %q", shortened(older))
				}
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			return show(cmd, cfg, chosen, before, limit, asJSON)
		},
	}
	cmd.Flags().StringVar(&status, "status", statuses[0], "only this status: "+names)
	cmd.Flags().StringVar(&older, "before", "", "only entries older than this id, for the next page")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// answerCommand returns a command that answers one entry.
func answerCommand(short string, statuses []string, answer func(*cobra.Command, config.Config, uuid.UUID,
	*supportdb.Answer) error,
) *cobra.Command {
	var status, message string
	seen := -1
	names := strings.Join(statuses, ", ")
	cmd := &cobra.Command{
		Use: "answer ID --status STATUS --seen N [--message TEXT]", Short: short, Args: cobra.ExactArgs(1),
		Long: short + `.

The reply is the text of --message, or standard input (a file or a pipe) with --message -. It replaces the reply
before. The command is refused when there are newer answers than --seen counts; list shows how many there are.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return fmt.Errorf("give an id that list shows, not %q", shortened(args[0]))
			}
			if !slices.Contains(statuses, status) {
				return fmt.Errorf("--status: there is no status %q: choose from %s", shortened(status), names)
			}
			if seen < 0 {
				return fmt.Errorf("--seen is missing: say how many answers you have read; list counts them")
			}
			if message == "-" {
				if message, err = readText(cmd.InOrStdin()); err != nil {
					return err
				}
			}
			if err := checkText("--message", message, ticket.MaxMessage); err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsDesk)
			if err != nil {
				return err
			}
			a := supportdb.Answer{
				Status: status, Reply: message, By: accountdb.Author{Actor: operatorName(), Origin: "ops"},
				Seen: &seen, At: time.Now(),
			}
			if err := answer(cmd, cfg, id, &a); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", id, status)
			return err
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "new status: "+names)
	cmd.Flags().StringVar(&message, "message", "", "the reply; - reads it from standard input")
	cmd.Flags().IntVar(&seen, "seen", -1, "how many answers it had when you read it; required")
	return cmd
}

func writeFeedback(out io.Writer, all []operator.FeedbackView, limit int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "GIVEN", "STATUS", "KIND", "ANSWERS", "PLAN", "ACCOUNT", "ID", "TITLE")
	for i := range all {
		f := &all[i]
		line(table, moment(f.CreatedAt), f.Status, f.Kind, fmt.Sprint(f.Answers), f.Plan, f.AccountID, f.ID,
			notify.Spoken(f.Title))
	}
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1].ID
	}
	if err := endOfPage(table, len(all), limit, last); err != nil {
		return err
	}
	for i := range all {
		if err := writeText(out, all[i].ID, all[i].Body, all[i].Reply); err != nil {
			return err
		}
	}
	return nil
}

func writeWishes(out io.Writer, all []operator.WishView, limit int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "ASKED", "STATUS", "ANSWERS", "ADDRESS", "ID")
	for i := range all {
		w := &all[i]
		line(table, moment(w.CreatedAt), w.Status, fmt.Sprint(w.Answers), notify.Spoken(w.Email), w.ID)
	}
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1].ID
	}
	if err := endOfPage(table, len(all), limit, last); err != nil {
		return err
	}
	for i := range all {
		if err := writeText(out, all[i].ID, all[i].Items, all[i].Reply); err != nil {
			return err
		}
	}
	return nil
}

// writeText writes a text and the reply to it.
func writeText(out io.Writer, id, text, reply string) error {
	if text == "" && reply == "" {
		return nil
	}
	if _, err := fmt.Fprintf(out, "\n%s\n%s\n", id, notify.Prose(text).Quoted()); err != nil || reply == "" {
		return err
	}
	_, err := fmt.Fprintf(out, "answered:\n%s\n", notify.Prose(reply).Quoted())
	return err
}

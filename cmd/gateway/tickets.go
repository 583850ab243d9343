package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/supportdb"
)

func opsTicketsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tickets",
		Short: "List tickets, and answer them",
		Long: `gateway ops tickets shows the tickets of all accounts and answers them, as the pages under /staff
do. Texts are shown as customers wrote them, with control characters removed. Answers are mailed by a worker; a
resolved ticket closes after seven days without a reply.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(ticketsListCommand(), ticketShowCommand(), ticketReplyCommand(), ticketResolveCommand())
	return cmd
}

// ticketStatuses are the values of --status in addition to the statuses themselves.
var ticketStatuses = map[string][]ticket.Status{
	"to_answer":  {ticket.Open, ticket.WaitingUs},
	"unresolved": ticket.Unresolved(),
	"all":        append(ticket.Unresolved(), ticket.Resolved, ticket.Closed),
}

const ticketStatusNames = "to_answer, unresolved, open, waiting_customer, waiting_us, resolved, closed, all"

func ticketsListCommand() *cobra.Command {
	var status, priority, of, before string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [--status STATUS] [--priority PRIORITY] [--account ID] [--before REFERENCE]",
		Short: "List tickets, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := deskFilter(status, priority, of, limit)
			if err != nil {
				return err
			}
			if before != "" {
				if f.Past, err = parseReference(before); err != nil {
					return fmt.Errorf("--before: %w", err)
				}
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			all, err := operator.Tickets(cmd.Context(), cfg, f)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return writeTickets(cmd.OutOrStdout(), all, limit)
		},
	}
	cmd.Flags().StringVar(&status, "status", "to_answer", "only this status: "+ticketStatusNames)
	cmd.Flags().StringVar(&priority, "priority", "", "only this priority: low, normal, high, urgent")
	cmd.Flags().StringVar(&of, "account", "", "only tickets of the account with this id")
	cmd.Flags().StringVar(&before, "before", "",
		"only tickets older than this reference, for the next page")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func deskFilter(status, priority, of string, limit int) (supportdb.DeskFilter, error) {
	f := supportdb.DeskFilter{Statuses: ticketStatuses[status], Priorities: ticket.Priorities(), Limit: limit}
	for _, s := range ticketStatuses["all"] {
		if status == string(s) {
			f.Statuses = []ticket.Status{s}
		}
	}
	if f.Statuses == nil {
		return f, fmt.Errorf("--status: there is no status %q: choose from %s", shortened(status), ticketStatusNames)
	}
	if priority != "" {
		f.Priorities = nil
		for _, p := range ticket.Priorities() {
			if priority == string(p) {
				f.Priorities = []ticket.Priority{p}
			}
		}
		if f.Priorities == nil {
			return f, fmt.Errorf("--priority: there is no priority %q: choose from low, normal, high, urgent",
				shortened(priority))
		}
	}
	if of != "" {
		id, err := account.ParseID(of)
		if err != nil {
			return f, fmt.Errorf(
				"--account takes the id of an account, not %q; gateway ops account show finds one by a key",
				shortened(of))
		}
		f.Account = id
	}
	return f, checkLimit(limit)
}

func checkLimit(limit int) error {
	if limit < 1 || limit > supportdb.MaxDeskPage {
		return fmt.Errorf("--limit takes 1 to %d", supportdb.MaxDeskPage)
	}
	return nil
}

func parseReference(text string) (ticket.Number, error) {
	n, ok := ticket.ParseReference(text)
	if !ok {
		return 0, fmt.Errorf("give the reference of a ticket, such as CAG-1001, not %q", shortened(text))
	}
	return n, nil
}

func ticketShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show REFERENCE", Short: "Show a ticket: messages, evidence, history", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := parseReference(args[0])
			if err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			v, err := operator.Ticket(cmd.Context(), cfg, n)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), v)
			}
			return writeTicket(cmd.OutOrStdout(), &v)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

// written is the reply of an operator and how many messages they have read.
type written struct {
	message string
	seen    int
	reopen  bool
}

func (s *written) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.message, "message", "",
		"the answer to the customer; without it, the text on standard input")
	cmd.Flags().IntVar(&s.seen, "seen", 0, "how many messages you have read, as show counts them; required")
	cmd.Flags().BoolVar(&s.reopen, "reopen", false, "open a resolved or closed ticket again")
}

// run validates the reply and sends it.
func (s *written) run(cmd *cobra.Command, reference string, resolve, must bool) error {
	n, err := parseReference(reference)
	if err != nil {
		return err
	}
	if s.seen < 1 {
		return errors.New(
			"--seen is missing: say how many messages you have read; gateway ops tickets show counts them")
	}
	text := s.message
	if text == "" && must {
		if text, err = readText(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	if err := checkText("--message", text, ticket.MaxMessage); err != nil {
		return err
	}
	cfg, err := config.FromEnvironment(config.OpsDesk)
	if err != nil {
		return err
	}
	v, err := operator.ReplyTicket(cmd.Context(), cfg, supportdb.TicketReply{
		Number: n, Actor: operatorName(), Text: text, Resolve: resolve, Reopen: s.reopen, Seen: &s.seen, At: time.Now(),
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is %s, with %d messages\n", v.Reference, words(string(v.Status)),
		v.Messages)
	return err
}

// longestText is how many bytes of standard input are read; it exceeds every limit of a message.
const longestText = 1 << 16

func readText(in io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, longestText))
	if err != nil {
		return "", fmt.Errorf("read the text from standard input: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", errors.New("the message is empty: give --message, or text on standard input")
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// checkText refuses text that is too long or has nothing readable.
func checkText(name, text string, limit int) error {
	switch {
	case !utf8.ValidString(text) || text != "" && len(notify.Prose(text).Lines()) == 0:
		return fmt.Errorf("%s must be readable text", name)
	case utf8.RuneCountInString(text) > limit:
		return fmt.Errorf("%s may have at most %d characters and has %d", name, limit, utf8.RuneCountInString(text))
	}
	return nil
}

func ticketReplyCommand() *cobra.Command {
	var s written
	cmd := &cobra.Command{
		Use: "reply REFERENCE --seen N [--message TEXT]", Short: "Answer a ticket", Args: cobra.ExactArgs(1),
		Long: `gateway ops tickets reply answers a ticket with the text of --message or of standard input. The
answer is mailed to the person who filed it, or else to the owners of the account. The command is refused when there
are newer messages than --seen counts.`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args[0], false, !s.reopen) },
	}
	s.flags(cmd)
	return cmd
}

func ticketResolveCommand() *cobra.Command {
	var s written
	cmd := &cobra.Command{
		Use:   "resolve REFERENCE --seen N [--message TEXT]",
		Short: "Mark a ticket as resolved; it closes after seven days", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args[0], true, false) },
	}
	cmd.Flags().StringVar(&s.message, "message", "", "a message to the customer")
	cmd.Flags().IntVar(&s.seen, "seen", 0, "how many messages you have read, as show counts them; required")
	return cmd
}

func writeTickets(out io.Writer, all []operator.DeskTicketView, limit int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "TICKET", "STATUS", "PRIORITY", "CATEGORY", "CHANGED", "MESSAGES", "PLAN", "ACCOUNT", "SUBJECT")
	for i := range all {
		t := &all[i]
		line(table, t.Reference, words(string(t.Status)), string(t.Priority), string(t.Category),
			moment(t.LastActivityAt), fmt.Sprint(t.Messages), t.Plan, t.AccountID, notify.Spoken(t.Subject))
	}
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1].Reference
	}
	return endOfPage(table, len(all), limit, last)
}

// endOfPage ends a table that is sorted newest first and continues with --before its last line.
func endOfPage(table *tabwriter.Writer, lines, limit int, last string) error {
	if lines == 0 || lines < limit {
		return endOfList(table, lines, limit)
	}
	line(table, "there may be older ones: add --before "+last)
	return table.Flush()
}

// endOfList ends a table; it notes when the table is empty or has reached its limit.
func endOfList(table *tabwriter.Writer, lines, limit int) error {
	switch lines {
	case 0:
		line(table, "none")
	case limit:
		line(table, "there may be more: raise --limit")
	}
	return table.Flush()
}

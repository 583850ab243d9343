package supportdb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/supportdb"
)

func newForm() supportdb.FormID { return supportdb.FormID{UUID: uuid.New()} }

func TestDesk_FormSentTwiceIsDoneOnce(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	other, _ := storetest.NewDoorKey(1)
	for _, a := range []accountdb.NewAccount{of, other} {
		storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, a))
	}
	told := 0
	//nolint:unparam // counts, and mails nothing
	tell := func(*supportdb.TicketStep) ([]maildb.NewMail, error) { told++; return nil, nil }
	create := func(n supportdb.NewTicket) supportdb.Ticket {
		t.Helper()
		n.Tell = tell
		made, _, err := s.CreateTicket(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	n := newTicket(of.ID, 0, noon)
	n.Form = newForm()
	first := create(n)
	if again := create(n); again.Number != first.Number || again.Messages != 1 || told != 1 {
		t.Errorf("sent twice it made %+v after %+v, told %d times", again, first, told)
	}
	theirs := newTicket(other.ID, 0, noon)
	theirs.Form = n.Form // the same form id in another account is another form
	if made := create(theirs); made.Number == first.Number || made.Account != other.ID {
		t.Errorf("another account's form made %+v", made)
	}
	reply := supportdb.TicketReply{
		Number: first.Number, Account: of.ID, By: ticket.Customer, Actor: "user x", Origin: "console", Text: "More.",
		Resolve: true, Form: newForm(), At: noon, Tell: tell,
	}
	for range 3 {
		got, verdict, err := s.ReplyTicket(ctx, reply)
		in := expect.In(t, "a reply that is sent again")
		require.NoError(in, err)
		expect.Equal(in, verdict, ticket.Moves)
		expect.Equal(in, got.Messages, 2)
		expect.Equal(in, got.Status, ticket.Resolved)
	}
	if told != 3 {
		t.Errorf("told %d times", told)
	}
	for name, change := range map[string]func(*supportdb.NewTicket){
		"message": func(n *supportdb.NewTicket) { n.Message = "Besides." }, "subject": func(n *supportdb.NewTicket) {
			n.Subject = "Other"
		},
		"call": func(n *supportdb.NewTicket) { n.RequestID = uuid.New() }, "category": func(n *supportdb.NewTicket) {
			n.Chosen = ticket.Billing
		},
		"scope": func(n *supportdb.NewTicket) { n.Scope = supportdb.Scope{UUID: uuid.New()} },
	} {
		t.Run(name, func(t *testing.T) {
			other := n
			change(&other)
			if made, _, err := s.CreateTicket(ctx, other); !errors.Is(err, supportdb.ErrFormSent) {
				t.Errorf("the form with another %s gives %+v, %v", name, made, err)
			}
		})
	}
	for name, change := range map[string]func(*supportdb.TicketReply){
		"text": func(r *supportdb.TicketReply) { r.Text = "Else." }, "reopen": func(r *supportdb.TicketReply) {
			r.Resolve, r.Reopen = false, true
		},
		"side": func(r *supportdb.TicketReply) { r.By = ticket.Operator },
	} {
		t.Run(name, func(t *testing.T) {
			other := reply
			change(&other)
			if got, _, err := s.ReplyTicket(ctx, other); !errors.Is(err, supportdb.ErrFormSent) || got.Messages != 2 {
				t.Errorf("the form with another %s gives %+v, %v", name, got, err)
			}
		})
	}
	second := create(newTicket(of.ID, 0, noon))
	reply.Number = second.Number
	if _, _, err := s.ReplyTicket(ctx, reply); !errors.Is(err, supportdb.ErrFormSent) {
		t.Errorf("the form of another ticket gives %v", err)
	}
	by := supportdb.Writer{Account: of.ID, Channel: "console", Form: newForm()}
	given := storetest.Must[supportdb.Feedback](t)(s.SubmitFeedback(ctx, by, supportdb.Feedback{
		ID: supportdb.NewFeedbackID(), Kind: "other", Title: "a", CreatedAt: noon,
	}, nil))
	again := storetest.Must[supportdb.Feedback](t)(s.SubmitFeedback(ctx, by, supportdb.Feedback{
		ID: supportdb.NewFeedbackID(), Kind: "other", Title: "a", CreatedAt: noon,
	}, nil))
	if given.ID != again.ID {
		t.Error("feedback of one form is recorded twice")
	}
	if _, err := s.SubmitFeedback(ctx, by, supportdb.Feedback{
		ID: supportdb.NewFeedbackID(), Kind: "other", Title: "b", CreatedAt: noon,
	}, nil); !errors.Is(err, supportdb.ErrFormSent) {
		t.Errorf("feedback of another title gives %v", err)
	}
	by.Form = reply.Form
	if _, err := s.SubmitFeedback(ctx, by, supportdb.Feedback{
		ID: supportdb.NewFeedbackID(), Kind: "other", Title: "a", CreatedAt: noon,
	}, nil); !errors.Is(err, supportdb.ErrFormSent) {
		t.Errorf("feedback with the form of a ticket gives %v", err)
	}
}

func TestDesk_ReplyThatOverlooksAMessageIsRefused(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	made, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, noon))
	if err != nil {
		t.Fatal(err)
	}
	reply := func(text string, seen int) error {
		_, _, err := s.ReplyTicket(ctx, supportdb.TicketReply{
			Number: made.Number, By: ticket.Operator, Actor: "op@host",
			Origin: "ops", Text: text, Seen: &seen, At: noon.Add(time.Minute),
		})
		return err
	}
	results := make(chan error, 2)
	for _, text := range []string{"Try again.", "It is mended."} {
		go func() { results <- reply(text, 1) }()
	}
	one, two := <-results, <-results
	if one != nil {
		one, two = two, one
	}
	if one != nil || !errors.Is(two, supportdb.ErrUnread) {
		t.Errorf("two replies to one message give %v and %v", one, two)
	}
	if err := reply("And this.", 2); err != nil {
		t.Errorf("a reply that has seen all gives %v", err)
	}
	lines, err := s.ListDeskLines(ctx, made.Number.Reference())
	require.NoError(t, err)
	require.Len(t, lines, 3)
	expect.Equal(t, lines[0].Action, "file")
	expect.Equal(t, lines[1].Actor, "op@host")
	expect.Equal[any](t, lines[1].Before["status"], "open")
	expect.Equal[any](t, lines[1].After["status"], "waiting_customer")
	expect.Equal[any](t, lines[2].After["message"], 3.0)
	expect.Equal(t, lines[2].Account, of.ID)
}

// TestDesk_ReadsTenThousandTicketsByItsIndex checks the query plan: a page is walks down the
// index, whatever the filter.
func TestDesk_ReadsTenThousandTicketsByItsIndex(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*storetest.Timeout)
	t.Cleanup(cancel)
	url := testkit.Postgres(t)
	s, err := store.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	fill := fmt.Sprintf(
		`INSERT INTO tickets (account_id, subject, category, priority, channel, status, gathers, evidence, messages, created_at, last_activity_at, resolved_at, closed_at)
		SELECT '%s', 'ticket ' || i, 'question', (ARRAY['low', 'normal', 'high', 'urgent'])[1 + i %% 4], 'api', CASE WHEN i %% 100 = 0 THEN 'open' ELSE 'closed' END, false, '{}', 1,
			'2026-11-01', '2026-11-01', '2026-11-01',
			CASE WHEN i %% 100 = 0 THEN NULL ELSE '2026-11-08'::timestamptz END
		FROM generate_series(1, 10000) AS i`, of.ID)
	for _, sql := range []string{fill, "ANALYZE tickets"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	asked := supportdb.DeskFilter{
		Statuses: []ticket.Status{ticket.Open, ticket.WaitingUs}, Priorities: ticket.Priorities(), Limit: 51,
	}
	first := storetest.Must[[]supportdb.DeskTicket](t)(s.ListDeskTickets(ctx, asked))
	asked.Past = first[len(first)-1].Number
	second := storetest.Must[[]supportdb.DeskTicket](t)(s.ListDeskTickets(ctx, asked))
	require.Len(t, first, 51)
	require.Len(t, second, 49)
	expect.Less(t, second[0].Number, first[50].Number)
	expect.Equal(t, first[0].Plan, of.Plan)
	expect.Equal(t, first[0].Status, ticket.Open)
	asked.Past, asked.Account, asked.Priorities = 0, of.ID, []ticket.Priority{ticket.Low}
	if low := storetest.Must[[]supportdb.DeskTicket](t)(s.ListDeskTickets(ctx, asked)); len(low) != 51 ||
		low[0].Priority != ticket.Low {
		t.Errorf("%d tickets of low priority wait, want the first page of 100", len(low))
	}
	asked = supportdb.DeskFilter{
		Statuses: asked.Statuses, Priorities: ticket.Priorities(), Limit: 51,
		OldestFirst: true,
	}
	for _, asked.Account = range []account.ID{{}, of.ID} {
		asked.Past = 0
		up := storetest.Must[[]supportdb.DeskTicket](t)(s.ListDeskTickets(ctx, asked))
		asked.Past = up[50].Number
		up = append(up, storetest.Must[[]supportdb.DeskTicket](t)(s.ListDeskTickets(ctx, asked))...)
		slices.Reverse(up)
		if all := append(slices.Clone(first), second...); !slices.Equal(numbersOf(up), numbersOf(all)) {
			t.Errorf("oldest first are %v, and newest first %v", numbersOf(up), numbersOf(all))
		}
	}
	if counts := storetest.Must[[]supportdb.DeskCount](t)(s.CountDeskTickets(ctx)); len(counts) != 1 ||
		counts[0].Tickets != 100 {
		t.Errorf("unresolved are %+v", counts)
	}
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	source := storetest.Must[[]byte](t)(os.ReadFile("../queries/desk.sql"))
	for list, past := range map[string]int64{"ListDeskTickets": 1 << 62, "ListOldestDeskTickets": 0} {
		_, query, _ := strings.Cut(string(source), "-- name: "+list+" :many\n")
		query, _, _ = strings.Cut(query, ";")
		for name, as := range map[string]string{
			"statuses": "$1", "priorities": "$2", "before": "$3", "after": "$3", "max_rows": "$4",
		} {
			query = strings.ReplaceAll(query, "sqlc.arg("+name+")", as)
		}
		rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+query,
			[]string{"open", "waiting_us", "closed"}, []string{"low", "urgent"}, past, 51)
		plan := storetest.Must[[]string](t)(pgx.CollectRows(rows, pgx.RowTo[string]))
		text := strings.Join(plan, "\n")
		in := expect.In(t, "%s", list)
		require.NoError(in, err)
		expect.Contains(in, text, "tickets_by_status")
		expect.NotContains(in, text, "Seq Scan on tickets")
	}
}

func numbersOf(list []supportdb.DeskTicket) []ticket.Number {
	all := make([]ticket.Number, len(list))
	for i := range list {
		all[i] = list[i].Number
	}
	return all
}

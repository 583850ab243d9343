package supportdb_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// noon is the time of most of these tests.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newTicket(of account.ID, code int, at time.Time) supportdb.NewTicket {
	n := supportdb.NewTicket{
		Writer: supportdb.Writer{Account: of, Channel: "api"}, Subject: "Calls fail", Message: "They fail since noon.",
		Category: ticket.Incident, Priority: ticket.Normal, At: at, Evidence: ticket.Evidence{GatheredAt: at},
	}
	if code != 0 {
		n.RequestID = uuid.Must(uuid.NewV7())
		n.Evidence.Call = &ticket.ReportedCall{
			RequestID: n.RequestID.String(), Code: code, Chain: "eth_mainnet",
			Method: "eth_call", Outcome: "upstream_failed", Units: 500,
		}
	}
	return n
}

func TestTicket_SameSymptomJoinsItWithinAnHour(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	other, _ := storetest.NewDoorKey(1)
	for _, a := range []accountdb.NewAccount{of, other} {
		storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, a))
	}
	create := func(n supportdb.NewTicket) (supportdb.Ticket, bool) {
		t.Helper()
		made, joined, err := s.CreateTicket(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		return made, joined
	}
	// Ten concurrent calls make one.
	var all sync.WaitGroup
	numbers := make([]ticket.Number, 10)
	for i := range numbers {
		all.Go(func() {
			made, _, err := s.CreateTicket(ctx, newTicket(of.ID, -32022, noon))
			if err != nil {
				t.Error(err)
			}
			numbers[i] = made.Number
		})
	}
	all.Wait()
	first, messages, err := s.LoadTicket(ctx, of.ID, supportdb.Scope{}, numbers[0])
	require.NoError(t, err)
	require.Len(t, messages, 10)
	require.Equal(t, first.Messages, 10)
	for _, n := range numbers {
		if n != first.Number {
			t.Errorf("the tickets are %v", numbers)
		}
	}
	expect.AtLeast(t, first.Number, 1001)
	expect.Equal(t, first.Evidence.Call.Units, 500)
	expect.Equal(t, first.Status, ticket.Open)
	// Each join is activity. Another symptom, another account and an agent have tickets of their
	// own.
	if _, joined := create(newTicket(of.ID, -32022, noon.Add(time.Hour))); !joined {
		t.Error("an hour after the last activity it does not join")
	}
	if made, joined := create(newTicket(of.ID, -32023, noon.Add(time.Hour))); joined || made.Number == first.Number {
		t.Error("another code joins")
	}
	if _, joined := create(newTicket(other.ID, -32022, noon)); joined {
		t.Error("it joins another account's")
	}
	ofAgent := newTicket(of.ID, -32022, noon.Add(time.Hour))
	ofAgent.Scope = supportdb.Scope{UUID: uuid.New()}
	agents, joined := create(ofAgent)
	if joined {
		t.Error("an agent's joins its owner's")
	}
	if _, joined := create(newTicket(of.ID, 0, noon)); joined {
		t.Error("one without a call joins")
	}
	// More than an hour after the last activity a new ticket is opened, which gathers from then on
	// although the first is open.
	second, joined := create(newTicket(of.ID, -32022, noon.Add(2*time.Hour+time.Second)))
	if joined || second.Number == first.Number {
		t.Errorf("the second is %+v", second)
	}
	if third, joined := create(newTicket(of.ID, -32022, noon.Add(2*time.Hour+time.Minute))); !joined ||
		third.Number != second.Number {
		t.Errorf("the third joins %s", third.Number.Reference())
	}
	// A resolved ticket gathers no more.
	if _, _, err := s.ReplyTicket(ctx, supportdb.TicketReply{
		Number: second.Number, Account: of.ID, By: ticket.Customer, Resolve: true, At: noon.Add(3 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	if _, joined := create(newTicket(of.ID, -32022, noon.Add(3*time.Hour))); joined {
		t.Error("it joins a resolved one")
	}
	// Agents find only their own tickets, and so do accounts.
	for what, look := range map[string]func() error{
		"another agent": func() error {
			_, _, err := s.LoadTicket(ctx, of.ID, supportdb.Scope{UUID: uuid.New()}, agents.Number)
			return err
		},
		"an agent the owner's": func() error {
			_, _, err := s.LoadTicket(ctx, of.ID, ofAgent.Scope, first.Number)
			return err
		},
		"another account": func() error {
			_, _, err := s.LoadTicket(ctx, other.ID, supportdb.Scope{}, first.Number)
			return err
		},
		"another account's reply": func() error {
			_, _, err := s.ReplyTicket(ctx, supportdb.TicketReply{
				Number: first.Number, Account: other.ID, By: ticket.Customer, Text: "x", At: noon,
			})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			if err := look(); !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	if _, _, err := s.LoadTicket(ctx, of.ID, ofAgent.Scope, agents.Number); err != nil {
		t.Errorf("its own: %v", err)
	}
	list, err := s.ListTickets(ctx, supportdb.TicketFilter{
		Account: of.ID, Scope: ofAgent.Scope, Statuses: ticket.Unresolved(), Limit: 10,
	})
	in := expect.In(t, "the agent's list")
	require.NoError(in, err)
	require.Len(in, list, 1)
	expect.Equal(in, list[0].Number, agents.Number)
}

func TestTicket_ResolvedClosesAfterSevenDaysWithoutAReply(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	made, _, err := s.CreateTicket(ctx, newTicket(of.ID, -32022, noon))
	if err != nil {
		t.Fatal(err)
	}
	at := noon
	reply := func(r supportdb.TicketReply) (supportdb.Ticket, ticket.Verdict) {
		t.Helper()
		at = at.Add(time.Hour)
		r.Number, r.At = made.Number, at
		if r.By == "" {
			r.By, r.Account = ticket.Customer, of.ID
		}
		got, verdict, err := s.ReplyTicket(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return got, verdict
	}
	closes := func(after time.Duration) supportdb.Ticket {
		t.Helper()
		return storetest.Must[supportdb.Ticket](t)(s.CloseTicket(ctx, made.Number, at.Add(after)))
	}
	if got := closes(ticket.CloseAfter); got.Status != ticket.Open || got.Version != 0 {
		t.Errorf("an open one became %+v", got)
	}
	if got, _ := reply(supportdb.TicketReply{By: ticket.Operator, Text: "Which chain?"}); got.Status !=
		ticket.WaitingCustomer || got.Version != 0 {
		t.Errorf("answered it is %+v", got)
	}
	if got, _ := reply(supportdb.TicketReply{Text: "Ethereum."}); got.Status != ticket.WaitingUs {
		t.Errorf("answered back it is %+v", got)
	}
	got, _ := reply(supportdb.TicketReply{
		By: ticket.Operator, Text: "Mended.",
		Resolve: true,
	})
	expect.Equal(t, got.Status, ticket.Resolved)
	expect.True(t, got.ResolvedAt.Equal(at), got.ResolvedAt, at)
	expect.Equal(t, got.Version, 1)
	if got, _ := reply(supportdb.TicketReply{Text: "Not yet."}); got.Status != ticket.WaitingUs || got.Version != 2 {
		t.Errorf("a reply makes it %+v", got)
	}
	reply(supportdb.TicketReply{Resolve: true})
	if got := closes(ticket.CloseAfter - time.Second); got.Status != ticket.Resolved {
		t.Errorf("a second too early it is %+v", got)
	}
	closed := closes(ticket.CloseAfter)
	if closed.Status != ticket.Closed || !closed.ClosedAt.Equal(at.Add(ticket.CloseAfter)) {
		t.Errorf("after seven days it is %+v", closed)
	}
	again := closes(2 * ticket.CloseAfter)
	in := expect.In(t, "closed again")
	expect.Equal(in, again.Version, closed.Version)
	expect.Equal(in, again.ClosedAt, closed.ClosedAt)
	expect.Equal(in, again.Messages, closed.Messages)
	if got, verdict := reply(supportdb.TicketReply{Text: "Still there?"}); verdict != ticket.IsClosed ||
		got.Messages != closed.Messages {
		t.Errorf("a reply to a closed one is %s: %+v", verdict, got)
	}
	if got, _ := reply(supportdb.TicketReply{Text: "It is back.", Reopen: true}); got.Status != ticket.WaitingUs ||
		!got.ClosedAt.IsZero() {
		t.Errorf("reopened it is %+v", got)
	}
	_, messages, err := s.LoadTicket(ctx, of.ID, supportdb.Scope{}, made.Number)
	if err != nil {
		t.Fatal(err)
	}
	var who []string
	for _, m := range messages {
		who = append(who, string(m.Author))
	}
	if got := strings.Join(who, " "); got != "customer operator customer operator customer service customer" ||
		messages[5].Body != supportdb.ClosedNote {
		t.Errorf("the messages are of %s", got)
	}
}

func TestTickets_AndMessagesOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	var last supportdb.Ticket
	for i := range ticket.MaxOpen {
		made, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, noon.Add(time.Duration(i)*3*time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		last = made
	}
	late := noon.Add(ticket.MaxOpen * 3 * time.Hour)
	if _, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, late)); !errors.Is(err, supportdb.ErrTooManyTickets) {
		t.Errorf("the 101st: %v", err)
	}
	reply := supportdb.TicketReply{Number: last.Number, Account: of.ID, By: ticket.Customer, Resolve: true, At: late}
	if _, _, err := s.ReplyTicket(ctx, reply); err != nil {
		t.Fatal(err)
	}
	full, _, err := s.CreateTicket(ctx, newTicket(of.ID, -32022, late))
	if err != nil {
		t.Fatal(err)
	}
	reply.Resolve, reply.Reopen = false, true
	if _, _, err := s.ReplyTicket(ctx, reply); !errors.Is(err, supportdb.ErrTooManyTickets) {
		t.Errorf("reopened beside a hundred: %v", err)
	}
	say := supportdb.TicketReply{Number: full.Number, Account: of.ID, By: ticket.Customer, Text: "And again.", At: late}
	fill := func(until int) {
		for range until - full.Messages {
			if full, _, err = s.ReplyTicket(ctx, say); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := s.ReplyTicket(ctx, say); !errors.Is(err, supportdb.ErrTooManyMessages) {
			t.Errorf("after %d of %s: %v", until, say.By, err)
		}
	}
	fill(ticket.MaxByCustomers)
	// A full ticket is not joined.
	if _, _, err := s.CreateTicket(ctx, newTicket(of.ID, -32022, late)); !errors.Is(err, supportdb.ErrTooManyTickets) {
		t.Errorf("joined a full one: %v", err)
	}
	say.By = ticket.Operator
	fill(ticket.MaxMessages)
	say.Text, say.Resolve = "", true
	if _, _, err := s.ReplyTicket(ctx, say); err != nil {
		t.Fatal(err)
	}
	if closed, err := s.CloseTicket(ctx, full.Number, late.Add(ticket.CloseAfter)); err != nil ||
		closed.Status != ticket.Closed || closed.Messages != ticket.MaxMessages+1 {
		t.Errorf("a full one closes as %+v, %v", closed, err)
	}
}

func TestTicket_ResolvingAndReopeningIsBounded(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	made, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, noon))
	if err != nil {
		t.Fatal(err)
	}
	move := supportdb.TicketReply{Number: made.Number, Account: of.ID, By: ticket.Customer, Resolve: true, At: noon}
	for range ticket.MaxMoves {
		if _, _, err := s.ReplyTicket(ctx, move); err != nil {
			t.Fatal(err)
		}
		move.Resolve, move.Reopen = !move.Resolve, !move.Reopen
	}
	if _, _, err := s.ReplyTicket(ctx, move); !errors.Is(err, supportdb.ErrTooManyMoves) {
		t.Errorf("resolved once more: %v", err)
	}
	say := supportdb.TicketReply{Number: made.Number, Account: of.ID, By: ticket.Customer, Text: "Still.", At: noon}
	if got, _, err := s.ReplyTicket(ctx, say); err != nil || got.Messages != 2 {
		t.Errorf("a message gives %+v, %v", got, err)
	}
	move.By = ticket.Operator
	if got, _, err := s.ReplyTicket(ctx, move); err != nil || got.Status != ticket.Resolved {
		t.Errorf("staff resolves it: %+v, %v", got, err)
	}
}

// Resolving makes no room: every ticket filed within 24 hours counts.
func TestTickets_OfADayAreBounded(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	door, _ := storetest.NewDoorKey(1)
	owner := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: "free"}
	for of, limit := range map[accountdb.NewAccount]int{door: 10, owner: 50} {
		storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
		for i := range limit {
			at := noon.Add(time.Duration(i) * time.Minute)
			made, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, at))
			if err == nil {
				_, _, err = s.ReplyTicket(ctx, supportdb.TicketReply{
					Number: made.Number, Account: of.ID, By: ticket.Customer, Resolve: true, At: at,
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, noon.Add(time.Hour)))
		refused, ok := errors.AsType[*supportdb.TooManyTodayError](err)
		in := expect.In(t, "beyond %d", limit)
		require.True(in, ok, err)
		expect.Equal(in, refused.Limit, limit)
		expect.Equal(in, refused.Wait, 23*time.Hour)
		if _, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, noon.Add(24*time.Hour))); err != nil {
			t.Errorf("once the first left the window: %v", err)
		}
	}
}

func TestTickets_TenThousandAreListedByPages(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	ctx := t.Context()
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	const many, page = 10_000, 1000
	storetest.Must[pgconn.CommandTag](t)(
		conn.Exec(ctx,
			`INSERT INTO tickets (account_id, subject, category, priority, channel, status, gathers, evidence, messages, created_at, last_activity_at, closed_at)
		SELECT $1, 's', 'other', 'low', 'api', 'closed', false, '{}', 0, made, moved, ended FROM (SELECT now() AS made, now() AS moved, now() AS ended) AS present, generate_series(1, $2::integer)`, of.ID.UUID, many))
	seen, before := 0, ticket.Number(0)
	for {
		list, err := s.ListTickets(ctx, supportdb.TicketFilter{
			Account: of.ID, Statuses: []ticket.Status{ticket.Closed}, Before: before, Limit: page,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if before != 0 && list[i].Number >= before {
				t.Fatalf("%d comes after %d", list[i].Number, before)
			}
			before = list[i].Number
		}
		if seen += len(list); len(list) < page {
			break
		}
	}
	if seen != many {
		t.Errorf("%d of %d were listed", seen, many)
	}
	if list, err := s.ListTickets(ctx, supportdb.TicketFilter{
		Account: of.ID, Statuses: ticket.Unresolved(), Limit: page,
	}); err != nil || len(list) != 0 {
		t.Errorf("unresolved are %d, %v", len(list), err)
	}
}

func TestTickets_LateFlowsAreListed(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	create := func(code int, at time.Time) supportdb.Ticket {
		made, _, err := s.CreateTicket(ctx, newTicket(of.ID, code, at))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = s.ReplyTicket(ctx, supportdb.TicketReply{
			Number: made.Number, By: ticket.Operator, Resolve: true, At: at,
		}); err != nil {
			t.Fatal(err)
		}
		return made
	}
	storetest.Must[supportdb.Ticket](t)(func() (supportdb.Ticket, error) { // no clock runs for this one
		made, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, noon.Add(-time.Hour)))
		return made, err
	}())
	late, fresh := create(-32022, noon.Add(-time.Hour)), create(-32023, noon)
	list := func(overdue time.Time) []supportdb.TicketNews {
		return storetest.Must[[]supportdb.TicketNews](t)(s.ListUntoldTickets(ctx, noon.Add(-time.Minute), overdue, 0,
			10))
	}
	got := list(time.Time{})
	require.Len(t, got, 1, fresh)
	expect.Equal(t, got[0].Number, late.Number, fresh)
	expect.Equal(t, got[0].Version, 1, fresh)
	told := func(version int64) {
		if err := s.MarkTicketTold(ctx, supportdb.TicketNews{Number: late.Number, Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	told(1)
	told(7) // a version that does not exist
	if got := list(time.Time{}); len(got) != 0 {
		t.Errorf("told, late are %+v", got)
	}
	resolve := supportdb.TicketReply{
		Number: late.Number, Account: of.ID, By: ticket.Operator, Text: "Mended.",
		Resolve: true, At: noon.Add(-2 * time.Minute),
	}
	if _, _, err := s.ReplyTicket(ctx, resolve); err != nil {
		t.Fatal(err)
	}
	if got := list(time.Time{}); len(got) != 1 || got[0].Version != 2 {
		t.Errorf("resolved, late are %+v", got)
	}
	told(2)
	told(1) // an older version arrives late
	if got := list(time.Time{}); len(got) != 0 {
		t.Errorf("told again, late are %+v", got)
	}
	if got := list(noon.Add(-time.Minute)); len(got) != 1 || got[0].Number != late.Number {
		t.Errorf("overdue are %+v", got)
	}
}

func TestTickets_RefusalsOfADayAreCounted(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	key := account.NewKeyID()
	at := func(ago time.Duration, lines ...account.UsageLine) {
		slot := noon.Add(-ago).Truncate(10 * time.Second)
		for i := range lines {
			lines[i].Period, lines[i].Chain, lines[i].Service, lines[i].Method, lines[i].Class = "2026-11-01",
				"eth_mainnet", "rpc", "eth_call", "standard"
		}
		err := s.CommitUsage(ctx, []account.UsageBucket{
			{Shard: account.Shard(of.ID), Slot: slot, Account: of.ID, Generation: uuid.NewString(), Lines: lines},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	at(time.Minute, account.UsageLine{Outcome: "ok", Source: "plan", Requests: 50},
		account.UsageLine{Outcome: "rate_window", Requests: 2}, account.UsageLine{
			Outcome: "upstream_failed", Requests: 3, Key: key,
		}, account.UsageLine{Outcome: "refund", Requests: -3})
	at(23*time.Hour, account.UsageLine{
		Outcome: "rate_window", Requests: 5,
	}, account.UsageLine{Outcome: "hit", Requests: 9})
	at(26*time.Hour, account.UsageLine{Outcome: "plan_quota", Requests: 100})
	got := storetest.Must[[]ticket.RefusalCount](t)(s.SumRefusals(ctx, &usagedb.UsageWindow{
		Account: of.ID, Since: noon.Add(-24 * time.Hour),
	}))
	require.Len(t, got, 2)
	expect.Equal(t, got[0].Reason, "rate_window")
	expect.Equal(t, got[0].Count, 7)
	expect.Equal(t, got[0].Code, -32005)
	expect.True(t, got[0].Last.Equal(noon.Add(-time.Minute).Truncate(time.Hour)), got[0].Last)
	expect.Equal(t, got[1].Count, 3)
	own := storetest.Must[[]ticket.RefusalCount](t)(s.SumRefusals(ctx, &usagedb.UsageWindow{
		Account: of.ID, Since: noon.Add(-24 * time.Hour), Keys: []account.KeyID{key},
	}))
	if len(own) != 1 || own[0].Reason != "upstream_failed" {
		t.Errorf("the key's are %+v", own)
	}
}

// Texts are stored as written, whatever they would mean elsewhere. Their length is checked before.
func TestTicket_TextsAreStoredVerbatim(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	of, _ := storetest.NewDoorKey(1)
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, of))
	n := newTicket(of.ID, 0, noon)
	n.Subject, n.Message = `<script>alert("1")</script> & 'Ω'`,
		"  line one\n\n\t{{.}} ${x} %s '; DROP TABLE tickets; --\n"
	made, _, err := s.CreateTicket(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	got, messages, err := s.LoadTicket(ctx, of.ID, supportdb.Scope{}, made.Number)
	require.NoError(t, err)
	expect.Equal(t, got.Subject, n.Subject)
	expect.Equal(t, messages[0].Body, n.Message)
	n.Message = strings.Repeat("ж", ticket.MaxMessage+1)
	if _, _, err := s.CreateTicket(ctx, n); err == nil {
		t.Error("a text beyond its bound is kept")
	}
	if list, err := s.ListTickets(ctx, supportdb.TicketFilter{
		Account: of.ID, Statuses: ticket.Unresolved(), Limit: 10,
	}); err != nil || len(list) != 1 {
		t.Errorf("the refused one left %+v, %v", list, err)
	}
}

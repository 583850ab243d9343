package tickets_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/store/supportdb"
)

func TestDesk_IsForStaffAlone(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	email, _ := account.ParseEmail("dee@staff.example")
	if _, err := o.Store.AddStaff(o.Ctx, email, time.Now(), servicetest.ByOps); err == nil {
		t.Error("whoever never signed in is made staff")
	}
	dee, ann := o.Staff(t), o.SignIn(t, "ann@buyer.example")
	if !o.WhoIs(t, dee).Staff || o.WhoIs(t, ann).Staff {
		t.Error("sessions do not say who is staff")
	}
	if again, err := o.Store.AddStaff(o.Ctx, email, time.Now(), servicetest.ByOps); err != nil || again {
		t.Errorf("adding again gives %v, %v", again, err)
	}
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, servicetest.Browser(dee),
		keys.CreateKeyInput{Name: "dee's"}))
	table := servicetest.Right(servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, servicetest.Browser(""),
		keys.GetKeyInput{})))
	if len(o.Desk()) != 5 {
		t.Errorf("the desk has %d capabilities", len(o.Desk()))
	}
	for _, op := range o.Desk() {
		args := table[op.Meta().Name]
		o.Refuses(t, op, servicetest.Browser(ann), args, fault.NotYours)
		o.Refuses(t, op, servicetest.Browser(""), args, fault.KeyInvalid)
		o.Refuses(t, op, servicetest.Holder(key.PlaintextToken), args, fault.KeyInvalid) // a key of staff is no person
	}
	servicetest.Must[tickets.DeskTickets](t)(o.DeskListTickets.Invoke(o.Ctx, servicetest.Browser(dee),
		tickets.DeskTicketsInput{}))
	if gone, err := o.Store.RemoveStaff(o.Ctx, email, time.Now(), servicetest.ByOps); err != nil || !gone {
		t.Fatal(gone, err)
	}
	for _, op := range o.Desk() {
		o.Refuses(t, op, servicetest.Browser(dee), table[op.Meta().Name], fault.NotYours)
	}
	lines, err := o.Store.ListDeskLines(o.Ctx, "staff/"+o.WhoIs(t, dee).UserID)
	in := expect.In(t, "the log of staff")
	require.NoError(in, err)
	require.Len(in, lines, 2)
	expect.Equal(in, lines[0].Action, "add_staff")
	expect.Equal(in, lines[1].Action, "remove_staff")
	expect.Equal(in, lines[1].Actor, "op@host")
}

func TestDesk_ListsTheLongestWaitingFirst(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	dee, ann := servicetest.Browser(o.Staff(t)), servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	var filed []string
	for range 3 {
		made := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
			Subject: "s", Message: "m",
		}))
		filed = append(filed, made.Reference)
	}
	newest := slices.Clone(filed)
	slices.Reverse(newest)
	for status, want := range map[string][]string{
		"": filed, "to_answer": filed, "unresolved": newest, "open": newest, "all": newest,
	} {
		t.Run(status, func(t *testing.T) {
			var got []string
			in := tickets.DeskTicketsInput{Status: status, Limit: 2}
			for page := true; page; page = in.Cursor != "" {
				list := servicetest.Must[tickets.DeskTickets](t)(o.DeskListTickets.Invoke(o.Ctx, dee, in))
				for i := range list.Tickets {
					got = append(got, list.Tickets[i].Reference)
				}
				in.Cursor = list.NextCursor
			}
			if !slices.Equal(got, want) {
				t.Errorf("with status %q the desk lists %v, want %v", status, got, want)
			}
		})
	}
}

func TestDesk_ReplyReachesAnotherAccountsTicketAndMailsTheCustomer(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	dee, ann := servicetest.Browser(o.Staff(t)), servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	filed := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
		Subject: "<b>Slow</b>", Message: "Why?\nIt is slow.",
	}))
	if got, ok := o.Mails["ticket_received ann@buyer.example"].(notify.TicketReceived); !ok ||
		got.Reference != filed.Reference || got.Link != filed.URL {
		t.Errorf("ann is told %+v", got)
	}
	news, ok := o.Mails["ticket_news support@gateway.example"].(notify.TicketNews)
	require.True(t, ok)
	expect.True(t, news.New)
	expect.Equal(t, news.Link, "https://gateway.example/staff/tickets/"+filed.Reference)
	expect.Equal(t, news.Message, "Why?\nIt is slow.")
	expect.Equal(t, news.Plan, "free")
	list := servicetest.Must[tickets.DeskTickets](t)(o.DeskListTickets.Invoke(o.Ctx, dee, tickets.DeskTicketsInput{
		Priority: "low", AccountID: o.WhoIs(t, ann.Session).AccountID,
	}))
	at := expect.In(t, "the desk lists")
	require.Len(at, list.Tickets, 1)
	expect.Equal(at, list.Tickets[0].Reference, filed.Reference)
	expect.Equal(at, list.Tickets[0].Plan, "free")
	require.Len(at, list.Unresolved, 1)
	expect.Equal(at, list.Unresolved[0].Tickets, 1)
	form := uuid.NewString()
	in := tickets.DeskReplyInput{Reference: filed.Reference, Message: "Since when?", Seen: 1, Form: form}
	for range 2 { // sent twice
		if got := servicetest.Must[tickets.TicketView](t)(o.DeskReplyTicket.Invoke(o.Ctx, dee, in)); got.Status !=
			ticket.WaitingCustomer {
			t.Errorf("answered it is %+v", got)
		}
	}
	if n := o.Waiting(t)["ticket_replied"]; n != 1 {
		t.Errorf("%d mails bring a reply that is sent twice", n)
	}
	if got, ok := o.Mails["ticket_replied ann@buyer.example"].(notify.TicketReplied); !ok ||
		got.Message != "Since when?" || got.Subject != "<b>Slow</b>" {
		t.Errorf("ann is told %+v", got)
	}
	unread := o.Refuses(t, o.DeskReplyTicket, dee, map[string]any{
		"reference": filed.Reference, "message": "Well?", "seen": 1.0,
	}, fault.FieldRefused)
	if unread.Data["field"] != "seen" || !strings.Contains(unread.Message, "Read what came") {
		t.Errorf("a reply that overlooks another is refused with %+v", unread)
	}
	servicetest.Must[tickets.TicketView](t)(o.DeskReplyTicket.Invoke(o.Ctx, dee, tickets.DeskReplyInput{
		Reference: filed.Reference, Resolve: true, Seen: 2,
	}))
	resolved, ok := o.Mails["ticket_resolved ann@buyer.example"].(notify.TicketResolved)
	left := time.Until(resolved.Closes)
	require.True(t, ok)
	expect.Equal(t, resolved.Message, "")
	expect.AtMost(t, left, ticket.CloseAfter)
	expect.AtLeast(t, left, ticket.CloseAfter-time.Minute)
	got := servicetest.Must[tickets.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.Ctx, dee, tickets.DeskTicketInput{
		Reference: filed.Reference,
	}))
	expect.Equal(t, got.FiledBy, "ann@buyer.example")
	expect.Len(t, got.Messages, 2)
	require.Len(t, got.History, 3)
	expect.Equal(t, got.History[1].Actor, "dee@staff.example")
	expect.Equal(t, got.History[2].Action, "resolve")
	expect.Equal(t, got.History[2].Status, ticket.Resolved)
	expect.Equal(t, got.Plan, "free")
	if own := servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, ann, tickets.TicketInput{
		Reference: filed.Reference,
	})); own.Messages[1].Author != ticket.Operator {
		t.Errorf("ann reads %+v", own)
	}
	servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, ann, tickets.ReplyTicketInput{
		Reference: filed.Reference, Message: "Still.",
	}))
	if news, _ := o.Mails["ticket_news support@gateway.example"].(notify.TicketNews); news.New ||
		news.Message != "Still." {
		t.Errorf("the operator is told %+v of a reply", news)
	}
	o.Refuses(t, o.DeskGetTicket, dee, map[string]any{"reference": "CAG-999999"}, fault.NotYours)
	o.Refuses(t, o.DeskReplyTicket, dee, map[string]any{"reference": "CAG-999999", "message": "x", "seen": 1.0},
		fault.NotYours)
	o.Refuses(t, o.DeskListTickets, dee, map[string]any{"status": "lost"}, fault.FieldRefused)
}

// Staff sees who of an account acted: an e-mail address, or the prefix of a key.
func TestDesk_RecordsWhichKeyActed(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	dee, ann := servicetest.Browser(o.Staff(t)), servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{
		Name: "bot",
	})).PlaintextToken
	filed := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
		Subject: "s", Message: "m",
	})).Reference
	servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, servicetest.Holder(key),
		tickets.ReplyTicketInput{
			Reference: filed, Message: "And here.",
		}))
	shown := servicetest.Must[tickets.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.Ctx, dee, tickets.DeskTicketInput{
		Reference: filed,
	}))
	require.Len(t, shown.History, 2)
	expect.Equal(t, shown.History[0].Actor, "ann@buyer.example")
	expect.Equal(t, shown.History[1].Actor, "key "+key[:len("cag_")+8])
}

func TestTicket_OfAKeyMailsOnlyTheOwnersOrNobody(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	dee, ann := servicetest.Browser(o.Staff(t)), servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	o.Join(t, ann.Session, "bob@buyer.example")
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "bot"}))
	door := servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, servicetest.Browser(""), keys.GetKeyInput{}))
	for _, bearer := range []string{key.PlaintextToken, door.Key} {
		filed := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, servicetest.Holder(bearer),
			tickets.CreateTicketInput{Subject: "s", Message: "m"}))
		unanswered := servicetest.Must[tickets.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.Ctx, dee,
			tickets.DeskTicketInput{Reference: filed.Reference}))
		want := "key " + bearer[:len("cag_")+8]
		in := expect.In(t, "before anybody of the service acted, the desk")
		expect.Equal(in, unanswered.FiledBy, want)
		require.Len(in, unanswered.History, 1)
		expect.Equal(in, unanswered.History[0].Actor, want)
		servicetest.Must[tickets.TicketView](t)(o.DeskReplyTicket.Invoke(o.Ctx, dee, tickets.DeskReplyInput{
			Reference: filed.Reference, Message: "Yes.", Seen: 1,
		}))
	}
	of := servicetest.Must[tickets.DeskTickets](t)(o.DeskListTickets.Invoke(o.Ctx, dee, tickets.DeskTicketsInput{
		Status: "all",
	})).Tickets[0].Reference
	if got := servicetest.Must[tickets.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.Ctx, dee,
		tickets.DeskTicketInput{Reference: of})); got.FiledBy != "key "+door.Key[:len("cag_")+8] ||
		got.History[0].Actor != got.FiledBy {
		t.Errorf("it was filed by %q, says the desk", got.FiledBy)
	}
	var told []string
	for to := range o.Mails {
		if kind, address, _ := strings.Cut(to, " "); strings.HasPrefix(kind, "ticket_re") {
			told = append(told, kind+" "+address)
		}
	}
	slices.Sort(told)
	if want := []string{
		"ticket_received ann@buyer.example", "ticket_replied ann@buyer.example",
	}; !slices.Equal(told, want) {
		t.Errorf("told were %q, want %q", told, want)
	}
}

func TestFeedback_AnswerIsMailedToItsGiver(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	dee, ann := servicetest.Browser(o.Staff(t)), servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	given := servicetest.Must[tickets.FeedbackView](t)(o.SubmitFeedback.Invoke(o.Ctx, ann, tickets.SubmitFeedbackInput{
		Kind: "feature", Title: "<i>WebSockets</i>", Form: uuid.NewString(),
	}))
	list := servicetest.Must[tickets.DeskFeedbackList](t)(o.DeskListFeedback.Invoke(o.Ctx, dee,
		tickets.DeskFeedbackInput{}))
	at := expect.In(t, "the desk lists")
	require.Len(at, list.Feedback, 1)
	require.Equal(at, list.Feedback[0].ID, given.ID)
	require.Equal(at, list.Feedback[0].Answers, 0)
	require.Equal(at, list.Feedback[0].AccountID, o.WhoIs(t, ann.Session).AccountID)
	in := tickets.AnswerFeedbackInput{ID: given.ID, Status: "planned", Reply: "In spring."}
	for range 2 { // repeating it changes nothing
		if got := servicetest.Must[tickets.FeedbackView](t)(o.DeskAnswerFeedback.Invoke(o.Ctx, dee,
			in)); got.Status != "planned" ||
			*got.Reply != "In spring." {
			t.Errorf("answered it is %+v", got)
		}
	}
	if n := o.Waiting(t)["feedback_answered"]; n != 1 {
		t.Errorf("%d mails bring an answer that is given twice", n)
	}
	got, ok := o.Mails["feedback_answered ann@buyer.example"].(notify.FeedbackAnswered)
	require.True(t, ok)
	expect.Equal(t, got.Reply, "In spring.")
	expect.Equal(t, got.Status, "planned")
	o.Refuses(t, o.DeskAnswerFeedback, dee, map[string]any{"id": given.ID, "status": "declined", "seen": 0.0},
		fault.FieldRefused)
	o.Refuses(t, o.DeskAnswerFeedback, dee, map[string]any{"id": uuid.NewString(), "status": "declined", "seen": 0.0},
		fault.NotYours)
	if rest := servicetest.Must[tickets.DeskFeedbackList](t)(o.DeskListFeedback.Invoke(o.Ctx, dee,
		tickets.DeskFeedbackInput{})); len(rest.Feedback) != 0 {
		t.Errorf("unanswered is %+v", rest)
	}
}

func TestWaitlist_AddressIsInvitedOnceForEver(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	wish := func(address string) {
		t.Helper()
		servicetest.Must[tickets.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.Ctx, servicetest.Browser(""),
			tickets.JoinWishlistInput{
				Items: "Buy <b>pills</b> at https://evil.example", Email: address,
			}))
	}
	wish("bob@buyer.example")
	wish("BOB@buyer.example")
	joined := tickets.JoinWaitlistInput{EmailAddress: "bob@buyer.example", Qualifier: "curious", Source: "evil.example"}
	servicetest.Must[tickets.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.Ctx, servicetest.Browser(""), joined))
	servicetest.Must[tickets.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.Ctx, servicetest.Browser(""), joined))
	counts := o.Waiting(t)
	in := expect.In(t, "mails wait")
	expect.Equal(in, counts["wish_received"], 1)
	expect.Equal(in, counts["waitlist_joined"], 1)
	expect.Equal(in, counts["enterprise_wish"], 2)
	wishes, err := o.Store.ListWishes(o.Ctx, supportdb.WishStatuses(), supportdb.WishID{}, 10)
	require.NoError(t, err)
	require.Len(t, wishes, 2)
	require.Equal(t, wishes[0].Status, "new")
}

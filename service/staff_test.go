package service_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// byOps is the author of operators' commands.
var byOps = accountdb.Author{Actor: "op@host", Origin: "ops"}

// staff returns the cookie of a user with the staff role.
func (o *office) staff(t *testing.T) string {
	t.Helper()
	const address = "dee@staff.example"
	cookie := o.signIn(t, address)
	email, _ := account.ParseEmail(address)
	if added, err := o.store.AddStaff(o.ctx, email, time.Now(), byOps); err != nil || !added {
		t.Fatal(added, err)
	}
	return cookie
}

// desk returns the operations of staff.
func (o *office) desk() []service.Definition {
	return slices.DeleteFunc(o.All(), func(c service.Definition) bool { return c.Meta().Access != service.Staff })
}

func TestDesk_IsForStaffAlone(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	email, _ := account.ParseEmail("dee@staff.example")
	if _, err := o.store.AddStaff(o.ctx, email, time.Now(), byOps); err == nil {
		t.Error("whoever never signed in is made staff")
	}
	dee, ann := o.staff(t), o.signIn(t, "ann@buyer.example")
	if !o.whoIs(t, dee).Staff || o.whoIs(t, ann).Staff {
		t.Error("sessions do not say who is staff")
	}
	if again, err := o.store.AddStaff(o.ctx, email, time.Now(), byOps); err != nil || again {
		t.Errorf("adding again gives %v, %v", again, err)
	}
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, browser(dee), service.CreateKeyInput{Name: "dee's"}))
	table := right(must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{})))
	if len(o.desk()) != 5 {
		t.Errorf("the desk has %d capabilities", len(o.desk()))
	}
	for _, op := range o.desk() {
		args := table[op.Meta().Name]
		o.refuses(t, op, browser(ann), args, fault.NotYours)
		o.refuses(t, op, browser(""), args, fault.KeyInvalid)
		o.refuses(t, op, holder(key.PlaintextToken), args, fault.KeyInvalid) // a key of staff is no person
	}
	must[service.DeskTickets](t)(o.DeskListTickets.Invoke(o.ctx, browser(dee), service.DeskTicketsInput{}))
	if gone, err := o.store.RemoveStaff(o.ctx, email, time.Now(), byOps); err != nil || !gone {
		t.Fatal(gone, err)
	}
	for _, op := range o.desk() {
		o.refuses(t, op, browser(dee), table[op.Meta().Name], fault.NotYours)
	}
	lines, err := o.store.ListDeskLines(o.ctx, "staff/"+o.whoIs(t, dee).UserID)
	if err != nil || len(lines) != 2 || lines[0].Action != "add_staff" || lines[1].Action != "remove_staff" ||
		lines[1].Actor != "op@host" {
		t.Errorf("the log of staff is %+v, %v", lines, err)
	}
}

func TestDesk_ListsTheLongestWaitingFirst(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	dee, ann := browser(o.staff(t)), browser(o.signIn(t, "ann@buyer.example"))
	var filed []string
	for range 3 {
		made := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
			Subject: "s", Message: "m",
		}))
		filed = append(filed, made.Reference)
	}
	newest := slices.Clone(filed)
	slices.Reverse(newest)
	for status, want := range map[string][]string{
		"": filed, "to_answer": filed, "unresolved": newest, "open": newest, "all": newest,
	} {
		var got []string
		in := service.DeskTicketsInput{Status: status, Limit: 2}
		for page := true; page; page = in.Cursor != "" {
			list := must[service.DeskTickets](t)(o.DeskListTickets.Invoke(o.ctx, dee, in))
			for i := range list.Tickets {
				got = append(got, list.Tickets[i].Reference)
			}
			in.Cursor = list.NextCursor
		}
		if !slices.Equal(got, want) {
			t.Errorf("with status %q the desk lists %v, want %v", status, got, want)
		}
	}
}

func TestDesk_ReplyReachesAnotherAccountsTicketAndMailsTheCustomer(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	dee, ann := browser(o.staff(t)), browser(o.signIn(t, "ann@buyer.example"))
	filed := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
		Subject: "<b>Slow</b>", Message: "Why?\nIt is slow.",
	}))
	if got, ok := o.mails["ticket_received ann@buyer.example"].(notify.TicketReceived); !ok ||
		got.Reference != filed.Reference || got.Link != filed.URL {
		t.Errorf("ann is told %+v", got)
	}
	news, ok := o.mails["ticket_news support@gateway.example"].(notify.TicketNews)
	if !ok || !news.New || news.Link != "https://gateway.example/staff/tickets/"+filed.Reference ||
		news.Message != "Why?\nIt is slow." || news.Plan != "free" {
		t.Errorf("the operator is told %+v", news)
	}
	list := must[service.DeskTickets](t)(o.DeskListTickets.Invoke(o.ctx, dee, service.DeskTicketsInput{
		Priority: "low", AccountID: o.whoIs(t, ann.Session).AccountID,
	}))
	if len(list.Tickets) != 1 || list.Tickets[0].Reference != filed.Reference || list.Tickets[0].Plan != "free" ||
		len(list.Unresolved) != 1 || list.Unresolved[0].Tickets != 1 {
		t.Errorf("the desk lists %+v", list)
	}
	form := uuid.NewString()
	in := service.DeskReplyInput{Reference: filed.Reference, Message: "Since when?", Seen: 1, Form: form}
	for range 2 { // sent twice
		if got := must[service.TicketView](t)(o.DeskReplyTicket.Invoke(o.ctx, dee, in)); got.Status !=
			ticket.WaitingCustomer {
			t.Errorf("answered it is %+v", got)
		}
	}
	if n := o.waiting(t)["ticket_replied"]; n != 1 {
		t.Errorf("%d mails bring a reply that is sent twice", n)
	}
	if got, ok := o.mails["ticket_replied ann@buyer.example"].(notify.TicketReplied); !ok ||
		got.Message != "Since when?" || got.Subject != "<b>Slow</b>" {
		t.Errorf("ann is told %+v", got)
	}
	unread := o.refuses(t, o.DeskReplyTicket, dee, map[string]any{
		"reference": filed.Reference, "message": "Well?", "seen": 1.0,
	}, fault.FieldRefused)
	if unread.Data["field"] != "seen" || !strings.Contains(unread.Message, "Read what came") {
		t.Errorf("a reply that overlooks another is refused with %+v", unread)
	}
	must[service.TicketView](t)(o.DeskReplyTicket.Invoke(o.ctx, dee, service.DeskReplyInput{
		Reference: filed.Reference, Resolve: true, Seen: 2,
	}))
	resolved, ok := o.mails["ticket_resolved ann@buyer.example"].(notify.TicketResolved)
	if left := time.Until(resolved.Closes); !ok || resolved.Message != "" || left > ticket.CloseAfter ||
		left < ticket.CloseAfter-time.Minute {
		t.Errorf("ann is told %+v", resolved)
	}
	got := must[service.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.ctx, dee, service.DeskTicketInput{
		Reference: filed.Reference,
	}))
	if got.FiledBy != "ann@buyer.example" || len(got.Messages) != 2 || len(got.History) != 3 ||
		got.History[1].Actor != "dee@staff.example" ||
		got.History[2].Action != "resolve" || got.History[2].Status != ticket.Resolved || got.Plan != "free" {
		t.Errorf("the desk reads %+v", got)
	}
	if own := must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, ann, service.TicketInput{
		Reference: filed.Reference,
	})); own.Messages[1].Author != ticket.Operator {
		t.Errorf("ann reads %+v", own)
	}
	must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, ann, service.ReplyTicketInput{
		Reference: filed.Reference, Message: "Still.",
	}))
	if news, _ := o.mails["ticket_news support@gateway.example"].(notify.TicketNews); news.New ||
		news.Message != "Still." {
		t.Errorf("the operator is told %+v of a reply", news)
	}
	o.refuses(t, o.DeskGetTicket, dee, map[string]any{"reference": "CAG-999999"}, fault.NotYours)
	o.refuses(t, o.DeskReplyTicket, dee, map[string]any{"reference": "CAG-999999", "message": "x", "seen": 1.0},
		fault.NotYours)
	o.refuses(t, o.DeskListTickets, dee, map[string]any{"status": "lost"}, fault.FieldRefused)
}

// Staff sees who of an account acted: an e-mail address, or the prefix of a key.
func TestDesk_RecordsWhichKeyActed(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	dee, ann := browser(o.staff(t)), browser(o.signIn(t, "ann@buyer.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{
		Name: "bot",
	})).PlaintextToken
	filed := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
		Subject: "s", Message: "m",
	})).Reference
	must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, holder(key), service.ReplyTicketInput{
		Reference: filed, Message: "And here.",
	}))
	shown := must[service.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.ctx, dee, service.DeskTicketInput{
		Reference: filed,
	}))
	if len(shown.History) != 2 || shown.History[0].Actor != "ann@buyer.example" ||
		shown.History[1].Actor != "key "+key[:len("cag_")+8] {
		t.Errorf("the desk reads %+v", shown.History)
	}
}

func TestTicket_OfAKeyMailsOnlyTheOwnersOrNobody(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	dee, ann := browser(o.staff(t)), browser(o.signIn(t, "ann@buyer.example"))
	o.join(t, ann.Session, "bob@buyer.example")
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "bot"}))
	door := must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
	for _, bearer := range []string{key.PlaintextToken, door.Key} {
		filed := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, holder(bearer),
			service.CreateTicketInput{Subject: "s", Message: "m"}))
		unanswered := must[service.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.ctx, dee,
			service.DeskTicketInput{Reference: filed.Reference}))
		if want := "key " + bearer[:len("cag_")+8]; unanswered.FiledBy != want || len(unanswered.History) != 1 ||
			unanswered.History[0].Actor != want {
			t.Errorf("before anybody of the service acted, the desk reads %q, %+v, want %q", unanswered.FiledBy,
				unanswered.History, want)
		}
		must[service.TicketView](t)(o.DeskReplyTicket.Invoke(o.ctx, dee, service.DeskReplyInput{
			Reference: filed.Reference, Message: "Yes.", Seen: 1,
		}))
	}
	of := must[service.DeskTickets](t)(o.DeskListTickets.Invoke(o.ctx, dee, service.DeskTicketsInput{
		Status: "all",
	})).Tickets[0].Reference
	if got := must[service.DeskTicketDetail](t)(o.DeskGetTicket.Invoke(o.ctx, dee,
		service.DeskTicketInput{Reference: of})); got.FiledBy != "key "+door.Key[:len("cag_")+8] ||
		got.History[0].Actor != got.FiledBy {
		t.Errorf("it was filed by %q, says the desk", got.FiledBy)
	}
	var told []string
	for to := range o.mails {
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
	o := openOffice(t)
	dee, ann := browser(o.staff(t)), browser(o.signIn(t, "ann@buyer.example"))
	given := must[service.FeedbackView](t)(o.SubmitFeedback.Invoke(o.ctx, ann, service.SubmitFeedbackInput{
		Kind: "feature", Title: "<i>WebSockets</i>", Form: uuid.NewString(),
	}))
	list := must[service.DeskFeedbackList](t)(o.DeskListFeedback.Invoke(o.ctx, dee, service.DeskFeedbackInput{}))
	if len(list.Feedback) != 1 || list.Feedback[0].ID != given.ID || list.Feedback[0].Answers != 0 ||
		list.Feedback[0].AccountID != o.whoIs(t, ann.Session).AccountID {
		t.Fatalf("the desk lists %+v", list)
	}
	in := service.AnswerFeedbackInput{ID: given.ID, Status: "planned", Reply: "In spring."}
	for range 2 { // repeating it changes nothing
		if got := must[service.FeedbackView](t)(o.DeskAnswerFeedback.Invoke(o.ctx, dee, in)); got.Status != "planned" ||
			*got.Reply != "In spring." {
			t.Errorf("answered it is %+v", got)
		}
	}
	if n := o.waiting(t)["feedback_answered"]; n != 1 {
		t.Errorf("%d mails bring an answer that is given twice", n)
	}
	if got, ok := o.mails["feedback_answered ann@buyer.example"].(notify.FeedbackAnswered); !ok ||
		got.Reply != "In spring." || got.Status != "planned" {
		t.Errorf("ann is told %+v", got)
	}
	o.refuses(t, o.DeskAnswerFeedback, dee, map[string]any{"id": given.ID, "status": "declined", "seen": 0.0},
		fault.FieldRefused)
	o.refuses(t, o.DeskAnswerFeedback, dee, map[string]any{"id": uuid.NewString(), "status": "declined", "seen": 0.0},
		fault.NotYours)
	if rest := must[service.DeskFeedbackList](t)(o.DeskListFeedback.Invoke(o.ctx, dee,
		service.DeskFeedbackInput{})); len(rest.Feedback) != 0 {
		t.Errorf("unanswered is %+v", rest)
	}
}

// waiting counts the mails in the outbox by kind.
func (o *office) waiting(t *testing.T) map[string]int {
	t.Helper()
	waiting, err := o.store.CountWaitingMails(o.ctx)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, w := range waiting {
		counts[w.Kind] = w.Count
	}
	return counts
}

func TestWaitlist_AddressIsInvitedOnceForEver(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	wish := func(address string) {
		t.Helper()
		must[service.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.ctx, browser(""), service.JoinWishlistInput{
			Items: "Buy <b>pills</b> at https://evil.example", Email: address,
		}))
	}
	wish("bob@buyer.example")
	wish("BOB@buyer.example")
	joined := service.JoinWaitlistInput{EmailAddress: "bob@buyer.example", Qualifier: "curious", Source: "evil.example"}
	must[service.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.ctx, browser(""), joined))
	must[service.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.ctx, browser(""), joined))
	counts := o.waiting(t)
	if counts["wish_received"] != 1 || counts["waitlist_joined"] != 1 || counts["enterprise_wish"] != 2 {
		t.Errorf("mails wait: %v", counts)
	}
	wishes, err := o.store.ListWishes(o.ctx, supportdb.WishStatuses(), supportdb.WishID{}, 10)
	if err != nil || len(wishes) != 2 || wishes[0].Status != "new" {
		t.Fatal(wishes, err)
	}
}

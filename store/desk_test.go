package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/ticket"
)

func newForm() store.FormID { return store.FormID{UUID: uuid.New()} }

func TestAFormThatIsSentTwiceIsDoneOnce(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	of, _ := newDoorKey(1)
	other, _ := newDoorKey(1)
	for _, a := range []store.NewAccount{of, other} {
		must[store.Account](t)(s.CreateAccount(ctx, a))
	}
	told := 0
	tell := func(*store.TicketStep) ([]store.NewMail, error) { told++; return nil, nil }
	create := func(n store.NewTicket) store.Ticket {
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
	theirs.Form = n.Form // of another account: its own form
	if made := create(theirs); made.Number == first.Number || made.Account != other.ID {
		t.Errorf("another account's form made %+v", made)
	}
	reply := store.TicketReply{
		Number: first.Number, Account: of.ID, By: ticket.Customer, Actor: "user x", Origin: "console", Text: "More.", Resolve: true, Form: newForm(), At: noon, Tell: tell,
	}
	for range 3 {
		got, verdict, err := s.ReplyTicket(ctx, reply)
		if err != nil || verdict != ticket.Moves || got.Messages != 2 || got.Status != ticket.Resolved {
			t.Errorf("a reply that is sent again gives %+v, %s, %v", got, verdict, err)
		}
	}
	if told != 3 {
		t.Errorf("told %d times", told)
	}
	second := create(newTicket(of.ID, 0, noon))
	reply.Number = second.Number
	if _, _, err := s.ReplyTicket(ctx, reply); !errors.Is(err, store.ErrFormSent) {
		t.Errorf("the form of another ticket gives %v", err)
	}
	by := store.Writer{Account: of.ID, Channel: "console", Form: newForm()}
	given := must[store.Feedback](t)(s.SubmitFeedback(ctx, by, store.Feedback{ID: store.NewFeedbackID(), Kind: "other", Title: "a", CreatedAt: noon}))
	again := must[store.Feedback](t)(s.SubmitFeedback(ctx, by, store.Feedback{ID: store.NewFeedbackID(), Kind: "other", Title: "a", CreatedAt: noon}))
	if given.ID != again.ID {
		t.Error("feedback of one form is recorded twice")
	}
	by.Form = reply.Form
	if _, err := s.SubmitFeedback(ctx, by, store.Feedback{ID: store.NewFeedbackID(), Kind: "other", Title: "a", CreatedAt: noon}); !errors.Is(err, store.ErrFormSent) {
		t.Errorf("feedback with the form of a ticket gives %v", err)
	}
}

func TestAReplyThatOverlooksAMessageIsRefused(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	of, _ := newDoorKey(1)
	must[store.Account](t)(s.CreateAccount(ctx, of))
	made, _, err := s.CreateTicket(ctx, newTicket(of.ID, 0, noon))
	if err != nil {
		t.Fatal(err)
	}
	reply := func(text string, seen int) error {
		_, _, err := s.ReplyTicket(ctx, store.TicketReply{Number: made.Number, By: ticket.Operator, Actor: "op@host", Origin: "ops", Text: text, Seen: &seen, At: noon.Add(time.Minute)})
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
	if one != nil || !errors.Is(two, store.ErrUnread) {
		t.Errorf("two replies to one message give %v and %v", one, two)
	}
	if err := reply("And this.", 2); err != nil {
		t.Errorf("a reply that has seen all gives %v", err)
	}
	lines, err := s.ListDeskLines(ctx, made.Number.Reference())
	if err != nil || len(lines) != 3 || lines[0].Action != "file" || lines[1].Actor != "op@host" || lines[1].Before["status"] != "open" ||
		lines[1].After["status"] != "waiting_customer" || lines[2].After["message"] != 3.0 || lines[2].Account != of.ID {
		t.Errorf("the log is %+v, %v", lines, err)
	}
}

package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
)

func sampleDeskTicket(name string) service.DeskTicketDetail {
	of := sampleDesk(name).ticket
	line := service.DeskLine{
		At: sampleNow.Add(-30 * time.Hour), Actor: name, Origin: "console", Action: "file", Status: ticket.Open,
	}
	answer := line
	answer.At, answer.Actor, answer.Action, answer.Status = sampleNow.Add(-2*time.Hour), "dee@staff.example", "reply",
		ticket.WaitingCustomer
	return service.DeskTicketDetail{
		TicketDetail: of, AccountID: keyOne, Account: name, AccountStatus: account.Active, Plan: "pro", FiledBy: name,
		History: []service.DeskLine{line, answer},
	}
}

func sampleDeskList(name string) service.DeskTickets {
	list := service.DeskTickets{NextCursor: "CAG-1000", Unresolved: []service.DeskCount{
		{Status: ticket.Open, Priority: ticket.Urgent, Tickets: 2, Oldest: sampleNow.Add(-3 * time.Hour)},
		{Status: ticket.WaitingUs, Priority: ticket.Low, Tickets: 1203, Oldest: sampleNow.Add(-30 * time.Hour)},
		{Status: ticket.WaitingCustomer, Priority: ticket.Normal, Tickets: 1, Oldest: sampleNow},
	}}
	for _, t := range sampleDesk(name).tickets.Tickets {
		list.Tickets = append(list.Tickets, service.DeskTicket{
			TicketView: t, AccountID: keyOne, Account: name, Plan: "pro", Messages: 3,
		})
	}
	return list
}

func sampleDeskFeedback(name string) service.DeskFeedbackList {
	list := service.DeskFeedbackList{NextCursor: requestOne}
	for _, f := range sampleDesk(name).feedback.Feedback {
		list.Feedback = append(list.Feedback, service.DeskFeedback{
			FeedbackView: f, AccountID: keyOne, Account: name, Plan: "free", Answers: 1,
		})
	}
	return list
}

// staffCalls adds the desk; unread is its answer to a reply that overlooks a message.
func (h *house) staffCalls(c Calls) Calls {
	unnamed := sampleDeskList("Slow")
	for i := range unnamed.Tickets {
		unnamed.Tickets[i].Account = ""
	}
	c.DeskListTickets = func(_ context.Context, _ *service.Caller,
		in service.DeskTicketsInput,
	) (service.DeskTickets, *fault.Error) {
		if in.Status == "bogus" {
			return service.DeskTickets{}, fault.New(fault.FieldRefused, "status takes one of its values.")
		}
		if in.Status == "closed" {
			return service.DeskTickets{}, nil
		}
		return unnamed, nil
	}
	c.DeskGetTicket = func(_ context.Context, _ *service.Caller,
		in service.DeskTicketInput,
	) (service.DeskTicketDetail, *fault.Error) {
		if in.Reference != "CAG-1001" {
			return service.DeskTicketDetail{}, fault.New(fault.NotYours, "No ticket has this reference.")
		}
		found := sampleDeskTicket("Slow")
		found.Messages[0].Writer = h.desk.ticket.Messages[0].Writer
		return found, nil
	}
	c.DeskReplyTicket = changes[service.DeskReplyInput](h, sampleDeskTicket("Slow").TicketView)
	c.DeskListFeedback = func(context.Context, *service.Caller,
		service.DeskFeedbackInput,
	) (service.DeskFeedbackList, *fault.Error) {
		return sampleDeskFeedback("WebSockets"), nil
	}
	c.DeskAnswerFeedback = changes[service.AnswerFeedbackInput](h, service.FeedbackView{Status: "planned"})
	return c
}

// staffSamples are the pages of the desk.
func staffSamples(name string) map[string]page {
	v, of, list := deskVisit(), sampleDeskTicket(name), sampleDeskList(name)
	tickets := staffTicketsPage{
		Stats: v.deskStats(list.Unresolved), Status: choose(statusField, "Status", deskFilters, "to_answer", ""),
		Priority: choose(priorityField, "Priority", deskPriorities, "", ""), Account: field{
			Name: accountField, Label: "Account", Value: name, Error: name, Rule: "x",
		},
		Next: "/staff/tickets?cursor=CAG-1000", First: pathStaffTickets,
	}
	none := tickets
	none.Empty = &empty{Title: "No tickets here", Text: "x"}
	for i := range list.Tickets {
		tickets.Tickets = append(tickets.Tickets, v.deskRow(&list.Tickets[i]))
	}
	resolved, closed := of, of
	resolved.Status, closed.Status = ticket.Resolved, ticket.Closed
	given := staffFeedbackPage{
		Filters: filtersOf(pathStaffFeedback, feedbackStatuses, "new"), Older: "/staff/feedback?list=new&cursor=1",
	}
	all := sampleDeskFeedback(name)
	for i := range all.Feedback {
		given.Given = append(given.Given, v.deskFeedback(&all.Feedback[i], all.Feedback[i].Status, name))
	}
	return map[string]page{
		"staff-tickets": tickets, "staff-tickets-empty": none, "staff-ticket": v.staffTicketPage(&of, "", ""),
		"staff-ticket-resolved": v.staffTicketPage(&resolved, name, name),
		"staff-ticket-closed":   v.staffTicketPage(&closed, "", ""), "staff-feedback": given,
	}
}

func TestDesk_IsHiddenFromPeopleWithoutTheRole(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	for _, path := range []string{pathStaffTickets, pathStaffTickets + "/CAG-1001", pathStaffFeedback} {
		if got := b.get(path); got.status != http.StatusNotFound || strings.Contains(got.body, "Slow") ||
			strings.Contains(got.body, `href="/staff`) {
			t.Errorf("%s answers %d: %s", path, got.status, got.body)
		}
	}
	if got := b.post(pathStaffTickets+"/CAG-1001", url.Values{
		messageField: {"x"}, seenField: {"3"},
	}); got.status != http.StatusNotFound {
		t.Errorf("an answer to it is met with %d", got.status)
	}
	h.session.Staff = true
	for path, want := range map[string]string{
		pathStaffTickets: `href="/staff/tickets/CAG-1001"`, pathStaffTickets + "/CAG-1001": `name="seen" value="3"`,
		pathStaffFeedback: `action="/staff/feedback/` + requestOne,
	} {
		if got := b.get(path); got.status != http.StatusOK || !strings.Contains(got.body, want) ||
			!strings.Contains(got.body, `href="/staff/tickets" aria-current="page"`) {
			t.Errorf("%s answers staff %d without %q: %s", path, got.status, want, got.body)
		}
	}
	if got := b.get(pathStaffTickets + "/CAG-9"); got.status != http.StatusNotFound {
		t.Errorf("a ticket that there is not answers %d", got.status)
	}
}

func TestDesk_ListIsFiltered(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.session.Staff = true
	b := personOf(t, h)
	got := b.get(pathStaffTickets + "?status=all&priority=high")
	for _, want := range []string{
		"1,205", "longest since", `<option value="all" selected>`, `<option value="high" selected>`,
		`href="/staff/tickets?cursor=CAG-1000&amp;priority=high&amp;status=all"`,
		`<a href="/staff/tickets?account_id=` + keyOne + `&amp;status=all" title="All tickets of ` + keyOne +
			`"><span class="mono">…00000001</span></a>`, "<td data-label=\"Plan\">Pro</td>",
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the list lacks %q: %s", want, got.body)
		}
	}
	if got := b.get(pathStaffTickets + "?status=bogus"); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "status takes one of its values") {
		t.Errorf("an unknown status answers %d: %s", got.status, got.body)
	}
	if got := b.get(pathStaffTickets + "?status=closed"); !strings.Contains(got.body, "No tickets here") {
		t.Errorf("an empty list says %s", got.body)
	}
}

func TestDesk_ReplyCarriesWhatItsWriterSawAndIsKeptWhenRefused(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.session.Staff = true
	b := personOf(t, h)
	sent := url.Values{
		doField: {doResolve}, messageField: {"It is mended.\r\nSorry."}, seenField: {"2"}, formField: {keyTwo},
	}
	got := b.post(pathStaffTickets+"/CAG-1001", sent)
	want := service.DeskReplyInput{
		Reference: "CAG-1001", Message: "It is mended.\nSorry.", Resolve: true, Seen: 2, Form: keyTwo,
	}
	if in := lastChange[service.DeskReplyInput](t, h); in != want || got.status != http.StatusSeeOther ||
		got.header.Get("Location") != pathStaffTickets+"/CAG-1001" {
		t.Errorf("it answers %d with %+v, want %+v", got.status, in, want)
	}
	h.refusal = fault.New(fault.FieldRefused,
		"seen: somebody wrote since you opened it. Read what came, and send yours again if it still holds.").With(
		"field", "seen")
	refused := b.post(pathStaffTickets+"/CAG-1001", sent)
	for _, want := range []string{
		"Read what came", "It is mended.\nSorry.</textarea>", `name="seen" value="3"`,
		`name="form" value="` + keyTwo + `"`,
	} {
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.body, want) {
			t.Errorf("a refused answer is met with %d and lacks %q: %s", refused.status, want, refused.body)
		}
	}
	h.refusal = fault.New(fault.FieldRefused, "reply may have 5,000 characters.")
	kept := b.post(pathStaffFeedback+"/"+requestOne, url.Values{
		statusField: {"declined"}, replyField: {"No, sorry."}, seenField: {"1"},
	})
	for _, want := range []string{
		"No, sorry.</textarea>", "<details open>", `<option value="declined" selected>`, "5,000 characters",
	} {
		if kept.status != http.StatusUnprocessableEntity || !strings.Contains(kept.body, want) {
			t.Errorf("a refused answer to feedback is met with %d and lacks %q: %s", kept.status, want, kept.body)
		}
	}
	h.refusal = nil
	if done := b.post(pathStaffFeedback+"/"+requestOne, url.Values{
		statusField: {"planned"}, replyField: {"Yes."},
		seenField: {"1"}, "list": {"all"},
	}); done.header.Get("Location") != pathStaffFeedback+"?list=all" {
		t.Errorf("answered feedback leads to %q", done.header.Get("Location"))
	}
	if in := lastChange[service.AnswerFeedbackInput](t, h); in != (service.AnswerFeedbackInput{
		ID: requestOne, Status: "planned", Reply: "Yes.", Seen: 1,
	}) {
		t.Errorf("feedback was answered with %+v", in)
	}
}

// When a colleague answers first, the feedback leaves the list of new feedback. The refused answer
// must still be shown.
func TestDesk_FeedbackReplyIsKeptWhenAColleagueWasFirst(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.session.Staff = true
	b := personOf(t, h)
	h.refusal = fault.New(fault.FieldRefused,
		"Somebody wrote since you opened it. Read what came, and send yours again if it still holds.").With("field",
		"seen")
	var asked []service.DeskFeedbackInput
	listed := sampleDeskFeedback("WebSockets")
	b.pages.Calls.DeskListFeedback = func(_ context.Context, _ *service.Caller,
		in service.DeskFeedbackInput,
	) (service.DeskFeedbackList, *fault.Error) {
		asked = append(asked, in)
		if in.Status != "all" {
			return service.DeskFeedbackList{}, nil
		}
		return listed, nil
	}
	sent := url.Values{
		statusField: {"declined"}, replyField: {"No, <sorry>."}, seenField: {"0"}, "list": {""}, cursorField: {keyOne},
	}
	got := b.post(pathStaffFeedback+"/"+requestOne, sent)
	for _, want := range []string{
		"Read what came", "No, &lt;sorry&gt;.</textarea>", "<details open>", `name="seen" value="1"`,
		`name="list" value="all"`, `href="/staff/feedback?list=all" aria-current`,
	} {
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, want) {
			t.Errorf("it answers %d and lacks %q: %s", got.status, want, got.body)
		}
	}
	if want := (service.DeskFeedbackInput{Status: "all", Limit: 100, Cursor: keyOne}); len(asked) != 2 ||
		asked[1] != want {
		t.Errorf("asked was %+v, want %+v at last", asked, want)
	}
	listed = service.DeskFeedbackList{}
	if gone := b.post(pathStaffFeedback+"/"+requestOne, sent); !strings.Contains(gone.body,
		"Your answer was not saved") || !strings.Contains(gone.body, `dir="auto">No, &lt;sorry&gt;.</p>`) {
		t.Errorf("an answer to what is listed nowhere is lost: %s", gone.body)
	}
}

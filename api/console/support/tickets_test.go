package support

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service/tickets"
)

func TestTickets_AreListedByStatusAndPage(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	got := b.Get("/tickets?status=all&cursor=CAG-2000")
	for _, want := range []string{
		`href="/tickets/CAG-1000"`, `href="/tickets?cursor=CAG-1000&amp;status=all"`,
		`<a href="/tickets?status=all" aria-current="page">All</a>`, "Waiting for you",
		`href="/tickets?status=all">Newest`,
	} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the list lacks %q: %s", want, got.Body)
		}
	}
	if want := (tickets.ListTicketsInput{
		Status: "all", Cursor: "CAG-2000", Limit: ticketsPerPage,
	}); h.Desk.Listed[0] != want {
		t.Errorf("asked was %+v, want %+v", h.Desk.Listed[0], want)
	}
	if got := b.Get("/tickets?status=bogus"); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, "status takes one of its values") {
		t.Errorf("an unknown status answers %d: %s", got.Status, got.Body)
	}
	h.Desk.Tickets = tickets.TicketList{}
	for path, want := range map[string]string{
		"/tickets": "error.data.support", "/tickets?status=closed": "Choose another status",
	} {
		if got := b.Get(path); !strings.Contains(got.Body, want) {
			t.Errorf("%s without tickets says %s", path, got.Body)
		}
	}
}

func TestTicket_OffersWhatItsStatusAllows(t *testing.T) {
	t.Parallel()
	for of, want := range map[ticket.Status]string{
		ticket.Open: "reply resolve", ticket.WaitingCustomer: "reply resolve", ticket.WaitingUs: "reply resolve",
		ticket.Resolved: "reply reopen", ticket.Closed: "reopen",
	} {
		t.Run(string(of), func(t *testing.T) {
			h := consoletest.NewOperations()
			h.Desk.Ticket.Status = of
			var offered []string
			for _, n := range consoletest.Elements(consoletest.Parse(t,
				consoletest.SignedIn(t, h, Register).Get("/tickets/CAG-1001").Body), "button") {
				if name, _ := consoletest.Attribute(n, "name"); name == view.DoField {
					value, _ := consoletest.Attribute(n, "value")
					offered = append(offered, value)
				}
			}
			if got := strings.Join(offered, " "); got != want {
				t.Errorf("a ticket that is %s offers %q, want %q", of, got, want)
			}
		})
	}
}

func TestTicket_ReplyDoesWhatItsButtonSays(t *testing.T) {
	t.Parallel()
	for do, want := range map[string]tickets.ReplyTicketInput{
		"reply": {Message: "m"}, "resolve": {Message: "m", Resolve: true}, "reopen": {Message: "m", Reopen: true},
		"bogus": {Message: "m"},
	} {
		t.Run(do, func(t *testing.T) {
			h := consoletest.NewOperations()
			b := consoletest.SignedIn(t, h, Register)
			got := b.Post("/tickets/CAG-1001", url.Values{
				view.DoField: {do}, view.MessageField: {"m"},
				site.FormField: {consoletest.KeyTwo},
			})
			want.Reference, want.Form = "CAG-1001", consoletest.KeyTwo
			in := consoletest.LastChange[tickets.ReplyTicketInput](t, h)
			at := expect.In(t, "%s", do)
			expect.Equal(at, in, want)
			expect.Equal(at, got.Status, http.StatusSeeOther)
			expect.Equal(at, got.Header.Get("Location"), "/tickets/CAG-1001")
		})
	}
}

// When two people write at once, or the ticket closes in the meantime, the form keeps what was
// typed.
func TestTicket_RefusedReplyStaysInTheForm(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Desk.Ticket.Status = ticket.Closed
	h.Refusal = fault.New(fault.FieldRefused,
		"reopen: the ticket is closed. Reply with reopen true to go on with it, or file another.")
	got := consoletest.SignedIn(t, h, Register).Post("/tickets/CAG-1001", url.Values{
		view.DoField: {"reply"}, view.MessageField: {"my <words>"}, site.FormField: {consoletest.KeyTwo},
	})
	if !strings.Contains(got.Body, `name="form" value="`+consoletest.KeyTwo+`"`) {
		t.Error("shown again, it is another form")
	}
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, got.Body, "\nmy &lt;words&gt;</textarea>")
	expect.Contains(t, got.Body, "the ticket is closed")
	h.Refusal = fault.New(fault.FieldRefused, "message is missing. Say something, or send resolve or reopen.")
	got = consoletest.SignedIn(t, h, Register).Post("/tickets/CAG-1001", url.Values{view.DoField: {"reply"}})
	if !strings.Contains(got.Body, `id="message-error">message is missing`) {
		t.Errorf("a reply without a message is answered: %s", got.Body)
	}
	h.Refusal = fault.New(fault.NotYours, "")
	if got := consoletest.SignedIn(t, h, Register).Post("/tickets/CAG-1001", url.Values{
		view.MessageField: {"m"},
	}); got.Status != http.StatusNotFound {
		t.Errorf("somebody else's is answered with %d", got.Status)
	}
}

func TestTickets_OfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	for _, path := range []string{"/tickets/CAG-9", "/tickets/x", "/tickets/%3Cscript%3E"} {
		if got := b.Get(path); got.Status != http.StatusNotFound ||
			!strings.Contains(got.Body, "There is no such ticket") {
			t.Errorf("%s answers %d", path, got.Status)
		}
	}
}

// A call of somebody else and an unknown call have the same answer: not found, and the form without
// it. The typed text stays.
func TestTicket_CallOfAnotherAccountIsNotFoundAndLeftOut(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	got := b.Get(paths.AskAbout + consoletest.KeyTwo)
	expect.Equal(t, got.Status, http.StatusNotFound)
	expect.Contains(t, got.Body, "The call was not found")
	expect.NotContains(t, got.Body, `name="request_id" value=`)
	expect.Contains(t, got.Body, `action="/tickets/new"`)
	got = b.Post(paths.NewTicket, url.Values{
		requestField: {consoletest.KeyTwo}, "subject": {"a subject"}, view.MessageField: {"a message"},
	})
	expect.Equal(t, got.Status, http.StatusNotFound)
	expect.Contains(t, got.Body, `value="a subject"`)
	expect.Contains(t, got.Body, "a message</textarea>")
	expect.Equal(t, h.ChangeCount(), 0)
}

func TestTicket_RefusedOneKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.FieldRefused,
		"subject holds control characters or line breaks. Send plain text in one line.")
	got := consoletest.SignedIn(t, h, Register).Post(paths.NewTicket, url.Values{
		"subject": {consoletest.Hostile}, view.MessageField: {consoletest.Hostile}, "category": {"billing"},
	})
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, got.Body, `id="subject-error"`)
	expect.Contains(t, got.Body, `value="billing" selected`)
	expect.NotContains(t, got.Body, "<script>alert")
	h.Refusal = fault.New(fault.RateWindow, "The account filed 50 tickets within 24 hours.")
	if got := consoletest.SignedIn(t, h, Register).Post(paths.NewTicket,
		url.Values{"subject": {"s"}, view.MessageField: {"kept"}}); got.Status != http.StatusTooManyRequests ||
		!strings.Contains(got.Body, "kept</textarea>") {
		t.Errorf("too many are answered with %d: %s", got.Status, got.Body)
	}
}

func TestTicket_FilesAreRefusedWithAnAlternative(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	body := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"log.txt\"\r\n\r\nlog\r\n--x--\r\n"
	for _, path := range []string{paths.NewTicket, "/tickets/CAG-1001", paths.Ask, pathFeedback} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.Header.Set("Cookie", "__Host-session="+consoletest.SessionValue)
		w := httptest.NewRecorder()
		b.Pages.ServeHTTP(w, r)
		if w.Code != http.StatusUnsupportedMediaType ||
			!strings.Contains(w.Body.String(), "up to 5,000 characters") {
			t.Errorf("%s answers %d: %s", path, w.Code, w.Body)
		}
	}
	if h.ChangeCount() != 0 {
		t.Errorf("something was changed: %v", h.Changes)
	}
}

func TestFeedback_IsGivenAndListed(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	got := b.Get("/feedback?status=planned&cursor=" + consoletest.KeyOne)
	for _, want := range []string{
		"Our answer", "Feature request", "Planned",
		`href="/feedback?cursor=` + consoletest.RequestOne + `&amp;status=planned"`,
	} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if want := (tickets.ListFeedbackInput{
		Status: "planned", Cursor: consoletest.KeyOne,
		Limit: feedbackPerPage,
	}); !slices.Contains(
		h.Desk.Given, want) {
		t.Errorf("asked was %+v", h.Desk.Given)
	}
	sent := b.Post(pathFeedback, url.Values{
		"kind": {"chain"}, "title": {" Gnosis "}, "body": {"a\r\nb"}, "chain": {"base_mainnet"},
		site.FormField: {consoletest.KeyTwo},
	})
	want := tickets.SubmitFeedbackInput{
		Kind: "chain", Title: "Gnosis", Body: "a\nb", Chain: "base_mainnet", Form: consoletest.KeyTwo,
	}
	if in := consoletest.LastChange[tickets.SubmitFeedbackInput](t, h); in != want ||
		sent.Status != http.StatusSeeOther {
		t.Errorf("sent is %+v with %d", in, sent.Status)
	}
	h.Refusal = fault.New(fault.FieldRefused, "title is empty. Say it in words.")
	refused := b.Post(pathFeedback, url.Values{"kind": {"chain"}, "body": {"kept"}})
	expect.Equal(t, refused.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, refused.Body, `id="title-error"`)
	expect.Contains(t, refused.Body, "kept</textarea>")
}

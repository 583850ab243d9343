package console

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
)

func TestTickets_AreListedByStatusAndPage(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	got := b.get("/tickets?status=all&cursor=CAG-2000")
	for _, want := range []string{
		`href="/tickets/CAG-1000"`, `href="/tickets?cursor=CAG-1000&amp;status=all"`,
		`<a href="/tickets?status=all" aria-current="page">All</a>`, "Waiting for you",
		`href="/tickets?status=all">Newest`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the list lacks %q: %s", want, got.body)
		}
	}
	if want := (service.ListTicketsInput{
		Status: "all", Cursor: "CAG-2000", Limit: ticketsPerPage,
	}); h.desk.listed[0] != want {
		t.Errorf("asked was %+v, want %+v", h.desk.listed[0], want)
	}
	if got := b.get("/tickets?status=bogus"); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "status takes one of its values") {
		t.Errorf("an unknown status answers %d: %s", got.status, got.body)
	}
	h.desk.tickets = service.TicketList{}
	for path, want := range map[string]string{
		"/tickets": "error.data.support", "/tickets?status=closed": "Choose another status",
	} {
		if got := b.get(path); !strings.Contains(got.body, want) {
			t.Errorf("%s without tickets says %s", path, got.body)
		}
	}
}

func TestTicket_SaysWhoWroteEachMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writer         *service.NoteWriter
		customer, desk string
	}{
		{&service.NoteWriter{Kind: service.WriterYou}, "You", "The customer"},
		{
			&service.NoteWriter{Kind: service.WriterMember, Name: "bob@buyer.example"}, "bob@buyer.example",
			"The customer, bob@buyer.example",
		},
		{
			&service.NoteWriter{Kind: service.WriterKey, Name: "cag_aHCrXoRO"}, "Key cag_aHCrXoRO…",
			"The customer, Key cag_aHCrXoRO…",
		},
		{
			&service.NoteWriter{Kind: service.WriterAgent, Name: "Support</bdi><b>"}, "Agent Support</bdi><b>",
			"The customer, Agent Support</bdi><b>",
		},
		{&service.NoteWriter{Kind: service.WriterAnother}, "Another member", "The customer"},
		{nil, "The account", "The customer"},
	} {
		h := newHouse()
		h.session.Staff = true
		h.desk.ticket.Messages[0].Writer = c.writer
		b := personOf(t, h)
		for path, want := range map[string]string{"/tickets/CAG-1001": c.customer, "/staff/tickets/CAG-1001": c.desk} {
			if shown := `<strong class="long"><bdi>` + html.EscapeString(want) + `</bdi></strong>`; !strings.Contains(
				b.get(path).body, shown) {
				t.Errorf("%s lacks %s", path, shown)
			}
		}
	}
}

func TestTicket_OffersWhatItsStatusAllows(t *testing.T) {
	t.Parallel()
	for of, want := range map[ticket.Status]string{
		ticket.Open: "reply resolve", ticket.WaitingCustomer: "reply resolve", ticket.WaitingUs: "reply resolve",
		ticket.Resolved: "reply reopen", ticket.Closed: "reopen",
	} {
		h := newHouse()
		h.desk.ticket.Status = of
		var offered []string
		for _, n := range elements(parse(t, personOf(t, h).get("/tickets/CAG-1001").body), "button") {
			if name, _ := attribute(n, "name"); name == doField {
				value, _ := attribute(n, "value")
				offered = append(offered, value)
			}
		}
		if got := strings.Join(offered, " "); got != want {
			t.Errorf("a ticket that is %s offers %q, want %q", of, got, want)
		}
	}
}

func TestTicket_ReplyDoesWhatItsButtonSays(t *testing.T) {
	t.Parallel()
	for do, want := range map[string]service.ReplyTicketInput{
		"reply": {Message: "m"}, "resolve": {Message: "m", Resolve: true}, "reopen": {Message: "m", Reopen: true},
		"bogus": {Message: "m"},
	} {
		h := newHouse()
		b := personOf(t, h)
		got := b.post("/tickets/CAG-1001", url.Values{doField: {do}, messageField: {"m"}, formField: {keyTwo}})
		want.Reference, want.Form = "CAG-1001", keyTwo
		if in := lastChange[service.ReplyTicketInput](t, h); in != want || got.status != http.StatusSeeOther ||
			got.header.Get("Location") != "/tickets/CAG-1001" {
			t.Errorf("%s answers %d with %+v, want %+v", do, got.status, in, want)
		}
	}
}

// When two people write at once, or the ticket closes in the meantime, the form keeps what was
// typed.
func TestTicket_RefusedReplyStaysInTheForm(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.desk.ticket.Status = ticket.Closed
	h.refusal = fault.New(fault.FieldRefused,
		"reopen: the ticket is closed. Reply with reopen true to go on with it, or file another.")
	got := personOf(t, h).post("/tickets/CAG-1001", url.Values{
		doField: {"reply"}, messageField: {"my <words>"}, formField: {keyTwo},
	})
	if !strings.Contains(got.body, `name="form" value="`+keyTwo+`"`) {
		t.Error("shown again, it is another form")
	}
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "\nmy &lt;words&gt;</textarea>") ||
		!strings.Contains(got.body, "the ticket is closed") {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	h.refusal = fault.New(fault.FieldRefused, "message is missing. Say something, or send resolve or reopen.")
	got = personOf(t, h).post("/tickets/CAG-1001", url.Values{doField: {"reply"}})
	if !strings.Contains(got.body, `id="message-error">message is missing`) {
		t.Errorf("a reply without a message is answered: %s", got.body)
	}
	h.refusal = fault.New(fault.NotYours, "")
	if got := personOf(t, h).post("/tickets/CAG-1001", url.Values{
		messageField: {"m"},
	}); got.status != http.StatusNotFound {
		t.Errorf("somebody else's is answered with %d", got.status)
	}
}

// A form that is sent again because its answer was lost keeps its id. One whose id was used with
// other content gets a new id; otherwise it could never be sent.
func TestTicket_FormReusedWithOtherTextIsShownAsNew(t *testing.T) {
	t.Parallel()
	for path, typed := range map[string]url.Values{
		"/tickets/CAG-1001":            {doField: {doReply}, messageField: {"my words"}},
		pathStaffTickets + "/CAG-1001": {doField: {doReply}, messageField: {"my words"}, seenField: {"3"}},
		pathAsk:                        {"subject": {"s"}, messageField: {"my words"}},
		pathFeedback:                   {"kind": {"other"}, "title": {"t"}, "body": {"my words"}},
	} {
		h := newHouse()
		h.session.Staff = true
		h.refusal = fault.New(fault.FieldRefused,
			"form: this id was sent before and said something else, which was done.")
		typed.Set(formField, keyTwo)
		got := personOf(t, h).post(path, typed)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "my words</textarea>") ||
			!strings.Contains(got.body, "was already sent once") {
			t.Errorf("%s answers %d: %s", path, got.status, got.body)
		}
		if strings.Contains(got.body, keyTwo) || !strings.Contains(got.body, `name="form" value="`) {
			t.Errorf("%s shows the form that was used up", path)
		}
	}
}

func TestTickets_OfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	for _, path := range []string{"/tickets/CAG-9", "/tickets/x", "/tickets/%3Cscript%3E"} {
		if got := b.get(path); got.status != http.StatusNotFound ||
			!strings.Contains(got.body, "There is no such ticket") {
			t.Errorf("%s answers %d", path, got.status)
		}
	}
}

// A call of somebody else and an unknown call have the same answer: not found, and the form without
// it. The typed text stays.
func TestTicket_CallOfAnotherAccountIsNotFoundAndLeftOut(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	got := b.get(supportPath + keyTwo)
	if got.status != http.StatusNotFound || !strings.Contains(got.body, "The call was not found") ||
		strings.Contains(got.body, `name="request_id" value=`) || !strings.Contains(got.body, `action="/tickets/new"`) {
		t.Errorf("it is answered with %d: %s", got.status, got.body)
	}
	got = b.post(pathNewTicket, url.Values{
		requestField: {keyTwo}, "subject": {"a subject"}, messageField: {"a message"},
	})
	if got.status != http.StatusNotFound || !strings.Contains(got.body, `value="a subject"`) ||
		!strings.Contains(got.body, "a message</textarea>") || h.changed() != 0 {
		t.Errorf("filed with it, it is answered with %d: %s", got.status, got.body)
	}
}

func TestTicket_RefusedOneKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.FieldRefused,
		"subject holds control characters or line breaks. Send plain text in one line.")
	got := personOf(t, h).post(pathNewTicket, url.Values{
		"subject": {hostile}, messageField: {hostile}, "category": {"billing"},
	})
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `id="subject-error"`) ||
		!strings.Contains(got.body, `value="billing" selected`) || strings.Contains(got.body, "<script>alert") {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	h.refusal = fault.New(fault.RateWindow, "The account filed 50 tickets within 24 hours.")
	if got := personOf(t, h).post(pathNewTicket,
		url.Values{"subject": {"s"}, messageField: {"kept"}}); got.status != http.StatusTooManyRequests ||
		!strings.Contains(got.body, "kept</textarea>") {
		t.Errorf("too many are answered with %d: %s", got.status, got.body)
	}
}

func TestTicket_FilesAreRefusedWithAnAlternative(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	body := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"log.txt\"\r\n\r\nlog\r\n--x--\r\n"
	for _, path := range []string{pathNewTicket, "/tickets/CAG-1001", pathAsk, pathFeedback} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.Header.Set("Cookie", "__Host-session="+sessionValue)
		w := httptest.NewRecorder()
		b.pages.ServeHTTP(w, r)
		if w.Code != http.StatusUnsupportedMediaType ||
			!strings.Contains(w.Body.String(), "up to 5,000 characters") {
			t.Errorf("%s answers %d: %s", path, w.Code, w.Body)
		}
	}
	if h.changed() != 0 {
		t.Errorf("something was changed: %v", h.changes)
	}
}

func TestFeedback_IsGivenAndListed(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	got := b.get("/feedback?status=planned&cursor=" + keyOne)
	for _, want := range []string{
		"Our answer", "Feature request", "Planned",
		`href="/feedback?cursor=` + requestOne + `&amp;status=planned"`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if want := (service.ListFeedbackInput{Status: "planned", Cursor: keyOne, Limit: feedbackPerPage}); !slices.Contains(
		h.desk.given, want) {
		t.Errorf("asked was %+v", h.desk.given)
	}
	sent := b.post(pathFeedback, url.Values{
		"kind": {"chain"}, "title": {" Gnosis "}, "body": {"a\r\nb"}, "chain": {"base_mainnet"}, formField: {keyTwo},
	})
	want := service.SubmitFeedbackInput{
		Kind: "chain", Title: "Gnosis", Body: "a\nb", Chain: "base_mainnet", Form: keyTwo,
	}
	if in := lastChange[service.SubmitFeedbackInput](t, h); in != want || sent.status != http.StatusSeeOther {
		t.Errorf("sent is %+v with %d", in, sent.status)
	}
	h.refusal = fault.New(fault.FieldRefused, "title is empty. Say it in words.")
	refused := b.post(pathFeedback, url.Values{"kind": {"chain"}, "body": {"kept"}})
	if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.body, `id="title-error"`) ||
		!strings.Contains(refused.body, "kept</textarea>") {
		t.Errorf("refused, it is answered with %d: %s", refused.status, refused.body)
	}
}

package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
)

// ticketStatuses describe the state of a ticket.
var ticketStatuses = map[ticket.Status]status{
	ticket.Open: {"", "Open"}, ticket.WaitingCustomer: {
		warn, "Waiting for you",
	}, ticket.WaitingUs: {"", "Waiting for us"},
	ticket.Resolved: {good, "Resolved"}, ticket.Closed: {good, "Closed"},
}

// ticketFilters are the filters of the list in the order of the page, the default first.
var ticketFilters = [][2]string{
	{"unresolved", "Unresolved"},
	{string(ticket.Open), "Open"},
	{string(ticket.WaitingCustomer), "Waiting for you"},
	{string(ticket.WaitingUs), "Waiting for us"},
	{string(ticket.Resolved), "Resolved"},
	{string(ticket.Closed), "Closed"},
	{"all", "All"},
}

// filtersOf returns links for the filters of a list; current is the selected one.
func filtersOf(at string, choices [][2]string, current string) []filter {
	all := make([]filter, len(choices))
	for i, c := range choices {
		to := at
		if i > 0 {
			to += "?" + url.Values{statusField: {c[0]}}.Encode()
		}
		all[i] = filter{link{c[1], to}, c[0] == current}
	}
	return all
}

const (
	statusField = "status"
	cursorField = "cursor"
)

// pageAt returns the URL of a page of a list.
func pageAt(at, chosen, cursor string) string {
	query := url.Values{}
	if chosen != "" {
		query.Set(statusField, chosen)
	}
	if cursor != "" {
		query.Set(cursorField, cursor)
	}
	if len(query) == 0 {
		return at
	}
	return at + "?" + query.Encode()
}

const ticketsPerPage = 50

// tickets lists tickets, newest first, in pages.
func (v *request) tickets() error {
	at, query := v.ticketsAt(), v.r.URL.Query()
	chosen, cursor := query.Get(statusField), query.Get(cursorField)
	current := chosen
	if current == "" {
		current = ticketFilters[0][0]
	}
	p := ticketsPage{Filters: filtersOf(at, ticketFilters, current), Ask: v.askAt(), With: v.askingWith()}
	list, err := ask(v, v.Calls.ListTickets, service.ListTicketsInput{
		Status: chosen, Cursor: cursor, Limit: ticketsPerPage,
	})
	if wrong := mistakesOf(err, statusField, cursorField); wrong != nil {
		p.Empty = &empty{
			Title: "The list cannot be shown", Text: wrong[statusField] + wrong[cursorField] + wrong[""],
			Action: &link{"To all unresolved tickets", at},
		}
		return v.show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	for i := range list.Tickets {
		p.Tickets = append(p.Tickets, v.ticketRow(&list.Tickets[i]))
	}
	if list.NextCursor != "" {
		p.Older = pageAt(at, chosen, list.NextCursor)
	}
	if cursor != "" {
		p.Newest = pageAt(at, chosen, "")
	}
	if len(p.Tickets) == 0 {
		p.Empty = v.noTickets(current)
	}
	return v.show(http.StatusOK, p)
}

// noTickets explains an empty list and how to file a ticket.
func (v *request) noTickets(chosen string) *empty {
	if chosen != ticketFilters[0][0] && chosen != "all" {
		return &empty{
			Title: "No tickets with this status", Text: "Choose another status above.",
			Action: &link{"To all tickets", pageAt(v.ticketsAt(), "all", "")},
		}
	}
	return &empty{
		Title: "No open tickets",
		Text: "Every error has a path in error.data.support. It opens a form with the call already attached. " +
			"For anything else, file a ticket here.",
		Action: &link{"File a ticket", v.askAt()},
	}
}

func (v *request) ticketRow(t *service.TicketView) ticketRow {
	return ticketRow{
		Reference: t.Reference, Subject: t.Subject, Category: sentenceCase(string(t.Category)),
		Priority: sentenceCase(string(t.Priority)), To: v.ticketsAt() + "/" + t.Reference,
		Status: ticketStatuses[t.Status], Filed: v.reader.moment(t.CreatedAt),
		Active: v.reader.moment(t.LastActivityAt),
	}
}

// findTicket returns the ticket of the path. A ticket of another account is not found.
func (v *request) findTicket() (service.TicketDetail, error) {
	found, err := ask(v, v.Calls.GetTicket, service.TicketInput{Reference: v.r.PathValue("reference")})
	if refusedFor(err, fault.NotYours) || mistakesOf(err, "reference") != nil {
		return found, noSuchTicket(err)
	}
	return found, err
}

func noSuchTicket(cause error) error {
	return &refusal{
		status: http.StatusNotFound, heading: "There is no such ticket",
		text: "You have no ticket with this reference. Tickets lists all of yours.", cause: cause,
	}
}

// ticket shows a ticket.
func (v *request) ticket() error {
	found, err := v.findTicket()
	if err != nil {
		return err
	}
	return v.showTicket(http.StatusOK, &found, "", nil)
}

func (v *request) showTicket(code int, found *service.TicketDetail, typed string, wrong mistakes) error {
	p := v.ticketPage(found, typed, wrong[messageField])
	var err error
	if p.Form, err = v.formID(wrong); err != nil {
		return err
	}
	return v.show(code, p, wrong.notices()...)
}

// channelWords describe where a ticket came from.
var channelWords = map[string]string{
	service.DoorConsole: "on these pages", service.DoorAPI: "by API", service.DoorMCP: "by agent tools",
}

// ticketPage formats a ticket, with what was typed and its errors.
func (v *request) ticketPage(t *service.TicketDetail, typed, wrong string) ticketPage {
	p := ticketPage{
		Reference: t.Reference, Subject: t.Subject, Status: ticketStatuses[t.Status], Notes: v.notes(t.Messages),
		Paths: pathsOf(t.SuggestedPaths), Evidence: v.evidenceView(&t.Evidence),
		Action: v.ticketsAt() + "/" + t.Reference, With: v.askingWith(), Crumb: v.ticketsCrumb(),
		Facts: []detail{
			{"Category", sentenceCase(string(t.Category)), false},
			{"Priority", sentenceCase(string(t.Priority)), false},
			{"Filed", strings.TrimSpace(v.reader.moment(t.CreatedAt).Exact + " " + channelWords[t.Channel]), false},
			{"Last activity", v.reader.moment(t.LastActivityAt).Exact, false},
		},
	}
	p.Reply = area{
		Name: messageField, Label: "Reply", Value: typed, Error: wrong, Rule: messageRule, Most: ticket.MaxMessage,
		Rows: 4,
	}
	switch t.Status {
	case ticket.Closed:
		p.Reply.Label = "What is left to do"
		p.Buttons = []button{{doReopen, "Reopen ticket", true}}
		p.Closes = notice{Text: "This ticket is closed. It takes no reply until it is reopened."}
	case ticket.Resolved:
		p.Buttons = []button{{doReply, "Send reply and reopen", true}, {doReopen, "Reopen without a reply", false}}
		if t.ClosesAt != nil {
			closes := v.reader.moment(*t.ClosesAt)
			p.Closes = notice{
				Text: "Resolved. It closes automatically " + closes.Relative + " (" + closes.Exact +
					") unless someone replies.",
			}
		}
	default:
		p.Buttons = []button{{doReply, "Send reply", true}, {doResolve, "Mark as resolved", false}}
	}
	return p
}

// ticketsCrumb links back to the list.
func (v *request) ticketsCrumb() []link { return []link{{"Tickets", v.ticketsAt()}} }

// noteWords describe who wrote a message and how it is shown. writerWords names the person or agent
// of a customer.
var noteWords = map[ticket.Author][2]string{
	ticket.Customer: {"", "yours"}, ticket.Operator: {"Support", "ours"}, ticket.Service: {"The service", "service"},
}

func (v *request) notes(all []service.TicketNote) []noteView {
	notes := make([]noteView, len(all))
	for i, n := range all {
		words := noteWords[n.Author]
		if n.Author == ticket.Customer {
			words[0] = writerWords(n.Writer)
		}
		notes[i] = noteView{
			Who: words[0], Tone: words[1], When: v.reader.moment(n.At), Text: n.Message, Request: n.RequestID,
		}
	}
	return notes
}

// writerWords names who of an account wrote a message. A name that is not an e-mail address follows
// a word, so that an agent cannot pose as somebody else.
func writerWords(w *service.NoteWriter) string {
	if w == nil {
		return "The account"
	}
	switch w.Kind {
	case service.WriterYou:
		return "You"
	case service.WriterMember:
		return w.Name
	case service.WriterKey:
		return "Key " + w.Name + "…"
	case service.WriterAgent:
		return "Agent " + w.Name
	case service.WriterAnother:
	}
	return "Another member"
}

func pathsOf(paths []ticket.Path) []pathView {
	shown := make([]pathView, len(paths))
	for i, p := range paths {
		shown[i] = pathView{Title: p.Title, Steps: stepsForPeople(p.Steps), At: p.At}
		if p.Code != 0 {
			shown[i].Code = codeOf(p.Code)
		}
	}
	return shown
}

// Values of the buttons on a ticket's form.
const (
	doField   = "do"
	doReply   = "reply"
	doResolve = "resolve"
	doReopen  = "reopen"

	messageField = "message"
	messageRule  = "Plain text, up to 5,000 characters. No files: paste the relevant part. Never include keys."
)

// ticketMoves are the confirmations of actions.
var ticketMoves = map[string]string{doReply: "Reply sent", doResolve: "Ticket resolved", doReopen: "Ticket reopened"}

// answerTicket replies to a ticket, resolves it or reopens it. When that is refused, the form keeps
// what was typed.
func (v *request) answerTicket() error {
	do, typed := v.r.PostForm.Get(doField), unixLines(v.r.PostForm.Get(messageField))
	reference := v.r.PathValue("reference")
	if ticketMoves[do] == "" {
		do = doReply
	}
	moved, err := ask(v, v.Calls.ReplyTicket, service.ReplyTicketInput{
		Reference: reference, Message: typed, Resolve: do == doResolve, Reopen: do == doReopen,
		Form: v.r.PostForm.Get(formField),
	})
	if wrong := mistakesOf(err, messageField, doReopen, doResolve, formField); wrong != nil {
		found, err := v.findTicket()
		if err != nil {
			return err
		}
		wrong[""] = strings.TrimSpace(wrong[""] + " " + wrong[doReopen] + " " + wrong[doResolve])
		if wrong[""] == "" {
			delete(wrong, "")
		}
		return v.showTicket(http.StatusUnprocessableEntity, &found, typed, wrong)
	}
	if refusedFor(err, fault.NotYours) {
		return noSuchTicket(err)
	}
	if err != nil {
		return err
	}
	text := ticketStatuses[moved.Status].Text + "."
	if moved.Status == ticket.Resolved {
		text = "It closes automatically in seven days; a reply reopens it."
	}
	v.flash(good, ticketMoves[do], text)
	return v.redirect(v.ticketsAt() + "/" + moved.Reference)
}

// unixLines converts the line breaks of a submitted text to LF. Browsers send CRLF, which would
// count as two characters.
func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// Package tickets formats tickets, their evidence and feedback, for support and for the staff's
// desk.
package tickets

import (
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
)

// SeenField is the number of messages that the page of a form shows.
const SeenField = "seen"

// Row is a ticket in a list.
type Row struct {
	Reference, Subject, Category, Priority string
	To                                     string
	Status                                 view.Status
	Filed, Active                          view.Moment
}

// Path is a suggestion to try before anybody answers.
type Path struct {
	Title, Code string
	Steps       []string
	At          string // link to a way past the limit; empty for none
}

// Note is a message of a ticket.
type Note struct {
	Who, Tone string // CSS class: theirs, ours, service
	When      view.Moment
	Text      string
	Request   string
}

// Page is a ticket with its messages.
type Page struct {
	Reference, Subject string
	Status             view.Status
	Facts              []view.Detail
	Closes             view.Notice // when it closes automatically; empty when it does not
	Notes              []Note
	Paths              []Path
	Evidence           *Evidence
	Action, Form       string // of the answer's form: URL and id
	Reply              view.Area
	Buttons            []view.Button
	With               string
	Crumb              []view.Link
}

// Head returns the head of the customer's page.
func (p Page) Head() view.Head {
	return view.Head{
		Template: "ticket", Title: p.Reference, Section: view.SectionTickets, Crumbs: p.Crumb, Wide: true,
		Scripts: []string{view.ScriptForms, view.ScriptTable},
	}
}

// Crumb links back to the tickets.
var Crumb = []view.Link{{Text: "Tickets", To: paths.Tickets}}

// Statuses describe the state of a ticket.
var Statuses = map[ticket.Status]view.Status{
	ticket.Open: {Text: "Open"}, ticket.WaitingCustomer: {
		Tone: view.Warn, Text: "Waiting for you",
	}, ticket.WaitingUs: {Text: "Waiting for us"},
	ticket.Resolved: {Tone: view.Good, Text: "Resolved"}, ticket.Closed: {Tone: view.Good, Text: "Closed"},
}

// RowOf formats a ticket of the list at a path, with its status.
func RowOf(r view.Reader, t *tickets.TicketView, at string, now view.Status) Row {
	return Row{
		Reference: t.Reference, Subject: t.Subject, Category: view.SentenceCase(string(t.Category)),
		Priority: view.SentenceCase(string(t.Priority)), To: at + "/" + t.Reference, Status: now,
		Filed: r.Moment(t.CreatedAt), Active: r.Moment(t.LastActivityAt),
	}
}

// channelWords describe where a ticket came from.
var channelWords = map[string]string{
	operation.DoorConsole: "on these pages", operation.DoorAPI: "by API", operation.DoorMCP: "by agent tools",
}

// PageOf formats a ticket, with what was typed and its errors. The caller adds where the answer
// goes.
func PageOf(r view.Reader, t *tickets.TicketDetail, typed, wrong string) Page {
	p := Page{
		Reference: t.Reference, Subject: t.Subject, Status: Statuses[t.Status], Notes: notes(r, t.Messages),
		Paths: PathsOf(t.SuggestedPaths), Evidence: EvidenceOf(r, &t.Evidence),
		Facts: []view.Detail{
			{Label: "Category", Value: view.SentenceCase(string(t.Category)), Code: false},
			{Label: "Priority", Value: view.SentenceCase(string(t.Priority)), Code: false},
			{
				Label: "Filed", Value: strings.TrimSpace(r.Moment(t.CreatedAt).Exact + " " + channelWords[t.Channel]),
				Code: false,
			},
			{Label: "Last activity", Value: r.Moment(t.LastActivityAt).Exact, Code: false},
		},
	}
	p.Reply = view.Area{
		Name: view.MessageField, Label: "Reply", Value: typed, Error: wrong, Rule: MessageRule, Most: ticket.MaxMessage,
		Rows: 4,
	}
	switch t.Status {
	case ticket.Closed:
		p.Reply.Label = "What is left to do"
		p.Buttons = []view.Button{{Do: DoReopen, Text: "Reopen ticket", Primary: true}}
		p.Closes = view.Notice{Text: "This ticket is closed. It takes no reply until it is reopened."}
	case ticket.Resolved:
		p.Buttons = []view.Button{
			{Do: DoReply, Text: "Send reply and reopen", Primary: true},
			{Do: DoReopen, Text: "Reopen without a reply", Primary: false},
		}
		if t.ClosesAt != nil {
			closes := r.Moment(*t.ClosesAt)
			p.Closes = view.Notice{
				Text: "Resolved. It closes automatically " + closes.Relative + " (" + closes.Exact +
					") unless someone replies.",
			}
		}
	default:
		p.Buttons = []view.Button{
			{Do: DoReply, Text: "Send reply", Primary: true},
			{Do: DoResolve, Text: "Mark as resolved", Primary: false},
		}
	}
	return p
}

// noteWords describe who wrote a message and how it is shown. writerWords names the person or agent
// of a customer.
var noteWords = map[ticket.Author][2]string{
	ticket.Customer: {"", "yours"}, ticket.Operator: {"Support", "ours"}, ticket.Service: {"The service", "service"},
}

func notes(r view.Reader, all []tickets.TicketNote) []Note {
	notes := make([]Note, len(all))
	for i, n := range all {
		words := noteWords[n.Author]
		if n.Author == ticket.Customer {
			words[0] = Writer(n.Writer)
		}
		notes[i] = Note{
			Who: words[0], Tone: words[1], When: r.Moment(n.At), Text: n.Message, Request: n.RequestID,
		}
	}
	return notes
}

// Writer names who of an account wrote a message. A name that is not an e-mail address follows
// a word, so that an agent cannot pose as somebody else.
func Writer(w *tickets.NoteWriter) string {
	if w == nil {
		return "The account"
	}
	switch w.Kind {
	case tickets.WriterYou:
		return "You"
	case tickets.WriterMember:
		return w.Name
	case tickets.WriterKey:
		return "Key " + w.Name + "…"
	case tickets.WriterAgent:
		return "Agent " + w.Name
	case tickets.WriterAnother:
	}
	return "Another member"
}

// PathsOf formats suggestions for people.
func PathsOf(paths []ticket.Path) []Path {
	shown := make([]Path, len(paths))
	for i, p := range paths {
		shown[i] = Path{Title: p.Title, Steps: view.StepsForPeople(p.Steps), At: p.At}
		if p.Code != 0 {
			shown[i].Code = view.CodeOf(p.Code)
		}
	}
	return shown
}

// Values of the buttons of a form that answers.
const (
	DoReply   = "reply"
	DoResolve = "resolve"
	DoReopen  = "reopen"
)

// MessageRule is the rule of a field for a message.
const MessageRule = "Plain text, up to 5,000 characters. No files: paste the relevant part. Never include keys."

// Moves are the confirmations of actions.
var Moves = map[string]string{DoReply: "Reply sent", DoResolve: "Ticket resolved", DoReopen: "Ticket reopened"}

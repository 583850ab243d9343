package support

import (
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
)

// ticketsPage lists tickets.
type ticketsPage struct {
	Tickets []tickets.Row
	Filters []view.Filter
	Ask     string // where to file a ticket
	Older   string // URL of the next page; empty at the end
	Newest  string // URL of the first page; empty on it
	Empty   *view.Empty
	With    string // prefix of the key that asks; empty for a person who signed in
}

func (ticketsPage) Head() view.Head {
	return view.Head{
		Template: "tickets", Title: "Tickets", Section: view.SectionTickets, Wide: true,
		Scripts: []string{view.ScriptTable, view.ScriptForms},
	}
}

// newTicketPage has the form for a ticket and shows the evidence that will be attached.
type newTicketPage struct {
	Action        string
	Form          string // its id
	Request       string // the call that it is about, if it is the caller's
	Subject       view.Field
	RequestID     *view.Field // to name a call; nil when one is named
	Message       view.Area
	Category      view.Selection
	Evidence      *tickets.Evidence
	Paths         []tickets.Path
	Tickets, With string
	Crumb         []view.Link
}

func (p newTicketPage) Head() view.Head {
	return view.Head{
		Template: "newticket", Title: "File a ticket", Section: view.SectionTickets, Crumbs: p.Crumb, Wide: true,
		Scripts: []string{view.ScriptForms, view.ScriptTable},
	}
}

// supportDoorPage offers an unidentified visitor the ways to ask.
type supportDoorPage struct {
	Request string // as in the URL; its details are not shown here
	SignIn  view.Link
	Key     view.Field
	Next    string
	Kept    string // a message that was submitted without a key or session
}

func (supportDoorPage) Head() view.Head {
	return view.Head{
		Template: "supportdoor", Title: "Ask for help", Section: view.SectionTickets, Wide: true,
		Scripts: []string{view.ScriptForms},
	}
}

// feedbackPage has the form for feedback and lists earlier feedback.
type feedbackPage struct {
	Form        string // its id
	Kind, Chain view.Selection
	Title       view.Field
	Body        view.Area
	Given       []tickets.Feedback
	Filters     []view.Filter
	Older       string
	Newest      string
	Empty       *view.Empty
}

func (feedbackPage) Head() view.Head {
	return view.Head{
		Template: "feedback", Title: "Feedback", Section: view.SectionTickets, Crumbs: tickets.Crumb,
		Scripts: []string{view.ScriptForms},
	}
}

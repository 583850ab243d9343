package console

import "cmp"

// asking says with which key this page asks, and takes it back.
type asking struct{ Token, With string }

// filter is one choice of what a list shows, as a link.
type filter struct {
	link

	Current bool
}

// ticketRow is a ticket in a list.
type ticketRow struct {
	Reference, Subject, Category, Priority string
	To                                     string
	Status                                 status
	Filed, Active                          moment
}

// ticketsPage lists tickets.
type ticketsPage struct {
	Tickets []ticketRow
	Filters []filter
	Ask     string // where a ticket is filed
	Older   string // address of the next page; empty at the end
	Newest  string // address of the first page; empty on it
	Empty   *empty
	With    string // prefix of the key that asks; empty for somebody who signed in
}

func (ticketsPage) head() head {
	return head{
		Template: "tickets", Title: "Tickets", Section: sectionTickets, Wide: true,
		Scripts: []string{scriptTable, scriptForms},
	}
}

// area is a text of several lines.
type area struct {
	ID                              string // on the page; empty for the name
	Name, Label, Value, Rule, Error string
	Required, Autofocus             bool
	Most, Rows                      int
}

// Described lists the ids of what describes the text.
func (a area) Described() string {
	return field{Name: cmp.Or(a.ID, a.Name), Rule: a.Rule, Error: a.Error}.Described()
}

// pathView is something to try before anybody answers.
type pathView struct {
	Title, Code string
	Steps       []string
	At          string // path that leads past the limit; empty for none
}

// newTicketPage asks what a ticket says, and shows what is attached to it.
type newTicketPage struct {
	Action        string
	Form          string // its id
	Request       string // the call that it is about, where it is the caller's
	Subject       field
	RequestID     *field // to name a call; nil when one is named
	Message       area
	Category      selection
	Evidence      *evidenceView
	Paths         []pathView
	Tickets, With string
	Crumb         []link
}

func (p newTicketPage) head() head {
	return head{
		Template: "newticket", Title: "File a ticket", Section: sectionTickets, Crumbs: p.Crumb, Wide: true,
		Scripts: []string{scriptForms, scriptTable},
	}
}

// noteView is a message of a ticket.
type noteView struct {
	Who, Tone string // tone is a class: theirs, ours, service
	When      moment
	Text      string
	Request   string
}

// ticketPage is one ticket with its messages.
type ticketPage struct {
	Reference, Subject string
	Status             status
	Facts              []detail
	Closes             notice // when it closes by itself; without text when it does not
	Notes              []noteView
	Paths              []pathView
	Evidence           *evidenceView
	Action, Form       string // of the answer: where it goes, and its id
	Reply              area
	Buttons            []button
	With               string
	Crumb              []link
}

// button is what a form may be sent with.
type button struct {
	Do, Text string
	Primary  bool
}

func (p ticketPage) head() head {
	return head{
		Template: "ticket", Title: p.Reference, Section: sectionTickets, Crumbs: p.Crumb, Wide: true,
		Scripts: []string{scriptForms, scriptTable},
	}
}

// supportDoorPage offers somebody who is not known the ways to ask.
type supportDoorPage struct {
	Request string // as the address names it; nothing is said of it here
	SignIn  link
	Key     field
	Next    string
	Kept    string // a message that was sent without a key or session
}

func (supportDoorPage) head() head {
	return head{
		Template: "supportdoor", Title: "Ask for help", Section: sectionTickets, Wide: true,
		Scripts: []string{scriptForms},
	}
}

// feedbackView is feedback with what was said to it.
type feedbackView struct {
	Title, Kind, Body, Chain, Reply string
	Status                          status
	When                            moment
}

// feedbackPage takes feedback and lists what was given.
type feedbackPage struct {
	Form        string // its id
	Kind, Chain selection
	Title       field
	Body        area
	Given       []feedbackView
	Filters     []filter
	Older       string
	Newest      string
	Empty       *empty
}

func (feedbackPage) head() head {
	return head{
		Template: "feedback", Title: "Feedback", Section: sectionTickets, Crumbs: ticketsCrumb,
		Scripts: []string{scriptForms},
	}
}

var ticketsCrumb = []link{{"Tickets", pathTickets}}

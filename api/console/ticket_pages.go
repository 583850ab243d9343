package console

import "cmp"

// asking shows which key this page asks with, and has the form that forgets it.
type asking struct{ Token, With string }

// filter is a filter of a list, as a link.
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
	Ask     string // where to file a ticket
	Older   string // URL of the next page; empty at the end
	Newest  string // URL of the first page; empty on it
	Empty   *empty
	With    string // prefix of the key that asks; empty for a person who signed in
}

func (ticketsPage) head() head {
	return head{
		Template: "tickets", Title: "Tickets", Section: sectionTickets, Wide: true,
		Scripts: []string{scriptTable, scriptForms},
	}
}

// area is a multi-line text field.
type area struct {
	ID                              string // on the page; empty to use the name
	Name, Label, Value, Rule, Error string
	Required, Autofocus             bool
	Most, Rows                      int
}

// Described returns the ids of the elements that describe the text field.
func (a area) Described() string {
	return field{Name: cmp.Or(a.ID, a.Name), Rule: a.Rule, Error: a.Error}.Described()
}

// pathView is a suggestion to try before anybody answers.
type pathView struct {
	Title, Code string
	Steps       []string
	At          string // link to a way past the limit; empty for none
}

// newTicketPage has the form for a ticket and shows the evidence that will be attached.
type newTicketPage struct {
	Action        string
	Form          string // its id
	Request       string // the call that it is about, if it is the caller's
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
	Who, Tone string // CSS class: theirs, ours, service
	When      moment
	Text      string
	Request   string
}

// ticketPage is a ticket with its messages.
type ticketPage struct {
	Reference, Subject string
	Status             status
	Facts              []detail
	Closes             notice // when it closes automatically; empty when it does not
	Notes              []noteView
	Paths              []pathView
	Evidence           *evidenceView
	Action, Form       string // of the answer's form: URL and id
	Reply              area
	Buttons            []button
	With               string
	Crumb              []link
}

// button is a submit button.
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

// supportDoorPage offers an unidentified visitor the ways to ask.
type supportDoorPage struct {
	Request string // as in the URL; its details are not shown here
	SignIn  link
	Key     field
	Next    string
	Kept    string // a message that was submitted without a key or session
}

func (supportDoorPage) head() head {
	return head{
		Template: "supportdoor", Title: "Ask for help", Section: sectionTickets, Wide: true,
		Scripts: []string{scriptForms},
	}
}

// feedbackView is feedback with its answer.
type feedbackView struct {
	Title, Kind, Body, Chain, Reply string
	Status                          status
	When                            moment
}

// feedbackPage has the form for feedback and lists earlier feedback.
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

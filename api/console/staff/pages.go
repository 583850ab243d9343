package staff

import (
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
)

// ticketRow is a ticket in the desk's list.
type ticketRow struct {
	tickets.Row

	Account, Short       string // its name, if any, and the end of its id
	AccountID, OfAccount string // its id and a link to its tickets
	Plan, Messages       string
	Rank                 int
}

// ticketsPage lists the tickets of all accounts.
type ticketsPage struct {
	Stats            []view.Stat
	Status, Priority view.Selection
	Account          view.Field
	Tickets          []ticketRow
	Next, First      string // URLs of other pages; empty for none
	Empty            *view.Empty
}

func (ticketsPage) Head() view.Head {
	return view.Head{
		Template: "stafftickets", Title: "Desk", Section: view.SectionDesk, Wide: true,
		Scripts: []string{view.ScriptTable},
	}
}

// event is an action on a ticket.
type event struct {
	When             view.Moment
	Who, Where, What string
	Status           view.Status // its status afterwards
}

// ticketPage is a ticket from the staff's point of view.
type ticketPage struct {
	tickets.Page

	Of      []view.Detail // the account it belongs to
	History []event
	Seen    string // the number of messages shown
}

func (p ticketPage) Head() view.Head {
	return view.Head{
		Template: "staffticket", Title: p.Reference, Section: view.SectionDesk, Crumbs: p.Crumb, Wide: true,
		Scripts: []string{view.ScriptForms, view.ScriptTable},
	}
}

// feedbackRow is feedback with a form to answer it.
type feedbackRow struct {
	tickets.Feedback

	ID, Account, Plan, Seen string
	Becomes                 view.Selection
	Reply                   view.Area
	Open                    bool // its form is open
}

// feedbackPage lists the feedback of all accounts.
type feedbackPage struct {
	Status, Cursor string // from the URL
	Kept           string // a refused answer to feedback that is not listed
	Filters        []view.Filter
	Given          []feedbackRow
	Older, Newest  string
	Empty          *view.Empty
}

func (feedbackPage) Head() view.Head {
	return view.Head{
		Template: "stafffeedback", Title: "Feedback from all accounts", Section: view.SectionDesk,
		Crumbs: []view.Link{{Text: "Desk", To: paths.StaffTickets}}, Scripts: []string{view.ScriptForms},
	}
}

package console

// deskRow is a ticket in the desk's list.
type deskRow struct {
	ticketRow

	Account, Short       string // its name, if any, and the end of its id
	AccountID, OfAccount string // its id and a link to its tickets
	Plan, Messages       string
	Rank                 int
}

// staffTicketsPage lists the tickets of all accounts.
type staffTicketsPage struct {
	Stats            []stat
	Status, Priority selection
	Account          field
	Tickets          []deskRow
	Next, First      string // URLs of other pages; empty for none
	Empty            *empty
}

func (staffTicketsPage) head() head {
	return head{
		Template: "stafftickets", Title: "Desk", Section: sectionDesk, Wide: true, Scripts: []string{scriptTable},
	}
}

// deskEvent is an action on a ticket.
type deskEvent struct {
	When             moment
	Who, Where, What string
	Status           status // its status afterwards
}

// staffTicketPage is a ticket from the staff's point of view.
type staffTicketPage struct {
	ticketPage

	Of      []detail // the account it belongs to
	History []deskEvent
	Seen    string // the number of messages shown
}

func (p staffTicketPage) head() head {
	return head{
		Template: "staffticket", Title: p.Reference, Section: sectionDesk, Crumbs: p.Crumb, Wide: true,
		Scripts: []string{scriptForms, scriptTable},
	}
}

// deskFeedbackRow is feedback with a form to answer it.
type deskFeedbackRow struct {
	feedbackView

	ID, Account, Plan, Seen string
	Becomes                 selection
	Reply                   area
	Open                    bool // its form is open
}

// staffFeedbackPage lists the feedback of all accounts.
type staffFeedbackPage struct {
	Status, Cursor string // from the URL
	Kept           string // a refused answer to feedback that is not listed
	Filters        []filter
	Given          []deskFeedbackRow
	Older, Newest  string
	Empty          *empty
}

func (staffFeedbackPage) head() head {
	return head{
		Template: "stafffeedback", Title: "Feedback from all accounts", Section: sectionDesk,
		Crumbs: []link{{"Desk", pathStaffTickets}}, Scripts: []string{scriptForms},
	}
}

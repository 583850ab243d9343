package console

// deskRow is a ticket in the desk's list.
type deskRow struct {
	ticketRow

	Account, Short       string // what it is called, if anything, and the end of its id
	AccountID, OfAccount string // its id, and the list of its tickets
	Plan, Messages       string
	Rank                 int
}

// staffTicketsPage lists the tickets of all accounts.
type staffTicketsPage struct {
	Stats            []stat
	Status, Priority selection
	Account          field
	Tickets          []deskRow
	Next, First      string // addresses of other pages; empty for none
	Empty            *empty
}

func (staffTicketsPage) head() head {
	return head{
		Template: "stafftickets", Title: "Desk", Section: sectionDesk, Wide: true, Scripts: []string{scriptTable},
	}
}

// deskEvent is something that was done about a ticket.
type deskEvent struct {
	When             moment
	Who, Where, What string
	Status           status // that it has had since
}

// staffTicketPage is one ticket as those see it who answer.
type staffTicketPage struct {
	ticketPage

	Of      []detail // whose it is
	History []deskEvent
	Seen    string // how many messages are shown
}

func (p staffTicketPage) head() head {
	return head{
		Template: "staffticket", Title: p.Reference, Section: sectionDesk, Crumbs: p.Crumb, Wide: true,
		Scripts: []string{scriptForms, scriptTable},
	}
}

// deskFeedbackRow is feedback with the form that answers it.
type deskFeedbackRow struct {
	feedbackView

	ID, Account, Plan, Seen string
	Becomes                 selection
	Reply                   area
	Open                    bool // its form is
}

// staffFeedbackPage lists the feedback of all accounts.
type staffFeedbackPage struct {
	Status, Cursor string // as the address says them
	Kept           string // an answer that was refused to feedback that is not listed
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

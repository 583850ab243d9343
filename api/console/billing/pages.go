package billing

import "github.com/chainaccess/gateway/api/console/view"

// billingPage shows what the account pays, its means of payment, and what it can buy.
type billingPage struct {
	Owner, Live, Portal   bool
	Plan                  planCard
	Card                  *cardOnFile
	Packs                 []packRow
	Volume, Cheapest, VAT string
	Ladder                []view.LadderGroup
	Invoices              []invoiceRow
	Older                 string // URL of the page with older invoices
}

func (*billingPage) Head() view.Head {
	return view.Head{
		Template: "billing", Title: "Billing", Section: view.SectionBilling,
		Scripts: []string{view.ScriptForms, view.ScriptTable},
	}
}

// planCard is the plan in force, with the actions for its subscription.
type planCard struct {
	Title          string
	Status         view.Status
	Facts          []view.Fact
	Meter          *view.MeterBar
	Cancel, Resume bool
}

// cardOnFile is everything that is shown of a card.
type cardOnFile struct{ Brand, Last4, Expiry string }

// packRow is a pack with units left.
type packRow struct {
	Title, Remaining, Units, Used, Granted string
	Expires                                view.Moment
}

// invoiceRow is an invoice. Net and VAT add up to the total.
type invoiceRow struct {
	ID, Number, Day, What string
	Status                view.Status
	Net, VAT, Total       string
	Open                  string // label of the button that opens it; empty for none
	Due                   string
}

// choicePage shows a purchase or a change for confirmation.
type choicePage struct {
	Heading string
	Facts   []view.Fact
	Points  []string
	Country *view.Field
	Action  string
	Hidden  []view.Hidden
	Button  string
	Keep    view.Link
}

func (p choicePage) Head() view.Head {
	return view.Head{
		Template: "choice", Title: p.Heading, Section: view.SectionBilling, Crumbs: billingCrumb,
		Scripts: []string{view.ScriptForms},
	}
}

// awayPage forwards the browser to a page of the payment provider.
type awayPage struct {
	What string
	To   view.Link
}

func (p awayPage) Head() view.Head {
	return view.Head{
		Template: "away", Title: "Redirecting to " + p.What, Section: view.SectionBilling,
		Crumbs: billingCrumb,
	}
}

// donePage shows the result of a checkout.
type donePage struct {
	Title, Text, Plan string
	Status            view.Status
	Again             *view.Link
}

func (donePage) Head() view.Head {
	return view.Head{Template: "done", Title: "Payment result", Section: view.SectionBilling, Crumbs: billingCrumb}
}

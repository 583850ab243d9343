package console

// billingPage shows what the account pays, its means of payment, and what it can buy.
type billingPage struct {
	Owner, Live, Portal   bool
	Plan                  planCard
	Card                  *cardOnFile
	Packs                 []packRow
	Volume, Cheapest, VAT string
	Ladder                []ladderGroup
	Invoices              []invoiceRow
	Older                 string // URL of the page with older invoices
}

func (*billingPage) head() head {
	return head{
		Template: "billing", Title: "Billing", Section: sectionBilling, Scripts: []string{scriptForms, scriptTable},
	}
}

// planCard is the plan in force, with the actions for its subscription.
type planCard struct {
	Title          string
	Status         status
	Facts          []fact
	Meter          *meterBar
	Cancel, Resume bool
}

// cardOnFile is everything that is shown of a card.
type cardOnFile struct{ Brand, Last4, Expiry string }

// packRow is a pack with units left.
type packRow struct {
	Title, Remaining, Units, Used, Granted string
	Expires                                moment
}

// ladderGroup holds rungs that are paid in the same way.
type ladderGroup struct {
	Title string
	Rungs []rungRow
}

// rungRow is one way to buy units.
type rungRow struct {
	Title, Price, Units, PerMillion, AtVolume, Supply string
	// what happens to calls beyond its units, when the volume exceeds them
	Short             string
	Note              string
	Current, Cheapest bool
	Action            *link
}

// invoiceRow is an invoice. Net and VAT add up to the total.
type invoiceRow struct {
	ID, Number, Day, What string
	Status                status
	Net, VAT, Total       string
	Open                  string // label of the button that opens it; empty for none
	Due                   string
}

// choicePage shows a purchase or a change for confirmation.
type choicePage struct {
	Heading string
	Facts   []fact
	Points  []string
	Country *field
	Action  string
	Hidden  []hidden
	Button  string
	Keep    link
}

func (p choicePage) head() head {
	return head{
		Template: "choice", Title: p.Heading, Section: sectionBilling, Crumbs: billingCrumb,
		Scripts: []string{scriptForms},
	}
}

// awayPage forwards the browser to a page of the payment provider.
type awayPage struct {
	What string
	To   link
}

func (p awayPage) head() head {
	return head{Template: "away", Title: "Redirecting to " + p.What, Section: sectionBilling, Crumbs: billingCrumb}
}

// donePage shows the result of a checkout.
type donePage struct {
	Title, Text, Plan string
	Status            status
	Again             *link
}

func (donePage) head() head {
	return head{Template: "done", Title: "Payment result", Section: sectionBilling, Crumbs: billingCrumb}
}

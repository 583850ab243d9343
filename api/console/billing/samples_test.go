package billing

import (
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/accounts"
)

// samples are the pages of billing; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	return map[string]view.Page{
		"billing": sampleBillingPage(name),
		"billing-off": &billingPage{
			Plan: planCard{Title: "Free", Status: view.Status{Tone: view.Good, Text: "in force"}}, Volume: "0",
			VAT: "Prices are net.",
		},
		"choice": choicePage{
			Heading: "Buy " + name, Facts: []view.Fact{{Name: "Price", Value: name}}, Points: []string{name},
			Action: "/billing/buy",
			Hidden: []view.Hidden{{Name: "item", Value: name}}, Button: "Go to payment", Country: &view.Field{
				Name: "country", Label: "Country", Value: name, Error: name,
			},
			Keep: view.Link{Text: "Back", To: "/billing"},
		},
		"away": awayPage{What: "the payment page", To: view.Link{Text: "Continue", To: consoletest.CheckoutURL}},
		"done": donePage{
			Title: name, Text: name, Plan: "Scale", Status: view.Status{Tone: view.Warn, Text: "not paid yet"},
			Again: &view.Link{Text: "Look again", To: "/billing/done?checkout=1&look=2"},
		},
		"statements": statementsPage{
			Periods: []periodRow{
				{
					Key: "2026-11-01", Days: "1 – 30 Nov 2026", Status: view.Status{Text: "in progress"},
					Requests: "–",
					Units:    "–",
				},
			},
		},
		"statements-none": statementsPage{},
		"statement":       sampleStatementPage(name),
	}
}

// sampleBillingPage is the billing page with user-chosen names.
func sampleBillingPage(name string) *billingPage {
	bar := view.NewMeterBar("Full speed", 21_000_000*plan.Unit, 20_000_000*plan.Unit, name)
	return &billingPage{
		Owner: true, Live: true, Portal: true, Volume: "1", Cheapest: name, VAT: name,
		Older: "/billing?invoices_before=x#invoices", Plan: planCard{
			Title: name, Status: view.Status{Tone: view.Warn, Text: name},
			Facts: []view.Fact{{Name: "Subscription", Value: name}}, Meter: &bar, Cancel: true, Resume: true,
		},
		Card: &cardOnFile{name, "4242", "07/2028"},
		Packs: []packRow{
			{
				Title: name, Remaining: "1", Units: "2", Used: "50 %", Granted: "1 Nov 2026",
				Expires: consoletest.Reader().Moment(consoletest.Now),
			},
		},
		Ladder: []view.LadderGroup{{Title: name, Rungs: []view.RungRow{
			{Title: name, Price: "$1.00", Supply: "premium", Short: name, Note: name, Current: true, Cheapest: true},
			{Title: "Pro", Price: "$1.00", Supply: "premium", Action: &view.Link{
				Text: "Change", To: "/billing/change?item=pro_monthly",
			}},
		}}},
		Invoices: []invoiceRow{
			{
				ID: "in_1", Number: name, Day: "1 Nov 2026", What: name,
				Status: view.Status{Tone: view.Bad, Text: "charge declined"},
				Net:    "$1.00", VAT: "$0.20", Total: "$1.20", Open: "Pay",
			},
		},
	}
}

func sampleStatementPage(name string) *statementPage {
	_, s := consoletest.SampleStatements(consoletest.Now, name)
	v := &site.Request{Session: &accounts.CurrentSession{AccountName: name, Email: name}}
	return statementPageOf(v, &s)
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}

package billing

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
)

// invoicesShown is the number of invoices on a page of the list.
const invoicesShown = 12

// showBilling shows what the account pays, its means of payment, and what it can buy.
func showBilling(v *site.Request) error {
	var now billing.BillingStatus
	var ladder billing.PriceLadder
	var invoices billing.InvoiceList
	in := billing.ListInvoicesInput{Limit: invoicesShown, Before: v.R.URL.Query().Get("invoices_before")}
	err := v.InParallel(
		site.Asked(v, v.Calls.BillingStatus, operation.Nothing{}, &now),
		site.Asked(v, v.Calls.PriceLadder, operation.Nothing{},
			&ladder),
		func(ctx context.Context) error {
			err := site.Asked(v, v.Calls.ListInvoices, in, &invoices)(ctx)
			if site.MistakesOf(err) == nil {
				return err
			}
			in.Before = "" // an edited URL
			return site.Asked(v, v.Calls.ListInvoices, in, &invoices)(ctx)
		},
	)
	if err != nil {
		return err
	}
	may := v.Owner() && now.Live
	p := &billingPage{
		Owner: v.Owner(), Live: now.Live, Plan: planCardOf(v, &now, may), Card: cardOf(&now),
		Portal: may && now.Customer != nil, Packs: packRowsOf(v, &now), Ladder: view.LadderOf(&ladder, &now, may),
		Volume: ladder.Volume.Grouped(), Cheapest: view.Cheapest(&ladder),
		VAT: "Prices are net; no VAT is added for the country on file.",
	}
	if now.VATPercent > 0 {
		p.VAT = "Prices are net; VAT of " + view.Number(now.VATPercent) + " % is added."
	}
	for i := range invoices.Invoices {
		p.Invoices = append(p.Invoices, invoiceRowOf(v, &invoices.Invoices[i], may))
	}
	if n := len(invoices.Invoices); invoices.More && n > 0 {
		p.Older = paths.Billing + "?invoices_before=" + invoices.Invoices[n-
			1].CreatedAt.UTC().Format("2006-01-02T15:04:05.999999999Z") + "#invoices"
	}
	return v.Show(http.StatusOK, p, billingNotices(&now, p.Invoices)...)
}

// billingNotices lists what needs the customer's attention.
func billingNotices(now *billing.BillingStatus, invoices []invoiceRow) []view.Notice {
	var all []view.Notice
	if !now.Live {
		all = append(all, view.Notice{
			Tone: view.Warn, Title: "Payments are off on this gateway",
			Text: "Nothing can be bought, changed or paid here. The account keeps what it has.",
		})
	}
	s := now.Subscription.Value
	if s == nil || (s.Status != subscription.PastDue && s.Status != subscription.Unpaid) {
		return all
	}
	n := view.Notice{
		Tone: view.Bad, Title: "The last invoice is not paid",
		Links: []view.Link{{Text: "To the invoices", To: "#invoices"}},
	}
	if s.Status == subscription.PastDue {
		n.Tone = view.Warn
		n.Text = "The card was declined. The plan stays active while the charge is retried. Pay the open invoice or " +
			"add another card before the retries end."
	} else {
		n.Text = "All attempts to charge it failed, so the account is on the Free plan. Pay the open invoice to get " +
			"the plan back."
	}
	for i := range invoices {
		if invoices[i].Due != "" {
			n.Text += " " + invoices[i].Due
			break
		}
	}
	return append(all, n)
}

// planCardOf shows the plan in force and its subscription.
func planCardOf(v *site.Request, now *billing.BillingStatus, may bool) planCard {
	c := planCard{Title: now.TierTitle, Status: view.Status{Tone: view.Good, Text: "in force"}}
	s := now.Subscription.Value
	switch {
	case s == nil:
		c.Facts = append(c.Facts, view.Fact{Name: "Subscription", Value: "none"})
	case s.Status.Over():
		c.Facts = append(c.Facts, view.Fact{Name: "Subscription", Value: view.ItemTitle(s.Item) + ", ended"})
		if s.EndedAt != nil {
			c.Facts = append(c.Facts, view.Fact{Name: "Ended", Value: v.Reader.Day(*s.EndedAt)})
		}
	default:
		describeSubscription(v, &c, s, may)
	}
	if now.NextTierFrom != nil {
		c.Facts = append(c.Facts, view.Fact{
			Name: "Next", Value: view.PlanTitle(now.NextTier) + " from " + v.Reader.Moment(*now.NextTierFrom).Exact,
		})
	}
	if now.TaxNote != "" {
		c.Facts = append(c.Facts, view.Fact{Name: "VAT", Value: now.TaxNote})
	}
	if f := now.Founding.Value; f != nil && f.State == "held" && f.Until != nil {
		c.Facts = append(c.Facts, view.Fact{Name: "Founding offer", Value: "a seat is held until " +
			v.Reader.Moment(*f.Until).Exact})
	}
	if soft := now.SoftLanding.Value; soft != nil {
		next := "Beyond 100 %, calls continue at a lower rate until " + v.Reader.Day(soft.Until) + "."
		if soft.Past {
			next = "Calls continue at " + view.Number(soft.PerSecond) + " a second until " +
				v.Reader.Day(soft.Until) + "."
		}
		bar := view.NewMeterBar("Full speed", soft.Used, soft.Ceiling, next)
		c.Meter = &bar
	}
	return c
}

func describeSubscription(v *site.Request, c *planCard, s *billing.SubscriptionView, may bool) {
	c.Status = subscriptionStatus(s)
	price := view.Dollars(plan.Cents(s.PriceCents)) + " net " + everyWords[plan.Interval(s.Interval)]
	if s.Founding {
		price += ", the founding price"
	}
	c.Facts = append(c.Facts, view.Fact{Name: "Subscription", Value: view.ItemTitle(s.Item)},
		view.Fact{Name: "Price", Value: price},
		view.Fact{Name: "Paid until", Value: v.Reader.Moment(s.PeriodEnd).Exact})
	switch {
	case s.CancelAtPeriodEnd:
		c.Facts = append(c.Facts, view.Fact{Name: "Then", Value: "it ends, and the Free plan follows"})
		c.Resume = may
	case s.HeldUntil != nil:
		c.Facts = append(c.Facts, view.Fact{Name: "Until " + v.Reader.Day(*s.HeldUntil), Value: view.ItemTitle(s.Held)},
			view.Fact{Name: "Then", Value: view.ItemTitle(s.Item)})
		c.Cancel = may
	default:
		c.Facts = append(c.Facts, view.Fact{Name: "Then", Value: "renewed, until you cancel"})
		c.Cancel = may
	}
}

var everyWords = map[plan.Interval]string{plan.ByMonth: "a month", plan.ByYear: "a year"}

func subscriptionStatus(s *billing.SubscriptionView) view.Status {
	switch s.Status {
	case subscription.Active, subscription.Trialing:
		if s.CancelAtPeriodEnd {
			return view.Status{Tone: view.Warn, Text: "ends with its period"}
		}
		return view.Status{Tone: view.Good, Text: "active"}
	case subscription.PastDue:
		return view.Status{Tone: view.Warn, Text: "payment is due"}
	case subscription.Unpaid:
		return view.Status{Tone: view.Bad, Text: "not paid"}
	case subscription.Paused, subscription.Canceled, subscription.Incomplete, subscription.IncompleteExpired:
	}
	return view.Status{Tone: view.Warn, Text: strings.ReplaceAll(string(s.Status), "_", " ")}
}

// cardOf returns the card on file: brand, last four digits and expiry, and nothing else.
func cardOf(now *billing.BillingStatus) *cardOnFile {
	c := now.Payment.Value
	if c == nil {
		return nil
	}
	expiry := strconv.Itoa(c.ExpYear)
	if month := strconv.Itoa(c.ExpMonth); len(month) == 1 {
		expiry = "0" + month + "/" + expiry
	} else {
		expiry = month + "/" + expiry
	}
	return &cardOnFile{Brand: c.Brand, Last4: c.Last4, Expiry: expiry}
}

func packRowsOf(v *site.Request, now *billing.BillingStatus) []packRow {
	rows := make([]packRow, len(now.Packs))
	for i := range now.Packs {
		p := &now.Packs[i]
		bar := view.NewMeterBar(view.ItemTitle(p.Kind), p.Units-p.Remaining, p.Units, "")
		rows[i] = packRow{
			Title: view.ItemTitle(p.Kind), Remaining: p.Remaining.Grouped(), Units: p.Units.Grouped(),
			Used:    bar.Percent,
			Granted: v.Reader.Day(p.GrantedAt), Expires: v.Reader.Moment(p.ExpiresAt),
		}
	}
	return rows
}

func invoiceRowOf(v *site.Request, n *billing.InvoiceView, may bool) invoiceRow {
	row := invoiceRow{
		ID: n.ID, Number: view.AccountTitle(n.Number, "no number yet"), Day: v.Reader.Day(n.CreatedAt),
		What: invoiceWords[n.Reason], Status: view.InvoiceStatus(n.Status, n.Failed),
		Net: view.Dollars(plan.Cents(n.Net)),
		VAT: view.Dollars(plan.Cents(n.VAT)), Total: view.Dollars(plan.Cents(n.Total)),
	}
	if row.What == "" {
		row.What = "Purchase"
	}
	if may {
		row.Open = "Open"
		if n.Status == view.InvoiceOpen {
			row.Open = "Pay"
		}
	}
	if n.Failed && n.NextAttempt != nil {
		row.Due = "The charge is retried on " + v.Reader.Moment(*n.NextAttempt).Exact + "."
	}
	return row
}

// invoiceWords describe what an invoice was issued for, by the payment provider's term.
var invoiceWords = map[string]string{
	"subscription_create": "First period", "subscription_cycle": "Next period", "subscription_update": "Change of plan",
	"manual": "Purchase",
}

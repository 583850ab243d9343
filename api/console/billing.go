package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// invoicesShown is the number of invoices on a page of the list.
const invoicesShown = 12

// billing shows what the account pays, its means of payment, and what it can buy.
func (v *request) billing() error {
	var now service.BillingStatus
	var ladder service.PriceLadder
	var invoices service.InvoiceList
	in := service.ListInvoicesInput{Limit: invoicesShown, Before: v.r.URL.Query().Get("invoices_before")}
	err := v.inParallel(
		asked(v, v.Calls.BillingStatus, service.Nothing{}, &now), asked(v, v.Calls.PriceLadder, service.Nothing{},
			&ladder),
		func(ctx context.Context) error {
			err := asked(v, v.Calls.ListInvoices, in, &invoices)(ctx)
			if mistakesOf(err) == nil {
				return err
			}
			in.Before = "" // an edited URL
			return asked(v, v.Calls.ListInvoices, in, &invoices)(ctx)
		},
	)
	if err != nil {
		return err
	}
	may := v.owner() && now.Live
	p := &billingPage{
		Owner: v.owner(), Live: now.Live, Plan: v.planCard(&now, may), Card: cardOf(&now),
		Portal: may && now.Customer != nil, Packs: v.packRows(&now), Ladder: ladderOf(&ladder, &now, may),
		Volume: ladder.Volume.Grouped(), Cheapest: cheapest(&ladder),
		VAT: "Prices are net; no VAT is added for the country on file.",
	}
	if now.VATPercent > 0 {
		p.VAT = "Prices are net; VAT of " + number(now.VATPercent) + " % is added."
	}
	for i := range invoices.Invoices {
		p.Invoices = append(p.Invoices, v.invoiceRow(&invoices.Invoices[i], may))
	}
	if n := len(invoices.Invoices); invoices.More && n > 0 {
		p.Older = pathBilling + "?invoices_before=" + invoices.Invoices[n-
			1].CreatedAt.UTC().Format("2006-01-02T15:04:05.999999999Z") + "#invoices"
	}
	return v.show(http.StatusOK, p, v.billingNotices(&now, p.Invoices)...)
}

// billingNotices lists what needs the customer's attention.
func (v *request) billingNotices(now *service.BillingStatus, invoices []invoiceRow) []notice {
	var all []notice
	if !now.Live {
		all = append(all, notice{
			Tone: warn, Title: "Payments are off on this gateway",
			Text: "Nothing can be bought, changed or paid here. The account keeps what it has.",
		})
	}
	s := now.Subscription.Value
	if s == nil || (s.Status != subscription.PastDue && s.Status != subscription.Unpaid) {
		return all
	}
	n := notice{Tone: bad, Title: "The last invoice is not paid", Links: []link{{"To the invoices", "#invoices"}}}
	if s.Status == subscription.PastDue {
		n.Tone = warn
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

// planCard shows the plan in force and its subscription.
func (v *request) planCard(now *service.BillingStatus, may bool) planCard {
	c := planCard{Title: now.TierTitle, Status: status{good, "in force"}}
	s := now.Subscription.Value
	switch {
	case s == nil:
		c.Facts = append(c.Facts, fact{"Subscription", "none"})
	case s.Status.Over():
		c.Facts = append(c.Facts, fact{"Subscription", itemTitle(s.Item) + ", ended"})
		if s.EndedAt != nil {
			c.Facts = append(c.Facts, fact{"Ended", v.reader.day(*s.EndedAt)})
		}
	default:
		v.describeSubscription(&c, s, may)
	}
	if now.NextTierFrom != nil {
		c.Facts = append(c.Facts, fact{
			"Next", planTitle(now.NextTier) + " from " + v.reader.moment(*now.NextTierFrom).Exact,
		})
	}
	if now.TaxNote != "" {
		c.Facts = append(c.Facts, fact{"VAT", now.TaxNote})
	}
	if f := now.Founding.Value; f != nil && f.State == "held" && f.Until != nil {
		c.Facts = append(c.Facts, fact{"Founding offer", "a seat is held until " + v.reader.moment(*f.Until).Exact})
	}
	if soft := now.SoftLanding.Value; soft != nil {
		next := "Beyond 100 %, calls continue at a lower rate until " + v.reader.day(soft.Until) + "."
		if soft.Past {
			next = "Calls continue at " + number(soft.PerSecond) + " a second until " + v.reader.day(soft.Until) + "."
		}
		bar := newMeterBar("Full speed", soft.Used, soft.Ceiling, next)
		c.Meter = &bar
	}
	return c
}

func (v *request) describeSubscription(c *planCard, s *service.SubscriptionView, may bool) {
	c.Status = subscriptionStatus(s)
	price := dollars(plan.Cents(s.PriceCents)) + " net " + everyWords[plan.Interval(s.Interval)]
	if s.Founding {
		price += ", the founding price"
	}
	c.Facts = append(c.Facts, fact{"Subscription", itemTitle(s.Item)}, fact{"Price", price},
		fact{"Paid until", v.reader.moment(s.PeriodEnd).Exact})
	switch {
	case s.CancelAtPeriodEnd:
		c.Facts = append(c.Facts, fact{"Then", "it ends, and the Free plan follows"})
		c.Resume = may
	case s.HeldUntil != nil:
		c.Facts = append(c.Facts, fact{"Until " + v.reader.day(*s.HeldUntil), itemTitle(s.Held)},
			fact{"Then", itemTitle(s.Item)})
		c.Cancel = may
	default:
		c.Facts = append(c.Facts, fact{"Then", "renewed, until you cancel"})
		c.Cancel = may
	}
}

var everyWords = map[plan.Interval]string{plan.ByMonth: "a month", plan.ByYear: "a year"}

func subscriptionStatus(s *service.SubscriptionView) status {
	switch s.Status {
	case subscription.Active, subscription.Trialing:
		if s.CancelAtPeriodEnd {
			return status{warn, "ends with its period"}
		}
		return status{good, "active"}
	case subscription.PastDue:
		return status{warn, "payment is due"}
	case subscription.Unpaid:
		return status{bad, "not paid"}
	case subscription.Paused, subscription.Canceled, subscription.Incomplete, subscription.IncompleteExpired:
	}
	return status{warn, strings.ReplaceAll(string(s.Status), "_", " ")}
}

// itemTitle returns the title of an item, or its key when this version does not know it.
func itemTitle(key string) string {
	if item, known := plan.FindItem(key); known {
		return item.Title
	}
	return key
}

// cardOf returns the card on file: brand, last four digits and expiry, and nothing else.
func cardOf(now *service.BillingStatus) *cardOnFile {
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

func (v *request) packRows(now *service.BillingStatus) []packRow {
	rows := make([]packRow, len(now.Packs))
	for i := range now.Packs {
		p := &now.Packs[i]
		bar := newMeterBar(itemTitle(p.Kind), p.Units-p.Remaining, p.Units, "")
		rows[i] = packRow{
			Title: itemTitle(p.Kind), Remaining: p.Remaining.Grouped(), Units: p.Units.Grouped(), Used: bar.Percent,
			Granted: v.reader.day(p.GrantedAt), Expires: v.reader.moment(p.ExpiresAt),
		}
	}
	return rows
}

func (v *request) invoiceRow(n *service.InvoiceView, may bool) invoiceRow {
	row := invoiceRow{
		ID: n.ID, Number: accountTitle(n.Number, "no number yet"), Day: v.reader.day(n.CreatedAt),
		What: invoiceWords[n.Reason], Status: invoiceStatus(n.Status, n.Failed), Net: dollars(plan.Cents(n.Net)),
		VAT: dollars(plan.Cents(n.VAT)), Total: dollars(plan.Cents(n.Total)),
	}
	if row.What == "" {
		row.What = "Purchase"
	}
	if may {
		row.Open = "Open"
		if n.Status == invoiceOpen {
			row.Open = "Pay"
		}
	}
	if n.Failed && n.NextAttempt != nil {
		row.Due = "The charge is retried on " + v.reader.moment(*n.NextAttempt).Exact + "."
	}
	return row
}

// invoiceWords describe what an invoice was issued for, by the payment provider's term.
var invoiceWords = map[string]string{
	"subscription_create": "First period", "subscription_cycle": "Next period", "subscription_update": "Change of plan",
	"manual": "Purchase",
}

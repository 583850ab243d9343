package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

var billingCrumb = []link{{"Billing", pathBilling}}

// away forwards the browser to a page of the payment provider. The content security policy forbids
// that a form redirects to another site, so this page makes the browser follow a refresh. It does
// not stay in the history.
func (v *request) away(to, what string) error {
	target, err := url.Parse(to)
	if err != nil || target.Host == "" || (target.Scheme != "https" && target.Scheme != "http") {
		return errors.New("the payment provider gave an address that is none")
	}
	v.hideReferrer()
	v.w.Header().Set("Refresh", "0; url="+target.String())
	return v.show(http.StatusOK, awayPage{What: what, To: link{"Continue to " + what, target.String()}})
}

// backToBilling shows on the billing page why a change was refused. Other errors get a page of
// their own.
func (v *request) backToBilling(err error) error {
	f, refused := errors.AsType[*fault.Error](err)
	if !refused || f.Reason == fault.InternalFault || f.Reason == fault.KeyInvalid {
		return err
	}
	v.flash(bad, "Nothing was changed", f.Message)
	return v.redirect(pathBilling)
}

// leaveToOwners shows on the billing page that only owners may buy or change anything, before a
// form is filled in.
func (v *request) leaveToOwners() error {
	v.flash(warn, "Only for owners",
		"Only owners of the account can change the plan and buy packs. The settings list the owners.")
	return v.redirect(pathBilling)
}

// offered returns an item that a form may buy or change to.
func offered(key string) (plan.Item, error) {
	item, known := plan.FindItem(key)
	if !known {
		return plan.Item{}, &refusal{
			status: http.StatusNotFound, heading: "This is not on sale",
			text: "Choose a plan or a pack on the billing page.",
		}
	}
	return item, nil
}

// showPurchase shows what is about to be bought.
func (v *request) showPurchase() error {
	if !v.owner() {
		return v.leaveToOwners()
	}
	return v.purchasePage(http.StatusOK, v.r.URL.Query().Get("item"), "", "")
}

func (v *request) purchasePage(code int, key, country, wrong string) error {
	item, err := offered(key)
	if err != nil {
		return err
	}
	now, err := ask(v, v.Calls.BillingStatus, service.Nothing{})
	if err != nil {
		return err
	}
	if country == "" {
		country = now.Country
	}
	p := choicePage{
		Heading: "Buy " + item.Title, Action: pathBilling + "/buy", Hidden: []hidden{{"item", item.Key}},
		Button: "Go to payment", Keep: link{"Back to billing", pathBilling}, Facts: []fact{
			{"Price", dollars(item.Price) + " net " + onceOr(item.Interval)},
		},
		Country: &field{
			Name: "country", Label: "Country of the billing address", Value: country, Error: wrong, Most: 2,
			Pattern: "[A-Za-z]{2}", Complete: "country",
			Rule: "Two letters, such as DE or US. In the EU, and where no country is given, VAT of " +
				number(plan.VATPercent) + " % is added.",
		},
		Points: []string{
			"You pay by card on the payment provider's page; nothing is charged before that.",
			"The page is valid for an hour.",
		},
	}
	if item.IsPack() {
		pack, _ := plan.FindPack(item.Pack)
		p.Facts = append(p.Facts, fact{"Units", pack.Units.Grouped()}, fact{"Valid", packLasts() + " from the payment"})
		p.Points = append(p.Points,
			"Packs are used after the plan's units of the period. Units that are left when a pack expires are lost.")
	} else {
		of := plan.Must(item.Plan)
		p.Facts = append(p.Facts, fact{"Units", of.Included.Grouped() + " a month"})
		p.Points = append(p.Points,
			"It renews automatically until you cancel. You can cancel here at any time, for the end of the paid "+
				"period.")
	}
	if item.Offer != "" {
		offer := plan.Founding()
		p.Points = append(p.Points, "The price is locked for "+count(int64(offer.LockedMonths), "month")+
			"; after that, the plan's regular price applies. A seat is held for you while the page is open.")
	}
	return v.show(code, p)
}

// onceOr describes how often an item is paid.
func onceOr(i plan.Interval) string {
	if words, recurs := everyWords[i]; recurs {
		return words
	}
	return "once"
}

// purchase starts a checkout and forwards to its page.
func (v *request) purchase() error {
	item, country := v.r.PostForm.Get("item"), v.r.PostForm.Get("country")
	started, err := ask(v, v.Calls.StartCheckout, service.StartCheckoutInput{
		Item: item, Country: strings.ToUpper(strings.TrimSpace(country)),
	})
	if wrong := mistakesOf(err, "country"); wrong != nil && wrong["country"] != "" {
		return v.purchasePage(http.StatusUnprocessableEntity, item, country, wrong["country"])
	}
	if err != nil {
		return v.backToBilling(err)
	}
	return v.away(started.URL, "the payment page")
}

// showChange shows what a change of plan costs.
func (v *request) showChange() error {
	if !v.owner() {
		return v.leaveToOwners()
	}
	item, err := offered(v.r.URL.Query().Get("item"))
	if err != nil {
		return err
	}
	now, err := ask(v, v.Calls.BillingStatus, service.Nothing{})
	if err != nil {
		return err
	}
	s := now.Subscription.Value
	if s == nil || s.Status.Over() {
		return v.redirect(pathBilling + "/buy?item=" + item.Key)
	}
	running := subscription.Subscription{
		Price: s.Item, Status: s.Status, PeriodEnd: s.PeriodEnd, CancelAtPeriodEnd: s.CancelAtPeriodEnd, Held: s.Held,
	}
	if s.HeldUntil != nil {
		running.HeldUntil = *s.HeldUntil
	}
	kind, refused := running.ChangeTo(item.Key, v.reader.now)
	if refused != nil {
		return v.backToBilling(refused)
	}
	p := choicePage{
		Heading: "Change to " + item.Title, Action: pathBilling + "/change", Hidden: []hidden{{"item", item.Key}},
		Keep: link{"Keep what you have", pathBilling}, Facts: []fact{
			{"Now", itemTitle(running.HeldAt(v.reader.now))},
			{"Then", item.Title},
			{"Price", dollars(item.Price) + " net " + onceOr(item.Interval)},
		},
	}
	end := v.reader.moment(s.PeriodEnd).Exact
	switch kind {
	case subscription.Upgrade:
		p.Button = "Change and pay the difference"
		p.Points = []string{
			"It takes effect at once. The difference for the rest of the paid period is charged to the card on file " +
				"now.",
			"Units already used in this period still count, and the period stays the same.",
			"If the card is declined, nothing changes.",
		}
	case subscription.Downgrade:
		p.Button = "Change at the end of the paid period"
		p.Points = []string{
			itemTitle(running.HeldAt(v.reader.now)) + " continues until " + end + ", then " + item.Title +
				" takes over.",
			"Nothing is charged now. You can undo this until then.",
		}
	case subscription.TakeBack:
		p.Button = "Stay on " + item.Title
		p.Points = []string{"The change that was planned for " + end + " is undone. Nothing is charged."}
	case subscription.NoChange:
		v.flash("", "Nothing to change", "The subscription is on this plan already, or about to be.")
		return v.redirect(pathBilling)
	}
	return v.show(http.StatusOK, p)
}

// change changes the plan of the subscription.
func (v *request) change() error {
	done, err := ask(v, v.Calls.ChangePlan, service.ChangePlanInput{Item: v.r.PostForm.Get("item")})
	return v.changed(done, err, "Plan changed")
}

// changed shows the result of a subscription change on the billing page.
func (v *request) changed(done service.PlanChange, err error, title string) error {
	if err != nil {
		return v.backToBilling(err)
	}
	text := done.Note
	if !done.InForce {
		text += " It appears here within a few minutes."
	}
	v.flash(good, title, text)
	return v.redirect(pathBilling)
}

// confirmCancel asks for confirmation before a plan is cancelled.
func (v *request) confirmCancel() error {
	if !v.owner() {
		return v.leaveToOwners()
	}
	now, err := ask(v, v.Calls.BillingStatus, service.Nothing{})
	if err != nil {
		return err
	}
	s := now.Subscription.Value
	if s == nil || s.Status.Over() || s.CancelAtPeriodEnd {
		return v.redirect(pathBilling)
	}
	end := v.reader.moment(s.PeriodEnd).Exact
	return v.show(http.StatusOK, confirmPage{
		Heading: "Cancel the plan?", Subject: itemTitle(s.Item), Section: sectionBilling, CrumbsTo: billingCrumb,
		Action: pathBilling + "/cancel",
		Stops: []string{
			"The plan, on " + end + ". The Free plan follows: " + plan.Must(plan.Free).Included.Grouped() +
				" units a month, public supply.",
			"Charges. Nothing more is charged, and nothing is refunded.",
		},
		Stays: []string{
			"The plan, until then. You can resume it until then, too.", "Packs, keys, statements and invoices.",
		},
		Button: "Cancel at the period's end", Keep: link{"Keep the plan", pathBilling},
	})
}

func (v *request) cancelPlan() error {
	done, err := ask(v, v.Calls.CancelPlan, service.Nothing{})
	return v.changed(done, err, "Plan cancelled")
}

func (v *request) resumePlan() error {
	done, err := ask(v, v.Calls.ResumePlan, service.Nothing{})
	return v.changed(done, err, "Plan resumed")
}

// portal forwards to the page where card, address and country can be changed.
func (v *request) portal() error {
	at, err := ask(v, v.Calls.OpenPortal, service.Nothing{})
	if err != nil {
		return v.backToBilling(err)
	}
	return v.away(at.URL, "the customer portal")
}

// invoice forwards to an invoice.
func (v *request) invoice() error {
	at, err := ask(v, v.Calls.ShowInvoice, service.ShowInvoiceInput{ID: v.r.PathValue("id")})
	if err != nil {
		return v.backToBilling(err)
	}
	return v.away(at.URL, "the invoice")
}

// How often and how soon a browser that returns from a checkout reloads the page.
const (
	maxLooks  = 10
	lookAgain = "3"
)

// checkoutDone is the page that a browser returns to from a checkout. The purchase is granted
// without it, too.
func (v *request) checkoutDone() error {
	query := v.r.URL.Query()
	id := query.Get("checkout")
	done, err := ask(v, v.Calls.FinishCheckout, service.FinishCheckoutInput{CheckoutID: id})
	if refusedFor(err, fault.NotYours) || mistakesOf(err) != nil {
		return &refusal{
			status: http.StatusNotFound, heading: "There is no such checkout", cause: err,
			text: "This account has no such checkout. The billing page shows what it has.",
		}
	}
	if err != nil {
		return err
	}
	p := donePage{Title: done.Title, Text: done.Note, Status: checkoutStatus(done.State), Plan: planTitle(done.Tier)}
	if done.State == checkoutOpen {
		looks, _ := strconv.Atoi(query.Get("look")) // 0 when malformed
		next := pathBilling + "/done?" + url.Values{
			"checkout": {id}, "look": {strconv.Itoa(min(max(looks, 0), maxLooks) + 1)},
		}.Encode()
		p.Again = &link{"Look again", next}
		if looks < maxLooks {
			v.w.Header().Set("Refresh", lookAgain+"; url="+next)
		}
	}
	return v.show(http.StatusOK, p)
}

const checkoutOpen = "open"

func checkoutStatus(state string) status {
	switch state {
	case checkoutOpen:
		return status{warn, "not paid yet"}
	case invoicePaid:
		return status{good, "paid"}
	}
	return status{bad, state}
}

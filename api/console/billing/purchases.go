package billing

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
)

var billingCrumb = []view.Link{{Text: "Billing", To: paths.Billing}}

// away forwards the browser to a page of the payment provider. The content security policy forbids
// that a form redirects to another site, so this page makes the browser follow a refresh. It does
// not stay in the history.
func away(v *site.Request, to, what string) error {
	target, err := url.Parse(to)
	if err != nil || target.Host == "" || (target.Scheme != "https" && target.Scheme != "http") {
		return errors.New("the payment provider gave an address that is none")
	}
	v.HideReferrer()
	v.W.Header().Set("Refresh", "0; url="+target.String())
	return v.Show(http.StatusOK, awayPage{What: what, To: view.Link{Text: "Continue to " + what, To: target.String()}})
}

// backToBilling shows on the billing page why a change was refused. Other errors get a page of
// their own.
func backToBilling(v *site.Request, err error) error {
	f, refused := errors.AsType[*fault.Error](err)
	if !refused || f.Reason == fault.InternalFault || f.Reason == fault.KeyInvalid {
		return err
	}
	v.Flash(view.Bad, "Nothing was changed", f.Message)
	return v.Redirect(paths.Billing)
}

// leaveToOwners shows on the billing page that only owners may buy or change anything, before a
// form is filled in.
func leaveToOwners(v *site.Request) error {
	v.Flash(view.Warn, "Only for owners",
		"Only owners of the account can change the plan and buy packs. The settings list the owners.")
	return v.Redirect(paths.Billing)
}

// offered returns an item that a form may buy or change to.
func offered(key string) (plan.Item, error) {
	item, known := plan.FindItem(key)
	if !known {
		return plan.Item{}, &site.PageError{
			Status: http.StatusNotFound, Heading: "This is not on sale",
			Text: "Choose a plan or a pack on the billing page.",
		}
	}
	return item, nil
}

// showPurchase shows what is about to be bought.
func showPurchase(v *site.Request) error {
	if !v.Owner() {
		return leaveToOwners(v)
	}
	return purchasePage(v, http.StatusOK, v.R.URL.Query().Get("item"), "", "")
}

func purchasePage(v *site.Request, code int, key, country, wrong string) error {
	item, err := offered(key)
	if err != nil {
		return err
	}
	now, err := site.Ask(v, v.Calls.BillingStatus, operation.Nothing{})
	if err != nil {
		return err
	}
	if country == "" {
		country = now.Country
	}
	p := choicePage{
		Heading: "Buy " + item.Title, Action: paths.Billing + "/buy",
		Hidden: []view.Hidden{{Name: "item", Value: item.Key}},
		Button: "Go to payment", Keep: view.Link{Text: "Back to billing", To: paths.Billing}, Facts: []view.Fact{
			{Name: "Price", Value: view.Dollars(item.Price) + " net " + onceOr(item.Interval)},
		},
		Country: &view.Field{
			Name: "country", Label: "Country of the billing address", Value: country, Error: wrong, Most: 2,
			Pattern: "[A-Za-z]{2}", Complete: "country",
			Rule: "Two letters, such as DE or US. In the EU, and where no country is given, VAT of " +
				view.Number(plan.VATPercent) + " % is added.",
		},
		Points: []string{
			"You pay by card on the payment provider's page; nothing is charged before that.",
			"The page is valid for an hour.",
		},
	}
	if item.IsPack() {
		pack, _ := plan.FindPack(item.Pack)
		p.Facts = append(p.Facts, view.Fact{Name: "Units", Value: pack.Units.Grouped()},
			view.Fact{Name: "Valid", Value: view.PackLasts() + " from the payment"})
		p.Points = append(p.Points,
			"Packs are used after the plan's units of the period. Units that are left when a pack expires are lost.")
	} else {
		of := plan.Must(item.Plan)
		p.Facts = append(p.Facts, view.Fact{Name: "Units", Value: of.Included.Grouped() + " a month"})
		p.Points = append(p.Points,
			"It renews automatically until you cancel. You can cancel here at any time, for the end of the paid "+
				"period.")
	}
	if item.Offer != "" {
		offer := plan.Founding()
		p.Points = append(p.Points, "The price is locked for "+view.Count(int64(offer.LockedMonths), "month")+
			"; after that, the plan's regular price applies. A seat is held for you while the page is open.")
	}
	return v.Show(code, p)
}

// onceOr describes how often an item is paid.
func onceOr(i plan.Interval) string {
	if words, recurs := everyWords[i]; recurs {
		return words
	}
	return "once"
}

// startPurchase starts a checkout and forwards to its page.
func startPurchase(v *site.Request) error {
	item, country := v.R.PostForm.Get("item"), v.R.PostForm.Get("country")
	started, err := site.Ask(v, v.Calls.StartCheckout, billing.StartCheckoutInput{
		Item: item, Country: strings.ToUpper(strings.TrimSpace(country)),
	})
	if wrong := site.MistakesOf(err, "country"); wrong != nil && wrong["country"] != "" {
		return purchasePage(v, http.StatusUnprocessableEntity, item, country, wrong["country"])
	}
	if err != nil {
		return backToBilling(v, err)
	}
	return away(v, started.URL, "the payment page")
}

// showChange shows what a change of plan costs.
func showChange(v *site.Request) error {
	if !v.Owner() {
		return leaveToOwners(v)
	}
	item, err := offered(v.R.URL.Query().Get("item"))
	if err != nil {
		return err
	}
	now, err := site.Ask(v, v.Calls.BillingStatus, operation.Nothing{})
	if err != nil {
		return err
	}
	s := now.Subscription.Value
	if s == nil || s.Status.Over() {
		return v.Redirect(paths.Billing + "/buy?item=" + item.Key)
	}
	running := subscription.Subscription{
		Price: s.Item, Status: s.Status, PeriodEnd: s.PeriodEnd, CancelAtPeriodEnd: s.CancelAtPeriodEnd, Held: s.Held,
	}
	if s.HeldUntil != nil {
		running.HeldUntil = *s.HeldUntil
	}
	kind, refused := running.ChangeTo(item.Key, v.Reader.Now)
	if refused != nil {
		return backToBilling(v, refused)
	}
	p := choicePage{
		Heading: "Change to " + item.Title, Action: paths.Billing + "/change",
		Hidden: []view.Hidden{{Name: "item", Value: item.Key}},
		Keep:   view.Link{Text: "Keep what you have", To: paths.Billing}, Facts: []view.Fact{
			{Name: "Now", Value: view.ItemTitle(running.HeldAt(v.Reader.Now))},
			{Name: "Then", Value: item.Title},
			{Name: "Price", Value: view.Dollars(item.Price) + " net " + onceOr(item.Interval)},
		},
	}
	end := v.Reader.Moment(s.PeriodEnd).Exact
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
			view.ItemTitle(running.HeldAt(v.Reader.Now)) + " continues until " + end + ", then " + item.Title +
				" takes over.",
			"Nothing is charged now. You can undo this until then.",
		}
	case subscription.TakeBack:
		p.Button = "Stay on " + item.Title
		p.Points = []string{"The change that was planned for " + end + " is undone. Nothing is charged."}
	case subscription.NoChange:
		v.Flash("", "Nothing to change", "The subscription is on this plan already, or about to be.")
		return v.Redirect(paths.Billing)
	}
	return v.Show(http.StatusOK, p)
}

// changePlan changes the plan of the subscription.
func changePlan(v *site.Request) error {
	done, err := site.Ask(v, v.Calls.ChangePlan, billing.ChangePlanInput{Item: v.R.PostForm.Get("item")})
	return changed(v, done, err, "Plan changed")
}

// changed shows the result of a subscription change on the billing page.
func changed(v *site.Request, done billing.PlanChange, err error, title string) error {
	if err != nil {
		return backToBilling(v, err)
	}
	text := done.Note
	if !done.InForce {
		text += " It appears here within a few minutes."
	}
	v.Flash(view.Good, title, text)
	return v.Redirect(paths.Billing)
}

// confirmCancel asks for confirmation before a plan is cancelled.
func confirmCancel(v *site.Request) error {
	if !v.Owner() {
		return leaveToOwners(v)
	}
	now, err := site.Ask(v, v.Calls.BillingStatus, operation.Nothing{})
	if err != nil {
		return err
	}
	s := now.Subscription.Value
	if s == nil || s.Status.Over() || s.CancelAtPeriodEnd {
		return v.Redirect(paths.Billing)
	}
	end := v.Reader.Moment(s.PeriodEnd).Exact
	return v.Show(http.StatusOK, view.ConfirmPage{
		Heading: "Cancel the plan?", Subject: view.ItemTitle(s.Item), Section: view.SectionBilling,
		CrumbsTo: billingCrumb,
		Action:   paths.Billing + "/cancel",
		Stops: []string{
			"The plan, on " + end + ". The Free plan follows: " + plan.Must(plan.Free).Included.Grouped() +
				" units a month, public supply.",
			"Charges. Nothing more is charged, and nothing is refunded.",
		},
		Stays: []string{
			"The plan, until then. You can resume it until then, too.", "Packs, keys, statements and invoices.",
		},
		Button: "Cancel at the period's end", Keep: view.Link{Text: "Keep the plan", To: paths.Billing},
	})
}

func cancelPlan(v *site.Request) error {
	done, err := site.Ask(v, v.Calls.CancelPlan, operation.Nothing{})
	return changed(v, done, err, "Plan cancelled")
}

func resumePlan(v *site.Request) error {
	done, err := site.Ask(v, v.Calls.ResumePlan, operation.Nothing{})
	return changed(v, done, err, "Plan resumed")
}

// openPortal forwards to the page where card, address and country can be changed.
func openPortal(v *site.Request) error {
	at, err := site.Ask(v, v.Calls.OpenPortal, operation.Nothing{})
	if err != nil {
		return backToBilling(v, err)
	}
	return away(v, at.URL, "the customer portal")
}

// openInvoice forwards to an invoice.
func openInvoice(v *site.Request) error {
	at, err := site.Ask(v, v.Calls.ShowInvoice, billing.ShowInvoiceInput{ID: v.R.PathValue("id")})
	if err != nil {
		return backToBilling(v, err)
	}
	return away(v, at.URL, "the invoice")
}

// How often and how soon a browser that returns from a checkout reloads the page.
const (
	maxLooks  = 10
	lookAgain = "3"
)

// showCheckout is the page that a browser returns to from a checkout. The purchase is granted
// without it, too.
func showCheckout(v *site.Request) error {
	query := v.R.URL.Query()
	id := query.Get("checkout")
	done, err := site.Ask(v, v.Calls.FinishCheckout, billing.FinishCheckoutInput{CheckoutID: id})
	if site.RefusedFor(err, fault.NotYours) || site.MistakesOf(err) != nil {
		return &site.PageError{
			Status: http.StatusNotFound, Heading: "There is no such checkout", Cause: err,
			Text: "This account has no such checkout. The billing page shows what it has.",
		}
	}
	if err != nil {
		return err
	}
	p := donePage{
		Title: done.Title, Text: done.Note, Status: checkoutStatus(done.State),
		Plan: view.PlanTitle(done.Tier),
	}
	if done.State == checkoutOpen {
		looks, _ := strconv.Atoi(query.Get("look")) // 0 when malformed
		next := paths.Billing + "/done?" + url.Values{
			"checkout": {id}, "look": {strconv.Itoa(min(max(looks, 0), maxLooks) + 1)},
		}.Encode()
		p.Again = &view.Link{Text: "Look again", To: next}
		if looks < maxLooks {
			v.W.Header().Set("Refresh", lookAgain+"; url="+next)
		}
	}
	return v.Show(http.StatusOK, p)
}

const checkoutOpen = "open"

func checkoutStatus(state string) view.Status {
	switch state {
	case checkoutOpen:
		return view.Status{Tone: view.Warn, Text: "not paid yet"}
	case view.InvoicePaid:
		return view.Status{Tone: view.Good, Text: "paid"}
	}
	return view.Status{Tone: view.Bad, Text: state}
}

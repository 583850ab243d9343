package activities

import (
	"context"
	"fmt"
	"strings"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/peopledb"
)

// FailedCharge is an invoice that could not be charged.
type FailedCharge struct {
	Account account.ID
	Invoice subscription.Invoice
	Item    string // key of what is charged
	Card    *subscription.Card
}

// ChargeMessenger tells the users of an account of a failed charge, each once per invoice. It is
// idempotent.
type ChargeMessenger interface {
	ChargeFailed(ctx context.Context, f FailedCharge) error
}

// ChargeMails reports failed charges by mail. No setting turns these mails off.
type ChargeMails struct {
	People    People
	Letters   Letterbox
	PublicURL string
}

var _ ChargeMessenger = (*ChargeMails)(nil)

// billingPage is the page that mails about money link to.
const billingPage = "/billing"

// ChargeFailed queues the mails; none for an account without users.
func (c *ChargeMails) ChargeFailed(ctx context.Context, f FailedCharge) error { //nolint:gocritic // a copy does no harm
	members, err := c.People.ListMembers(ctx, f.Account)
	if err != nil || len(members) == 0 {
		return err
	}
	settings, err := c.People.LoadSettings(ctx, f.Account)
	if err != nil {
		return err
	}
	name, err := calledBy(ctx, c.People, f.Account, &members[0])
	if err != nil {
		return err
	}
	said := notify.ChargeFailed{
		Account: name, Plan: titleOf(f.Item), Invoice: f.Invoice.Number,
		Amount: "$" + (f.Invoice.Total - f.Invoice.Paid).String(), Next: f.Invoice.NextAttempt,
		Link: c.PublicURL + billingPage,
	}
	if f.Card != nil {
		said.Card = f.Card.Brand + " ending in " + f.Card.Last4
	}
	letters := make([]outbox.Mail, len(members))
	for i := range members {
		letters[i] = outbox.Mail{
			Reason: fmt.Sprintf("charge/%s/%s", f.Invoice.ID, members[i].User),
			To:     members[i].Email.Address(), Account: f.Account, Zone: settings.TimeZone, Mail: said,
		}
	}
	return c.Letters.Queue(ctx, letters...)
}

// calledBy returns the account's name, or the address of its first user.
func calledBy(ctx context.Context, people People, id account.ID, first *peopledb.Member) (string, error) {
	of, err := people.ListMemberships(ctx, first.User)
	if err != nil {
		return "", err
	}
	for i := range of {
		if of[i].Account == id && of[i].Name != "" {
			return of[i].Name, nil
		}
	}
	return first.Email.Address(), nil
}

// titleOf returns the title of the plan that an item sells.
func titleOf(item string) string {
	if sold, known := plan.FindItem(item); known {
		if p, ok := plan.Lookup(sold.Plan); ok {
			return p.Title
		}
	}
	return strings.ReplaceAll(item, "_", " ")
}

// firstInvoice is Stripe's billing reason of an invoice whose failure its payer sees at the
// checkout.
const firstInvoice = "subscription_create"

// tell sends mails about each invoice of the subscription that could not be charged.
func (r *reconciling) tell(ctx context.Context) error {
	for i := range r.snapshot.Invoices {
		v := &r.snapshot.Invoices[i]
		if r.current == nil || v.Subscription != r.current.ID || v.Reason == firstInvoice || !v.Failed() {
			continue
		}
		failed := FailedCharge{Account: r.id, Invoice: *v, Item: r.current.Price, Card: r.snapshot.Card}
		if err := r.Mails.ChargeFailed(ctx, failed); err != nil {
			return r.failed(err, ErrBillingFailed, "tell of a failed charge", r.id)
		}
	}
	return nil
}

package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
)

// Stripe reads what was bought, and reverses what must not have been. Its changes are idempotent.
type Stripe interface {
	Snapshot(ctx context.Context, customer string) (subscription.Snapshot, error)
	ReadSession(ctx context.Context, session string) (subscription.Session, error)
	CancelNow(ctx context.Context, sub, key string) error
	RefundPayment(ctx context.Context, payment, key string) error
	SetTax(ctx context.Context, sub string, vat bool) error
}

// BillingRecord is the mirror of Stripe in PostgreSQL.
type BillingRecord interface {
	FindCustomer(ctx context.Context, id account.ID) (billingdb.Customer, error)
	UpdateCustomer(ctx context.Context, c billingdb.Customer) error
	PutSubscription(ctx context.Context, id account.ID, sub *subscription.Subscription) error
	LastSubscription(ctx context.Context, id account.ID) (subscription.Subscription, error)
	RecordedSubscriptions(ctx context.Context, id account.ID, ids []string) ([]string, error)
	PutInvoices(ctx context.Context, id account.ID, invoices []subscription.Invoice) error
	FindCheckout(ctx context.Context, id billingdb.CheckoutID) (billingdb.Checkout, error)
	EndCheckout(ctx context.Context, id billingdb.CheckoutID, state billingdb.CheckoutState,
		at time.Time) (billingdb.Checkout, error)
	FindPackByOrigin(ctx context.Context, origin string) (accountdb.Pack, error)
	ListEndedPeriods(ctx context.Context, id account.ID) ([]accountdb.EndedPeriod, error)
	LoadAccount(ctx context.Context, id account.ID) (accountdb.Account, error)
}

// BillingLimits puts in force what was bought.
type BillingLimits interface {
	Entitle(ctx context.Context, id account.ID, e subscription.Entitlement,
		by accountdb.Author) (accountdb.Account, error)
	GrantPack(ctx context.Context, p accountdb.Pack, by accountdb.Author) (accountdb.Pack, bool, error)
	VoidPack(ctx context.Context, origin, reason string, by accountdb.Author) (accountdb.Pack, bool, error)
}

var (
	_ BillingRecord = (*store.Store)(nil)
	_ BillingLimits = (*limits.Limits)(nil)
)

// Billing reconciles PostgreSQL and the meter with Stripe. All its activities are idempotent: they
// may be repeated after a crash, by another worker, or for a duplicate event. Causes of failures
// stay out of histories.
type Billing struct {
	Stripe Stripe // nil while payments are off
	Record BillingRecord
	Limits BillingLimits
	Mails  ChargeMessenger
	// Look signals the flow of an account's subscription, the only one that reconciles it.
	Look func(ctx context.Context, id account.ID) error
	// Close starts the closing of a period's statement. It is idempotent.
	Close  func(ctx context.Context, c Closing) error
	Now    func() time.Time
	Logger *slog.Logger
}

// Types of Billing's application errors. Those that the flow retries with backoff are its
// StuckReason.
const (
	ErrBillingFailed = "billing_failed" // PostgreSQL or the meter does not answer
	ErrStripeAway    = "stripe_away"    // Stripe does not answer, or refuses
	ErrPaymentsOff   = "payments_off"   // no key of Stripe is configured
	// ErrSecondSub means that a subscription of the account, current or former, lasts at Stripe
	// next to the one that counts.
	ErrSecondSub = "second_subscription"
)

// by returns the author of changes that follow from what was bought.
func (r *reconciling) by() accountdb.Author {
	return accountdb.Author{Actor: "billing", Origin: "worker", Reason: "what was bought", At: r.Now()}
}

// BillingPeriod is a metering period.
type BillingPeriod struct {
	Key   string    `json:"key"` // start date
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Plan  string    `json:"plan"` // at its end
}

// Reconciled is what an account has after a reconcile.
type Reconciled struct {
	Customer     bool                `json:"customer"` // false when it never bought anything; then nothing else is set
	Subscription string              `json:"subscription,omitempty"`
	Status       subscription.Status `json:"status,omitempty"` // empty without a subscription that counts
	Lasts        bool                `json:"lasts,omitempty"`  // whether the subscription is not over
	Plan         string              `json:"plan,omitempty"`
	Period       BillingPeriod       `json:"period"` // the current one
	// Cut lists the periods of the last seven days that a change of the cycle cut short.
	Cut []BillingPeriod `json:"cut,omitempty"`
	// Next is when something is due to change by itself: the end of a period or a plan, or the next
	// attempt at a charge. Zero for nothing.
	Next time.Time `json:"next"`
	// Odd lists payments that contradict the pack that they claim to pay for. Nothing is granted
	// for them; support looks at them.
	Odd []string `json:"odd,omitempty"`
	// OddPrice is Stripe's id of the price that a lasting subscription is charged, when that price
	// belongs to no plan of ours. The plan continues; support looks at it.
	OddPrice string `json:"odd_price,omitempty"`
	// Beside lists former subscriptions of the account that still last at Stripe next to the one
	// that counts. Only support ends them; the customer may be charged for both.
	Beside []string `json:"beside,omitempty"`
	// Late reports whether the paid period is over and Stripe has not yet reported the next one.
	Late bool `json:"late,omitempty"`
}

// Reconcile reads Stripe's objects of an account and reconciles the account with them. It refunds
// and cancels surplus subscriptions, writes the mirror, puts the plan in force, grants and voids
// packs, and sends mails about failed charges. The account's flow ensures that one reconcile runs
// at a time.
func (b *Billing) Reconcile(ctx context.Context, id account.ID) (Reconciled, error) {
	customer, err := b.Record.FindCustomer(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return Reconciled{}, nil
	}
	if err != nil {
		return Reconciled{}, b.failed(err, ErrBillingFailed, "find the customer", id)
	}
	if b.Stripe == nil {
		return Reconciled{}, off()
	}
	r := reconciling{Billing: b, id: id, customer: customer}
	if err := r.read(ctx); err != nil {
		return Reconciled{}, err
	}
	for _, step := range []func(context.Context) error{r.mirror, r.entitle, r.packs, r.tax, r.tell, r.conclude} {
		if err := step(ctx); err != nil {
			return Reconciled{}, err
		}
		faultpoint.Hit(faultpoint.ReconcileStep)
	}
	return r.result(ctx)
}

func off() error {
	return temporal.NewApplicationError("STRIPE_SECRET_KEY is not set, so Stripe cannot be asked", ErrPaymentsOff)
}

// reconciling is one reconcile of one account.
type reconciling struct {
	*Billing

	id       account.ID
	customer billingdb.Customer
	snapshot subscription.Snapshot
	current  *subscription.Subscription // the one that counts; nil for none
	owner    accountdb.Account
	expected subscription.Entitlement
	odd      []string // payments for which nothing is granted
	beside   []string // former subscriptions that last at Stripe
}

// read takes the snapshot. It reverses surplus subscriptions and then takes the snapshot once more.
func (r *reconciling) read(ctx context.Context) error {
	recorded, err := r.recorded(ctx)
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		if r.snapshot, err = r.Stripe.Snapshot(ctx, r.customer.ID); err != nil {
			return r.failed(err, ErrStripeAway, "read what was bought", r.id)
		}
		lasting, listed := r.snapshot.Lasting(), r.snapshot.Find(recorded.ID)
		ended := listed != nil && listed.Status.Over()
		r.snapshot.Keep(recorded)
		r.current = r.snapshot.Current(recorded.ID)
		if !ended {
			r.warn(&recorded, listed != nil)
		}
		if r.beside, err = r.had(ctx, lasting); err != nil {
			return err
		}
		others := r.snapshot.Others(r.current, r.beside)
		if len(others) == 0 {
			return nil
		}
		if again {
			return r.failed(fmt.Errorf("%d subscriptions beside %s last after they were cancelled", len(others),
				r.current.ID), ErrStripeAway, "end what is one too many", r.id)
		}
		for i := range others {
			if err := r.sendBack(ctx, &others[i]); err != nil {
				return err
			}
		}
	}
}

// sendBack refunds a surplus subscription and then cancels it. Until it is cancelled it is found
// again, so a crash in between loses nothing.
func (r *reconciling) sendBack(ctx context.Context, sub *subscription.Subscription) error {
	r.Logger.Warn("a second subscription is refunded and cancelled", "account_id", r.id, "subscription", sub.ID)
	for i := range r.snapshot.Invoices {
		v := &r.snapshot.Invoices[i]
		if v.Subscription != sub.ID || v.Status != subscription.InvoicePaid || v.Payment == "" || v.Paid == 0 ||
			r.wentBack(v.Payment) {
			continue
		}
		if err := r.Stripe.RefundPayment(ctx, v.Payment, "second/"+v.Payment); err != nil {
			return r.failed(err, ErrStripeAway, "refund a second subscription", r.id)
		}
	}
	if err := r.endCheckout(ctx, sub.Checkout, billingdb.CheckoutRefunded); err != nil {
		return err
	}
	if err := r.Stripe.CancelNow(ctx, sub.ID, "second/"+sub.ID); err != nil {
		return r.failed(err, ErrStripeAway, "cancel a second subscription", r.id)
	}
	return nil
}

// wentBack reports whether a payment was already refunded or charged back.
func (r *reconciling) wentBack(payment string) bool {
	for i := range r.snapshot.Payments {
		if p := &r.snapshot.Payments[i]; p.ID == payment {
			return p.TakenBack()
		}
	}
	return false
}

// mirror records subscriptions and invoices. It records ended subscriptions first, because at most
// one may last.
func (r *reconciling) mirror(ctx context.Context) error {
	all := make([]*subscription.Subscription, 0, len(r.snapshot.Subscriptions))
	for i := range r.snapshot.Subscriptions {
		sub := &r.snapshot.Subscriptions[i]
		if _, ours := sub.Sells(); ours && sub.Status == subscription.Canceled &&
			(r.current == nil || sub.ID != r.current.ID) {
			all = append(all, sub)
		}
	}
	if r.current != nil {
		all = append(all, r.current)
	}
	for _, sub := range all {
		err := r.Record.PutSubscription(ctx, r.id, sub)
		if errors.Is(err, billingdb.ErrSecondSubscription) {
			return r.failed(err, ErrSecondSub, "record the subscription", r.id)
		}
		if err != nil {
			return r.failed(err, ErrBillingFailed, "record the subscription", r.id)
		}
	}
	if err := r.Record.PutInvoices(ctx, r.id, r.snapshot.Invoices); err != nil {
		return r.failed(err, ErrBillingFailed, "record invoices", r.id)
	}
	return nil
}

// entitle puts the subscription's plan in force. An account that never had a subscription keeps
// what it has.
func (r *reconciling) entitle(ctx context.Context) error {
	e, ok := subscription.Entitle(r.current, r.Now())
	if !ok {
		owner, err := r.Record.LoadAccount(ctx, r.id)
		if err != nil {
			return r.failed(err, ErrBillingFailed, "load the account", r.id)
		}
		r.owner = owner
		return nil
	}
	owner, err := r.Limits.Entitle(ctx, r.id, e, r.by())
	if err != nil {
		return r.failed(err, ErrBillingFailed, "put the plan in force", r.id)
	}
	r.owner, r.expected = owner, e
	return nil
}

// conclude ends the checkouts of subscriptions that are in force. It records the customer last: its
// ReadAt states that everything before is done.
func (r *reconciling) conclude(ctx context.Context) error {
	for i := range r.snapshot.Subscriptions {
		sub := &r.snapshot.Subscriptions[i]
		if sub.Status == subscription.Incomplete || sub.Status == subscription.IncompleteExpired {
			continue
		}
		if err := r.endCheckout(ctx, sub.Checkout, billingdb.CheckoutPaid); err != nil {
			return err
		}
	}
	r.customer.Country, r.customer.Card, r.customer.ReadAt = r.snapshot.Country, r.snapshot.Card, r.snapshot.ReadAt
	r.customer.Beside = len(r.beside)
	if err := r.Record.UpdateCustomer(ctx, r.customer); err != nil {
		return r.failed(err, ErrBillingFailed, "record the customer", r.id)
	}
	return nil
}

// failed logs the cause and returns the error for the history: a refusal is not retried, anything
// else is.
func (b *Billing) failed(err error, kind, step string, id account.ID) error {
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Reason != fault.InternalFault &&
		refusal.Reason != fault.NotYetInForce {
		b.Logger.Error("billing change refused", "step", step, "account_id", id, "error", err)
		return refused(refusal)
	}
	b.Logger.Error("billing step not done yet; will retry", "step", step, "account_id", id, "error", err)
	return temporal.NewApplicationError("it failed; the worker's log names the cause", kind)
}

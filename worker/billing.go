package worker

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/workflows"
)

// BillingStore is what the sweeps of billing read.
type BillingStore interface {
	activities.EventRecord
	ListOpenStripeEvents(ctx context.Context, older time.Duration, limit int) ([]billingdb.StripeEvent, error)
	ListOpenCheckouts(ctx context.Context, before time.Time, after *billingdb.Checkout,
		limit int) ([]billingdb.Checkout, error)
	EndCheckout(ctx context.Context, id billingdb.CheckoutID, state billingdb.CheckoutState,
		at time.Time) (billingdb.Checkout, error)
	ListUnreadCustomers(ctx context.Context, lasting, others time.Time, after *billingdb.Customer,
		limit int) ([]billingdb.Customer, error)
}

const (
	billingPage = 100
	// eventStale is the age after which an event that was stored and not handed on counts as lost
	// by the process that stored it.
	eventStale = time.Minute
	// sessionLess is how long after its expiry a checkout may lack a session before it is ended:
	// nobody saw its page.
	sessionLess = 10 * time.Minute
	// customerSweep is the interval between two sweeps of customers. A customer is swept when
	// Stripe was last read longer ago than lastingUnread, if its subscription lasts (its flow polls
	// once a day), or than othersUnread (an event, for example of a refund, was lost).
	customerSweep = 30 * time.Minute
	lastingUnread = 26 * time.Hour
	othersUnread  = 7 * 24 * time.Hour
)

// sweepBilling repeats signals that may have been lost, until ctx ends. It takes one page of
// customers at a time, because each of their flows sends Stripe several requests.
func (w *Worker) sweepBilling(ctx context.Context) {
	tick := time.NewTicker(w.o.NoticeInterval)
	defer tick.Stop()
	var (
		swept time.Time
		last  *billingdb.Customer // last customer of the previous page; nil between two sweeps
	)
	for {
		c := workflows.NewClient(w.o.Temporal)
		err := errors.Join(w.handEvents(ctx, c), w.watchCheckouts(ctx, c))
		if now := w.o.Now(); last != nil || now.Sub(swept) >= customerSweep {
			if last == nil {
				swept = now
			}
			next, read := w.lookAtCustomers(ctx, c, swept, last)
			if read == nil {
				last = next
			} else if err = errors.Join(err, read); last == nil {
				swept = time.Time{} // retry the first page soon, too
			}
		}
		if err != nil && ctx.Err() == nil {
			w.o.Logger.Error("could not check purchases; will retry", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// handEvents hands on events of processes that died before they could.
func (w *Worker) handEvents(ctx context.Context, c *workflows.Client) error {
	for {
		var page []billingdb.StripeEvent
		err := within(ctx, func(ctx context.Context) (err error) {
			page, err = w.o.Store.ListOpenStripeEvents(ctx, eventStale, billingPage)
			return err
		})
		for i := 0; err == nil && i < len(page); i++ {
			err = within(ctx, func(ctx context.Context) error {
				_, err := activities.HandOn(ctx, w.o.Store, c, &page[i])
				return err
			})
		}
		if err != nil || len(page) < billingPage {
			return err
		}
	}
}

// watchCheckouts starts the flows of checkouts that are open past their expiry, because the process
// that opened them may have died before it started the flow. Checkouts without a session are ended:
// nobody saw their page.
func (w *Worker) watchCheckouts(ctx context.Context, c *workflows.Client) error {
	now := w.o.Now()
	for last := (*billingdb.Checkout)(nil); ; {
		var page []billingdb.Checkout
		err := within(ctx, func(ctx context.Context) (err error) {
			page, err = w.o.Store.ListOpenCheckouts(ctx, now, last, billingPage)
			return err
		})
		for i := 0; err == nil && i < len(page); i++ {
			err = within(ctx, func(ctx context.Context) error { return w.watchCheckout(ctx, c, &page[i], now) })
		}
		if err != nil || len(page) < billingPage {
			return err
		}
		last = &page[len(page)-1]
	}
}

func (w *Worker) watchCheckout(ctx context.Context, c *workflows.Client, open *billingdb.Checkout,
	now time.Time,
) error {
	switch {
	case open.Session != "":
		return c.WatchCheckout(ctx, activities.RefOfCheckout(open))
	case now.Sub(open.ExpiresAt) >= sessionLess:
		_, err := w.o.Store.EndCheckout(ctx, open.ID, billingdb.CheckoutFailed, now)
		return err
	}
	return nil
}

// lookAtCustomers signals the flows of a page of customers for whom Stripe was not read for long,
// because a flow or an event was lost. It returns the last customer, or nil when there are no more.
func (w *Worker) lookAtCustomers(ctx context.Context, c *workflows.Client, now time.Time,
	last *billingdb.Customer,
) (*billingdb.Customer, error) {
	var page []billingdb.Customer
	err := within(ctx, func(ctx context.Context) (err error) {
		page, err = w.o.Store.ListUnreadCustomers(ctx, now.Add(-lastingUnread), now.Add(-othersUnread), last,
			billingPage)
		return err
	})
	for i := 0; err == nil && i < len(page); i++ {
		err = within(ctx, func(ctx context.Context) error {
			return c.SignalSubscription(ctx, page[i].Account, "sweep")
		})
	}
	if err != nil || len(page) < billingPage {
		return nil, err
	}
	return &page[len(page)-1], nil
}

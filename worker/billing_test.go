package worker_test

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
)

// ListOpenStripeEvents and the methods below return nothing; other tests use a real database.
func (o *outside) ListOpenStripeEvents(context.Context, time.Duration, int) ([]billingdb.StripeEvent, error) {
	return nil, nil
}

func (o *outside) ListOpenCheckouts(context.Context, time.Time, *billingdb.Checkout,
	int,
) ([]billingdb.Checkout, error) {
	return nil, nil
}

func (o *outside) ListUnreadCustomers(context.Context, time.Time, time.Time, *billingdb.Customer,
	int,
) ([]billingdb.Customer, error) {
	return nil, nil
}

func (o *outside) EndCheckout(context.Context, billingdb.CheckoutID, billingdb.CheckoutState,
	time.Time,
) (billingdb.Checkout, error) {
	return billingdb.Checkout{}, store.ErrNotFound
}

func (o *outside) FindCustomerByID(context.Context, string) (billingdb.Customer, error) {
	return billingdb.Customer{}, store.ErrNotFound
}

func (o *outside) FindCheckoutBySession(context.Context, string) (billingdb.Checkout, error) {
	return billingdb.Checkout{}, store.ErrNotFound
}

func (o *outside) DeleteStripeEvents(context.Context, time.Time, int) (int64, error) { return 0, nil }

func (o *outside) MarkStripeEvent(context.Context, string, string) error { return nil }

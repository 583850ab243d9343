package worker_test

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/store"
)

// ListOpenStripeEvents and the methods below return nothing; other tests use a real database.
func (o *outside) ListOpenStripeEvents(context.Context, time.Duration, int) ([]store.StripeEvent, error) {
	return nil, nil
}

func (o *outside) ListOpenCheckouts(context.Context, time.Time, *store.Checkout, int) ([]store.Checkout, error) {
	return nil, nil
}

func (o *outside) ListUnreadCustomers(context.Context, time.Time, time.Time, *store.Customer,
	int,
) ([]store.Customer, error) {
	return nil, nil
}

func (o *outside) EndCheckout(context.Context, store.CheckoutID, store.CheckoutState,
	time.Time,
) (store.Checkout, error) {
	return store.Checkout{}, store.ErrNotFound
}

func (o *outside) FindCustomerByID(context.Context, string) (store.Customer, error) {
	return store.Customer{}, store.ErrNotFound
}

func (o *outside) FindCheckoutBySession(context.Context, string) (store.Checkout, error) {
	return store.Checkout{}, store.ErrNotFound
}

func (o *outside) DeleteStripeEvents(context.Context, time.Time, int) (int64, error) { return 0, nil }

func (o *outside) MarkStripeEvent(context.Context, string, string) error { return nil }

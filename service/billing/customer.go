package billing

import (
	"context"
	"errors"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
)

// networkCountry returns the country of a browser's network, or "" when unknown.
func networkCountry(c *operation.Call) string {
	network := strings.ToUpper(c.CountryCode())
	if c.Session == "" || !plan.Located(network) { // a key's program may run anywhere
		return ""
	}
	return network
}

// customerOf returns the account's customer and creates it at the first purchase. A country that is
// asked for becomes the customer's. Without one the country of the browser's network is assumed
// until a better one is known.
func (h *handlers) customerOf(ctx context.Context, c *operation.Call, country string) (billingdb.Customer, error) {
	customer, err := h.Store.FindCustomer(ctx, c.Account.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return billingdb.Customer{}, operation.ToFault(err, "customer")
	}
	network := networkCountry(c)
	assumed := customer.Assumed && country == ""
	if country == "" && customer.Country == "" && network != "" {
		country, assumed = network, true
	}
	if errors.Is(err, store.ErrNotFound) {
		declared := country
		if assumed {
			declared = ""
		}
		id, err := h.Stripe.EnsureCustomer(ctx, c.Account.ID, c.User.Email, declared)
		if err != nil {
			return billingdb.Customer{}, toldByStripe(err)
		}
		if customer, err = h.Store.PutCustomer(ctx, c.Account.ID, id, declared); err != nil {
			return billingdb.Customer{}, operation.ToFault(err, "customer")
		}
	}
	if country == customer.Country {
		country = ""
	}
	// Record an assumed country before Stripe has it. Read back from Stripe, it would look
	// declared.
	if country != "" && !assumed {
		if err := h.Stripe.SetCountry(ctx, customer.ID, country); err != nil {
			return billingdb.Customer{}, toldByStripe(err)
		}
	}
	if customer.Assumed = assumed; network != "" {
		customer.Network = network
	}
	if err := h.Store.SetCustomerEvidence(ctx, &customer, country); err != nil {
		return billingdb.Customer{}, operation.ToFault(err, "customer")
	}
	if country != "" && assumed {
		if err := h.Stripe.SetCountry(ctx, customer.ID, country); err != nil {
			return billingdb.Customer{}, toldByStripe(err)
		}
	}
	return customer, nil
}

// replaceCustomer creates another customer for an account whose customer was deleted at Stripe,
// once everything bought with the old one has ended here. It returns false if the customer was not
// deleted.
func (h *handlers) replaceCustomer(ctx context.Context, c *operation.Call, country string) (replaced bool, err error) {
	old, err := h.Store.FindCustomer(ctx, c.Account.ID)
	if err != nil {
		return false, operation.ToFault(err, "customer")
	}
	deleted, err := h.Stripe.CustomerDeleted(ctx, old.ID)
	if err != nil || !deleted {
		return false, toldByStripe(err)
	}
	sub, err := h.Store.LastSubscription(ctx, c.Account.ID)
	if err == nil && !sub.Status.Over() && h.inForce(ctx, c.Account.ID, "customer_deleted") {
		sub, err = h.Store.LastSubscription(ctx, c.Account.ID)
	}
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, operation.ToFault(err, "subscription")
	case err == nil && !sub.Status.Over():
		f := fault.New(fault.DurableUnavailable,
			"This account was deleted at the payment provider, which ended its subscription; that is not in force "+
				"here yet. Try again in a minute.")
		f.RetryAfter = retryStripe
		return false, f
	}
	if country == "" {
		country = old.Country
	}
	id, err := h.Stripe.ReplaceCustomer(ctx, c.Account.ID, old.ID, c.User.Email, country)
	if err != nil {
		return false, toldByStripe(err)
	}
	_, err = h.Store.ReplaceCustomer(ctx, c.Account.ID, old.ID, id, country)
	return err == nil, operation.ToFault(err, "customer")
}

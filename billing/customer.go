package billing

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v76"
	portalconfiguration "github.com/stripe/stripe-go/v76/billingportal/configuration"
	portal "github.com/stripe/stripe-go/v76/billingportal/session"
	"github.com/stripe/stripe-go/v76/customer"
	"github.com/stripe/stripe-go/v76/invoice"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
)

// EnsureCustomer creates the customer of an account, with an address to mail invoices to and a
// country (ISO 3166-1, empty when unknown). It is idempotent for a day, even if the address or the
// country changed: they are set in a second request.
func (s *Stripe) EnsureCustomer(ctx context.Context, id account.ID, email, country string) (string, error) {
	return s.makeCustomer(ctx, id, "customer/"+id.String(), email, country)
}

// ReplaceCustomer creates the successor of a deleted customer, as EnsureCustomer does. It is
// idempotent for a day per deleted customer.
func (s *Stripe) ReplaceCustomer(ctx context.Context, id account.ID, old, email, country string) (string, error) {
	return s.makeCustomer(ctx, id, "customer/"+id.String()+"/"+old, email, country)
}

// CustomerDeleted reports whether a customer was deleted, so that it cannot be changed any more. It
// returns ErrGone for one that Stripe never had.
func (s *Stripe) CustomerDeleted(ctx context.Context, customer string) (bool, error) {
	found, err := s.customers().Get(customer, &stripe.CustomerParams{Params: stripe.Params{Context: ctx}})
	if err != nil {
		return false, failed("read a customer", err)
	}
	return found.Deleted, nil
}

func (s *Stripe) makeCustomer(ctx context.Context, id account.ID, key, email, country string) (string, error) {
	made, err := s.customers().New(&stripe.CustomerParams{
		Params:   stripe.Params{Context: ctx, IdempotencyKey: new(key)},
		Metadata: map[string]string{subscription.MetaAccount: id.String()},
	})
	if err != nil {
		return "", failed("make a customer", err)
	}
	params := &stripe.CustomerParams{Params: stripe.Params{Context: ctx}, Address: address(country)}
	if email != "" {
		params.Email = new(email)
	}
	_, err = s.customers().Update(made.ID, params)
	return made.ID, failed("tell who a customer is", err)
}

// SetCountry sets the country that decides VAT.
func (s *Stripe) SetCountry(ctx context.Context, customer, country string) error {
	_, err := s.customers().Update(customer, &stripe.CustomerParams{
		Params: stripe.Params{Context: ctx}, Address: address(country),
	})
	return failed("set a customer's country", err)
}

func address(country string) *stripe.AddressParams {
	if country == "" {
		return nil
	}
	return &stripe.AddressParams{Country: new(country)}
}

// errNoPortal is returned when the Stripe account was not set up.
var errNoPortal = errors.New("Stripe has no configuration of the portal; gateway ops billing setup makes it")

// OpenPortal returns the address of a page at Stripe where the customer sees and changes the
// payment method. Anybody with the address acts as the customer for some minutes: give it to that
// person only.
func (s *Stripe) OpenPortal(ctx context.Context, customer, returnURL string) (string, error) {
	configuration, err := s.portalConfiguration(ctx)
	switch {
	case err != nil:
		return "", err
	case configuration == nil:
		return "", errNoPortal
	}
	page, err := portal.Client{B: s.backend, Key: s.key}.New(&stripe.BillingPortalSessionParams{
		Params: stripe.Params{Context: ctx}, Customer: new(customer), Configuration: new(configuration.ID),
		ReturnURL: new(returnURL),
	})
	if err != nil {
		return "", failed("open the portal", err)
	}
	return page.URL, nil
}

// portalConfiguration returns our configuration of the portal; nil when there is none.
func (s *Stripe) portalConfiguration(ctx context.Context) (*stripe.BillingPortalConfiguration, error) {
	list := portalconfiguration.Client{B: s.backend, Key: s.key}.List(&stripe.BillingPortalConfigurationListParams{
		ListParams: firstPage(ctx), Active: new(true),
	})
	for list.Next() {
		if c := list.BillingPortalConfiguration(); c.Metadata[metaOurs] == oursPortal {
			return c, nil
		}
	}
	return nil, failed("find the portal's configuration", list.Err())
}

// InvoiceURL returns the address of the page at Stripe that shows an invoice and takes its payment
// while it is open. Anybody with the address can see it.
func (s *Stripe) InvoiceURL(ctx context.Context, id string) (string, error) {
	found, err := invoice.Client{B: s.backend, Key: s.key}.Get(id, &stripe.InvoiceParams{
		Params: stripe.Params{Context: ctx},
	})
	switch {
	case err != nil:
		return "", failed("read an invoice", err)
	case found.HostedInvoiceURL == "":
		return "", failed("read an invoice", &stripe.Error{
			Code: stripe.ErrorCodeResourceMissing, Type: stripe.ErrorTypeInvalidRequest,
		})
	}
	return found.HostedInvoiceURL, nil
}

func (s *Stripe) customers() customer.Client { return customer.Client{B: s.backend, Key: s.key} }

// pageSize is Stripe's maximum per page.
const pageSize = 100

// firstPage requests a single page.
func firstPage(ctx context.Context) stripe.ListParams {
	return stripe.ListParams{Context: ctx, Limit: stripe.Int64(pageSize), Single: true}
}

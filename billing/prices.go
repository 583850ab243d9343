package billing

import (
	"context"
	"fmt"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/price"
	"github.com/stripe/stripe-go/v76/taxrate"

	"github.com/chainaccess/gateway/metering/plan"
)

// Metadata on the objects that we create at Stripe names which of ours they are, because not all of
// them take an id of ours.
const (
	metaOurs   = "cag"
	oursVAT    = "vat"
	oursPortal = "portal"
	currency   = "usd"

	// productPrefix is the prefix of the ids of our products, before the key of the plan or the
	// pack.
	productPrefix = "cag_"
)

// productID returns the id of the product at Stripe under which an item is sold.
func productID(i plan.Item) string {
	if i.IsPack() {
		return productPrefix + i.Key
	}
	return productPrefix + i.Plan
}

// priceKey returns the lookup key of an item's price. An offer has the price of another item, and a
// coupon.
func priceKey(i plan.Item) string {
	if i.PaidAs != "" {
		return i.PaidAs
	}
	return i.Key
}

// priceOf returns the id of an item's price, or ErrNotForSale when the price is missing or is not
// what the plan says.
func (s *Stripe) priceOf(ctx context.Context, i plan.Item) (string, error) {
	key := priceKey(i)
	found, err := s.findPrice(ctx, key)
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", fmt.Errorf("%w: there is none for %s", ErrNotForSale, key)
	}
	sold, _ := plan.FindItem(key)
	if wrong := differs(found, sold); wrong != "" {
		return "", fmt.Errorf("%w: %s %s", ErrNotForSale, key, wrong)
	}
	return found.ID, nil
}

// findPrice returns a price by its lookup key, active or not; nil when there is none.
func (s *Stripe) findPrice(ctx context.Context, key string) (*stripe.Price, error) {
	list := price.Client{B: s.backend, Key: s.key}.List(&stripe.PriceListParams{
		ListParams: firstPage(ctx), LookupKeys: stripe.StringSlice([]string{key}),
	})
	for list.Next() {
		if p := list.Price(); p.LookupKey == key {
			return p, nil
		}
	}
	return nil, failed("find a price", list.Err())
}

// differs returns how a price differs from an item's; empty when it does not.
func differs(p *stripe.Price, i plan.Item) string {
	recurs := ""
	if p.Recurring != nil {
		recurs = string(p.Recurring.Interval)
		if p.Recurring.IntervalCount > 1 {
			recurs = fmt.Sprintf("%d %ss", p.Recurring.IntervalCount, recurs)
		}
	}
	switch {
	case !p.Active:
		return "is archived"
	case p.Currency != currency:
		return "is not in US dollars"
	case p.UnitAmount != int64(i.Price):
		return fmt.Sprintf("costs %s, not %s", plan.Cents(p.UnitAmount), i.Price)
	case recurs != string(i.Interval):
		return fmt.Sprintf("recurs by %q, not by %q", recurs, i.Interval)
	case p.TaxBehavior == stripe.PriceTaxBehaviorInclusive:
		return "includes VAT"
	case p.Product == nil || p.Product.ID != productID(i):
		return "belongs to another product than " + productID(i)
	}
	return ""
}

// vat returns the id of our tax rate.
func (s *Stripe) vat(ctx context.Context) (string, error) {
	rate, err := s.findVAT(ctx)
	if err != nil {
		return "", err
	}
	if rate == nil {
		return "", fmt.Errorf("%w: there is no tax rate of %d %%; gateway ops billing setup makes it", ErrNotForSale,
			plan.VATPercent)
	}
	return rate.ID, nil
}

// findVAT returns our tax rate; nil when there is none.
func (s *Stripe) findVAT(ctx context.Context) (*stripe.TaxRate, error) {
	list := taxrate.Client{B: s.backend, Key: s.key}.List(&stripe.TaxRateListParams{
		ListParams: firstPage(ctx), Active: new(true), Inclusive: new(false),
	})
	for list.Next() {
		if r := list.TaxRate(); r.Metadata[metaOurs] == oursVAT && r.Percentage == plan.VATPercent && !r.Inclusive &&
			r.Active {
			return r, nil
		}
	}
	return nil, failed("find the tax rate", list.Err())
}

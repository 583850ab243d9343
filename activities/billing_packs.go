package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
)

// PackOrigin is what a pack is granted for, once for ever: the payment that bought it.
func PackOrigin(payment string) string { return "payment/" + payment }

// grantPack grants what a payment bought, once for the payment. It lasts from the payment on,
// whenever it is granted. A payment that contradicts its pack grants nothing and holds nothing else
// up. What was granted once is held against no price of today.
func (r *reconciling) grantPack(ctx context.Context, p *subscription.Payment, item *plan.Item) error {
	before, err := r.Record.FindPackByOrigin(ctx, PackOrigin(p.ID))
	if err == nil && before.Account == r.id {
		return nil
	}
	pack, sold := plan.FindPack(item.Pack)
	switch {
	case err == nil:
		return r.contradicts(p, "its pack is another account's")
	case !errors.Is(err, store.ErrNotFound):
		return r.failed(err, ErrBillingFailed, "find a pack", r.id)
	case !sold || p.Amount < item.Price || p.Currency != sellingCurrency:
		return r.contradicts(p, fmt.Sprintf("it is %s %s, and %s costs %s usd", p.Amount, p.Currency, item.Key,
			item.Price))
	}
	_, fresh, err := r.Fences.GrantPack(ctx, store.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: pack.Units, Expires: pack.Expires(p.CreatedAt)},
		Account: r.id, Kind: pack.Key, Origin: PackOrigin(p.ID), GrantedAt: p.CreatedAt,
	}, r.by())
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Reason == fault.FieldRefused {
		r.Logger.Error("a pack that was paid for cannot be granted", "account_id", r.id, "payment", p.ID, "error", err)
		return nil // it expired before anybody heard of it, and would fail for ever
	}
	switch {
	case errors.Is(err, store.ErrOriginTaken):
		return r.contradicts(p, "its pack is another account's")
	case err != nil:
		return r.failed(err, ErrBillingFailed, "grant a pack", r.id)
	case fresh:
		r.Logger.Info("a pack is granted", "account_id", r.id, "payment", p.ID, "pack", pack.Key)
	}
	return nil
}

// sellingCurrency is the one that everything is sold in.
const sellingCurrency = "usd"

// contradicts notes a payment of which nothing is granted, for support.
func (r *reconciling) contradicts(p *subscription.Payment, why string) error {
	r.Logger.Error("a payment does not match its pack; nothing is granted", "account_id", r.id,
		"payment", p.ID, "why", why)
	r.odd = append(r.odd, p.ID)
	return nil
}

// voidPack takes away what is left of a pack whose money went back; nothing when it was not
// granted.
func (r *reconciling) voidPack(ctx context.Context, p *subscription.Payment) error {
	reason := "refunded"
	if p.Disputed {
		reason = "disputed"
	}
	_, fresh, err := r.Fences.VoidPack(ctx, PackOrigin(p.ID), reason, r.by())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return r.failed(err, ErrBillingFailed, "void a pack", r.id)
	case fresh:
		r.Logger.Info("a pack is void", "account_id", r.id, "payment", p.ID, "reason", reason)
	}
	return nil
}

// endCheckout records how the checkout of what Stripe tells of ended; none, or one of another
// service that shares the Stripe account, is left alone.
func (r *reconciling) endCheckout(ctx context.Context, checkout string, state store.CheckoutState) error {
	id, err := store.ParseCheckoutID(checkout)
	if err != nil {
		return nil //nolint:nilerr // not one of ours
	}
	if _, err := r.Record.EndCheckout(ctx, id, state, r.Now()); err != nil && !errors.Is(err, store.ErrNotFound) {
		return r.failed(err, ErrBillingFailed, "end a checkout", r.id)
	}
	return nil
}

package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/subscription"
)

// PackOrigin is what a pack is granted for, once for ever: the payment that bought it.
func PackOrigin(payment string) string { return "payment/" + payment }

// grantPack grants what a payment bought, once for the payment. It lasts from the payment on, whenever it is granted.
func (r *reconciling) grantPack(ctx context.Context, p *subscription.Payment, item *plan.Item) error {
	pack, sold := plan.FindPack(item.Pack)
	if !sold || p.Amount < item.Price {
		err := fmt.Errorf("payment %s of %s cents is for %s, which costs %s", p.ID, p.Amount, item.Key, item.Price)
		return r.failed(err, ErrPackContradict, "grant a pack", r.id)
	}
	_, fresh, err := r.Fences.GrantPack(ctx, store.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: pack.Units, Expires: pack.Expires(p.CreatedAt)},
		Account: r.id, Kind: pack.Key, Origin: PackOrigin(p.ID), GrantedAt: p.CreatedAt,
	}, billingAuthor)
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Reason == fault.FieldRefused {
		r.Logger.Error("a pack that was paid for cannot be granted", "account_id", r.id, "payment", p.ID, "error", err)
		return nil // it expired before anybody heard of it, and would fail for ever
	}
	switch {
	case errors.Is(err, store.ErrOriginTaken):
		return r.failed(err, ErrPackContradict, "grant a pack", r.id)
	case err != nil:
		return r.failed(err, ErrBillingFailed, "grant a pack", r.id)
	case fresh:
		r.Logger.Info("a pack is granted", "account_id", r.id, "payment", p.ID, "pack", pack.Key)
	}
	return nil
}

// voidPack takes away what is left of a pack whose money went back; nothing when it was not granted.
func (r *reconciling) voidPack(ctx context.Context, p *subscription.Payment) error {
	reason := "refunded"
	if p.Disputed {
		reason = "disputed"
	}
	_, fresh, err := r.Fences.VoidPack(ctx, PackOrigin(p.ID), reason, billingAuthor)
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

// endCheckout records how the checkout of what Stripe tells of ended; none, or one of another service that shares the Stripe account, is left alone.
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

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
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
)

// PackOrigin returns the origin of a bought pack, by which it is granted at most once: its payment.
func PackOrigin(payment string) string { return "payment/" + payment }

// grantPack grants the pack of a payment, once per payment. Its validity starts at the payment, not
// at the grant. A payment that contradicts its pack grants nothing and delays nothing else. A pack
// that was granted is not checked against today's prices.
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
	_, fresh, err := r.Limits.GrantPack(ctx, accountdb.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: pack.Units, Expires: pack.Expires(p.CreatedAt)},
		Account: r.id, Kind: pack.Key, Origin: PackOrigin(p.ID), GrantedAt: p.CreatedAt,
	}, r.by())
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Reason == fault.FieldRefused {
		r.Logger.Error("a pack that was paid for cannot be granted", "account_id", r.id, "payment", p.ID, "error", err)
		return nil // it expired before it was seen, so a retry would fail for ever
	}
	switch {
	case errors.Is(err, accountdb.ErrOriginTaken):
		return r.contradicts(p, "its pack is another account's")
	case err != nil:
		return r.failed(err, ErrBillingFailed, "grant a pack", r.id)
	case fresh:
		r.Logger.Info("a pack is granted", "account_id", r.id, "payment", p.ID, "pack", pack.Key)
	}
	return nil
}

// sellingCurrency is the currency of all prices.
const sellingCurrency = "usd"

// contradicts notes a payment for support; nothing is granted for it.
func (r *reconciling) contradicts(p *subscription.Payment, why string) error {
	r.Logger.Error("a payment does not match its pack; nothing is granted", "account_id", r.id,
		"payment", p.ID, "why", why)
	r.odd = append(r.odd, p.ID)
	return nil
}

// voidPack voids the rest of a pack whose payment was refunded or disputed. It does nothing if the
// pack was not granted.
func (r *reconciling) voidPack(ctx context.Context, p *subscription.Payment) error {
	reason := "refunded"
	if p.Disputed {
		reason = "disputed"
	}
	_, fresh, err := r.Limits.VoidPack(ctx, PackOrigin(p.ID), reason, r.by())
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

// endCheckout records the final state of a checkout. It ignores an id that is empty or belongs to
// another service that shares the Stripe account.
func (r *reconciling) endCheckout(ctx context.Context, checkout string, state billingdb.CheckoutState) error {
	id, err := billingdb.ParseCheckoutID(checkout)
	if err != nil {
		return nil //nolint:nilerr // not one of ours
	}
	if _, err := r.Record.EndCheckout(ctx, id, state, r.Now()); err != nil && !errors.Is(err, store.ErrNotFound) {
		return r.failed(err, ErrBillingFailed, "end a checkout", r.id)
	}
	return nil
}

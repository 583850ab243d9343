package billing

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
)

// BillingStatus is the plan and the purchases of an account, and how it pays (docs/interface.md,
// 2.4).
type BillingStatus struct {
	Tier         string                                  `json:"tier" doc:"key of the plan that is in force"`
	TierTitle    string                                  `json:"tier_title"`
	NextTier     string                                  `json:"next_tier,omitempty" doc:"key of the plan that takes over at next_tier_from; absent when none is known to"`
	NextTierFrom *time.Time                              `json:"next_tier_from,omitempty"`
	Live         bool                                    `json:"payments_live" doc:"whether anything can be bought here now"`
	Customer     *string                                 `json:"billing_customer" nullable:"true" doc:"the account's customer at the payment provider; null before the first purchase"`
	Country      string                                  `json:"billing_country,omitempty" doc:"ISO 3166-1 code by which VAT goes; absent when none is known, which counts as the EU"`
	VATPercent   int64                                   `json:"vat_percent" doc:"what is added to net prices"`
	TaxNote      string                                  `json:"tax_note,omitempty" doc:"why billing_country is not the one of the billing address, and what settles it; absent where they agree"`
	Subscription operation.Nullable[SubscriptionView]    `json:"subscription" doc:"null without one"`
	Payment      operation.Nullable[CardView]            `json:"payment_method" doc:"null while none is on file"`
	Founding     operation.Nullable[FoundingReservation] `json:"founding_reservation" doc:"the account's seat of the founding offer; null without one"`
	Packs        []PackView                              `json:"packs" doc:"in the order in which they are drawn; those that are used up, expired or void are left out"`
	SoftLanding  operation.Nullable[SoftLanding]         `json:"soft_landing" doc:"of a plan that slows down instead of refusing; null on others"`
}

// SubscriptionView is the account's subscription.
type SubscriptionView struct {
	Plan              string              `json:"plan" doc:"key of the plan that is charged next"`
	Item              string              `json:"item" doc:"key of its price on the ladder"`
	Interval          string              `json:"interval" enum:"month,year"`
	PriceCents        int64               `json:"price_cents" doc:"net, for an interval, after the discount that is in force"`
	Status            subscription.Status `json:"status" enum:"active,trialing,past_due,unpaid,paused,canceled,incomplete,incomplete_expired"`
	StartedAt         time.Time           `json:"started_at"`
	PeriodStart       time.Time           `json:"period_start"`
	PeriodEnd         time.Time           `json:"period_end" doc:"until when it is paid; it is charged again then"`
	CancelAtPeriodEnd bool                `json:"cancel_at_period_end"`
	EndedAt           *time.Time          `json:"ended_at,omitempty"`
	Founding          bool                `json:"founding" doc:"whether the founding price is in force"`
	Held              string              `json:"held_item,omitempty" doc:"key of the price whose plan is kept until held_until, after a change to a smaller one"`
	HeldUntil         *time.Time          `json:"held_until,omitempty"`
}

// CardView is the public part of the card on file.
type CardView struct {
	Brand    string `json:"brand"`
	Last4    string `json:"last4"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

// FoundingReservation is a seat of the founding offer.
type FoundingReservation struct {
	State string            `json:"state" enum:"held,taken" doc:"held by an open checkout, or taken by a subscription"`
	Until *time.Time        `json:"until" nullable:"true" doc:"when a held seat is free again at the latest; until when the price of a taken one is locked"`
	Price operation.Dollars `json:"price_usd" doc:"net, per month"`
}

// PackView is a pack with units left.
type PackView struct {
	ID        string     `json:"id" format:"uuid"`
	Kind      string     `json:"kind" doc:"pack_s, pack_m, pack_l; another name for one that was given"`
	Units     plan.Units `json:"units"`
	Remaining plan.Units `json:"remaining" doc:"as recorded; some seconds late"`
	GrantedAt time.Time  `json:"granted_at"`
	ExpiresAt time.Time  `json:"expires_at" doc:"the first instant at which it is no longer drawn"`
}

// SoftLanding is the lower rate limit that a flat plan has after its soft ceiling.
type SoftLanding struct {
	Ceiling   plan.Units `json:"ceiling" doc:"weighted units of a period at full speed"`
	Used      plan.Units `json:"used" doc:"of the period, as the meter counts them now"`
	Past      bool       `json:"past" doc:"whether the slower window is in force"`
	PerSecond int64      `json:"requests_per_second" doc:"the window that is in force"`
	Until     time.Time  `json:"until" doc:"when the period ends and full speed returns"`
}

func (h *handlers) billingStatus() *operation.Operation[operation.Nothing, BillingStatus] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_billing_status", Title: "Plan and payment", Access: operation.Managers, Reads: true,
		Description: "Shows the plan that is in force, the subscription that pays for it, the card by its brand and " +
			"last four digits, packs with what is left of them, and whether a flat plan has slowed down. list_plans " +
			"shows what there is to buy; get_usage what was used. It costs nothing and changes nothing.",
		Fails: []fault.Reason{fault.MeterUnreachable, fault.DurableUnavailable},
	}, h.runBillingStatus)
}

func (h *handlers) runBillingStatus(ctx context.Context, c *operation.Call,
	_ operation.Nothing,
) (BillingStatus, error) {
	terms, err := c.Account.Terms()
	if err != nil {
		return BillingStatus{}, err
	}
	now := h.Now()
	terms = terms.At(now)
	s := BillingStatus{Tier: terms.Plan.Key, TierTitle: terms.Plan.Title, Live: h.Stripe != nil, Packs: []PackView{}}
	if terms.Next != nil {
		s.NextTier, s.NextTierFrom = terms.Next.Key, operation.NullTime(terms.NextFrom)
	}
	for _, part := range []func(context.Context, *operation.Call, *BillingStatus) error{
		h.customerPart, h.subscriptionPart, h.foundingPart, h.packsPart,
	} {
		if err := part(ctx, c, &s); err != nil {
			return BillingStatus{}, err
		}
	}
	if plan.VATApplies(s.Country) {
		s.VATPercent = plan.VATPercent
	}
	s.SoftLanding.Value, err = h.softLanding(ctx, c, &terms)
	return s, err
}

func (h *handlers) customerPart(ctx context.Context, c *operation.Call, s *BillingStatus) error {
	customer, err := h.Store.FindCustomer(ctx, c.Account.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	place := customer.Place()
	s.Customer, s.Country, s.TaxNote = &customer.ID, place.Country, placeNote(place)
	if card := customer.Card; card != nil {
		s.Payment.Value = &CardView{card.Brand, card.Last4, card.ExpMonth, card.ExpYear}
	}
	return operation.ToFault(err, "customer")
}

func (h *handlers) subscriptionPart(ctx context.Context, c *operation.Call, s *BillingStatus) error {
	sub, err := h.Store.LastSubscription(ctx, c.Account.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return operation.ToFault(err, "subscription")
	}
	item, _ := plan.FindItem(sub.Price) // a price that is not ours has no plan
	view := &SubscriptionView{
		Plan: item.Plan, Item: sub.Price, Interval: string(item.Interval), PriceCents: int64(sub.PriceCents),
		Status: sub.Status, StartedAt: sub.StartedAt, PeriodStart: sub.PeriodStart, PeriodEnd: sub.PeriodEnd,
		CancelAtPeriodEnd: sub.CancelAtPeriodEnd, EndedAt: operation.NullTime(sub.EndedAt), Founding: sub.Founding,
	}
	if sub.HeldAt(h.Now()) != sub.Price {
		view.Held, view.HeldUntil = sub.Held, operation.NullTime(sub.HeldUntil)
	}
	s.Subscription.Value = view
	if offer := plan.Founding(); sub.Founding && !sub.Status.Over() {
		s.Founding.Value = &FoundingReservation{
			State: "taken", Until: operation.NullTime(plan.AddMonths(sub.StartedAt, offer.LockedMonths)),
			Price: operation.Dollars(offer.Price),
		}
	}
	return nil
}

// lookedCheckouts is how many of an account's newest checkouts are searched for an open one. An
// account cannot have more open ones.
const lookedCheckouts = 20

// foundingPart adds the founding offer's seat that an open checkout holds.
func (h *handlers) foundingPart(ctx context.Context, c *operation.Call, s *BillingStatus) error {
	if s.Founding.Value != nil {
		return nil
	}
	checkouts, err := h.Store.ListCheckouts(ctx, c.Account.ID, lookedCheckouts)
	if err != nil {
		return operation.ToFault(err, "checkout")
	}
	offer := plan.Founding()
	for i := range checkouts {
		if o := &checkouts[i]; o.Item == offer.Key && o.State == billingdb.CheckoutOpen {
			s.Founding.Value = &FoundingReservation{
				State: "held", Until: operation.NullTime(o.ExpiresAt), Price: operation.Dollars(offer.Price),
			}
			return nil
		}
	}
	return nil
}

// packsPart lists the packs with units left. What was used of them comes from the account as loaded
// when the caller was identified.
func (h *handlers) packsPart(ctx context.Context, c *operation.Call, s *BillingStatus) error {
	if len(c.Account.Packs) == 0 {
		return nil
	}
	used := map[account.PackID]plan.Units{}
	for _, p := range c.Account.Packs {
		used[p.ID] = p.Used
	}
	packs, err := h.Store.ListPacks(ctx, c.Account.ID)
	if err != nil {
		return operation.ToFault(err, "pack")
	}
	now := h.Now()
	for i := range packs {
		p := &packs[i]
		left := max(0, p.Units-used[p.ID])
		if left == 0 || !now.Before(p.Expires) || !p.VoidedAt.IsZero() {
			continue
		}
		s.Packs = append(s.Packs, PackView{
			ID: p.ID.String(), Kind: p.Kind, Units: p.Units, Remaining: left, GrantedAt: p.GrantedAt,
			ExpiresAt: p.Expires,
		})
	}
	return nil
}

// softLanding returns nil for plans that refuse calls once the quota is used up.
func (h *handlers) softLanding(ctx context.Context, c *operation.Call, terms *account.Terms) (*SoftLanding, error) {
	ceiling := terms.Plan.SoftCeiling()
	if terms.Custom != nil || ceiling == plan.Unlimited {
		return nil, nil //nolint:nilnil // such a plan has none
	}
	standings, err := h.Limits.CounterStates(ctx, &c.Account, nil, true)
	if err != nil {
		return nil, operation.MeterUnavailable(err)
	}
	soft := &SoftLanding{Ceiling: ceiling, Until: standings.Period.End}
	for _, s := range standings.Counters {
		if s.Source == account.SourcePlan && s.Period == standings.Period.Key() {
			soft.Used = s.ShouldBe
		}
	}
	rate := terms.Plan.Rate
	if soft.Past = soft.Used >= ceiling; soft.Past {
		rate = terms.Plan.SoftRate
	}
	soft.PerSecond = rate.Limit * int64(time.Second) / int64(rate.Per)
	return soft, nil
}

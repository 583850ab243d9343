package billing

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// ChangePlanInput is the plan that is wanted.
type ChangePlanInput struct {
	Item string `json:"item" enum:"builder,pro_monthly,pro_yearly,scale_monthly,scale_yearly,growth_monthly,growth_yearly" doc:"key of a plan's price on the ladder"`
}

// PlanChange is the effect of a change of the subscription.
type PlanChange struct {
	Item    string     `json:"item" doc:"key of the price that is charged next"`
	Plan    string     `json:"plan" doc:"key of its plan"`
	Effect  string     `json:"effect" enum:"none,now,period_end" doc:"none: it was so already; now: in force and charged at once; period_end: at the end of what is paid"`
	At      *time.Time `json:"at" nullable:"true" doc:"when it takes effect; null for now and none"`
	InForce bool       `json:"in_force" doc:"whether pages and limits show it already; otherwise within some minutes"`
	Note    string     `json:"note"`
}

// The values of PlanChange.Effect.
const (
	effectNone      = "none"
	effectNow       = "now"
	effectPeriodEnd = "period_end"
)

func (h *handlers) changePlan() *operation.Operation[ChangePlanInput, PlanChange] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "change_plan", Title: "Change the plan", Access: operation.Owners,
		Description: "Changes the plan of the subscription. A larger plan, or the year instead of the month, is " +
			"charged and in force at once, with what was used carried over: what it costs more for the rest of the " +
			"interval is taken from the card on file. A smaller one takes over when what is paid ends, and can be " +
			"taken back until then. A repeat charges nothing more.",
		Fails: billingFails,
	}, h.runChangePlan)
}

func (h *handlers) runChangePlan(ctx context.Context, c *operation.Call, in ChangePlanInput) (PlanChange, error) {
	sub, err := h.running(ctx, c)
	if err != nil {
		return PlanChange{}, err
	}
	now := h.Now()
	kind, refusal := sub.ChangeTo(in.Item, now)
	if refusal != nil {
		return PlanChange{}, refusal
	}
	item, _ := plan.FindItem(in.Item) // ChangeTo accepted the item
	change := billing.Change{Subscription: sub.ID, Item: item}
	done := PlanChange{Item: item.Key, Plan: item.Plan, Effect: effectNow}
	switch kind {
	case subscription.Upgrade:
		change.Charge = true
		done.Note = "The new plan is in force; the difference for the rest of the interval was charged, and units " +
			"used so far count on."
	case subscription.Downgrade:
		change.Held = sub.HeldAt(now)
		done.Effect, done.At = effectPeriodEnd, operation.NullTime(sub.PeriodEnd)
		done.Note = "The present plan goes on until what is paid ends; then the smaller one takes over. Choose the " +
			"present plan to take this back."
	case subscription.TakeBack:
		done.Note = "The change that was planned is taken back; the present plan goes on, and nothing was charged."
	case subscription.NoChange:
		done.Effect, done.InForce, done.Note = effectNone, true,
			"The subscription is on this plan already, or about to be; nothing was changed."
		return done, nil
	}
	if err := h.Stripe.ChangePrice(ctx, change); err != nil {
		return PlanChange{}, toldByStripe(err)
	}
	done.InForce = h.inForce(ctx, c.Account.ID, "change_plan")
	return done, nil
}

func (h *handlers) cancelPlan() *operation.Operation[operation.Nothing, PlanChange] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "cancel_plan", Title: "Cancel the plan", Access: operation.Owners,
		Description: "Ends the subscription when what is paid ends; the Free plan follows. Until then it goes on and " +
			"can be resumed. A repeat answers the same.",
		Fails: billingFails,
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (PlanChange, error) {
		return h.setCancelled(ctx, c, true)
	})
}

func (h *handlers) resumePlan() *operation.Operation[operation.Nothing, PlanChange] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "resume_plan", Title: "Resume the plan", Access: operation.Owners,
		Description: "Has a subscription that was cancelled for the end of its period go on after all. A repeat " +
			"answers the same.",
		Fails: billingFails,
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (PlanChange, error) {
		return h.setCancelled(ctx, c, false)
	})
}

// setCancelled cancels a subscription at the end of its period, or resumes it.
func (h *handlers) setCancelled(ctx context.Context, c *operation.Call, cancel bool) (PlanChange, error) {
	sub, err := h.running(ctx, c)
	if err != nil {
		return PlanChange{}, err
	}
	item, _ := plan.FindItem(sub.Price) // a price that is not ours has no plan
	done := PlanChange{
		Item: sub.Price, Plan: item.Plan, Effect: effectNow,
		Note: "The subscription goes on, and is charged again when what is paid ends.",
	}
	if cancel {
		done.Effect, done.At = effectPeriodEnd, operation.NullTime(sub.PeriodEnd)
		done.Note = "The plan goes on until what is paid ends; then the Free plan follows. It can be resumed until " +
			"then. Packs stay."
	}
	if sub.CancelAtPeriodEnd == cancel {
		done.InForce = true
		if !cancel {
			done.Effect, done.Note = effectNone, "The subscription was not cancelled; nothing was changed."
		}
		return done, nil
	}
	if err := h.Stripe.CancelAtPeriodEnd(ctx, sub.ID, cancel); err != nil {
		return PlanChange{}, toldByStripe(err)
	}
	done.InForce = h.inForce(ctx, c.Account.ID, "cancel_plan")
	return done, nil
}

// running returns the current subscription as read from Stripe. The row in PostgreSQL may be
// minutes old, and money depends on it.
func (h *handlers) running(ctx context.Context, c *operation.Call) (*subscription.Subscription, error) {
	if refusal := h.selling(); refusal != nil {
		return nil, refusal
	}
	if refusal := h.Limit(ctx, "billing:"+c.Account.ID.String(), billingLimit); refusal != nil {
		return nil, refusal
	}
	none := fault.New(fault.FieldRefused, "There is no running subscription. Choose a plan on the billing page.")
	customer, err := h.Store.FindCustomer(ctx, c.Account.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, none
	}
	if err != nil {
		return nil, operation.ToFault(err, "customer")
	}
	recorded, err := h.Store.LastSubscription(ctx, c.Account.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, operation.ToFault(err, "subscription")
	}
	snapshot, err := h.Stripe.Snapshot(ctx, customer.ID)
	if err != nil {
		return nil, toldByStripe(err)
	}
	recorded.Plan = c.Account.Plan // fallback if the recorded price is on no ladder
	snapshot.Keep(recorded)
	sub := snapshot.Current(recorded.ID)
	if sub == nil || sub.Status.Over() {
		return nil, none
	}
	return sub, nil
}

package billing

import (
	"context"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
)

// FinishCheckoutInput identifies a checkout.
type FinishCheckoutInput struct {
	CheckoutID string `json:"checkout_id" maxLength:"64" doc:"id of a checkout of the account, as start_checkout gave it"`
}

// FinishedCheckout is the state of a checkout.
type FinishedCheckout struct {
	CheckoutID string `json:"checkout_id" format:"uuid"`
	Item       string `json:"item"`
	Title      string `json:"title"`
	State      string `json:"state" enum:"open,paid,expired,refunded,failed" doc:"open: not paid, or not seen to be; paid: what was bought is in force; refunded: paid, and sent back"`
	Tier       string `json:"tier" doc:"key of the plan that is in force"`
	Note       string `json:"note"`
}

func (h *handlers) finishCheckout() *operation.Operation[FinishCheckoutInput, FinishedCheckout] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "finish_checkout", Title: "See what became of a checkout", Access: operation.Users, ReadsToo: true,
		Description: "Has the payment provider asked now what became of a checkout, and says it. For a browser that " +
			"comes back from paying; what was paid is granted without it as well. It costs nothing, and may be asked " +
			"again and again.",
		Fails: append([]fault.Reason{fault.NotYours}, billingFails...),
	}, h.runFinishCheckout)
}

func (h *handlers) runFinishCheckout(ctx context.Context, c *operation.Call,
	in FinishCheckoutInput,
) (FinishedCheckout, error) {
	id, err := billingdb.ParseCheckoutID(in.CheckoutID)
	if err != nil {
		return FinishedCheckout{}, fault.New(fault.FieldRefused,
			"checkout_id takes the id of a checkout, 36 characters as start_checkout gives it.")
	}
	found, err := h.Store.FindCheckout(ctx, id)
	if err == nil && found.Account != c.Account.ID {
		err = store.ErrNotFound
	}
	if err != nil {
		return FinishedCheckout{}, operation.ToFault(err, "checkout")
	}
	if found.State == billingdb.CheckoutOpen && found.Session != "" && h.Stripe != nil {
		h.follow(ctx, &found)
		h.inForce(ctx, c.Account.ID, "checkout")
		if found, err = h.Store.FindCheckout(ctx, id); err != nil {
			return FinishedCheckout{}, operation.ToFault(err, "checkout")
		}
	}
	now, err := h.Store.LoadAccount(ctx, c.Account.ID)
	if err != nil {
		return FinishedCheckout{}, operation.ToFault(err, "account")
	}
	item, _ := plan.FindItem(found.Item)
	return FinishedCheckout{
		CheckoutID: found.ID.String(), Item: found.Item, Title: item.Title, State: string(found.State), Tier: now.Plan,
		Note: checkoutNotes[found.State],
	}, nil
}

// checkoutNotes are the next steps, by state.
var checkoutNotes = map[billingdb.CheckoutState]string{
	billingdb.CheckoutOpen: "No payment is seen yet. If you paid, look again in a minute; if not, the page can be " +
		"paid until it expires.",
	billingdb.CheckoutPaid:    "It is paid, and what was bought is in force.",
	billingdb.CheckoutExpired: "It expired without a payment, and nothing was charged. Begin a new one.",
	billingdb.CheckoutRefunded: "It was paid and sent back, because another checkout was paid before. The refund " +
		"shows on the card's statement in some days.",
	billingdb.CheckoutFailed: "No page could be made for it, and nothing was charged. Begin a new one.",
}

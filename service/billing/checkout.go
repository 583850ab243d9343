package billing

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
)

// Console pages that the payment provider redirects browsers to.
const (
	billingPath = "/billing"
	donePath    = "/billing/done?checkout=" // followed by our checkout id
)

// checkoutLife is how long a checkout can be paid. Stripe allows 30 minutes to 24 hours.
const checkoutLife = time.Hour

// Rate limits per account for starting checkouts and for changing subscriptions. Each of them calls
// Stripe several times.
var (
	checkoutLimit = account.RateWindow{Limit: 20, Per: time.Hour}
	billingLimit  = account.RateWindow{Limit: 30, Per: 10 * time.Minute}
)

// StartCheckoutInput is what to buy.
type StartCheckoutInput struct {
	Item    string `json:"item" enum:"builder,pro_monthly,pro_yearly,scale_monthly,scale_yearly,growth_monthly,growth_yearly,founding,pack_s,pack_m,pack_l" doc:"key of a rung of the price ladder that is on sale"`
	Country string `json:"country,omitempty" pattern:"^[A-Z]{2}$" doc:"country of the billing address, as ISO 3166-1 code in capitals, by which VAT goes; absent for the one on file, else the one the caller is in" example:"DE"`
}

// StartedCheckout is the payment page of a checkout. No money moves until a person pays there.
type StartedCheckout struct {
	CheckoutID string            `json:"checkout_id" format:"uuid"`
	URL        string            `json:"checkout_url" format:"uri" doc:"a page of the payment provider, for the person who pays"`
	Item       string            `json:"item"`
	Title      string            `json:"title"`
	Price      operation.Dollars `json:"price_usd" doc:"net, for an interval or for the pack"`
	VATPercent int64             `json:"vat_percent" doc:"what is added to it"`
	Country    string            `json:"country,omitempty" doc:"by which VAT went; absent when none is known"`
	ExpiresAt  time.Time         `json:"expires_at" doc:"until when it can be paid"`
	Note       string            `json:"note"`
}

func (h *handlers) startCheckout() *operation.Operation[StartCheckoutInput, StartedCheckout] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "start_checkout", Title: "Buy a plan or a pack", Access: operation.Owners,
		Description: "Gives the address of a page where a plan or a pack is paid by card. No money moves until a " +
			"person pays there, within an hour. A new checkout of a plan ends the one before. It costs nothing.",
		Fails: billingFails,
	}, h.runStartCheckout)
}

func (h *handlers) runStartCheckout(ctx context.Context, c *operation.Call,
	in StartCheckoutInput,
) (StartedCheckout, error) {
	item, known := plan.FindItem(in.Item)
	if !known {
		return StartedCheckout{}, fault.New(fault.FieldRefused,
			"item takes the key of a rung of the price ladder that is on sale.")
	}
	if in.Country != "" && !plan.Located(in.Country) {
		return StartedCheckout{}, fault.New(fault.FieldRefused,
			"country takes the ISO 3166-1 code of a country in capitals, DE or US for instance.")
	}
	return h.checkOut(ctx, c, item, in.Country)
}

// BuyPackInput is the size of a pack.
type BuyPackInput struct {
	Size string `json:"size" enum:"s,m,l" doc:"s: 1,200,000 units, m: 7,000,000, l: 32,000,000"`
}

// PackCheckout is the payment page of a pack.
type PackCheckout struct {
	URL   string            `json:"checkout_url" format:"uri" doc:"a page of the payment provider; give it to the person who pays"`
	Size  string            `json:"size" enum:"s,m,l"`
	Units plan.Units        `json:"units"`
	Price operation.Dollars `json:"price_usd" doc:"net, once"`
	Note  string            `json:"note"`
}

func (h *handlers) buyPack() *operation.Operation[BuyPackInput, PackCheckout] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "buy_pack", Title: "Buy a pack of units", Access: operation.Holders,
		Description: "Gives the address of a page where a person buys a prepaid pack by card. Packs are drawn after " +
			"the plan's quota and are valid for " + strconv.Itoa(plan.PackMonths) +
			" months. No money moves until a human pays there, within an hour; each call gives a page of its own, " +
			"and only what is paid is granted. For every key of an owner's account, adopted ones and those of its " +
			"agents too.",
		Fails: append([]fault.Reason{fault.WrongKindOfKey}, billingFails...),
	}, h.runBuyPack)
}

func (h *handlers) runBuyPack(ctx context.Context, c *operation.Call, in BuyPackInput) (PackCheckout, error) {
	if !c.User.User.IsZero() && !c.User.Owner {
		return PackCheckout{}, fault.New(fault.WrongKindOfKey,
			"Only owners of the account buy packs. Ask one of them: they are listed under members.")
	}
	pack, _ := plan.FindPack(in.Size)
	item, known := plan.FindItem(pack.Key)
	if !known {
		return PackCheckout{}, fault.New(fault.FieldRefused, "size takes s, m or l.")
	}
	started, err := h.checkOut(ctx, c, item, "")
	return PackCheckout{
		URL: started.URL, Size: pack.Size, Units: pack.Units, Price: operation.Dollars(pack.Price), Note: started.Note,
	}, err
}

// checkOut starts a checkout. If the account's customer turns out to be deleted at Stripe, it
// creates another one and retries once.
//
//nolint:gocritic // a copy does no harm
func (h *handlers) checkOut(ctx context.Context, c *operation.Call, item plan.Item,
	country string,
) (StartedCheckout, error) {
	started, err := h.checkOutOnce(ctx, c, item, country)
	if !errors.Is(err, billing.ErrGone) {
		return started, err
	}
	if replaced, failed := h.replaceCustomer(ctx, c, country); failed != nil || !replaced {
		if failed != nil {
			err = failed
		}
		return StartedCheckout{}, err
	}
	return h.checkOutOnce(ctx, c, item, country)
}

//nolint:gocritic // a copy does no harm
func (h *handlers) checkOutOnce(ctx context.Context, c *operation.Call, item plan.Item,
	country string,
) (StartedCheckout, error) {
	if refusal := h.mayBuy(ctx, c); refusal != nil {
		return StartedCheckout{}, refusal
	}
	if !item.IsPack() {
		if err := h.clearTheWay(ctx, c); err != nil {
			return StartedCheckout{}, err
		}
	}
	customer, err := h.customerOf(ctx, c, country)
	if err != nil {
		return StartedCheckout{}, err
	}
	now, place := h.Now().UTC().Truncate(time.Second), customer.Place()
	opened, err := h.Store.OpenCheckout(ctx, billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: c.Account.ID, Item: item.Key, Country: place.Country,
		Evidence: place.String(), OpenedAt: now, ExpiresAt: now.Add(checkoutLife),
	})
	if err != nil {
		return StartedCheckout{}, operation.ToFault(err, "account")
	}
	url, err := h.openSession(ctx, &opened, item, customer.ID)
	if err != nil {
		return StartedCheckout{}, err
	}
	started := StartedCheckout{
		CheckoutID: opened.ID.String(), URL: url, Item: item.Key, Title: item.Title,
		Price:   operation.Dollars(item.Price),
		Country: place.Country, ExpiresAt: opened.ExpiresAt,
		Note: "Nothing is charged until somebody pays on the page, by " +
			operation.InWords(opened.ExpiresAt) + ".",
	}
	switch {
	case !c.Manages():
		started.Note += " " + TaxRule // only owners see where the account is billed
	case plan.VATApplies(place.Country):
		started.VATPercent = plan.VATPercent
		started.Note += fmt.Sprintf(" VAT of %d %% is added to the price.", plan.VATPercent)
	}
	if note := placeNote(place); note != "" && c.Manages() {
		started.Note += " " + note
	}
	return started, nil
}

// mayBuy refuses accounts that cannot buy, and those that start too many checkouts.
func (h *handlers) mayBuy(ctx context.Context, c *operation.Call) *fault.Error {
	if refusal := h.selling(); refusal != nil {
		return refusal
	}
	if c.Account.Kind != accountdb.KindOwner {
		return fault.New(fault.WrongKindOfKey,
			"Only accounts of people who signed in buy plans and packs. Have an owner adopt this key first.")
	}
	if refusal := c.MayChange(); refusal != nil {
		return refusal
	}
	return h.Limit(ctx, "checkout:"+c.Account.ID.String(), checkoutLimit)
}

// clearTheWay refuses a second subscription and expires open checkouts of plans, so that nobody
// pays twice by mistake. If two are still paid at the same moment, one becomes the subscription and
// the other is refunded.
func (h *handlers) clearTheWay(ctx context.Context, c *operation.Call) error {
	if c.Account.Custom != nil {
		return fault.New(fault.FieldRefused, "This account has a contract of its own. Write to %s to change it.",
			h.Contact)
	}
	sub, err := h.Store.LastSubscription(ctx, c.Account.ID)
	if err == nil && !sub.Status.Over() {
		return fault.New(fault.FieldRefused,
			"This account has a subscription already. Change its plan, or resume it, on the billing page.")
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return operation.ToFault(err, "subscription")
	}
	open, err := h.Store.ListCheckouts(ctx, c.Account.ID, lookedCheckouts)
	if err != nil {
		return operation.ToFault(err, "checkout")
	}
	for i := range open {
		item, known := plan.FindItem(open[i].Item)
		if open[i].State != billingdb.CheckoutOpen || open[i].Session == "" || !known || item.IsPack() {
			continue
		}
		if err := h.endCheckout(ctx, &open[i]); err != nil {
			return err
		}
	}
	return nil
}

// endCheckout expires an open checkout. Its seat is free only once Stripe confirms it.
func (h *handlers) endCheckout(ctx context.Context, c *billingdb.Checkout) error {
	session, err := h.Stripe.ExpireSession(ctx, c.Session)
	if err != nil {
		return toldByStripe(err)
	}
	if session.Status != subscription.SessionExpired {
		h.follow(ctx, c)
		return fault.New(fault.FieldRefused,
			"A checkout of a plan was paid just now. Look at the billing page in some seconds.")
	}
	_, err = h.Store.EndCheckout(ctx, c.ID, billingdb.CheckoutExpired, h.Now())
	return operation.ToFault(err, "checkout")
}

// openSession creates the checkout's payment page at Stripe and has its outcome followed. If it is
// unknown whether Stripe created the session, the checkout stays open until it expires, so that its
// seat is not given twice.
//
//nolint:gocritic // a copy does no harm
func (h *handlers) openSession(ctx context.Context, c *billingdb.Checkout, item plan.Item,
	customer string,
) (url string, err error) {
	session, url, err := h.Stripe.OpenCheckout(ctx, &billing.Checkout{
		ID: c.ID.String(), Account: c.Account, Customer: customer, Item: item, VAT: plan.VATApplies(c.Country),
		Expires: c.ExpiresAt, SuccessURL: h.PublicURL + donePath + c.ID.String(), CancelURL: h.PublicURL + billingPath,
	})
	if err != nil {
		if !errors.Is(err, billing.ErrUnavailable) { // Stripe refused: there is no session
			if _, ended := h.Store.EndCheckout(ctx, c.ID, billingdb.CheckoutFailed, h.Now()); ended != nil {
				h.Logger.Warn("a failed checkout is still open; it expires on its own", "account_id", c.Account,
					"checkout_id", c.ID, "error", ended)
			}
		}
		return "", toldByStripe(err)
	}
	if err := h.Store.SetCheckoutSession(ctx, c.ID, session); err != nil {
		return "", operation.ToFault(err, "checkout")
	}
	c.Session = session
	h.follow(ctx, c)
	return url, nil
}

// follow has a workflow follow the checkout. If the signal fails, the workflow starts later by
// itself.
func (h *handlers) follow(ctx context.Context, c *billingdb.Checkout) {
	if err := h.Purchases.FollowCheckout(ctx, c); err != nil {
		h.Logger.Warn("a checkout will be followed later", "account_id", c.Account, "checkout_id", c.ID, "error", err)
	}
}

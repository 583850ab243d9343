package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/workflows"
)

// BillingView is what an account bought, as operators see it. It is PostgreSQL's mirror of Stripe
// as of ReadAt.
type BillingView struct {
	AccountID    account.ID                 `json:"account_id"`
	Plan         string                     `json:"plan"`
	NextPlan     string                     `json:"next_plan,omitempty"`
	NextPlanFrom *time.Time                 `json:"next_plan_from,omitempty"`
	PeriodStart  time.Time                  `json:"period_start"` // of the metering period
	PeriodEnd    time.Time                  `json:"period_end"`
	CycleAnchor  *time.Time                 `json:"cycle_anchor"` // of the subscription; null for calendar months
	Customer     string                     `json:"customer"`     // of Stripe; empty when nothing was ever bought
	Country      string                     `json:"country"`
	Tax          string                     `json:"tax"` // the place of supply and its evidence
	Card         *subscription.Card         `json:"card"`
	ReadAt       *time.Time                 `json:"read_at"`      // when Stripe was last read; null for never
	Subscription *subscription.Subscription `json:"subscription"` // the lasting one, or the last that ended
	Packs        []BoughtPackView           `json:"packs"`
	Invoices     []subscription.Invoice     `json:"invoices"`  // newest first
	Checkouts    []CheckoutView             `json:"checkouts"` // newest first
	WorkflowID   string                     `json:"workflow_id"`
}

// BoughtPackView is a pack as it was granted.
type BoughtPackView struct {
	Kind      string     `json:"kind"`
	Origin    string     `json:"origin"`
	Units     plan.Units `json:"units"`
	GrantedAt time.Time  `json:"granted_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	Void      string     `json:"void,omitempty"` // why the rest of it was voided
}

// CheckoutView is a checkout. The URL of its page is not stored.
type CheckoutView struct {
	ID         string                  `json:"checkout_id"`
	Item       string                  `json:"item"`
	State      billingdb.CheckoutState `json:"state"`
	OpenedAt   time.Time               `json:"opened_at"`
	EndedAt    *time.Time              `json:"ended_at"`
	WorkflowID string                  `json:"workflow_id,omitempty"`
}

// billingLines is the maximum of invoices and checkouts that are shown.
const billingLines = 20

// Billing returns what an account bought, from PostgreSQL.
//
//nolint:gocritic // a copy does no harm
func Billing(ctx context.Context, cfg config.Config, id account.ID) (BillingView, error) {
	var v BillingView
	err := withPayments(ctx, cfg, func(s *store.Store) (err error) {
		v, err = viewBilling(ctx, s, id, time.Now())
		return err
	})
	return v, err
}

func viewBilling(ctx context.Context, s *store.Store, id account.ID, now time.Time) (BillingView, error) {
	a, err := s.LoadAccount(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return BillingView{}, noAccount(id)
	}
	if err != nil {
		return BillingView{}, err
	}
	v := BillingView{
		AccountID: id, Plan: a.Plan, NextPlan: a.NextPlan, NextPlanFrom: nullTime(a.NextPlanFrom),
		CycleAnchor: nullTime(a.Cycle.Anchor), WorkflowID: workflows.SubscriptionID(id),
	}
	v.PeriodStart, v.PeriodEnd = a.Cycle.Period(now)
	customer, err := s.FindCustomer(ctx, id)
	if err == nil {
		v.Customer, v.Country, v.Card, v.ReadAt = customer.ID, customer.Country, customer.Card,
			nullTime(customer.ReadAt)
		v.Tax = customer.Place().String()
	} else if !errors.Is(err, store.ErrNotFound) {
		return v, err
	}
	sub, err := s.LastSubscription(ctx, id)
	if err == nil {
		v.Subscription = &sub
	} else if !errors.Is(err, store.ErrNotFound) {
		return v, err
	}
	return v, v.lists(ctx, s, now)
}

// lists reads packs, invoices and checkouts.
func (v *BillingView) lists(ctx context.Context, s *store.Store, now time.Time) error {
	packs, err := s.ListPacks(ctx, v.AccountID)
	if err != nil {
		return err
	}
	for i := range packs {
		p := &packs[i]
		v.Packs = append(v.Packs, BoughtPackView{
			Kind: p.Kind, Origin: p.Origin, Units: p.Units, GrantedAt: p.GrantedAt,
			ExpiresAt: p.Expires, Void: p.VoidReason,
		})
	}
	if v.Invoices, err = s.ListInvoices(ctx, v.AccountID, time.Time{}, now.Add(time.Hour), billingLines); err != nil {
		return err
	}
	checkouts, err := s.ListCheckouts(ctx, v.AccountID, billingLines)
	for i := range checkouts {
		c := &checkouts[i]
		line := CheckoutView{
			ID: c.ID.String(), Item: c.Item, State: c.State, OpenedAt: c.OpenedAt, EndedAt: nullTime(c.EndedAt),
		}
		if c.Session != "" {
			line.WorkflowID = workflows.CheckoutID(c.Session)
		}
		v.Checkouts = append(v.Checkouts, line)
	}
	return err
}

// nullTime returns nil for the zero time.
func nullTime(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func noAccount(id account.ID) error {
	return fmt.Errorf("there is no account %s; gateway ops account show finds one by a key", id)
}

// Reconcile makes the flow of an account's subscription poll Stripe now and returns what the
// account has then. After an error the flow continues by itself.
//
//nolint:gocritic // a copy does no harm
func Reconcile(ctx context.Context, cfg config.Config, id account.ID) (activities.Reconciled, error) {
	var known activities.Reconciled
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		_, err := s.LoadAccount(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return noAccount(id)
		}
		if err != nil {
			return err
		}
		deployment, err := s.ReadDeployment(ctx)
		if err != nil {
			return err
		}
		temporal, err := connect.Temporal(cfg, deployment.ID.String(), nil, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer temporal.Close()
		known, err = workflows.NewClient(temporal.Client).LookAtSubscription(ctx, id)
		if refusal, ok := errors.AsType[*fault.Error](err); ok {
			return fmt.Errorf(
				"the workflow %s has not updated the account yet and continues on its own; its details in the "+
					"Temporal UI and StuckReason say why. If nothing runs there, check TEMPORAL_ADDRESS and that a "+
					"worker runs: %s",
				workflows.SubscriptionID(id), refusal.Message)
		}
		return err
	})
	return known, err
}

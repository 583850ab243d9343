package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

const (
	subscriptionsName  = "subscriptions"
	missedKey          = "missed"
	repeatedKey        = "repeated"
	boundariesKey      = "per_second"
	wholeSubscriptions = 10_000
	flowAtMost         = time.Minute // real time of one flow
	pastBoundary       = 3 * time.Hour
)

var onceBar = bar{atMost, 0, 0}

// turning is the end of the subscriptions' first period, a month after subscribedAt.
var (
	subscribedAt = time.Date(2027, time.January, 31, 10, 0, 0, 0, time.UTC)
	turning      = plan.AddMonths(subscribedAt, 1)
)

// measureSubscriptions runs the flow of each of many subscriptions past the end of a period, in
// simulated time, with a real PostgreSQL and a real meter.
func measureSubscriptions(ctx context.Context, r *rig, o options, report *report) (err error) {
	l, err := r.ledger(ctx, devstack.Redis, devstack.PostgreSQL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	if err := l.migrate(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	s, err := store.Open(ctx, l.stack.DatabaseURL)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := l.customers(ctx, o.subscriptions); err != nil {
		return fmt.Errorf("make %d customers: %w", o.subscriptions, err)
	}
	f := limits.New(s, l.meter, nil, time.Now)
	closed := make([]int, o.subscriptions)
	begun := time.Now()
	err = l.each(ctx, "passing a period's end", o.subscriptions, func(_ context.Context, n int) (err error) {
		closed[n], err = passBoundary(s, f, subscriber(n))
		return err
	})
	if err != nil {
		return err
	}
	took := time.Since(begun)
	missed, repeated := 0, 0
	for _, times := range closed {
		missed, repeated = missed+max(1-times, 0), repeated+max(times-1, 0)
	}
	turned, err := l.turned(ctx)
	if err != nil {
		return err
	}
	wanted := bar{}
	if o.subscriptions >= wholeSubscriptions {
		wanted = onceBar
	}
	report.add(result{subscriptionsName, missedKey, float64(missed + o.subscriptions - turned), 0, wanted})
	report.add(result{subscriptionsName, repeatedKey, float64(repeated), 0, wanted})
	report.add(result{subscriptionsName, secondsKey, took.Seconds(), 1, bar{}})
	report.add(result{subscriptionsName, boundariesKey, float64(o.subscriptions) / took.Seconds(), 0, bar{}})
	return nil
}

// customers creates accounts that are customers at Stripe.
func (l *ledger) customers(ctx context.Context, n int) error {
	return l.query(ctx, func(c *pgx.Conn) error {
		for _, step := range []string{
			`INSERT INTO accounts (id, kind, plan) SELECT lpad(to_hex(n), 32, '0')::uuid, 'owner', 'free' FROM ` +
				`generate_series(1, $1::integer) AS n`,
			`INSERT INTO billing_customers (account_id, customer, country) SELECT lpad(to_hex(n), 32, '0')::uuid, ` +
				`'cus_' || n, 'US' FROM generate_series(1, $1::integer) AS n`,
			`ANALYZE accounts, billing_customers`,
		} {
			args := []any{n}
			if !strings.Contains(step, "$1") {
				args = nil
			}
			if _, err := c.Exec(ctx, step, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// subscriber returns the id of the n-th account, from 0.
func subscriber(n int) account.ID {
	var id account.ID
	for at, rest := 15, n+1; rest > 0; at, rest = at-1, rest>>8 {
		id.UUID[at] = byte(rest) //nolint:gosec // the low byte
	}
	return id
}

// turned counts the accounts that are in the period after the boundary, on their plan.
func (l *ledger) turned(ctx context.Context) (n int, err error) {
	err = l.query(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT count(*) FROM subscriptions JOIN accounts ON accounts.id = account_id
			WHERE period_start = $1 AND accounts.plan = 'pro' AND cycle_anchor = $2`, turning, subscribedAt).Scan(&n)
	})
	return n, err
}

// monthly is a fake of Stripe with one customer, whose subscription renews by the clock.
type monthly struct {
	activities.Stripe
	now func() time.Time
}

// Snapshot returns the subscription's state at the present time.
func (m monthly) Snapshot(_ context.Context, customer string) (subscription.Snapshot, error) {
	start, end := plan.Cycle{Anchor: subscribedAt}.Period(m.now())
	return subscription.Snapshot{
		Customer: customer, Country: "US", ReadAt: m.now(),
		Subscriptions: []subscription.Subscription{{
			ID: strings.Replace(customer, "cus", "sub", 1), Status: subscription.Active, Price: "pro_monthly",
			PriceCents: plan.Must(plan.Pro).MonthlyPrice, StartedAt: subscribedAt, PeriodStart: start, PeriodEnd: end,
		}},
	}, nil
}

// untold ignores failed charges; there are none here.
type untold struct{}

// ChargeFailed is never called.
func (untold) ChargeFailed(context.Context, activities.FailedCharge) error { return nil }

// passBoundary runs a flow from an hour before the end of its period until some hours after it,
// across one continue-as-new. It returns how often the flow closed the period's statement.
func passBoundary(s *store.Store, f *limits.Limits, id account.ID) (closed int, err error) {
	at, in := turning.Add(-time.Hour), workflows.SubscriptionInput{Account: id}
	for run := 0; at.Before(turning.Add(pastBoundary)); run++ {
		if run == 3 {
			return closed, fmt.Errorf("the flow of %s continued as new %d times", id, run)
		}
		suite := &testsuite.WorkflowTestSuite{}
		suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		env := suite.NewTestWorkflowEnvironment()
		env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: flowAtMost})
		env.SetTestTimeout(flowAtMost)
		env.SetStartTime(at)
		workflows.RegisterBilling(env)
		env.RegisterActivity(&activities.Billing{
			Stripe: monthly{now: env.Now}, Record: s, Limits: f, Mails: untold{}, Now: env.Now,
			Logger: slog.New(slog.DiscardHandler),
			Close: func(_ context.Context, c activities.Closing) error {
				if c.Period.End.Equal(turning) {
					closed++
				}
				return nil
			},
		})
		if run == 0 {
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalLook, "bench") }, 0)
		}
		env.RegisterDelayedCallback(env.CancelWorkflow, turning.Add(pastBoundary).Sub(at))
		env.ExecuteWorkflow(workflows.SubscriptionWorkflow, in)
		at = env.Now().UTC()
		next, again := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
		if !again {
			continue
		}
		in = workflows.SubscriptionInput{}
		if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
			return closed, err
		}
	}
	return closed, nil
}

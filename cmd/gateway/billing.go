package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
)

func opsBillingCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "billing",
		Short: "Set up products at Stripe, show what an account bought, or sync it with Stripe",
		Long: `gateway ops billing shows the recorded purchases of an account and syncs them with Stripe. Stripe
is the source of truth: correct mistakes in its dashboard, and the account follows. docs/operations/runbooks.md says
what to do when Stripe is unreachable.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(billingSetUpCommand(), billingShowCommand(), billingReconcileCommand())
	return cmd
}

func billingSetUpCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "setup", Short: "Create the products at Stripe, or check them", Args: cobra.NoArgs,
		Long: `gateway ops billing setup creates products, prices, the founding coupon, the tax rate and the
portal at Stripe, and registers the webhook endpoint. It is idempotent: objects that exist are left as they are. An
object that differs from the plans is an error. Correct it by hand, because people may be paying with it. It needs
STRIPE_SECRET_KEY and PUBLIC_URL.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.FromEnvironment(config.OpsStripe)
			if err != nil {
				return err
			}
			lines, err := operator.BillingSetUp(cmd.Context(), cfg, check)
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if len(lines) > 0 {
				line(table, "WHAT", "STATE", "ID", "NOTE")
			}
			for _, l := range lines {
				line(table, l.What, string(l.State), orDash(l.ID), orDash(l.Note))
			}
			return errors.Join(table.Flush(), err)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false,
		"only check, create nothing; exit code 1 when something is missing or wrong")
	return cmd
}

func accountArgument(text string) (account.ID, error) {
	id, err := account.ParseID(text)
	if err != nil {
		return id, fmt.Errorf(
			"the id of an account is like 0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11, not %q; gateway ops account show "+
				"finds one by a key", shortened(text))
	}
	return id, nil
}

func billingShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ACCOUNT", Short: "Show plan, subscription, card, packs, invoices and checkouts of an account",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := accountArgument(args[0])
			if err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			v, err := operator.Billing(cmd.Context(), cfg, id)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), v)
			}
			return writeBilling(cmd.OutOrStdout(), &v)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func billingReconcileCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reconcile ACCOUNT", Short: "Sync an account with what it bought at Stripe",
		Args: cobra.ExactArgs(1),
		Long: `gateway ops billing reconcile makes the workflow of the account's subscription read Stripe now and
update the account: plan, periods, packs, invoices, mails. It is idempotent. It needs a running worker with
STRIPE_SECRET_KEY.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := accountArgument(args[0])
			if err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsFlows)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), retryDeadline)
			defer cancel()
			known, err := operator.Reconcile(ctx, cfg, id)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), reconciledWords(id, &known))
			return err
		},
	}
}

func reconciledWords(id account.ID, known *activities.Reconciled) string {
	switch {
	case !known.Customer:
		return fmt.Sprintf("account %s never bought anything through Stripe", id)
	case known.Status == "":
		return fmt.Sprintf("account %s is on %s and has no subscription; its packs are as Stripe says", id, known.Plan)
	}
	words := fmt.Sprintf("account %s is on %s: subscription %s is %s; the metering period ends %s", id, known.Plan,
		known.Subscription, known.Status, moment(known.Period.End))
	if known.Late {
		words += "; its paid period is over, and Stripe has not reported the next one yet"
	}
	return words
}

func writeBilling(out io.Writer, v *operator.BillingView) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(table, "ACCOUNT", v.AccountID.String())
	line(table, "PLAN", v.Plan)
	if v.NextPlanFrom != nil {
		line(table, "NEXT PLAN", fmt.Sprintf("%s from %s", v.NextPlan, moment(*v.NextPlanFrom)))
	}
	line(table, "METERING PERIOD", fmt.Sprintf("%s to %s", moment(v.PeriodStart), moment(v.PeriodEnd)))
	line(table, "CUSTOMER", orDash(v.Customer))
	line(table, "COUNTRY", orDash(v.Country))
	line(table, "TAX", orDash(v.Tax))
	if v.Card != nil {
		line(table, "CARD", fmt.Sprintf("%s ending in %s, %02d/%d", v.Card.Brand, v.Card.Last4, v.Card.ExpMonth,
			v.Card.ExpYear))
	}
	read := "never"
	if v.ReadAt != nil {
		read = moment(*v.ReadAt)
	}
	line(table, "STRIPE WAS READ", read)
	line(table, "WORKFLOW", v.WorkflowID)
	writeSubscription(table, v.Subscription)
	line(table, "")
	line(table, "PACK", "GRANTED", "EXPIRES", "UNITS", "ORIGIN", "VOID")
	for _, p := range v.Packs {
		line(table, p.Kind, moment(p.GrantedAt), moment(p.ExpiresAt), p.Units.Grouped(), p.Origin, orDash(p.Void))
	}
	line(table, "")
	line(table, "INVOICE", "MADE", "STATUS", "NET", "VAT", "PAID", "ATTEMPTS", "NEXT ATTEMPT", "ID")
	for i := range v.Invoices {
		n := &v.Invoices[i]
		line(table, orDash(n.Number), moment(n.CreatedAt), string(n.Status), "$"+n.Net.String(), "$"+n.VAT.String(),
			"$"+n.Paid.String(), fmt.Sprint(n.Attempts), momentOrDash(n.NextAttempt), n.ID)
	}
	line(table, "")
	line(table, "CHECKOUT", "OPENED", "STATE", "ITEM", "WORKFLOW")
	for _, c := range v.Checkouts {
		line(table, c.ID, moment(c.OpenedAt), string(c.State), c.Item, orDash(c.WorkflowID))
	}
	return table.Flush()
}

func writeSubscription(table io.Writer, s *subscription.Subscription) {
	if s == nil {
		line(table, "SUBSCRIPTION", "-")
		return
	}
	line(table, "SUBSCRIPTION", fmt.Sprintf("%s, %s, %s at $%s", s.ID, s.Status, s.Price, s.PriceCents))
	if s.OddPrice != "" {
		line(table, "PRICE AT STRIPE", s.OddPrice+", which belongs to none of our plans")
	}
	line(table, "BEGAN", moment(s.StartedAt))
	line(table, "PAID PERIOD", fmt.Sprintf("%s to %s", moment(s.PeriodStart), moment(s.PeriodEnd)))
	if s.CancelAtPeriodEnd {
		line(table, "CANCELLED", "at the end of the paid period")
	}
	if s.Held != "" {
		line(table, "HELD", fmt.Sprintf("the plan of %s until %s", s.Held, moment(s.HeldUntil)))
	}
	if !s.EndedAt.IsZero() {
		line(table, "ENDED", moment(s.EndedAt))
	}
}

func momentOrDash(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return moment(at)
}

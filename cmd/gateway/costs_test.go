package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/relay/price"
)

func TestCostsCommand_ShowsRevenueCostAndMargin(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	c := b.customer(t)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	err := b.store.AddCosts(b.ctx, price.Batch{
		Spent: []price.Spent{{
			Day: today, Chain: "eth_mainnet", Upstream: "alchemy", Method: "eth_call", Requests: 3,
			Cost: price.Cost{Units: 78, Nanos: 3_000_000_000},
		}},
		Accounts: []price.AccountSpent{{
			Day: today, Account: c.account.UUID, Chain: "eth_mainnet", Calls: 2, Nanos: 2_000_000_000,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.db.Exec(b.ctx, `INSERT INTO invoices (id, account_id, status, currency, net, vat, total, paid, paid_at,
			created_at, period_start, period_end)
		VALUES ('in_1', $1, 'paid', 'usd', 1200, 240, 1440, 1440, $2, $2, $2, $2)`, c.account.UUID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for view, want := range map[string][]string{
		"upstream": {"eth_mainnet alchemy  3         78     3.000000"},
		"chain":    {"eth_mainnet  3         -      3.000000"},
		"method":   {"eth_call  3         -      3.000000"},
		"account":  {c.account.String(), "12.000000", "2.000000", "10.000000"},
	} {
		t.Run(view, func(t *testing.T) {
			t.Parallel()
			code, out, errs := run(t, b.env, "ops", "costs", "--by", view)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			total := "revenue 12.000000 (invoices 12.000000, per call 0.000000), cost 3.000000 (calls 2.000000, " +
				"probes and own reads 1.000000), margin 9.000000 USD"
			for _, text := range append(want, total) {
				if !strings.Contains(out, text) {
					t.Errorf("%q is missing in:\n%s", text, out)
				}
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		t.Parallel()
		_, out, _ := run(t, b.env, "ops", "costs", "--json")
		var report costJSON
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if report.Margin != 9_000_000_000 {
			t.Errorf("the margin is %d nanodollars, want 9000000000", report.Margin)
		}
		if len(report.Accounts) != 1 || report.Accounts[0].ID != c.account.String() {
			t.Errorf("accounts are %+v, want the customer", report.Accounts)
		}
	})
}

func TestCostsCommand_RefusesBadFlags(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"--days": {"--days", "0"}, "--rows": {"--rows", "5000"}, "--by": {"--by", "weather"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, errs := run(t, environment(t), append([]string{"ops", "costs"}, args...)...)
			if code == 0 {
				t.Error("the command succeeded")
			}
			if !strings.Contains(errs, name+": give") {
				t.Errorf("the error is %q, want what to give for %s", errs, name)
			}
		})
	}
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/store/usagedb"
)

const (
	defaultCostDays = 30
	maxCostDays     = 400
	maxCostRows     = 1000
)

// costViews are the values of --by, in the order in which help lists them.
var costViews = []string{"account", "chain", "method", "upstream"}

func opsCostsCommand() *cobra.Command {
	var days, rows int
	var by string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "costs",
		Short: "Show what requests cost at providers, what clients paid, and the margin",
		Long: `gateway ops costs shows what requests to upstreams cost by the prices in the upstreams file, over whole UTC days
up to today, beside what clients paid in them net of VAT: invoices for plans and packs, and payments per call.

REQUESTS include retries, hedges, probes and the service's own reads. UNITS are the provider's: compute units, credits.
By account, CALLS are those that cost something, and the lowest margin comes first. Upstreams without a price are not
counted. docs/operations/costs.md explains the prices.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCostFlags(days, rows, by); err != nil {
				return err
			}
			cfg, err := config.FromEnvironment(config.OpsPaid)
			if err != nil {
				return err
			}
			until := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
			costs, err := operator.Costs(cmd.Context(), cfg, until.AddDate(0, 0, -days), until, rows)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), costReport(&costs))
			}
			return writeCosts(cmd.OutOrStdout(), &costs, by)
		},
	}
	cmd.Flags().IntVar(&days, "days", defaultCostDays, "number of UTC days, today included")
	cmd.Flags().StringVar(&by, "by", "upstream", "one of "+strings.Join(costViews, ", "))
	cmd.Flags().IntVar(&rows, "rows", 50, "maximum number of accounts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write everything as JSON, for programs")
	return cmd
}

func checkCostFlags(days, rows int, by string) error {
	switch {
	case days < 1 || days > maxCostDays:
		return fmt.Errorf("--days: give a number from 1 to %d", maxCostDays)
	case rows < 1 || rows > maxCostRows:
		return fmt.Errorf("--rows: give a number from 1 to %d", maxCostRows)
	case !slices.Contains(costViews, by):
		return fmt.Errorf("--by: give one of %s", strings.Join(costViews, ", "))
	}
	return nil
}

// costLine is a row by chain, method or upstream.
type costLine struct {
	Name     string      `json:"name"`
	Requests int64       `json:"requests"`
	Units    int64       `json:"units,omitempty"` // of one provider only
	Nanos    price.Nanos `json:"cost_nanodollars"`
}

// sumCosts adds methods up by what name returns, the most expensive first.
func sumCosts(spent []price.Spent, units bool, name func(*price.Spent) string) []costLine {
	sums := map[string]*costLine{}
	for i := range spent {
		s := &spent[i]
		line := sums[name(s)]
		if line == nil {
			line = &costLine{Name: name(s)}
			sums[line.Name] = line
		}
		line.Requests += s.Requests
		line.Nanos += s.Nanos
		if units {
			line.Units += s.Units
		}
	}
	lines := make([]costLine, 0, len(sums))
	for _, l := range sums {
		lines = append(lines, *l)
	}
	slices.SortFunc(lines, func(a, b costLine) int {
		return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), strings.Compare(a.Name, b.Name))
	})
	return lines
}

// linesBy returns the rows of a view other than by account.
func linesBy(c *usagedb.Costs, by string) []costLine {
	switch by {
	case "chain":
		return sumCosts(c.Methods, false, func(s *price.Spent) string { return s.Chain })
	case "method":
		return sumCosts(c.Methods, false, func(s *price.Spent) string { return s.Method })
	default:
		return sumCosts(c.Methods, true, func(s *price.Spent) string { return s.Chain + " " + s.Upstream })
	}
}

func totalCost(c *usagedb.Costs) (total price.Nanos) {
	for _, m := range c.Methods {
		total += m.Nanos
	}
	return total
}

func writeCosts(out io.Writer, c *usagedb.Costs, by string) error {
	if len(c.Methods) == 0 && len(c.Accounts) == 0 {
		_, err := fmt.Fprintln(out,
			"nothing was spent or earned in these days; give upstreams a price in the upstreams file")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if by == "account" {
		fmt.Fprintln(table, "ACCOUNT\tPLAN\tCALLS\tREVENUE\tCOST\tMARGIN\tNAME")
		for _, a := range c.Accounts {
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", a.Account, cmp.Or(a.Plan, "-"), a.Calls, a.Revenue,
				a.Cost, a.Revenue-a.Cost, strconv.QuoteToGraphic(a.Name))
		}
	} else {
		fmt.Fprintln(table, strings.ToUpper(by)+"\tREQUESTS\tUNITS\tCOST")
		for _, l := range linesBy(c, by) {
			units := "-"
			if by == "upstream" {
				units = strconv.FormatInt(l.Units, 10)
			}
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", l.Name, l.Requests, units, l.Nanos)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	total, revenue := totalCost(c), c.Invoiced+c.Settled
	own := max(total-c.OfCalls, 0)
	_, err := fmt.Fprintf(out, "revenue %s (invoices %s, per call %s), cost %s (calls %s, probes and own reads %s), "+
		"margin %s USD\n",
		revenue, c.Invoiced, c.Settled, total, c.OfCalls, own, revenue-total)
	return err
}

// costJSON is the report for programs. Money is in billionths of a US dollar.
type costJSON struct {
	Revenue   map[string]price.Nanos `json:"revenue_nanodollars"`
	Cost      map[string]price.Nanos `json:"cost_nanodollars"`
	Margin    price.Nanos            `json:"margin_nanodollars"`
	Upstreams []costLine             `json:"upstreams"`
	Chains    []costLine             `json:"chains"`
	Methods   []costLine             `json:"methods"`
	Accounts  []accountJSON          `json:"accounts"`
}

type accountJSON struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Plan    string      `json:"plan"`
	Calls   int64       `json:"calls"`
	Revenue price.Nanos `json:"revenue_nanodollars"`
	Cost    price.Nanos `json:"cost_nanodollars"`
}

func costReport(c *usagedb.Costs) costJSON {
	total := totalCost(c)
	report := costJSON{
		Revenue:   map[string]price.Nanos{"invoices": c.Invoiced, "per_call": c.Settled},
		Cost:      map[string]price.Nanos{"calls": c.OfCalls, "own": max(total-c.OfCalls, 0)},
		Margin:    c.Invoiced + c.Settled - total,
		Upstreams: linesBy(c, "upstream"), Chains: linesBy(c, "chain"), Methods: linesBy(c, "method"),
		Accounts: []accountJSON{},
	}
	for _, a := range c.Accounts {
		report.Accounts = append(report.Accounts, accountJSON{
			a.Account.String(), a.Name, a.Plan, a.Calls, a.Revenue, a.Cost,
		})
	}
	return report
}

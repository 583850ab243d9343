package plan_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chainaccess/gateway/internal/testkit/interfacedoc"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestAll_HasTheAllowancesAndRatesOfTheInterface(t *testing.T) {
	t.Parallel()
	rows := map[string]map[string]string{}
	for _, row := range interfacedoc.Rows(t, "2.8.1") {
		rows[row["Key"]] = row
	}
	for _, p := range plan.All() {
		row, ok := rows[p.Key]
		if !ok {
			t.Errorf("%s is not in the table", p.Key)
			continue
		}
		delete(rows, p.Key)
		if p.Kind != plan.Custom {
			period := map[plan.PeriodKind]string{plan.Daily: "per UTC day", plan.Monthly: "per month"}[p.Period]
			contains(t, p.Key, row["Allowance"], p.Included.Grouped(), period, string(p.Supply))
		}
		contains(t, p.Key, row["Rate"], rateText(p.Rate))
		if p.SoftRate.Limit > 0 {
			contains(t, p.Key, row["Rate"], fmt.Sprintf("; %d past the ceiling", p.SoftRate.Limit))
		}
		if p.MonthlyPrice > 0 {
			contains(t, p.Key, interfacedoc.Text(t, "2.8.1"), "$"+grouped(p.MonthlyPrice))
		}
		if p.YearlyPrice > 0 {
			contains(t, p.Key, interfacedoc.Text(t, "2.8.1"), "$"+grouped(p.YearlyPrice))
		}
	}
	for key := range rows {
		t.Errorf("%s is in the table and not a plan", key)
	}
}

func TestPacks_HaveTheFiguresOfTheInterface(t *testing.T) {
	t.Parallel()
	var got []map[string]string
	for _, p := range plan.Packs() {
		got = append(got, map[string]string{
			"Pack": strings.ToUpper(p.Size), "Price": fmt.Sprintf("$%d", p.Price/100), "Units": p.Units.Grouped(),
		})
	}
	if diff := cmp.Diff(interfacedoc.Rows(t, "2.8.2"), got); diff != "" {
		t.Errorf("the table of packs and the code differ (-table +code):\n%s", diff)
	}
	contains(t, "packs", interfacedoc.Text(t, "2.8.2"), fmt.Sprintf("valid for %d months", plan.PackMonths))
}

func TestTiers_HaveTheMultipliersOfTheInterface(t *testing.T) {
	t.Parallel()
	for _, tier := range plan.Tiers() {
		m := tier.Multiplier()
		contains(t, string(tier), interfacedoc.Text(t, "2.8.3"), fmt.Sprintf("`%s` %d.%d", tier, m/1000, m%1000/100))
	}
}

func TestPerCallTiers_HaveTheFiguresOfTheInterface(t *testing.T) {
	t.Parallel()
	rows := interfacedoc.Rows(t, "2.8.4")
	value := map[string]string{}
	var tiers []map[string]string
	for _, row := range rows {
		if name, ok := row["Constant"]; ok {
			value[name] = row["Value"]
			continue
		}
		tiers = append(tiers, row)
	}
	for name, got := range map[string]string{
		"x402Version": fmt.Sprint(plan.X402Version), "scheme": plan.X402Scheme, "asset": plan.X402Asset,
		"unitsPerPayment": plan.UnitsPerPayment.String(), "maxUnitsPerSettlement": plan.MaxUnitsPerSettlement.String(),
		"windowSeconds": fmt.Sprint(int(plan.SettlementWindow / time.Second)),
	} {
		t.Run(name, func(t *testing.T) {
			if got != value[name] {
				t.Errorf("%s is %s, want %s as in the table", name, got, value[name])
			}
		})
	}
	if len(tiers) != len(plan.PerCallTiers()) {
		t.Fatalf("%d tiers in the table, want %d", len(tiers), len(plan.PerCallTiers()))
	}
	for i, tier := range plan.PerCallTiers() {
		row, cents := tiers[i], tier.CentsPerMillion()
		contains(t, "the menu", row["Tier"], string(tier.Tier)+" (")
		got := fmt.Sprintf("%d %d.%d %d %d", tier.PricePer1kUnits, cents/100, cents%100/10, tier.NetAmountRequired(),
			tier.MaxAmountRequired())
		want := strings.Join([]string{
			row["priceAtomicPer1kUnits"], row["USD per 1M units"], row["netAmountRequired"], row["maxAmountRequired"],
		}, " ")
		if got != want {
			t.Errorf("%s is %s, want %s", tier.Tier, got, want)
		}
	}
}

func TestLadder_HasTheFiguresOfTheInterface(t *testing.T) {
	t.Parallel()
	var got []map[string]string
	for _, r := range plan.Ladder() {
		got = append(got, map[string]string{
			"Key": r.Key, "Kind": string(r.Kind), "Commitment USD": r.Commitment.String(),
			"Price USD": r.Price.String(),
			"Units":     r.Units.Grouped(), "USD per 1M": r.CentsPerMillion().String(), "Supply": string(r.Supply),
			"Fast share": fmt.Sprintf("%d.%02d", r.FastShare/1000, r.FastShare%1000/10), "Live": fmt.Sprint(r.Live),
		})
	}
	if diff := cmp.Diff(interfacedoc.Rows(t, "2.8.5"), got); diff != "" {
		t.Errorf("the price ladder and the code differ (-table +code):\n%s", diff)
	}
	founding := plan.Founding()
	contains(t, "founding", interfacedoc.Text(t, "2.8.5"),
		fmt.Sprintf("locked for %d months", founding.LockedMonths),
		fmt.Sprintf("while its %d seats last", founding.Seats),
		"through "+founding.Ends.AddDate(0, 0, -1).Format(time.DateOnly))
}

// contains reports text that lacks a figure of the code.
func contains(t *testing.T, subject, text string, figures ...string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, figure := range figures {
		if !strings.Contains(text, figure) {
			t.Errorf("%s: docs/interface.md lacks %q in %q", subject, figure, text)
		}
	}
}

func rateText(w plan.RateWindow) string {
	per := map[time.Duration]string{time.Second: "second", time.Minute: "minute", 15 * time.Minute: "15 minutes"}[w.Per]
	return plan.Group(strconv.FormatInt(w.Limit, 10)) + " requests per " + per
}

func grouped(c plan.Cents) string {
	return plan.Group(c.String())
}

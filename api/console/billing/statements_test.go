package billing

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/statements"
)

// figure returns a number of a table in hundredths.
func figure(t *testing.T, n *html.Node) int64 {
	t.Helper()
	digits := strings.NewReplacer("$", "", ",", "").Replace(consoletest.Text(n))
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		t.Fatalf("%q is no number", consoletest.Text(n))
	}
	return int64(f*100 + 0.5*float64(sign(f)))
}

func sign(f float64) int {
	if f < 0 {
		return -1
	}
	return 1
}

// numbers returns the numeric cells of a row.
func numbers(t *testing.T, row *html.Node) []int64 {
	t.Helper()
	var all []int64
	for _, cell := range consoletest.Elements(row, "td") {
		if class, _ := consoletest.Attribute(cell, "class"); class == "number" {
			all = append(all, figure(t, cell))
		}
	}
	return all
}

func plus(sum *[]int64, row []int64) {
	if *sum == nil {
		*sum = make([]int64, len(row))
	}
	for i := range row {
		(*sum)[i] += row[i]
	}
}

func same(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestStatementPage_FiguresAddUp adds up the visible figures: sums of lines, keys from their
// parts, totals from keys.
func TestStatementPage_FiguresAddUp(t *testing.T) {
	t.Parallel()
	addUp(t, consoletest.SignedIn(t, consoletest.NewOperations(), Register).Get("/statements/2026-11-01").Body)
}

// addUp adds up the figures of a page that has five tables with sums.
func addUp(t *testing.T, page string) {
	t.Helper()
	tables, checked := consoletest.Elements(consoletest.Parse(t, page), "table"), 0
	for _, table := range tables {
		var sum, total []int64
		for _, foot := range consoletest.Elements(table, "tfoot") {
			total = numbers(t, foot)
		}
		for _, body := range consoletest.Elements(table, "tbody") {
			var key, parts []int64
			for _, tr := range consoletest.Elements(body, "tr") {
				row := numbers(t, tr)
				switch class, _ := consoletest.Attribute(tr, "class"); {
				case class == "key":
					key = row
				case class == "part":
					plus(&parts, row)
				case strings.Contains(consoletest.Text(tr), "void"):
				default:
					plus(&sum, row)
				}
				if len(row) == 5 && row[0]+row[1]+row[2] != row[3] { // charged, cache, refused, requests, units
					t.Errorf("the requests of %q do not add up", consoletest.Text(tr))
				}
				if len(row) == 3 && row[0]+row[1] != row[2] { // net, VAT, total
					t.Errorf("net and VAT of %q do not add up", consoletest.Text(tr))
				}
			}
			if key != nil {
				plus(&sum, key)
				if parts != nil && !same(key, parts) {
					t.Errorf("parts %v of a key come to %v", parts, key)
				}
			}
		}
		if total == nil || !same(sum, total) {
			t.Errorf("lines come to %v, the total is %v", sum, total)
		}
		checked++
	}
	if checked != 5 { // requests, units, invoices, usage, one adjustment
		t.Errorf("%d tables with sums", checked)
	}
}

// TestStatementPage_LongOneShowsTheBusiestKeys has more keys than a page shows. The rest is
// one line, and the sums still match.
func TestStatementPage_LongOneShowsTheBusiestKeys(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	s := &h.Stated
	s.Keys, s.Totals = nil, statement.Totals{}
	for n := range 400 {
		on := statement.Chain{
			Chain: "eth_mainnet", Classes: []statement.Class{
				consoletest.SampleClass("standard", int64(n+1)), consoletest.SampleClass("heavy", 1),
			},
		}
		for _, class := range on.Classes {
			on.Totals = on.Totals.Plus(class.Totals())
		}
		s.Keys = append(s.Keys, statement.Key{
			ID: consoletest.KeyOne, Name: "service " + strconv.Itoa(n), Chains: []statement.Chain{on},
			Totals: on.Totals,
		})
		s.Totals = s.Totals.Plus(on.Totals)
	}
	page := consoletest.SignedIn(t, h, Register).Get("/statements/2026-11-01").Body
	addUp(t, page)
	if lines := strings.Count(page, `<tr class="part">`); lines < 60 || lines > maxUsageLines {
		t.Errorf("%d lines are shown", lines)
	}
	for want, there := range map[string]bool{
		"service 399": true, "service 0<": false, "All other keys": true, "The CSV has all lines of all 400.": true,
	} {
		t.Run(want, func(t *testing.T) {
			if strings.Contains(page, want) != there {
				t.Errorf("%q is on the page: %t", want, !there)
			}
		})
	}
	if len(page) > 60_000 {
		t.Errorf("the page is %d bytes", len(page))
	}
}

func TestStatementPage_NamesPeriodPlanAndHash(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	page := b.Get("/statements/2026-11-01").Body
	said := strings.Join(strings.Fields(spaced(consoletest.Parse(t, page))), " ")
	for _, want := range []string{
		"Statement 1 – 30 Nov 2026 closed", "Account Studio North", "Plan Scale", "From 1 Nov 2026, 00:00 UTC",
		"To 1 Dec 2026, 00:00 UTC, exclusive", "Content hash sha256:", "All except void ones", "Plan quota", "-32007",
		"indexer cag_aHCrXoRO", "Ethereum standard", "no chain method not known",
		"Of the period that began on 2026-10-01", "Key now in another account",
	} {
		if !strings.Contains(strings.ToLower(said), strings.ToLower(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(page, `href="/statements/2026-11-01.csv"`) {
		t.Error("no way to the table")
	}
	h.Stated = statement.Statement{Period: "2026-11-01", Status: statement.Open, Plan: "free"}
	if page = b.Get("/statements/2026-11-01").Body; !strings.Contains(page, "No call was made in this period") ||
		!strings.Contains(page, "Nothing was invoiced in this period") {
		t.Error("an empty statement does not say so")
	}
}

func TestStatementPage_StatementsAreListedAndDownloaded(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	page := b.Get("/statements").Body
	if got := row(t, page, "1 – 31 Oct 2026"); got != "1 – 31 Oct 2026 closed 600,006 500,005 CSV of 1 – 31 Oct 2026" {
		t.Errorf("a closed one: %q", got)
	}
	if got := row(t, page, "1 – 30 Nov 2026"); got != "1 – 30 Nov 2026 in progress – – CSV of 1 – 30 Nov 2026" {
		t.Errorf("an open one: %q", got)
	}
	got := b.Get("/statements/2026-11-01.csv")
	expect.Equal(t, got.Status, http.StatusOK)
	expect.Equal(t, got.Body, "key\r\n")
	expect.Equal(t, got.Header.Get("Content-Type"), "text/csv; charset=utf-8; header=present")
	expect.Equal(t, got.Header.Get("Content-Disposition"), `attachment; filename="statement-2026-11-01.csv"`)
	expect.Equal(t, got.Header.Get("X-Content-Type-Options"), "nosniff")
}

func TestStatementPage_InvalidPeriodIsNotFound(t *testing.T) {
	t.Parallel()
	for _, refusal := range []*fault.Error{
		fault.New(fault.NotYours, "No billing period."),
		fault.New(fault.FieldRefused, "period takes a date.").With("field", "period"),
	} {
		h := consoletest.NewOperations()
		h.Refusal = refusal
		b := consoletest.SignedIn(t, h, Register)
		b.Pages.Calls.GetStatement = consoletest.Record[statements.StatementInput](h, statement.Statement{})
		b.Pages.Calls.ExportStatement = consoletest.Record[statements.ExportStatementInput](h,
			statements.StatementTable{})
		for _, path := range []string{"/statements/2026-13-01", "/statements/2026-13-01.csv", "/statements/.csv"} {
			if got := b.Get(path); got.Status != http.StatusNotFound ||
				!strings.Contains(got.Body, "There is no such statement") {
				t.Errorf("%s answers %d", path, got.Status)
			}
		}
	}
}

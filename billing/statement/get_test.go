package statement_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

func TestStatement_PeriodsFollowCyclesCutsAndSharedNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since, anchor, ends string
		cut                 [][3]string // name, start, end
		used                []string
		want                []string // name start end
	}{
		"calendar months": {since: "2026-11-03T09:00:00Z", want: []string{
			"2026-12-01 2026-12-01T00:00:00Z 2027-01-01T00:00:00Z",
			"2026-11-01 2026-11-01T00:00:00Z 2026-12-01T00:00:00Z",
		}},
		"a month cut by a subscription": {
			since: "2026-11-03T09:00:00Z", anchor: "2026-11-20T10:30:00Z", cut: [][3]string{
				{"2026-11-01", "2026-11-01T00:00:00Z", "2026-11-20T10:30:00Z"},
			},
			want: []string{
				"2026-12-20 2026-12-20T10:30:00Z 2027-01-20T10:30:00Z",
				"2026-11-20 2026-11-20T10:30:00Z 2026-12-20T10:30:00Z",
				"2026-11-01 2026-11-01T00:00:00Z 2026-11-20T10:30:00Z",
			},
		},
		"two that begin on one day": {
			since: "2026-12-01T00:00:00Z", anchor: "2026-12-01T10:30:00Z", cut: [][3]string{
				{"2026-12-01", "2026-12-01T00:00:00Z", "2026-12-01T10:30:00Z"},
			},
			want: []string{"2026-12-01 2026-12-01T00:00:00Z 2027-01-01T10:30:00Z"},
		},
		"an earlier subscription, and months again": {
			since: "2026-09-03T09:00:00Z", cut: [][3]string{
				{"2026-09-01", "2026-09-01T00:00:00Z", "2026-10-10T00:00:00Z"}, {
					"2026-10-10", "2026-10-10T00:00:00Z", "2026-11-05T00:00:00Z",
				},
			},
			want: []string{
				"2026-12-01 2026-12-01T00:00:00Z 2027-01-01T00:00:00Z",
				"2026-10-10 2026-10-10T00:00:00Z 2026-11-05T00:00:00Z",
				"2026-09-01 2026-09-01T00:00:00Z 2026-10-10T00:00:00Z",
			},
		},
		"usage of a period that nothing explains": {
			since: "2026-12-01T00:00:00Z", used: []string{"2026-11-17"},
			want: []string{
				"2026-12-01 2026-12-01T00:00:00Z 2027-01-01T00:00:00Z",
				"2026-11-17 2026-11-17T00:00:00Z 2026-12-01T00:00:00Z",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, "2026-12-25T12:00:00Z")
			a := d.owner(accountdb.KindOwner, c.since)
			if c.anchor != "" {
				a.Cycle.Anchor = at(t, c.anchor)
			}
			if c.ends != "" {
				a.Cycle.Ends = at(t, c.ends)
			}
			for _, cut := range c.cut {
				d.exec("INSERT INTO ended_periods (account_id, period, starts_at, ends_at, plan, cut_at) VALUES ($1, "+
					"$2::date, $3, $4, 'free', $4)", a.ID.UUID, cut[0], at(t, cut[1]), at(t, cut[2]))
			}
			for _, period := range c.used {
				d.use(a.ID, "2026-11-20T11:00:00Z", line(period, account.NewKeyID(), "eth_mainnet", "standard", "ok",
					"plan", 1, 1_000))
			}
			list, err := d.List(d.ctx, &a)
			d.must(err)
			var got []string
			for _, e := range list {
				got = append(got, fmt.Sprintf("%s %s %s", e.Name, e.Start.Format(time.RFC3339),
					e.End.Format(time.RFC3339)))
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("the periods are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			for _, e := range list {
				s := d.get(a, e.Name)
				expect.Equal(t, s.Period, e.Name)
				expect.True(t, s.StartsAt.Equal(e.Start), s.StartsAt, e.Start)
				expect.True(t, s.EndsAt.Equal(e.End), s.EndsAt, e.End)
			}
		})
	}
}

func TestStatement_IsRefusedForWhatIsNoPeriodOfTheAccount(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-25T12:00:00Z")
	d.flushed("2026-12-25T12:00:00Z")
	a, other := d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z"),
		d.owner(accountdb.KindOwner, "2026-10-03T09:00:00Z")
	d.use(other.ID, "2026-10-20T11:00:00Z", line("2026-10-01", account.NewKeyID(), "eth_mainnet", "standard", "ok",
		"plan", 1, 1_000))
	for _, period := range []string{"2026-12-02", "2026-10-01", "2027-01-01", "1999-01-01", "", "2026-13-01", "x"} {
		if s, err := d.Get(d.ctx, &a, period); !errors.Is(err, statement.ErrNoPeriod) && err == nil {
			t.Errorf("%q gives %s", period, wire(t, s))
		}
	}
	s := d.get(a, "2026-11-01")
	in := expect.In(t, "a period without usage")
	expect.Equal(in, s.Status, statement.Closed)
	expect.Equal(in, s.Totals, statement.Totals{})
	expect.Empty(in, s.Keys)
	if d.Current(&a) != "2026-12-01" {
		t.Errorf("the present period is %s", d.Current(&a))
	}
}

// Nobody signs in to accounts of anonymous keys: their empty periods are closed only when somebody
// asks.
func TestStatement_EmptyPeriodsOfAnonymousKeysCloseOnRequest(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-25T12:00:00Z")
	d.flushed("2026-12-25T12:00:00Z")
	door, owner := d.owner(accountdb.KindDoor, "2026-10-03T09:00:00Z"),
		d.owner(accountdb.KindOwner, "2026-10-03T09:00:00Z")
	d.use(door.ID, "2026-10-20T11:00:00Z", line("2026-10-01", account.NewKeyID(), "eth_mainnet", "standard", "ok",
		"plan", 1, 1_000))
	if r := d.close(door, owner); r != (statement.Report{Closed: 3}) {
		t.Errorf("closed %+v", r)
	}
	list, err := d.List(d.ctx, &door)
	d.must(err)
	require.Len(t, list, 2)
	expect.Equal(t, list[0].Status, statement.Open)
	expect.Equal(t, list[1].Status, statement.Closed)
	expect.Equal(t, list[1].Requests, 1)
	expect.Equal(t, list[1].Units, 1_000)
	if s := d.get(door, "2026-11-01"); s.Status != statement.Closed || s.ContentHash == "" {
		t.Errorf("asked for, it is %s", wire(t, s))
	}
}

func TestStatement_ShowsInvoicesOfItsPeriodAndLateOnesOnTheNext(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-11-25T12:00:00Z")
	a := d.owner(accountdb.KindOwner, "2026-10-03T09:00:00Z")
	invoice := func(id, created string) {
		d.exec(`INSERT INTO invoices (id, account_id, number, status, reason, currency, net, vat, total, paid, created_at, paid_at, period_start, period_end)
			VALUES ($1, $2, 'CAG-1', 'paid', 'subscription_cycle', 'usd', 10000, 2000, 12000, 12000, $3, $3, $3, $3)`,
			id, a.ID.UUID, at(t, created))
	}
	invoice("in_october", "2026-10-31T23:59:59Z")
	invoice("in_november", "2026-11-01T00:00:00Z")
	ids := func(period string) string {
		s := d.get(a, period)
		var all []string
		for _, i := range s.Invoices {
			all = append(all, i.ID)
			if i.NetCents+i.VATCents != i.TotalCents || i.PaidAt == nil {
				t.Errorf("invoice %+v", i)
			}
		}
		return strings.Join(all, " ")
	}
	if got := ids("2026-11-01"); got != "in_november" {
		t.Errorf("the open statement has %q", got)
	}
	d.flushed("2026-11-25T12:00:00Z")
	d.close(a)
	invoice("in_late", "2026-10-20T00:00:00Z")
	d.wait("2026-12-01T00:10:00Z")
	d.close(a)
	if october, november := ids("2026-10-01"), ids("2026-11-01"); october != "in_october" ||
		november != "in_late in_november" {
		t.Errorf("October has %q, November %q", october, november)
	}
	d.wait("2027-01-01T00:10:00Z")
	d.close(a)
	if got := ids("2026-12-01"); got != "" {
		t.Errorf("December has %q again", got)
	}
	// Two periods that are closed together share no invoice.
	a = d.owner(accountdb.KindOwner, "2026-10-03T09:00:00Z")
	invoice("in_first", "2026-10-31T00:00:00Z")
	invoice("in_second", "2026-11-30T00:00:00Z")
	d.close(a)
	if october, november := ids("2026-10-01"), ids("2026-11-01"); october != "in_first" || november != "in_second" {
		t.Errorf("closed together, October has %q, November %q", october, november)
	}
	agents := d.get(a, "2026-11-01").ForAgent(account.NewAgentID())
	if len(agents.Invoices) != 0 || agents.Totals != (statement.Totals{}) {
		t.Errorf("an agent sees %s", wire(t, agents))
	}
	if keys := d.get(a, "2026-11-01").ForKey(account.NewKeyID()); len(keys.Invoices) != 0 ||
		keys.Totals != (statement.Totals{}) {
		t.Errorf("a key sees %s", wire(t, keys))
	}
}

// The statement has the plan with which the period ended, not the account's plan when it is closed.
func TestStatement_NamesThePlanThatThePeriodEndedWith(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-11-25T12:00:00Z")
	a := d.owner(accountdb.KindOwner, "2026-10-03T09:00:00Z")
	for _, change := range []struct{ at, before, after string }{
		{"2026-10-20T00:00:00Z", plan.Free, plan.Pro},
		{"2026-11-01T00:00:01Z", plan.Pro, plan.Scale},
		{"2026-11-20T00:00:00Z", plan.Scale, plan.Growth},
	} {
		t.Run(change.at, func(t *testing.T) {
			_, err := d.store.ChangeAccount(d.ctx, a.ID, "set_plan", accountdb.Author{Actor: "test", Origin: "ops"},
				func(held *accountdb.Account) error {
					held.Plan = change.after
					return nil
				})
			d.must(err)
			d.exec("UPDATE audit_log SET at = $2 WHERE account_id = $1 AND after ->> 'plan' = $3", a.ID.UUID,
				at(t, change.at), change.after)
		})
	}
	a = d.load(a.ID)
	if s := d.get(a, "2026-10-01"); s.Plan != plan.Pro || s.Status != statement.Closing {
		t.Errorf("before it is closed: %s", wire(t, s))
	}
	d.flushed("2026-11-25T12:00:00Z")
	d.close(a)
	if october, november := d.get(a, "2026-10-01"), d.get(a, "2026-11-01"); october.Plan != plan.Pro ||
		november.Plan != plan.Growth {
		t.Errorf("October was on %s, November is on %s", october.Plan, november.Plan)
	}
}

// An adopted key is its owner's: in the account that it left only its figures remain.
func TestStatement_DoesNotNameAKeyThatMovedAway(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-11-25T12:00:00Z")
	a, other := d.owner(accountdb.KindDoor, "2026-11-03T09:00:00Z"),
		d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z")
	key := d.key(other.ID, "secret project")
	d.use(a.ID, "2026-11-20T11:00:00Z", line("2026-11-01", key, "eth_mainnet", "standard", "ok", "plan", 1, 1_000))
	s := d.get(a, "2026-11-01")
	require.Len(t, s.Keys, 1)
	expect.Equal(t, s.Keys[0].ID, key.String())
	expect.Equal(t, s.Keys[0].Name+s.Keys[0].Prefix+s.Keys[0].Door, "")
}

func TestStatement_TableOpensInASpreadsheetAndHoldsNoFormula(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-11-25T12:00:00Z")
	a := d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z")
	names := []string{
		"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx", "a,b \"c\"", "plain é", "x;=1+1", "x; @SUM(A1)", "x|\"-1",
		"x\t+1", "＝1+1", "＋1", "－1", "＠A1", "x;＝1", "1-2=3; a-b",
	}
	for _, name := range names {
		d.use(a.ID, "2026-11-20T11:00:00Z", line("2026-11-01", d.key(a.ID, name), "eth_mainnet", "standard", "ok",
			"plan", 3, 1_500))
	}
	s := d.get(a, "2026-11-01")
	text := s.CSV()
	body, marked := strings.CutPrefix(text, "\ufeff")
	require.True(t, marked, text)
	expect.Equal(t, strings.Count(body, "\r\n"), strings.Count(body, "\n"), body)
	expect.HasSuffix(t, body, "\r\n")
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	d.must(err)
	const head = "account,period,key id,prefix,key name,agent,chain,class,requests,billable,units,cache hits,refusals"
	if strings.Join(rows[0], ",") != head || len(rows) != len(names)+1 {
		t.Errorf("the rows are %q", rows)
	}
	for i, row := range rows[1:] {
		expect.Equal(t, row[1], "2026-11-01")
		expect.Equal(t, strings.Join(row[6:], " "), "eth_mainnet standard 3 3 1.5 0 0")
		expect.Equal(t, strings.ReplaceAll(row[4], "'", ""), strings.ReplaceAll(s.Keys[i].Name, "'", ""))
		for _, cell := range row {
			if first, _ := utf8.DecodeRuneInString(cell); strings.ContainsRune("=+-@＝＋－＠\t\r", first) {
				t.Errorf("cell %q is a formula", cell)
			}
		}
	}
	// Split as by programs with another separator, which ignore the quotes.
	for _, separator := range []string{";", "|", "\t"} {
		for row := range strings.SplitSeq(body, "\r\n") {
			for cell := range strings.SplitSeq(row, separator) {
				if first, _ := utf8.DecodeRuneInString(strings.Trim(cell, ` "`)); strings.ContainsRune("=+-@＝＋－＠",
					first) {
					t.Errorf("cell %q is a formula where %q separates", cell, separator)
				}
			}
		}
	}
	if !strings.Contains(body, `,"1-2=3; a-b",`) {
		t.Errorf("harmless text was marked in %q", body)
	}
	for _, row := range strings.Split(strings.TrimSpace(body), "\r\n")[1:] {
		if !strings.HasPrefix(row, `"`+s.Account+`","2026-11-01","`) ||
			!strings.HasSuffix(row, `","eth_mainnet","standard",3,3,1.5,0,0`) {
			t.Errorf("row %s", row)
		}
	}
	if s.FileName() != "statement-2026-11-01.csv" {
		t.Errorf("it is called %q", s.FileName())
	}
}

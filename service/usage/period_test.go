package usage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// A paid period begins at the instant of the purchase. Usage of that morning counts into the period
// before, and is in its statement.
func TestUsagePeriod_FromNoonHasNothingOfTheMorning(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t)
	const day = 24 * time.Hour
	began := time.Now().UTC().Truncate(day).Add(-4*day - 12*time.Hour)
	_, err := b.Store.ChangeAccount(b.Ctx, b.AccountID, "plan", accountdb.Author{Actor: "test", Origin: "test"},
		func(a *accountdb.Account) error {
			a.Plan, a.Cycle = string(plan.Builder), plan.Cycle{Anchor: began}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	at := func(when time.Time, period string, units plan.Units, refused, timed int64) {
		t.Helper()
		b.Period = period
		b.Commit(t, when, []account.LatencyLine{took(b.KeyID, "eth_mainnet", "ok", 10*time.Millisecond, timed)},
			b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", int64(units/plan.Unit), units),
			b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "rate_window", refused, 0))
	}
	before, period := began.Add(-10*day).Format(time.DateOnly), began.Format(time.DateOnly)
	at(began.Add(-2*time.Hour), before, 1000*plan.Unit, 90, 40)
	at(began.Add(2*time.Hour), period, 5*plan.Unit, 2, 3)
	at(began.Add(2*day), period, 7*plan.Unit, 0, 4)
	calls := make([]usagedb.Call, 2)
	for i := range calls {
		calls[i] = usagedb.Call{
			RequestID: uuid.New(), StartedAt: began.Add(time.Duration(2*i-1) * time.Minute), Account: b.AccountID,
			Key: b.KeyID, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
			Outcome: "rate_window", HTTPStatus: 429,
		}
	}
	if err := b.Store.CopyCalls(b.Ctx, calls); err != nil {
		t.Fatal(err)
	}

	shown := servicetest.Must[usage.UsageByDay](t)(b.UsageByDay.Invoke(b.Ctx, b.Ann, usage.UsageByDayInput{}))
	var bars plan.Units
	for _, d := range shown.Days {
		bars += d.Standard + d.Heavy + d.Other
	}
	d := shown.Days[0]
	in := expect.In(t, "the first day")
	expect.Equal(in, d.Day, period)
	expect.Equal(in, d.Requests, 7)
	expect.Equal(in, d.Standard, 5*plan.Unit)
	expect.Equal(in, d.Refused, 2)
	expect.True(t, shown.PeriodStart.Equal(began), shown.PeriodStart, began)
	expect.Equal(t, bars, 12*plan.Unit)
	expect.Equal(t, shown.Used, bars)
	for _, in := range []usage.ExploreUsageInput{{}, {KeyID: b.KeyID.String()}, {Chain: "eth_mainnet"}} {
		t.Run(in.Range, func(t *testing.T) {
			in.Range = "period"
			got := explored(t, b, in)
			first := got.Steps[0]
			at := expect.In(t, "%+v: the first day", in)
			expect.Equal(at, first.Requests, 7)
			expect.Equal(at, first.Units, 5*plan.Unit)
			expect.Equal(at, first.Refusals, 2)
			expect.NotNil(at, first.P50.Value)
			at = expect.In(t, "%+v: in all", in)
			expect.Equal(at, got.Total.Units, 12*plan.Unit)
			expect.Equal(at, got.Total.Requests, 14)
			expect.Equal(at, got.Total.Refusals, 2)
			expect.Equal(at, got.ByKey[0].Requests, 14)
			expect.Equal(at, got.Reasons[0].Requests, 2)
			at = expect.In(t, "%+v", in)
			expect.Equal(at, got.Latency[0].Calls, 7)
			require.Len(at, got.Recent, 1)
			expect.Equal(at, got.Recent[0].RequestID, calls[1].RequestID.String())
		})
	}
	if week := explored(t, b, usage.ExploreUsageInput{Range: "7d"}); week.Total.Units != 1012*plan.Unit ||
		week.Total.Refusals != 92 {
		t.Errorf("seven days are %+v", week.Total)
	}
	table := servicetest.Must[usage.UsageTable](t)(b.ExportUsage.Invoke(b.Ctx, b.Ann,
		usage.ExploreUsageInput{Range: "period"}))
	if rows := tableRows(t, table.Text); len(rows) != 2 || rows[0][9] != "7" {
		t.Errorf("the table of the period is %q", rows)
	}
}

package usage_test

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/usagedb"
)

func explored(t *testing.T, b *servicetest.UsageEnv, in usage.ExploreUsageInput) usage.ExploredUsage {
	t.Helper()
	return servicetest.Must[usage.ExploredUsage](t)(b.ExploreUsage.Invoke(b.Ctx, b.Ann, in))
}

// openRange returns an account with usage of two keys on two chains, today and two days ago.
func openRange(t *testing.T) (b *servicetest.UsageEnv, other string) {
	t.Helper()
	b = servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	made := servicetest.Must[keys.CreatedKey](t)(b.CreateKey.Invoke(b.Ctx, b.Ann, keys.CreateKeyInput{Name: "bot"}))
	id, err := account.ParseKeyID(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.Commit(t, servicetest.Noon, []account.LatencyLine{
		took(b.KeyID, "eth_mainnet", "ok", 10*time.Millisecond, 4),
		took(id, "base_mainnet", "hit", time.Millisecond, 2),
	},
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 4, 4*plan.Unit),
		b.Written(b.KeyID, "eth_mainnet", "eth_getLogs", "heavy", "ok", 1, 2*plan.Unit),
		b.Written(id, "base_mainnet", "eth_chainId", "standard", "hit", 2, 0))
	b.Commit(t, servicetest.Noon.Add(-48*time.Hour), nil,
		b.Written(id, "base_mainnet", "eth_call", "standard", "ok", 7, 7*plan.Unit),
		b.Written(id, "base_mainnet", "", "", "rate_window", 3, 0))
	b.Commit(t, servicetest.Noon.Add(-20*24*time.Hour), nil,
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 50,
			50*plan.Unit))
	return b, made.ID
}

func TestUsageRange_HasEveryStepAndTheSameSumsInEveryView(t *testing.T) {
	t.Parallel()
	b, other := openRange(t)
	for _, c := range []struct {
		in                 usage.ExploreUsageInput
		steps              int
		requests, refusals int64
		units              plan.Units
		first              string
	}{
		{usage.ExploreUsageInput{}, 7, 17, 3, 13 * plan.Unit, "2026-11-16T00:00:00Z"},
		{usage.ExploreUsageInput{Range: "24h"}, 24, 7, 0, 6 * plan.Unit, "2026-11-21T13:00:00Z"},
		{usage.ExploreUsageInput{Range: "30d"}, 30, 67, 3, 63 * plan.Unit, "2026-10-24T00:00:00Z"},
		{usage.ExploreUsageInput{Range: "period"}, 22, 67, 3, 63 * plan.Unit, "2026-11-01T00:00:00Z"},
		{usage.ExploreUsageInput{KeyID: other}, 7, 12, 3, 7 * plan.Unit, "2026-11-16T00:00:00Z"},
		{usage.ExploreUsageInput{Chain: "eth_mainnet"}, 7, 5, 0, 6 * plan.Unit, "2026-11-16T00:00:00Z"},
		{
			usage.ExploreUsageInput{Chain: "eth_mainnet", KeyID: other, Range: "30d"},
			30, 0, 0, 0,
			"2026-10-24T00:00:00Z",
		},
	} {
		t.Run(c.first, func(t *testing.T) {
			got := explored(t, b, c.in)
			require.Len(t, got.Steps, c.steps)
			expect.Equal(t, got.Since.Format(time.RFC3339), c.first)
			expect.True(t, got.Steps[0].Start.Equal(got.Since), got.Steps[0].Start, got.Since)
			expect.True(t, got.Steps[c.steps-1].Partial)
			expect.False(t, got.Steps[0].Partial)
			var sum, chains, methods, keys usage.UsageEntry
			add := func(to *usage.UsageEntry, of []usage.UsageEntry) {
				for i := range of {
					to.Requests, to.Units, to.CacheHits, to.Refusals = to.Requests+of[i].Requests, to.Units+of[i].Units,
						to.CacheHits+of[i].CacheHits, to.Refusals+of[i].Refusals
				}
			}
			for i := range got.Steps {
				s := &got.Steps[i]
				add(&sum, []usage.UsageEntry{
					{Requests: s.Requests, Units: s.Units, CacheHits: s.Hits, Refusals: s.Refusals},
				})
			}
			add(&chains, got.ByChain)
			add(&methods, got.ByMethod)
			add(&keys, got.ByKey)
			expect.Equal(t, got.Total.Requests, c.requests)
			expect.Equal(t, got.Total.Units, c.units)
			expect.Equal(t, got.Total.Refusals, c.refusals)
			expect.Equal(t, sum, got.Total)
			expect.Equal(t, chains, got.Total)
			expect.Equal(t, methods, got.Total)
			expect.Equal(t, keys, got.Total)
		})
	}
}

func TestUsageRange_BreaksDownClassesLatencyAndReasons(t *testing.T) {
	t.Parallel()
	b, other := openRange(t)
	all := explored(t, b, usage.ExploreUsageInput{})
	today := all.Steps[6]
	expect.Equal(t, today.Heavy, 2*plan.Unit)
	expect.NotNil(t, today.P50.Value)
	expect.Nil(t, all.Steps[4].P50.Value)
	require.Len(t, all.Latency, 2)
	expect.Equal(t, all.Latency[0].Chain, "base_mainnet")
	expect.Equal(t, all.Latency[1].Calls, 4)
	expect.AtLeast(t, *all.P95.Value, *all.P50.Value)
	require.Len(t, all.Reasons, 1)
	expect.Equal(t, all.Reasons[0].Requests, 3)
	expect.Equal(t, all.Reasons[0].Code, fault.RateWindow.Entry().Code)
	one := explored(t, b, usage.ExploreUsageInput{KeyID: other})
	in := expect.In(t, "of one key")
	require.Len(in, one.Latency, 1)
	expect.Equal(in, one.Latency[0].Calls, 2)
	require.Len(in, one.ByKey, 1)
	expect.Equal(in, one.ByKey[0].Name, "bot")
	// Upper case names the same key.
	if upper := explored(t, b, usage.ExploreUsageInput{KeyID: strings.ToUpper(other)}); upper.Total.Requests != 12 {
		t.Errorf("in upper case it is %+v", upper.Total)
	}
	b.Refuses(t, b.ExploreUsage, b.Eve, map[string]any{"key_id": other}, fault.NotYours)
}

func TestUsageRange_RecentFailuresAreOfTheChosenChain(t *testing.T) {
	t.Parallel()
	b, other := openRange(t)
	id, err := account.ParseKeyID(other)
	if err != nil {
		t.Fatal(err)
	}
	var calls []usagedb.Call
	for i := range 60 {
		on := chain.ID("eth_mainnet")
		if i%30 == 0 {
			on = "base_mainnet"
		}
		calls = append(calls, usagedb.Call{
			RequestID: uuid.New(), StartedAt: servicetest.Noon.Add(-time.Duration(i+1) * time.Minute),
			Account: b.AccountID,
			Key:     id,
			Chain:   on, Service: "rpc", Method: "eth_call", Class: "standard", Outcome: fault.RateWindow.String(),
			HTTPStatus: 429, Duration: time.Millisecond,
		})
	}
	if err := b.Store.CopyCalls(b.Ctx, calls); err != nil {
		t.Fatal(err)
	}
	sums := []usagedb.RefusedSum{
		{
			Account: b.AccountID, Key: id, Hour: servicetest.Noon.Add(-time.Hour).Truncate(time.Hour),
			Outcome: fault.RateWindow.String(),
			Calls:   900,
		},
	}
	if err := b.Store.SetRefused(b.Ctx, uuid.New(), sums); err != nil {
		t.Fatal(err)
	}
	all := explored(t, b, usage.ExploreUsageInput{})
	if all.Beyond != 900 {
		t.Errorf("%d calls are counted only, want 900", all.Beyond)
	}
	require.Len(t, all.Recent, 50)
	expect.Equal(t, all.Recent[0].RequestID, calls[0].RequestID.String())
	expect.Equal(t, all.Recent[0].DurationMS, 1_000)
	of := explored(t, b, usage.ExploreUsageInput{Chain: "base_mainnet"})
	if len(of.Recent) != 2 || of.Recent[1].RequestID != calls[30].RequestID.String() {
		t.Errorf("of base_mainnet there are %+v", of.Recent)
	}
	if of := explored(t, b, usage.ExploreUsageInput{KeyID: b.KeyID.String()}); len(of.Recent) != 0 || of.Beyond != 0 {
		t.Errorf("of another key there are %d and %+v", of.Beyond, of.Recent)
	}
}

// tableRows returns the rows of a CSV table below the header.
func tableRows(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func TestUsageTable_HasEveryWordAndNoFormula(t *testing.T) {
	t.Parallel()
	b, other := openRange(t)
	made := servicetest.Must[keys.CreatedKey](t)(b.CreateKey.Invoke(b.Ctx, b.Ann, keys.CreateKeyInput{
		Name: `=HYPERLINK("http://x")`,
	}))
	id, err := account.ParseKeyID(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.Commit(t, servicetest.Noon, nil, b.Written(id, "solana_mainnet", "getSlot", "standard", "ok", 1, plan.Unit))
	table := func(in usage.ExploreUsageInput) (string, [][]string) {
		t.Helper()
		name, media, text := servicetest.Must[usage.UsageTable](t)(b.ExportUsage.Invoke(b.Ctx, b.Ann, in)).Document()
		if !strings.HasPrefix(media, "text/csv") {
			t.Fatal(media)
		}
		return name, tableRows(t, text)
	}
	name, rows := table(usage.ExploreUsageInput{Range: "30d"})
	expect.Equal(t, name, "usage-30d-2026-11-22.csv")
	require.Len(t, rows, 7)
	expect.Equal(t, rows[0][0], "2026-11-02T00:00:00Z")
	expect.Equal(t, rows[0][9], "50")
	var requests, refusals int64
	for _, row := range rows {
		n, _ := strconv.ParseInt(row[9], 10, 64)
		r, _ := strconv.ParseInt(row[13], 10, 64)
		requests, refusals = requests+n, refusals+r
		if row[1] == made.ID && row[3] != `'=HYPERLINK("http://x")` {
			t.Errorf("the name of a key is %q", row[3])
		}
	}
	if requests != 68 || refusals != 3 {
		t.Errorf("%d requests, %d refused", requests, refusals)
	}
	_, rows = table(usage.ExploreUsageInput{Range: "24h", KeyID: other})
	in := expect.In(t, "of a key and a day")
	require.Len(in, rows, 1)
	expect.Equal(in, rows[0][0], "2026-11-22T12:00:00Z")
	expect.Equal(in, rows[0][12], "2")
	expect.Equal(in, rows[0][7], "eth_chainId")
	if _, rows := table(usage.ExploreUsageInput{Chain: "base_mainnet"}); len(rows) != 3 {
		t.Errorf("of a chain it is %q", rows)
	}
	w := usagedb.UsageWindow{
		Account: b.AccountID,
		Since:   servicetest.Noon.Add(-20 * 24 * time.Hour).Truncate(24 * time.Hour),
	}
	lines, err := b.Store.UsageLines(b.Ctx, &w, false, 2)
	in = expect.In(t, "at most two lines")
	require.NoError(in, err)
	require.Len(in, lines, 2)
	expect.Equal(in, lines[0].Requests, 50)
}

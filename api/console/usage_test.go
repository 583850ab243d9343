package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

func measured(thousandths int64) service.MaybeFigure {
	f := service.Figure(thousandths)
	return service.MaybeFigure{Value: &f}
}

// sampleExplored is a week of usage; name is used wherever a user chooses a text.
func sampleExplored(name string) service.ExploredUsage {
	first, asOf := time.Date(2026, time.November, 14, 0, 0, 0, 0, time.UTC), sampleNow.Add(-12*time.Second)
	u := service.ExploredUsage{
		Range: "7d", StepSeconds: 86_400, Since: first, AsOf: &asOf, P50: measured(9_888), P95: measured(210_400),
		Total: service.UsageEntry{Requests: 7_000, Units: 6_100_500, CacheHits: 900, Refusals: 100},
		ByKey: []service.UsageEntry{
			{
				Name: name, KeyID: keyOne, KeyPrefix: "cag_aHCrXoRO", Agent: name, Requests: 6_000,
				Units: 6_000 * plan.Unit, CacheHits: 900, Refusals: 100,
			},
			{KeyID: keyTwo, Requests: 900, Units: 100_500},
			{Requests: 100, Rest: 80},
		},
		ByMethod: []service.UsageEntry{
			{Name: "eth_call", Requests: 6_900, Units: 6_100_500, CacheHits: 900}, {Requests: 100, Refusals: 100},
		},
		ByChain: []service.UsageEntry{
			{Name: "eth_mainnet", Requests: 6_900, Units: 6_100_500, CacheHits: 900}, {Requests: 100, Refusals: 100},
		},
		ByClass: []service.UsageEntry{
			{Name: "standard", Requests: 7_000, Units: 6_100_500, CacheHits: 900, Refusals: 100},
		},
		Latency: []service.ChainLatency{
			{Chain: "eth_mainnet", Calls: 6_900, P50: measured(9_888), P95: measured(210_400)},
		},
		Reasons: []service.FailedReason{
			{Reason: fault.KeyBudget.String(), Code: -32009, Title: fault.KeyBudget.Entry().Title, Requests: 100},
		},
		Recent: []service.FailedCall{{
			RequestID: "019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11", At: sampleNow.Add(-time.Hour), Chain: "eth_mainnet",
			Method: "eth_call", Reason: fault.KeyBudget.String(), Code: -32009, HTTPStatus: 429, DurationMS: 412,
		}},
		Beyond: 94_000,
	}
	for i := range 7 {
		s := service.ExploredStep{
			Start: first.AddDate(0, 0, i), Partial: i == 6, Requests: int64(i * 300),
			Units: plan.Units(i) * 250_000, Hits: int64(i * 40),
		}
		if i == 3 {
			s.Heavy, s.Refusals = 100_000, 100
		}
		if i > 0 {
			s.P50, s.P95 = measured(9_000), measured(int64(100_000*i))
		}
		u.Steps = append(u.Steps, s)
	}
	return u
}

func sampleUsagePage(name string) *usagePage {
	used := sampleExplored(name)
	keys := keySelection([]service.KeyView{{ID: keyOne, Name: name, Prefix: "cag_aHCrXoRO"}}, keyOne, used.Since)
	return sampleReader().usagePage(&used, &service.ExploreUsageInput{Range: "7d"}, keys)
}

func TestUsagePage_LinksEachErrorToHelp(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	got := b.get("/usage")
	if got.status != http.StatusOK {
		t.Fatalf("the page answers %d", got.status)
	}
	for _, want := range []string{
		`href="/support/new?request_id=019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`, `href="/docs/errors/-32009"`, "6,100.5",
		"12.8 %", "1.4 %", "9.88 ms", "210 ms",
		"20 Nov 2026: p50 9 ms, p95 600 ms, 1,800 requests, the day is not over", "80 further keys",
		"Key now in another account", `href="/usage?key=` + keyOne + `&amp;range=7d"`,
		`href="/usage?chain=eth_mainnet&amp;range=7d"`, `href="/usage.csv?range=7d"`,
		"17 Nov 2026: 750 units, 100 of them heavy, 900 requests", "94,000 more were refused",
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

func TestUsagePage_OffersTheKeysUsedInTheRange(t *testing.T) {
	t.Parallel()
	h := newHouse()
	began := sampleNow.Add(-26 * time.Hour).Truncate(time.Hour)
	h.session.PeriodStart = began.Add(30 * time.Minute)
	at := func(since time.Duration) *time.Time { used := began.Add(since); return &used }
	h.keys = []service.KeyView{
		{ID: keyOne, Name: "of the period", LastUsedAt: at(0)},
		{ID: keyTwo, Name: "of the morning", LastUsedAt: at(-time.Hour)},
		{ID: keyOld, Name: "long ago", LastUsedAt: at(-40 * 24 * time.Hour)},
		{ID: requestOne, Name: "never used"},
	}
	b := personOf(t, h)
	for path, want := range map[string]string{
		"/usage?range=7d":               "of the period, of the morning",
		"/usage?range=7d&key=" + keyOld: "of the period, of the morning, long ago",
		"/usage?range=period":           "of the period",
	} {
		h.explored.Range = strings.Split(strings.TrimPrefix(path, "/usage?range="), "&")[0]
		h.explored.Since = began.Truncate(24 * time.Hour)
		var offered []string
		page := b.get(path).body
		for i := range h.keys {
			if strings.Contains(page, `<option value="`+h.keys[i].ID+`"`) {
				offered = append(offered, h.keys[i].Name)
			}
		}
		if got := strings.Join(offered, ", "); got != want {
			t.Errorf("%s offers %q, want %q", path, got, want)
		}
	}
}

func TestUsagePage_UnknownThingsAreNotFound(t *testing.T) {
	t.Parallel()
	for _, reason := range []fault.Reason{fault.NotYours, fault.FieldRefused} {
		h := newHouse()
		b := personOf(t, h)
		b.pages.Calls.ExploreUsage = refuses[service.ExploreUsageInput, service.ExploredUsage](reason)
		if got := b.get("/usage?key=x"); got.status != http.StatusNotFound ||
			!strings.Contains(got.body, "There is no such usage") {
			t.Errorf("%s is answered with %d", reason, got.status)
		}
	}
}

func TestUsagePage_DownloadsATable(t *testing.T) {
	t.Parallel()
	b := personOf(t, newHouse())
	got := b.get("/usage.csv?range=7d")
	if got.status != http.StatusOK ||
		got.header.Get("Content-Disposition") != `attachment; filename="usage-7d-2026-11-20.csv"` ||
		got.body != "key\r\n" {
		t.Errorf("answered %d, %v: %q", got.status, got.header, got.body)
	}
	b.pages.Calls.ExportUsage = func(context.Context, *service.Caller,
		service.ExploreUsageInput,
	) (service.UsageTable, *fault.Error) {
		return service.UsageTable{}, fault.New(fault.FieldRefused,
			"range has more than 100,000 rows of usage. Choose a shorter range.").With("most_rows", 100_000)
	}
	if got := b.get("/usage.csv"); got.status != fault.FieldRefused.Entry().HTTP ||
		!strings.Contains(got.body, "Choose a shorter range.") {
		t.Errorf("too much is answered with %d", got.status)
	}
}

func TestUsagePage_InvalidRangeSaysWhatToDo(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.explored = service.ExploredUsage{
		Range: "30d", StepSeconds: 86_400, Since: sampleNow, Steps: []service.ExploredStep{
			{Start: sampleNow, Partial: true},
		},
	}
	b := personOf(t, h)
	if body := b.get("/usage?range=30d").body; !strings.Contains(body, "curl") ||
		strings.Contains(body, `class="chart"`) {
		t.Error("without a call in 30 days the page shows no command, or a chart")
	}
	if body := b.get("/usage?range=24h").body; !strings.Contains(body, "Look at 30 days") {
		t.Error("without a call in a day the page does not lead to a month")
	}
	h.keys = nil
	if body := b.get("/usage").body; !strings.Contains(body, "No key yet") {
		t.Error("without a key the page does not say so")
	}
}

func TestUsagePage_ShowsHoursInTheAccountsZone(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.explored.Range, h.explored.StepSeconds, h.explored.Since = "24h", 3_600,
		sampleNow.Add(-2*time.Hour).Truncate(time.Hour)
	h.explored.Steps = h.explored.Steps[:3]
	for i := range h.explored.Steps {
		h.explored.Steps[i].Start, h.explored.Steps[i].Partial = h.explored.Since.Add(time.Duration(i)*time.Hour),
			i == 2
	}
	body := personOf(t, h).get("/usage?range=24h").body
	for _, want := range []string{
		"20 Nov 2026, 13:00 CET: 0 units", "20 Nov 2026, 15:00 CET: 500 units", "the hour is not over", "Units by hour",
		"Since 20 Nov 2026, 13:00 CET",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

func TestUsagePage_RoundsSharesDownSoThatOnlyAllIsAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "–"},
		{1, 3, "33.3 %"},
		{2, 3, "66.6 %"},
		{999_999, 1_000_000, "99.9 %"},
		{5, 5, "100.0 %"},
		{-1, 5, "0.0 %"},
		{1 << 62, 1<<62 + 1, "99.9 %"},
	} {
		if got := shareOf(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d is %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

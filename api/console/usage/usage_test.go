package usage

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
)

func TestUsagePage_LinksEachErrorToHelp(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	got := b.Get("/usage")
	if got.Status != http.StatusOK {
		t.Fatalf("the page answers %d", got.Status)
	}
	for _, want := range []string{
		`href="/support/new?request_id=019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`, `href="/docs/errors/-32009"`, "6,100.5",
		"12.8 %", "1.4 %", "9.88 ms", "210 ms",
		"20 Nov 2026: p50 9 ms, p95 600 ms, 1,800 requests, the day is not over", "80 further keys",
		"Key now in another account", `href="/usage?key=` + consoletest.KeyOne + `&amp;range=7d"`,
		`href="/usage?chain=eth_mainnet&amp;range=7d"`, `href="/usage.csv?range=7d"`,
		"17 Nov 2026: 750 units, 100 of them heavy, 900 requests", "94,000 more were refused",
	} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

func TestUsagePage_OffersTheKeysUsedInTheRange(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	began := consoletest.Now.Add(-26 * time.Hour).Truncate(time.Hour)
	h.Session.PeriodStart = began.Add(30 * time.Minute)
	at := func(since time.Duration) *time.Time { used := began.Add(since); return &used }
	h.Keys = []keys.KeyView{
		{ID: consoletest.KeyOne, Name: "of the period", LastUsedAt: at(0)},
		{ID: consoletest.KeyTwo, Name: "of the morning", LastUsedAt: at(-time.Hour)},
		{ID: consoletest.KeyOld, Name: "long ago", LastUsedAt: at(-40 * 24 * time.Hour)},
		{ID: consoletest.RequestOne, Name: "never used"},
	}
	b := consoletest.SignedIn(t, h, Register)
	for path, want := range map[string]string{
		"/usage?range=7d": "of the period, of the morning",
		"/usage?range=7d&key=" + consoletest.KeyOld: "of the period, of the morning, long ago",
		"/usage?range=period":                       "of the period",
	} {
		t.Run(path, func(t *testing.T) {
			h.Explored.Range = strings.Split(strings.TrimPrefix(path, "/usage?range="), "&")[0]
			h.Explored.Since = began.Truncate(24 * time.Hour)
			var offered []string
			page := b.Get(path).Body
			for i := range h.Keys {
				if strings.Contains(page, `<option value="`+h.Keys[i].ID+`"`) {
					offered = append(offered, h.Keys[i].Name)
				}
			}
			if got := strings.Join(offered, ", "); got != want {
				t.Errorf("%s offers %q, want %q", path, got, want)
			}
		})
	}
}

func TestUsagePage_UnknownThingsAreNotFound(t *testing.T) {
	t.Parallel()
	for _, reason := range []fault.Reason{fault.NotYours, fault.FieldRefused} {
		h := consoletest.NewOperations()
		b := consoletest.SignedIn(t, h, Register)
		b.Pages.Calls.ExploreUsage = consoletest.Refuses[usage.ExploreUsageInput, usage.ExploredUsage](reason)
		if got := b.Get("/usage?key=x"); got.Status != http.StatusNotFound ||
			!strings.Contains(got.Body, "There is no such usage") {
			t.Errorf("%s is answered with %d", reason, got.Status)
		}
	}
}

func TestUsagePage_DownloadsATable(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	got := b.Get("/usage.csv?range=7d")
	expect.Equal(t, got.Status, http.StatusOK)
	expect.Equal(t, got.Header.Get("Content-Disposition"), `attachment; filename="usage-7d-2026-11-20.csv"`)
	expect.Equal(t, got.Body, "key\r\n")
	b.Pages.Calls.ExportUsage = func(context.Context, *operation.Caller,
		usage.ExploreUsageInput,
	) (usage.UsageTable, *fault.Error) {
		return usage.UsageTable{}, fault.New(fault.FieldRefused,
			"range has more than 100,000 rows of usage. Choose a shorter range.").With("most_rows", 100_000)
	}
	if got := b.Get("/usage.csv"); got.Status != fault.FieldRefused.Entry().HTTP ||
		!strings.Contains(got.Body, "Choose a shorter range.") {
		t.Errorf("too much is answered with %d", got.Status)
	}
}

func TestUsagePage_InvalidRangeSaysWhatToDo(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Explored = usage.ExploredUsage{
		Range: "30d", StepSeconds: 86_400, Since: consoletest.Now, Steps: []usage.ExploredStep{
			{Start: consoletest.Now, Partial: true},
		},
	}
	b := consoletest.SignedIn(t, h, Register)
	if body := b.Get("/usage?range=30d").Body; !strings.Contains(body, "curl") ||
		strings.Contains(body, `class="chart"`) {
		t.Error("without a call in 30 days the page shows no command, or a chart")
	}
	if body := b.Get("/usage?range=24h").Body; !strings.Contains(body, "Look at 30 days") {
		t.Error("without a call in a day the page does not lead to a month")
	}
	h.Keys = nil
	if body := b.Get("/usage").Body; !strings.Contains(body, "No key yet") {
		t.Error("without a key the page does not say so")
	}
}

func TestUsagePage_ShowsHoursInTheAccountsZone(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Explored.Range, h.Explored.StepSeconds, h.Explored.Since = "24h", 3_600,
		consoletest.Now.Add(-2*time.Hour).Truncate(time.Hour)
	h.Explored.Steps = h.Explored.Steps[:3]
	for i := range h.Explored.Steps {
		h.Explored.Steps[i].Start, h.Explored.Steps[i].Partial = h.Explored.Since.Add(time.Duration(i)*time.Hour),
			i == 2
	}
	body := consoletest.SignedIn(t, h, Register).Get("/usage?range=24h").Body
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
		t.Run(c.want, func(t *testing.T) {
			if got := shareOf(c.part, c.whole); got != c.want {
				t.Errorf("%d of %d is %q, want %q", c.part, c.whole, got, c.want)
			}
		})
	}
}

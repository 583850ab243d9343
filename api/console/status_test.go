package console

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// sampleStatus has four chains, one in each state; name is the title of the first.
func sampleStatus(name string) service.Status {
	head, half, limit, whole, part := uint64(23_812_334), 12.4, 148.0, 100.0, 99.37
	s := service.Status{State: chain.Down, Recorded: true, MadeAt: sampleNow, Incidents: []service.IncidentView{
		{
			ID: "1", Chain: chain.ArbitrumOne, Title: "Arbitrum One", BeganAt: sampleNow.Add(-12 * time.Minute),
			Seconds: 720,
		},
		{
			ID: "2", Chain: chain.EthMainnet, Title: name, BeganAt: sampleNow.Add(-50 * time.Hour),
			EndedAt: new(sampleNow.Add(-49 * time.Hour)), Seconds: 3600,
		},
	}}
	for i, c := range []service.ChainStatus{
		{
			Chain: chain.EthMainnet, Title: name, State: chain.Up, Head: &head, Upstreams: 3, Usable: 3, ProbeMS: &half,
			Uptime: &whole, LastHour: service.CallFigures{Calls: 1200, P50: &half, P95: &limit},
			LastDay: service.CallFigures{
				Calls: 88_012, Rerouted: 14, Lost: 3, Errors: new(0.0),
			},
		},
		{
			Chain: chain.BaseMainnet, Title: "Base", State: chain.Degraded, Why: "one_upstream_left", Head: &head,
			Upstreams: 3, Usable: 1, ProbeMS: &half, Uptime: &part,
		},
		{
			Chain: chain.ArbitrumOne, Title: "Arbitrum One", State: chain.Down, Why: "no_upstream", Upstreams: 2,
			Uptime: &part,
		},
		{Chain: chain.PolygonPoS, Title: "Polygon", State: chain.Unknown},
	} {
		for n := range service.StatusDays {
			d := service.StatusDay{
				Day:   sampleNow.AddDate(0, 0, n+1-service.StatusDays).Format(time.DateOnly),
				State: chain.Unknown, Unknown: 86_400,
			}
			switch {
			case i == 3 || n < 30:
			case i == 2 && n == service.StatusDays-1:
				d.State, d.Up, d.Down, d.Unknown, d.Uptime = chain.Down, 50_000, 720, 0, &part
			case i == 1 && n%17 == 0:
				d.State, d.Up, d.Degraded, d.Unknown, d.Uptime = chain.Degraded, 80_000, 6_400, 0, &whole
			default:
				d.State, d.Up, d.Unknown, d.Uptime = chain.Up, 86_400, 0, &whole
			}
			c.Days = append(c.Days, d)
		}
		s.Chains = append(s.Chains, c)
	}
	return s
}

// statusSamples are pages of the status with real content.
func statusSamples(name string) map[string]page {
	s := sampleStatus(name)
	full := newStatusPage(sampleReader(), &s)
	full.Mails = link{name, pathSettings}
	away := service.Status{State: chain.Unknown, MadeAt: sampleNow, Chains: s.Chains[3:]}
	return map[string]page{"status": full, "status-away": newStatusPage(sampleReader(), &away)}
}

func TestStatusPage_ShowsEveryChainNowAndBefore(t *testing.T) {
	t.Parallel()
	h := newHouse()
	got := visitorOf(t, h).get("/status")
	if got.status != 200 {
		t.Fatalf("%d", got.status)
	}
	for _, want := range []string{
		"1 chain down", "23,812,334", "14 of 88,012", "12 ms", "148 ms", "Only one of its 3 upstreams", "by a probe",
		"99.37 %, down 12 min", "ongoing", "18 Nov 2026, 12:05 UTC", "1 h",
		"Base, the last 90 days: 56 up, 4 degraded, 0 down, 30 not measured", "/status.json",
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if bars := strings.Count(got.body, "<rect "); bars != 4*service.StatusDays {
		t.Errorf("%d bars", bars)
	}
	if len(got.body) > 100_000 {
		t.Errorf("the page takes %d bytes", len(got.body))
	}
	if !strings.Contains(got.body, "/sign-in?next=") || !strings.Contains(personOf(t, h).get("/status").body,
		"/settings#notifications") {
		t.Error("the page does not lead to where mails are chosen")
	}
}

func TestPages_AreServedWhenTheStatusIsUnavailable(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.statusRefused = fault.New(fault.RateWindow, "")
	b := visitorOf(t, h)
	if got := b.get("/"); got.status != 200 {
		t.Errorf("the first page: %d", got.status)
	}
	if got := b.get("/status"); got.status != 429 {
		t.Errorf("the page itself: %d", got.status)
	}
}

// Loading pages must not use up a network's rate limit for requests without a key.
func TestPages_ShareTheStatusOfChains(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	for _, path := range []string{"/status", "/status", "/", "/status"} {
		if got := b.get(path); got.status != 200 {
			t.Fatalf("%s answers %d", path, got.status)
		}
	}
	if asked := h.statusAsked.Load(); asked != 1 {
		t.Errorf("it was asked for %d times, want once", asked)
	}
}

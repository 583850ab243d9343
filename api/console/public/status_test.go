package public

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/service/status"
)

func TestStatusPage_ShowsEveryChainNowAndBefore(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	got := consoletest.Visitor(t, h, Register).Get("/status")
	if got.Status != 200 {
		t.Fatalf("%d", got.Status)
	}
	for _, want := range []string{
		"1 chain down", "23,812,334", "14 of 88,012", "12 ms", "148 ms", "Only one of its 3 upstreams", "by a probe",
		"99.37 %, down 12 min", "ongoing", "18 Nov 2026, 12:05 UTC", "1 h",
		"Base, the last 90 days: 56 up, 4 degraded, 0 down, 30 not measured", "/status.json",
	} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if bars := strings.Count(got.Body, "<rect "); bars != 4*status.StatusDays {
		t.Errorf("%d bars", bars)
	}
	if len(got.Body) > 100_000 {
		t.Errorf("the page takes %d bytes", len(got.Body))
	}
	if !strings.Contains(got.Body, "/sign-in?next=") ||
		!strings.Contains(consoletest.SignedIn(t, h, Register).Get("/status").Body,
			"/settings#notifications") {
		t.Error("the page does not lead to where mails are chosen")
	}
}

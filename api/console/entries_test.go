package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

var waitingEntry = service.ShownEntry{
	About: "waitlist", Email: "mira@studio-north.example", Status: "waiting", ProductUpdates: true,
	EnteredAt: time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC),
}

func entryOf(status string) service.ShownEntry {
	e := waitingEntry
	e.Status = status
	return e
}

// Mail scanners follow links but do not press buttons.
func TestEntryLink_ShowsButtonsAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	for range 2 {
		got := b.get(pathEntries + "?token=tok")
		if got.status != http.StatusOK || strings.Count(got.body, `name="token" value="tok"`) != 2 ||
			!strings.Contains(got.body, `name="do" value="confirm"`) ||
			!strings.Contains(got.body, `name="do" value="leave"`) || !strings.Contains(got.body, "20 Nov 2026") {
			t.Fatalf("it answers %d: %s", got.status, got.body)
		}
		if got.header.Get("Referrer-Policy") != referrerNever || got.header.Get("X-Robots-Tag") != "noindex" ||
			got.header.Get("Cache-Control") != pageCaching {
			t.Errorf("its headers are %v", got.header)
		}
	}
	if h.changed() != 0 {
		t.Errorf("looking changed %v", h.changes)
	}
}

func TestEntryLink_ButtonsConfirmAndLeave(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	b.get(pathEntries + "?token=tok")
	for news, want := range map[string]service.ConfirmEntryInput{
		"": {Token: "tok"}, "yes": {Token: "tok", ProductUpdates: true},
	} {
		form := url.Values{"token": {"tok"}, "do": {"confirm"}}
		if news != "" {
			form.Set("product_updates", news)
		}
		got := b.post(pathEntries, form)
		if in := lastChange[service.ConfirmEntryInput](t, h); got.status != http.StatusOK || in != want ||
			!strings.Contains(got.body, "Confirmed.") {
			t.Errorf("confirming answers %d with %+v: %s", got.status, in, got.body)
		}
	}
	got := b.post(pathEntries, url.Values{"token": {"tok"}, "do": {"leave"}})
	if in := lastChange[service.EntryInput](t, h); got.status != http.StatusOK || in.Token != "tok" ||
		!strings.Contains(got.body, "was deleted") ||
		strings.Contains(got.body, `value="leave"`) || got.header.Get("Referrer-Policy") != referrerNever ||
		got.header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("leaving answers %d with %+v: %s", got.status, in, got.body)
	}
	before := h.changed()
	if got := b.post(pathEntries, url.Values{"token": {"tok"}, "do": {"x"}}); got.status != http.StatusBadRequest ||
		h.changed() != before {
		t.Errorf("another button answers %d", got.status)
	}
}

func TestEntryLink_InvalidOneSaysSo(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.FieldRefused, "This link is not complete.").With("field", "token")
	b := visitorOf(t, h)
	b.get("/")
	for _, got := range []answer{
		b.get(pathEntries + "?token=x"), b.post(pathEntries, url.Values{"token": {"x"}, "do": {"leave"}}),
	} {
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "This link is not complete.") {
			t.Errorf("it answers %d: %s", got.status, got.body)
		}
	}
}

package signin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// Mail scanners follow links but do not press buttons.
func TestEntryLink_ShowsButtonsAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	for range 2 {
		got := b.Get(pathEntries + "?token=tok")
		if got.Status != http.StatusOK || strings.Count(got.Body, `name="token" value="tok"`) != 2 ||
			!strings.Contains(got.Body, `name="do" value="confirm"`) ||
			!strings.Contains(got.Body, `name="do" value="leave"`) || !strings.Contains(got.Body, "20 Nov 2026") {
			t.Fatalf("it answers %d: %s", got.Status, got.Body)
		}
		if got.Header.Get("Referrer-Policy") != "no-referrer" || got.Header.Get("X-Robots-Tag") != "noindex" ||
			got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("its headers are %v", got.Header)
		}
	}
	if h.ChangeCount() != 0 {
		t.Errorf("looking changed %v", h.Changes)
	}
}

func TestEntryLink_ButtonsConfirmAndLeave(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	b.Get(pathEntries + "?token=tok")
	for news, want := range map[string]service.ConfirmEntryInput{
		"": {Token: "tok"}, "yes": {Token: "tok", ProductUpdates: true},
	} {
		form := url.Values{"token": {"tok"}, "do": {"confirm"}}
		if news != "" {
			form.Set("product_updates", news)
		}
		got := b.Post(pathEntries, form)
		if in := consoletest.LastChange[service.ConfirmEntryInput](t, h); got.Status != http.StatusOK || in != want ||
			!strings.Contains(got.Body, "Confirmed.") {
			t.Errorf("confirming answers %d with %+v: %s", got.Status, in, got.Body)
		}
	}
	got := b.Post(pathEntries, url.Values{"token": {"tok"}, "do": {"leave"}})
	if in := consoletest.LastChange[service.EntryInput](t, h); got.Status != http.StatusOK || in.Token != "tok" ||
		!strings.Contains(got.Body, "was deleted") ||
		strings.Contains(got.Body, `value="leave"`) || got.Header.Get("Referrer-Policy") != "no-referrer" ||
		got.Header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("leaving answers %d with %+v: %s", got.Status, in, got.Body)
	}
	before := h.ChangeCount()
	if got := b.Post(pathEntries, url.Values{"token": {"tok"}, "do": {"x"}}); got.Status != http.StatusBadRequest ||
		h.ChangeCount() != before {
		t.Errorf("another button answers %d", got.Status)
	}
}

func TestEntryLink_InvalidOneSaysSo(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.FieldRefused, "This link is not complete.").With("field", "token")
	b := consoletest.Visitor(t, h, Register)
	b.Get("/")
	for _, got := range []consoletest.Answer{
		b.Get(pathEntries + "?token=x"), b.Post(pathEntries, url.Values{"token": {"x"}, "do": {"leave"}}),
	} {
		if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "This link is not complete.") {
			t.Errorf("it answers %d: %s", got.Status, got.Body)
		}
	}
}

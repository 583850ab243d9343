package signin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/tickets"
)

// Mail scanners follow links but do not press buttons.
func TestEntryLink_ShowsButtonsAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	for range 2 {
		got := b.Get(pathEntries + "?token=tok")
		require.Equal(t, got.Status, http.StatusOK)
		require.Equal(t, strings.Count(got.Body, `name="token" value="tok"`), 2, got.Body)
		require.Contains(t, got.Body, `name="do" value="confirm"`)
		require.Contains(t, got.Body, `name="do" value="leave"`)
		require.Contains(t, got.Body, "20 Nov 2026")
		expect.Equal(t, got.Header.Get("Referrer-Policy"), "no-referrer")
		expect.Equal(t, got.Header.Get("X-Robots-Tag"), "noindex")
		expect.Equal(t, got.Header.Get("Cache-Control"), "no-store")
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
	for news, want := range map[string]tickets.ConfirmEntryInput{
		"": {Token: "tok"}, "yes": {Token: "tok", ProductUpdates: true},
	} {
		form := url.Values{"token": {"tok"}, "do": {"confirm"}}
		if news != "" {
			form.Set("product_updates", news)
		}
		got := b.Post(pathEntries, form)
		in := consoletest.LastChange[tickets.ConfirmEntryInput](t, h)
		expect.Equal(t, got.Status, http.StatusOK)
		expect.Equal(t, in, want)
		expect.Contains(t, got.Body, "Confirmed.")
	}
	got := b.Post(pathEntries, url.Values{"token": {"tok"}, "do": {"leave"}})
	in := consoletest.LastChange[tickets.EntryInput](t, h)
	expect.Equal(t, got.Status, http.StatusOK)
	expect.Equal(t, in.Token, "tok")
	expect.Contains(t, got.Body, "was deleted")
	expect.NotContains(t, got.Body, `value="leave"`)
	expect.Equal(t, got.Header.Get("Referrer-Policy"), "no-referrer")
	expect.Equal(t, got.Header.Get("X-Robots-Tag"), "noindex")
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

package settings

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/accounts"
)

func TestUnsubscribeLink_ShowsAButtonThatStopsTheMail(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	got := b.Get("/unsubscribe?token=tok")
	require.Equal(t, got.Status, http.StatusOK)
	require.Equal(t, h.ChangeCount(), 0)
	require.Contains(t, got.Body, `value="tok"`)
	require.Contains(t, got.Body, "Stop these mails")
	require.Contains(t, got.Body, "Stop mails about expiring packs")
	require.Equal(t, got.Header.Get("Referrer-Policy"), "no-referrer")
	got = b.Post("/unsubscribe", url.Values{"token": {"tok"}})
	in := consoletest.LastChange[accounts.UnsubscribeInput](t, h)
	expect.Equal(t, got.Status, http.StatusOK)
	expect.Equal(t, in.Token, "tok")
	expect.Contains(t, got.Body, "These mails are stopped")
}

// TestUnsubscribeLink_WorksFromMailProgramsWithoutAPage sends the request of RFC 8058, section 3.2:
// a POST without cookies and without a page, with the token in the URL.
func TestUnsubscribeLink_WorksFromMailProgramsWithoutAPage(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	pages := consoletest.Visitor(t, h, Register).Pages
	got := consoletest.Send(t, pages, http.MethodPost, "/unsubscribe?token=tok",
		url.Values{"List-Unsubscribe": {"One-Click"}}, nil)
	if in := consoletest.LastChange[accounts.UnsubscribeInput](t, h); got.Status != http.StatusOK || in.Token != "tok" {
		t.Errorf("it answers %d with %+v: %s", got.Status, in, got.Body)
	}
	foreign := map[string]string{"Origin": "https://mail.example", "Sec-Fetch-Site": "cross-site"}
	if got = consoletest.Send(t, pages, http.MethodPost, "/unsubscribe?token=tok2", nil,
		foreign); got.Status != http.StatusOK ||
		h.ChangeCount() != 2 {
		t.Errorf("from a page of a mail provider it answers %d", got.Status)
	}
}

func TestUnsubscribeLink_InvalidOneSaysWhereMailsAreChosen(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.FieldRefused, "This link is not complete.").With("field", "token")
	b := consoletest.Visitor(t, h, Register)
	got := b.Post("/unsubscribe?token=x", nil)
	expect.Equal(t, got.Status, http.StatusUnprocessableEntity)
	expect.Contains(t, got.Body, "This link is not complete.")
	expect.Contains(t, got.Body, `href="/settings#mails"`)
	if got = b.Send(http.MethodPost, "/unsubscribe", url.Values{
		"token": {strings.Repeat("x", site.MaxFormBytes)},
	}); got.Status != http.StatusBadRequest {
		t.Errorf("a large form answers %d", got.Status)
	}
}

func TestSettings_UserChoosesMails(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	_, part, _ := strings.Cut(b.Get("/settings").Body, `<h2 id="mails">`)
	part, _, _ = strings.Cut(part, "</form>")
	for id, want := range map[string]bool{"topic-usage": false, "topic-incidents": false, "topic-packs": true} {
		t.Run(id, func(t *testing.T) {
			_, box, found := strings.Cut(part, `id="`+id+`"`)
			box, _, _ = strings.Cut(box, ">")
			if !found || strings.Contains(box, "checked") != want {
				t.Errorf("%s is ticked: want %t in %q", id, want, box)
			}
		})
	}
	got := b.Post("/settings/mails", url.Values{"topics": {"usage", "incidents"}})
	in := consoletest.LastChange[accounts.ChooseMailTopicsInput](t, h)
	if got.Header.Get("Location") != "/settings#mails" ||
		!slices.Equal(in.Topics, []account.Topic{account.TopicUsage, account.TopicIncidents}) {
		t.Errorf("it leads to %q with %v", got.Header.Get("Location"), in.Topics)
	}
}

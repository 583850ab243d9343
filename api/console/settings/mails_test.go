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
	"github.com/chainaccess/gateway/service"
)

func TestUnsubscribeLink_ShowsAButtonThatStopsTheMail(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	got := b.Get("/unsubscribe?token=tok")
	if got.Status != http.StatusOK || h.ChangeCount() != 0 || !strings.Contains(got.Body, `value="tok"`) ||
		!strings.Contains(got.Body, "Stop these mails") ||
		!strings.Contains(got.Body, "Stop mails about expiring packs") ||
		got.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Fatalf("the link answers %d and changed %d: %s", got.Status, h.ChangeCount(), got.Body)
	}
	got = b.Post("/unsubscribe", url.Values{"token": {"tok"}})
	if in := consoletest.LastChange[service.UnsubscribeInput](t, h); got.Status != http.StatusOK || in.Token != "tok" ||
		!strings.Contains(got.Body, "These mails are stopped") {
		t.Errorf("the button answers %d with %+v: %s", got.Status, in, got.Body)
	}
}

// TestUnsubscribeLink_WorksFromMailProgramsWithoutAPage sends the request of RFC 8058, section 3.2:
// a POST without cookies and without a page, with the token in the URL.
func TestUnsubscribeLink_WorksFromMailProgramsWithoutAPage(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	pages := consoletest.Visitor(t, h, Register).Pages
	got := consoletest.Send(t, pages, http.MethodPost, "/unsubscribe?token=tok",
		url.Values{"List-Unsubscribe": {"One-Click"}}, nil)
	if in := consoletest.LastChange[service.UnsubscribeInput](t, h); got.Status != http.StatusOK || in.Token != "tok" {
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
	if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "This link is not complete.") ||
		!strings.Contains(got.Body, `href="/settings#mails"`) {
		t.Errorf("it answers %d: %s", got.Status, got.Body)
	}
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
		_, box, found := strings.Cut(part, `id="`+id+`"`)
		box, _, _ = strings.Cut(box, ">")
		if !found || strings.Contains(box, "checked") != want {
			t.Errorf("%s is ticked: want %t in %q", id, want, box)
		}
	}
	got := b.Post("/settings/mails", url.Values{"topics": {"usage", "incidents"}})
	in := consoletest.LastChange[service.ChooseMailTopicsInput](t, h)
	if got.Header.Get("Location") != "/settings#mails" ||
		!slices.Equal(in.Topics, []account.Topic{account.TopicUsage, account.TopicIncidents}) {
		t.Errorf("it leads to %q with %v", got.Header.Get("Location"), in.Topics)
	}
}

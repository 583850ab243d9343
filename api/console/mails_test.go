package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

func TestUnsubscribeLink_ShowsAButtonThatStopsTheMail(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	got := b.get("/unsubscribe?token=tok")
	if got.status != http.StatusOK || h.changed() != 0 || !strings.Contains(got.body, `value="tok"`) ||
		!strings.Contains(got.body, "Stop these mails") ||
		!strings.Contains(got.body, "Stop mails about expiring packs") ||
		got.header.Get("Referrer-Policy") != referrerNever {
		t.Fatalf("the link answers %d and changed %d: %s", got.status, h.changed(), got.body)
	}
	got = b.post("/unsubscribe", url.Values{"token": {"tok"}})
	if in := lastChange[service.UnsubscribeInput](t, h); got.status != http.StatusOK || in.Token != "tok" ||
		!strings.Contains(got.body, "These mails are stopped") {
		t.Errorf("the button answers %d with %+v: %s", got.status, in, got.body)
	}
}

// TestUnsubscribeLink_WorksFromMailProgramsWithoutAPage sends the request of RFC 8058, section 3.2:
// a POST without cookies and without a page, with the token in the URL.
func TestUnsubscribeLink_WorksFromMailProgramsWithoutAPage(t *testing.T) {
	t.Parallel()
	h := newHouse()
	pages := visitorOf(t, h).pages
	got := send(t, pages, http.MethodPost, "/unsubscribe?token=tok", url.Values{"List-Unsubscribe": {"One-Click"}}, nil)
	if in := lastChange[service.UnsubscribeInput](t, h); got.status != http.StatusOK || in.Token != "tok" {
		t.Errorf("it answers %d with %+v: %s", got.status, in, got.body)
	}
	foreign := map[string]string{"Origin": "https://mail.example", "Sec-Fetch-Site": "cross-site"}
	if got = send(t, pages, http.MethodPost, "/unsubscribe?token=tok2", nil, foreign); got.status != http.StatusOK ||
		h.changed() != 2 {
		t.Errorf("from a page of a mail provider it answers %d", got.status)
	}
}

func TestUnsubscribeLink_InvalidOneSaysWhereMailsAreChosen(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.FieldRefused, "This link is not complete.").With("field", "token")
	b := visitorOf(t, h)
	got := b.post("/unsubscribe?token=x", nil)
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "This link is not complete.") ||
		!strings.Contains(got.body, `href="/settings#mails"`) {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	if got = b.send(http.MethodPost, "/unsubscribe", url.Values{
		"token": {strings.Repeat("x", maxFormBytes)},
	}); got.status != http.StatusBadRequest {
		t.Errorf("a large form answers %d", got.status)
	}
}

func TestSettings_UserChoosesMails(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	_, part, _ := strings.Cut(b.get("/settings").body, `<h2 id="mails">`)
	part, _, _ = strings.Cut(part, "</form>")
	for id, want := range map[string]bool{"topic-usage": false, "topic-incidents": false, "topic-packs": true} {
		_, box, found := strings.Cut(part, `id="`+id+`"`)
		box, _, _ = strings.Cut(box, ">")
		if !found || strings.Contains(box, "checked") != want {
			t.Errorf("%s is ticked: want %t in %q", id, want, box)
		}
	}
	got := b.post("/settings/mails", url.Values{"topics": {"usage", "incidents"}})
	in := lastChange[service.ChooseMailTopicsInput](t, h)
	if got.header.Get("Location") != "/settings#mails" ||
		!slices.Equal(in.Topics, []account.Topic{account.TopicUsage, account.TopicIncidents}) {
		t.Errorf("it leads to %q with %v", got.header.Get("Location"), in.Topics)
	}
}

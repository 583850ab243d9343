package support

import (
	"crypto/rand"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
)

// askingBrowser returns a browser that has entered its key.
func askingBrowser(t *testing.T, h *consoletest.Operations) *consoletest.Browser {
	t.Helper()
	b := consoletest.Visitor(t, h, Register)
	if got := b.Fill(b.Get(paths.Ask), pathAskKey, url.Values{
		keyField: {consoletest.BearerOne}, nextField: {paths.AskTickets},
	}); got.Status != http.StatusSeeOther {
		t.Fatalf("the key is answered with %d: %s", got.Status, got.Body)
	}
	return b
}

// The support path of an error must work for somebody who has nothing but a key: he enters the key
// and files a ticket.
func TestSupportKey_ErrorPathLeadsTheKeysHolderToATicket(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	var seen []consoletest.Answer
	keep := func(a consoletest.Answer) consoletest.Answer { seen = append(seen, a); return a }
	door := keep(b.Get(paths.AskAbout + consoletest.RequestOne))
	require.Equal(t, door.Status, http.StatusOK)
	require.Contains(t, door.Body, consoletest.RequestOne)
	require.Contains(t, door.Body, `href="/sign-in?next=%2Fsupport%2Fnew%3Frequest_id%3D`+consoletest.RequestOne)
	in := keep(b.Fill(door, pathAskKey, url.Values{
		keyField: {" " + consoletest.BearerOne + "\n"}, nextField: {paths.AskAbout + consoletest.RequestOne},
	}))
	if in.Status != http.StatusSeeOther || in.Header.Get("Location") != paths.AskAbout+consoletest.RequestOne {
		t.Fatalf("the key is answered with %d and leads to %q", in.Status, in.Header.Get("Location"))
	}
	kept := in.Cookies[0]
	at := expect.In(t, "the key is kept")
	expect.Equal(at, kept.Name, "__Secure-support")
	expect.Equal(at, kept.Path, paths.Support)
	expect.Equal(at, kept.MaxAge, 3600)
	expect.True(at, kept.HttpOnly)
	expect.True(at, kept.Secure)
	expect.Equal(at, kept.SameSite, http.SameSiteStrictMode)
	form := keep(b.Get(paths.AskAbout + consoletest.RequestOne))
	for _, want := range []string{
		"eth_getLogs on Polygon PoS: No usable answer from any upstream (-32022)",
		"cag_aHCrXoRO…", "2 of 3 calls in the batch", "1 of 2 usable", "1,204", "What you can try",
	} {
		if !strings.Contains(form.Body, want) {
			t.Errorf("the form does not show %q", want)
		}
	}
	filed := keep(b.Fill(form, paths.Ask, url.Values{
		requestField: {consoletest.RequestOne}, "subject": {"s"}, view.MessageField: {"one\r\ntwo"},
		site.FormField: {consoletest.KeyTwo},
	}))
	if filed.Status != http.StatusSeeOther || filed.Header.Get("Location") != "/support/tickets/CAG-1001" {
		t.Fatalf("filing answers %d and leads to %q: %s", filed.Status, filed.Header.Get("Location"), filed.Body)
	}
	if got, want := consoletest.LastChange[tickets.CreateTicketInput](t, h),
		(tickets.CreateTicketInput{
			Subject: "s", Message: "one\ntwo", RequestID: consoletest.RequestOne, Form: consoletest.KeyTwo,
		}); got != want {
		t.Errorf("filed is %+v, want %+v", got, want)
	}
	page := keep(b.Get("/support/tickets/CAG-1001"))
	expect.Equal(t, page.Status, http.StatusOK)
	expect.Contains(t, page.Body, "Ticket filed")
	expect.NotContains(t, page.Body, `href="/overview"`)
	if list := keep(b.Get(paths.AskTickets)); !strings.Contains(list.Body, `href="/support/tickets/CAG-1000"`) ||
		strings.Contains(list.Body, `href="/tickets`) {
		t.Errorf("the list leads elsewhere: %s", list.Body)
	}
	for _, a := range seen {
		if strings.Contains(a.Body+fmt.Sprint(a.Header), consoletest.BearerOne) {
			t.Errorf("an answer shows the key: %s", a.Body)
		}
	}
}

func TestSupportKey_InvalidKeysAreRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	unknown, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, typed := range []string{"", "cag_x", consoletest.BearerOne[:20], unknown.Reveal(), consoletest.Hostile} {
		b := consoletest.Visitor(t, consoletest.NewOperations(), Register)
		got := b.Fill(b.Get(paths.AskAbout+consoletest.RequestOne), pathAskKey, url.Values{
			keyField: {typed}, nextField: {paths.AskAbout + consoletest.RequestOne},
		})
		in := expect.In(t, "%q", typed)
		expect.Equal(in, got.Status, http.StatusUnprocessableEntity)
		expect.Contains(in, got.Body, `id="key-error"`)
		expect.Equal(in, b.Cookies["__Secure-support"], "")
		if typed != "" && strings.Contains(got.Body, typed) ||
			!strings.Contains(got.Body, `value="`+paths.AskAbout+consoletest.RequestOne+`"`) {
			t.Errorf("%q comes back, or the way on is lost", typed)
		}
	}
}

func TestSupportKey_RevokedKeyIsRemoved(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := askingBrowser(t, h)
	h.Mu.Lock()
	h.Desk.Over = true
	h.Mu.Unlock()
	got := b.Get(paths.AskTickets)
	in := expect.In(t, "a revoked key")
	expect.Equal(in, got.Status, http.StatusOK)
	expect.Contains(in, got.Body, "no longer accepted")
	expect.Equal(in, b.Cookies["__Secure-support"], "")
}

func TestSupportKey_HolderCanRemoveIt(t *testing.T) {
	t.Parallel()
	b := askingBrowser(t, consoletest.NewOperations())
	got := b.Fill(b.Get(paths.AskTickets), pathAskKey+"/leave", nil)
	if got.Status != http.StatusSeeOther || b.Cookies["__Secure-support"] != "" {
		t.Errorf("it is answered with %d", got.Status)
	}
}

// A sealed key that is planted in another browser must not open there.
func TestSupportKey_PlantedKeyOpensNothing(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	planter, victim := askingBrowser(t, h), consoletest.Visitor(t, h, Register)
	victim.Get(paths.Ask)
	for name, b := range map[string]*consoletest.Browser{
		"a visitor":          victim,
		"somebody signed in": consoletest.SignedIn(t, h, Register),
	} {
		b.Cookies["__Secure-support"] = planter.Cookies["__Secure-support"]
		if got := b.Get(paths.Ask); strings.Contains(got.Body, "Using the key") {
			t.Errorf("%s asks with it: %s", name, got.Body)
		}
	}
	if got := planter.Get(paths.Ask); !strings.Contains(got.Body, "Using the key") {
		t.Errorf("its own browser answers %d", got.Status)
	}
}

// A form belongs to the tickets of its key, and changes nothing for another key.
func TestSupportKey_FormOfAnotherKeyChangesNothing(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	for _, path := range []string{paths.Ask, paths.AskTickets + "/CAG-1001"} {
		for _, of := range []string{"", "a1", "cag_00000000"} {
			b := askingBrowser(t, h)
			got := b.Send(http.MethodPost, path, url.Values{
				site.TokenField:   {consoletest.Token(b.Cookies["__Host-"+site.VisitorCookie], of)},
				view.MessageField: {"m"}, "subject": {"s"},
			})
			if got.Status != http.StatusConflict {
				t.Errorf("%s with a form of %q answers %d", path, of, got.Status)
			}
		}
	}
	if h.ChangeCount() != 0 {
		t.Errorf("something was changed: %v", h.Changes)
	}
}

// A long message is not lost when the session or the key has expired.
func TestSupportKey_MessageWithoutAnIdentityIsReturnedToItsWriter(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	got := b.Fill(b.Get(paths.Ask), paths.Ask, url.Values{
		view.MessageField: {"a long <story>"},
		requestField:      {consoletest.RequestOne},
	})
	expect.Equal(t, got.Status, http.StatusForbidden)
	expect.Contains(t, got.Body, "a long &lt;story&gt;")
	expect.Contains(t, got.Body, paths.AskAbout+consoletest.RequestOne)
	expect.Equal(t, h.ChangeCount(), 0)
}

// An expired session does not block the page: it asks for the key and accepts its form.
func TestSupportKey_WorksWhenTheSessionExpired(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	over := &consoletest.Operations{Refusal: fault.New(fault.KeyInvalid, "")}
	b.Pages.Calls.ShowSession = consoletest.Record[operation.Nothing](over, accounts.CurrentSession{})
	page := b.Get(paths.AskAbout + consoletest.RequestOne)
	if got := b.Fill(page, pathAskKey, url.Values{
		keyField: {consoletest.BearerOne}, nextField: {paths.AskAbout + consoletest.RequestOne},
	}); got.Status != http.StatusSeeOther {
		t.Errorf("its form answers %d", got.Status)
	}
}

func TestSupportKey_SignedInUserMayAskAboutACallOfAKey(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), Register)
	way := paths.Ask + "?request_id=" + consoletest.KeyOne + "&with=key"
	if unknown := b.Get(paths.AskAbout + consoletest.KeyOne); unknown.Status != http.StatusNotFound ||
		!strings.Contains(unknown.Body, `href="`+strings.ReplaceAll(way, "&", "&amp;")) {
		t.Fatalf("a call of somebody else answers %d without the way to ask with its key: %s", unknown.Status,
			unknown.Body)
	}
	if filed := b.Post(paths.NewTicket, url.Values{
		requestField: {consoletest.KeyOne}, "subject": {"s"},
		view.MessageField: {"m"},
	}); !strings.Contains(filed.Body, `href="`+strings.ReplaceAll(way, "&", "&amp;")) {
		t.Errorf("a ticket about it answers %d without that way", filed.Status)
	}
	page := b.Get(way)
	next := regexp.MustCompile(`name="next" value="([^"]+)"`).FindStringSubmatch(page.Body)
	if next == nil {
		t.Fatalf("the page has no way on: %s", page.Body)
	}
	if got := b.Fill(page, pathAskKey, url.Values{
		keyField: {consoletest.BearerOne}, nextField: {html.UnescapeString(next[1])},
	}); got.Header.Get("Location") != paths.AskAbout+consoletest.KeyOne {
		t.Fatalf("it leads to %q with %d", got.Header.Get("Location"), got.Status)
	}
	if got := b.Get(paths.Ask); !strings.Contains(got.Body, "Using the key") ||
		strings.Contains(got.Body, "Studio North") {
		t.Errorf("then %d: %s", got.Status, got.Body)
	}
}

func TestSupportKey_PagesRedirectNowhereElse(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/support/tickets": "/support/tickets", "/support/new?request_id=x&with=key": "/support/new?request_id=x",
		"//evil.example/support/new": paths.Ask, "/overview": paths.Ask, "/support/../keys": paths.Ask,
		"https://evil.example/support/new": paths.Ask, "/support": paths.Ask, "": paths.Ask,
		`/support/\evil`: paths.Ask,
	} {
		t.Run(path, func(t *testing.T) {
			if got := supportPathOf(path); got != want {
				t.Errorf("%q leads to %q, want %q", path, got, want)
			}
		})
	}
}

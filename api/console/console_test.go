package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/operation"
)

// routesOf lists the routes that take a method, with ids filled in.
func routesOf(p *site.Site, method string) []string {
	var routes []string
	for _, pattern := range p.Routes() {
		takes, path, _ := strings.Cut(pattern, " ")
		if takes != method {
			continue
		}
		id := consoletest.KeyOne
		switch {
		case strings.Contains(path, "invoices"):
			id = "in_1"
		case strings.Contains(path, "members"):
			id = "u2"
		case strings.Contains(path, "invitations"):
			id = "i1"
		case strings.Contains(path, "sessions"):
			id = "s2"
		}
		routes = append(routes, strings.NewReplacer("{$}", "", "{id}", id, "{period}", "2026-11-01", "{tx}",
			consoletest.Receipt.TxHash, "{reference}", "CAG-1001").Replace(path))
	}
	return routes
}

func TestPages_AreShownToEverySignedInUser(t *testing.T) {
	t.Parallel()
	for _, path := range routesOf(consoletest.Visitor(t, consoletest.NewOperations(), register).Pages, http.MethodGet) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			h := consoletest.NewOperations()
			h.Session.Staff = true // the desk's pages exist only for staff
			b := consoletest.SignedIn(t, h, register)
			b.Post("/sign-in", url.Values{"email": {"mira@studio-north.example"}})
			before := h.ChangeCount()
			got := b.Get(path + map[string]string{
				"/billing/buy": "?item=pack_m", "/billing/change": "?item=growth_monthly",
			}[path])
			expect.Equal(t, h.ChangeCount(), before)
			if path == "/settings/members" || path == "/sign-in" || path == "/first-key" { // they lead elsewhere
				if got.Status != http.StatusSeeOther {
					t.Errorf("it answers %d", got.Status)
				}
				return
			}
			if got.Status != http.StatusOK {
				t.Errorf("it answers %d: %s", got.Status, got.Body)
			}
		})
	}
}

func TestPages_LeadToTheSignInAndBack(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	p := consoletest.Visitor(t, h, register).Pages
	public := []string{
		"/", "/first-key", "/pricing", "/toolbox", "/status", "/sign-in", "/sign-in/code",
		"/sign-in/link", "/invitations/accept", "/unsubscribe", "/entries", "/x402/receipts/" +
			consoletest.Receipt.TxHash,
	}
	for _, path := range routesOf(p, http.MethodGet) {
		if slices.Contains(public, path) || strings.HasPrefix(path, paths.Support+"/") {
			continue
		}
		got := consoletest.Visitor(t, h, register).Get(path + "?x=1")
		if want := "/sign-in?next=" + url.QueryEscape(path+"?x=1"); got.Status != http.StatusSeeOther ||
			got.Header.Get("Location") != want {
			t.Errorf("%s leads to %q with %d, want %q", path, got.Header.Get("Location"), got.Status, want)
		}
	}
}

func TestCSRF_NoChangeGoesThroughWithoutTheToken(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	routes := routesOf(consoletest.Visitor(t, h, register).Pages, http.MethodPost)
	if len(routes) < 20 {
		t.Fatalf("only %d routes change something", len(routes))
	}
	for _, path := range routes {
		b := consoletest.SignedIn(t, h, register)
		for _, token := range []string{"", "x", consoletest.Token("another session", "a1")} {
			if got := b.Send(http.MethodPost, path, url.Values{
				site.TokenField: {token},
			}); got.Status != http.StatusForbidden {
				if len(token) > 1 && (path == paths.SignInLink || path == paths.Accept) &&
					got.Header.Get("Location") == paths.Overview {
					continue // pressed twice: it changes nothing and shows the next page
				}
				t.Errorf("%s with the token %q answers %d", path, token, got.Status)
			}
		}
	}
	if h.ChangeCount() != 0 {
		t.Errorf("something was changed: %v", h.Changes)
	}
}

// A page left open while the session switched to another account changes nothing in that account.
func TestCSRF_FormOfAnotherAccountChangesNothing(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	tried := 0
	for _, path := range routesOf(consoletest.SignedIn(t, h, register).Pages, http.MethodPost) {
		if part, _, _ := strings.Cut(path[1:], "/"); !slices.Contains([]string{
			"accounts", "keys", "agents", "settings", "tickets", "feedback",
		}, part) {
			continue // belongs to no account
		}
		for _, account := range []string{"a2", ""} {
			tried++
			b := consoletest.SignedIn(t, h, register)
			got := b.Send(http.MethodPost, path, url.Values{
				site.TokenField: {consoletest.Token(b.Cookies["__Host-"+site.SessionCookie], account)},
			})
			if got.Status != http.StatusConflict || !strings.Contains(got.Body, "nothing was done") {
				t.Errorf("%s with a form of account %q answers %d", path, account, got.Status)
			}
		}
	}
	if tried < 20 || h.ChangeCount() != 0 {
		t.Errorf("%d were tried, changed: %v", tried, h.Changes)
	}
}

func TestCSRF_ChangeWithoutASessionLeadsToTheSignIn(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	for _, path := range routesOf(consoletest.Visitor(t, h, register).Pages, http.MethodPost) {
		if strings.HasPrefix(path, "/sign-") || strings.HasPrefix(path, "/invitations") || path == "/theme" ||
			path == "/toolbox" || path == "/first-key" || path == "/entries" ||
			strings.HasPrefix(path, paths.Support+"/") {
			continue
		}
		b := consoletest.Visitor(t, h, register)
		b.Get("/")
		if got := b.Post(path, nil); got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"),
			"/sign-in?next=") {
			t.Errorf("%s answers %d and leads to %q", path, got.Status, got.Header.Get("Location"))
		}
	}
	if h.ChangeCount() != 0 {
		t.Errorf("something was changed: %v", h.Changes)
	}
}

func TestFrame_NamesAccountAndPeriodOnEveryPage(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), register)
	for _, path := range []string{"/overview", "/usage", "/keys", "/agents", "/settings", "/settings/audit"} {
		text := b.Get(path).Body
		for _, want := range []string{
			"Studio North", "1 – 30 Nov 2026", "10 days left", "mira@studio-north.example", "Switch to Personal",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not name %q", path, want)
			}
		}
	}
}

func TestPages_SuspendedAccountSeesWhyEverywhere(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Session.Status, h.Session.SuspendedFor = account.Suspended, "An invoice was not paid."
	h.Refusal = fault.New(fault.AccountSuspended, "Nothing can be changed.")
	b := consoletest.SignedIn(t, h, register)
	for _, path := range []string{
		"/overview", "/usage", "/keys", "/keys/" + consoletest.KeyOne, "/agents",
		"/settings",
	} {
		got := b.Get(path)
		in := expect.In(t, "%s", path)
		expect.Equal(in, got.Status, http.StatusOK)
		expect.Contains(in, got.Body, "An invoice was not paid.")
		expect.Contains(in, got.Body, "-32009")
	}
	if got := b.Post("/keys/"+consoletest.KeyOne+"/revoke", nil); got.Status != http.StatusForbidden ||
		!strings.Contains(got.Body, "An invoice was not paid.") {
		t.Errorf("a change answers %d", got.Status)
	}
	got := b.Post("/keys/"+consoletest.KeyOne+"/revoke", nil)
	if !strings.Contains(got.Body, `href="/support/new"`) || strings.Contains(got.Body, "data.") {
		t.Error("it does not lead to a ticket, or speaks of an envelope that pages do not have")
	}
}

// A member who is not an owner must be told so, with the next step, and not that the key is of the
// wrong kind.
func TestPages_MembersAreToldThatAnOwnerMustAct(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Session.Role = view.RoleMember
	h.Refusal = fault.New(fault.WrongKindOfKey, "Only owners of the account may do this.")
	b := consoletest.SignedIn(t, h, register)
	got := b.Post("/settings/invitations", url.Values{"email": {"new@studio-north.example"}, "role": {view.RoleMember}})
	expect.Equal(t, got.Status, http.StatusForbidden)
	expect.Contains(t, got.Body, "Only for owners")
	expect.Contains(t, got.Body, `href="/settings#people"`)
	expect.NotContains(t, got.Body, "kind of key")
	for _, path := range []string{
		"/billing/buy?item=pack_s", "/billing/cancel", "/billing/change?item=growth_monthly",
	} {
		if got := b.Get(path); got.Status != http.StatusSeeOther || got.Header.Get("Location") != "/billing" {
			t.Errorf("%s answers %d and shows a form", path, got.Status)
		}
	}
	if text := b.Get("/billing").Body; !strings.Contains(text, "Only owners of the account can change the plan") {
		t.Error("the billing page does not say who buys")
	}
}

func TestPages_RefusalsShowCodeRequestAndSupport(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.NotYetInForce, "The change is saved, and not in force yet.").Wrap(
		http.ErrHandlerTimeout)
	got := consoletest.SignedIn(t, h, register).Post("/keys/"+consoletest.KeyOne+"/revoke", nil)
	for _, want := range []string{"The change is saved, and not in force yet.", "-32029"} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got.Status != http.StatusServiceUnavailable || strings.Contains(got.Body, http.ErrHandlerTimeout.Error()) {
		t.Errorf("it answers %d: %s", got.Status, got.Body)
	}
	card := view.RefusalCard(h.Refusal, "019a9f2e")
	expect.Equal(t, card.Request, "019a9f2e")
	expect.Equal(t, card.Links[0].To, "/docs/errors/-32029")
	expect.Equal(t, card.Links[1].To, "/support/new?request_id=019a9f2e")
}

func TestFlashMessages_AreShownOnceAndCannotBeForged(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), register)
	if got := b.Post("/keys/"+consoletest.KeyOne+"/revoke", nil); got.Header.Get("Location") != "/keys" {
		t.Fatalf("it answers %d and leads to %q", got.Status, got.Header.Get("Location"))
	}
	left := b.Cookies["__Host-flash"]
	other := consoletest.SignedIn(t, consoletest.NewOperations(), register)
	other.Cookies["__Host-session"] = "another session"
	other.Post("/keys/"+consoletest.KeyOne+"/revoke", nil)
	if text := b.Get("/keys").Body; !strings.Contains(text, "Key revoked") {
		t.Error("the next page does not say what happened")
	}
	if text := b.Get("/keys").Body; strings.Contains(text, "Key revoked") {
		t.Error("the message is shown twice")
	}
	for name, value := range map[string]string{
		"another browser's": other.Cookies["__Host-flash"],
		"tampered":          "x" + left, "unsigned": strings.Split(left, ".")[0], "nothing": ".",
	} {
		t.Run(name, func(t *testing.T) {
			b.Cookies["__Host-flash"] = value
			if got := b.Get("/keys"); got.Status != http.StatusOK || strings.Contains(got.Body, "Key revoked") {
				t.Errorf("a message that is %s is shown", name)
			}
		})
	}
}

func TestDestructiveChanges_AreConfirmedWithWhatStops(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	for path, want := range map[string]string{
		"/keys/" + consoletest.KeyOne + "/revoke": "Revoke this key?",
		"/settings/members/u2/remove":             "Remove this member?",
		"/settings/members/u1/remove":             "Leave this account?",
		"/settings/invitations/i1/withdraw":       "Withdraw this invitation?",
		"/settings/sessions/s2/end":               "End this session?",
		"/settings/sessions/end":                  "Sign out everywhere?",
	} {
		t.Run(path, func(t *testing.T) {
			b, before := consoletest.SignedIn(t, h, register), h.ChangeCount()
			text := b.Get(path).Body
			in := expect.In(t, "%s does not ask", path)
			expect.Contains(in, text, want)
			expect.Contains(in, text, "What stops")
			expect.Contains(in, text, `action="`+path+`"`)
			if h.ChangeCount() != before {
				t.Errorf("asking at %s changed something", path)
			}
			if got := b.Post(path, nil); got.Status != http.StatusSeeOther || h.ChangeCount() != before+1 {
				t.Errorf("confirmed, %s answers %d", path, got.Status)
			}
		})
	}
}

func TestPages_OtherAccountsThingsAreNotFound(t *testing.T) {
	t.Parallel()
	b := consoletest.SignedIn(t, consoletest.NewOperations(), register)
	for _, path := range []string{
		"/keys/019a9f2e-1111-7000-8000-00000000ffff", "/keys/x/revoke", "/settings/members/u9/remove",
		"/settings/invitations/i9/withdraw", "/settings/sessions/s9/end",
	} {
		if got := b.Get(path); got.Status != http.StatusNotFound {
			t.Errorf("%s answers %d", path, got.Status)
		}
	}
}

// The pages that crawlers may read are the same for everybody and need no session.
func TestPages_PublicOnesAreOpenToEverybody(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, register)
	if got, want := b.Pages.Public(), []string{"/", "/pricing", paths.Toolbox, "/status"}; !slices.Equal(got, want) {
		t.Fatalf("the public pages are %q", got)
	}
	for _, path := range b.Pages.Public() {
		if got := consoletest.Visitor(t, h, register).Get(path); got.Status != http.StatusOK ||
			got.Header.Get("X-Robots-Tag") != "" {
			t.Errorf("%s answers %d, robots %q", path, got.Status, got.Header.Get("X-Robots-Tag"))
		}
	}
}

func TestPages_AreServedWhenTheStatusIsUnavailable(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.StatusRefused = fault.New(fault.RateWindow, "")
	b := consoletest.Visitor(t, h, register)
	if got := b.Get("/"); got.Status != 200 {
		t.Errorf("the first page: %d", got.Status)
	}
	if got := b.Get("/status"); got.Status != 429 {
		t.Errorf("the page itself: %d", got.Status)
	}
}

// Loading pages must not use up a network's rate limit for requests without a key.
func TestPages_ShareTheStatusOfChains(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, register)
	for _, path := range []string{"/status", "/status", "/", "/status"} {
		if got := b.Get(path); got.Status != 200 {
			t.Fatalf("%s answers %d", path, got.Status)
		}
	}
	if asked := h.StatusAsked.Load(); asked != 1 {
		t.Errorf("it was asked for %d times, want once", asked)
	}
}

func TestFirstPage_HasALiveTool(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Tools = consoletest.Tools()
	page := consoletest.Parse(t, consoletest.Visitor(t, h, register).Get("/").Body)
	form := consoletest.Elements(consoletest.ByID(t, page, "get_gas"), "form")[0]
	if action, _ := consoletest.Attribute(form, "action"); action != "/toolbox#get_gas" {
		t.Errorf("its form leads to %q", action)
	}
	if strings.Contains(consoletest.Visitor(t, consoletest.NewOperations(), register).Get("/").Body, "data-tool") {
		t.Error("without tools there is one")
	}
}

func TestSession_ExpiredLeadsToTheSignIn(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, register)
	over := h.Calls()
	over.ShowSession = func(context.Context, *operation.Caller, operation.Nothing) (accounts.CurrentSession,
		*fault.Error,
	) {
		return accounts.CurrentSession{}, fault.New(fault.KeyInvalid, "")
	}
	b.Pages.Calls = over
	if got := b.Get("/keys"); got.Header.Get("Location") != "/sign-in?next=%2Fkeys" {
		t.Errorf("it answers %d and leads to %q", got.Status, got.Header.Get("Location"))
	}
	if _, kept := b.Cookies["__Host-session"]; kept {
		t.Error("the cookie is kept")
	}
	if got := b.Get("/sign-in"); got.Status != http.StatusOK {
		t.Errorf("the sign-in answers %d", got.Status)
	}
}

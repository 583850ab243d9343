package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

func TestSignIn_ByCodeStartsASession(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	if text := b.get("/sign-in?next=/keys").body; !strings.Contains(text, `name="next" value="/keys"`) {
		t.Error("the form does not carry where to come back to")
	}
	got := b.post("/sign-in", url.Values{"email": {"mira@studio-north.example"}, "next": {"/keys"}})
	if got.header.Get("Location") != "/sign-in/code" {
		t.Fatalf("it answers %d: %s", got.status, got.body)
	}
	if in := lastChange[service.StartSignInInput](t, h); in.Email != "mira@studio-north.example" ||
		in.ReturnTo != "/keys" {
		t.Errorf("it asks for %+v", in)
	}
	if text := b.get("/sign-in/code").body; !strings.Contains(text, "mira@studio-north.example") ||
		!strings.Contains(text, "15 minutes") {
		t.Error("the page does not say where the code is")
	}
	before := b.cookies["__Host-visitor"]
	got = b.post("/sign-in/code", url.Values{"code": {"123456"}})
	if got.header.Get("Location") != "/keys" || before == "" {
		t.Fatalf("it answers %d and leads to %q", got.status, got.header.Get("Location"))
	}
	if in := lastChange[service.SignInCodeInput](t, h); in.BrowserToken != "cagb_browser" || in.Code != "123456" {
		t.Errorf("it asks for %+v", in)
	}
	for _, c := range got.cookies {
		switch c.Name {
		case "__Host-session":
			if c.Value != "cags_new" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode ||
				c.Path != "/" || c.Domain != "" {
				t.Errorf("the session's cookie is %+v", c)
			}
		case "__Host-visitor", "__Host-signin":
			if c.MaxAge >= 0 {
				t.Errorf("%s is kept", c.Name)
			}
		default:
			t.Errorf("it sets %s", c.Name)
		}
	}
	if len(got.cookies) != 3 {
		t.Errorf("it sets %d cookies", len(got.cookies))
	}
}

func TestSignIn_WrongCodeIsShownAtTheField(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := visitorOf(t, h)
	b.get("/sign-in")
	b.post("/sign-in", url.Values{"email": {"mira@studio-north.example"}})
	h.refusal = fault.New(fault.FieldRefused, "This is not the code.").With("field", "code")
	if got := b.post("/sign-in/code", url.Values{"code": {"000000"}}); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, `id="code-error">This is not the code.`) {
		t.Errorf("it answers %d", got.status)
	}
	if _, in := b.cookies["__Host-session"]; in {
		t.Error("a wrong code signs in")
	}
	h.refusal = fault.New(fault.FieldRefused, "The e-mail address is missing.").With("field", "email")
	if got := b.post("/sign-in", url.Values{"email": {""}}); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, `id="email-error">The e-mail address is missing.`) {
		t.Errorf("no address answers %d", got.status)
	}
}

func TestSignIn_AsksForACodeOnlyWhileOneIsUnderWay(t *testing.T) {
	t.Parallel()
	h := newHouse()
	for _, value := range []string{"", "cagb_browser", "cagb_browser.%%%"} {
		b := visitorOf(t, h)
		b.get("/")
		b.cookies["__Host-signin"] = value
		if got := b.get("/sign-in/code"); got.header.Get("Location") != "/sign-in" {
			t.Errorf("with the cookie %q it answers %d", value, got.status)
		}
	}
	b := visitorOf(t, h)
	b.get("/")
	if got := b.post("/sign-in/code", url.Values{"code": {"123456"}}); got.header.Get("Location") != "/sign-in" ||
		h.changed() != 0 {
		t.Errorf("without a cookie a code answers %d", got.status)
	}
}

func TestSignIn_LinkIsUsedUpByTheButtonOnly(t *testing.T) {
	t.Parallel()
	for path, button := range map[string]string{
		"/sign-in/link": "Sign in", "/invitations/accept": "Join as kim@studio-north.example",
	} {
		h := newHouse()
		b := visitorOf(t, h)
		got := b.get(path + "?token=cagl_x")
		if got.status != http.StatusOK || !strings.Contains(got.body, button) ||
			!strings.Contains(got.body, `name="token" value="cagl_x"`) {
			t.Errorf("%s answers %d without its button", path, got.status)
		}
		if got.header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s lets its address be named: %q", path, got.header.Get("Referrer-Policy"))
		}
		if h.changed() != 0 {
			t.Errorf("looking at %s changed something", path)
		}
		if got := b.post(path, url.Values{"token": {"cagl_x"}}); got.header.Get("Location") != "/keys" ||
			b.cookies["__Host-session"] != "cags_new" {
			t.Errorf("the button of %s answers %d", path, got.status)
		}
		before := h.changed()
		twice := url.Values{"token": {"cagl_x"}, "csrf": {csrfToken("the cookie of before", "")}}
		if got := b.post(path, twice); got.status != http.StatusForbidden || h.changed() != before {
			t.Errorf("a stale form of %s, whose link was not used, answers %d", path, got.status)
		}
		h.link = fault.New(fault.FieldRefused, "This link was used already.").With("field", "token")
		if got := b.post(path, twice); got.status != http.StatusSeeOther || got.header.Get("Location") != "/overview" ||
			h.changed() != before {
			t.Errorf("the button of %s, pressed twice, answers %d", path, got.status)
		}
		if got := visitorOf(t, h).post(path, twice); got.status != http.StatusForbidden || h.changed() != before {
			t.Errorf("a stale form of %s answers whoever is not signed in %d", path, got.status)
		}
		if got := b.post("/keys", twice); got.status != http.StatusForbidden {
			t.Errorf("another stale form answers %d", got.status)
		}
		h.refusal = fault.New(fault.FieldRefused, "This link was used already.").With("field", "token")
		b = visitorOf(t, h)
		b.get("/")
		if got := b.post(path, url.Values{"token": {"cagl_x"}}); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.body, "This link was used already.") {
			t.Errorf("used up, %s answers %d", path, got.status)
		}
	}
}

// An invited user who exists signs in first. A user who is signed in as somebody else is told so,
// and is not redirected in a loop.
func TestInvitation_ForAKnownUserAsksForTheRightPerson(t *testing.T) {
	t.Parallel()
	h := newHouse()
	h.refusal = fault.New(fault.KeyInvalid, "")
	form := url.Values{"token": {"cagi_x"}}
	nobody := visitorOf(t, h)
	nobody.get("/sign-in") // takes the cookie for CSRF tokens
	if got := nobody.post("/invitations/accept", form); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/sign-in?next=%2Finvitations%2Faccept%3Ftoken%3Dcagi_x" {
		t.Errorf("nobody is answered %d, to %s", got.status, got.header.Get("Location"))
	}
	if got := personOf(t, h).post("/invitations/accept", form); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "Sign out, open the link again") {
		t.Errorf("somebody else is answered %d", got.status)
	}
}

func TestSignIn_RedirectsToThisSiteOnly(t *testing.T) {
	t.Parallel()
	h := newHouse()
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)"} {
		if text := visitorOf(t, h).get("/sign-in?next=" + url.QueryEscape(next)).body; strings.Contains(text,
			`name="next"`) {
			t.Errorf("%q stands in the form", next)
		}
		if got := personOf(t, h).get("/sign-in?next=" + url.QueryEscape(next)); got.header.Get(
			"Location") != "/overview" {
			t.Errorf("%q leads to %q", next, got.header.Get("Location"))
		}
	}
	if got := personOf(t, h).get("/sign-in?next=/agents%3Fclaim_code=cagc_x"); got.header.Get(
		"Location") != "/agents?claim_code=cagc_x" {
		t.Errorf("a claim link leads to %q", got.header.Get("Location"))
	}
}

func TestSignOut_EndsTheSessionInBrowserAndRecord(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	if got := b.post("/sign-out", nil); got.header.Get("Location") != "/" || h.changed() != 1 {
		t.Errorf("it answers %d", got.status)
	}
	if _, kept := b.cookies["__Host-session"]; kept {
		t.Error("the cookie is kept")
	}
}

func TestSession_ExpiredLeadsToTheSignIn(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	over := h.calls()
	over.ShowSession = func(context.Context, *service.Caller, service.Nothing) (service.CurrentSession, *fault.Error) {
		return service.CurrentSession{}, fault.New(fault.KeyInvalid, "")
	}
	b.pages.Calls = over
	if got := b.get("/keys"); got.header.Get("Location") != "/sign-in?next=%2Fkeys" {
		t.Errorf("it answers %d and leads to %q", got.status, got.header.Get("Location"))
	}
	if _, kept := b.cookies["__Host-session"]; kept {
		t.Error("the cookie is kept")
	}
	if got := b.get("/sign-in"); got.status != http.StatusOK {
		t.Errorf("the sign-in answers %d", got.status)
	}
}

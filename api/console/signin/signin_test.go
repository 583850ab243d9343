package signin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/accounts"
)

func TestSignIn_ByCodeStartsASession(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	if text := b.Get("/sign-in?next=/keys").Body; !strings.Contains(text, `name="next" value="/keys"`) {
		t.Error("the form does not carry where to come back to")
	}
	got := b.Post("/sign-in", url.Values{"email": {"mira@studio-north.example"}, "next": {"/keys"}})
	if got.Header.Get("Location") != "/sign-in/code" {
		t.Fatalf("it answers %d: %s", got.Status, got.Body)
	}
	if in := consoletest.LastChange[accounts.StartSignInInput](t, h); in.Email != "mira@studio-north.example" ||
		in.ReturnTo != "/keys" {
		t.Errorf("it asks for %+v", in)
	}
	if text := b.Get("/sign-in/code").Body; !strings.Contains(text, "mira@studio-north.example") ||
		!strings.Contains(text, "15 minutes") {
		t.Error("the page does not say where the code is")
	}
	before := b.Cookies["__Host-visitor"]
	got = b.Post("/sign-in/code", url.Values{"code": {"123456"}})
	if got.Header.Get("Location") != "/keys" || before == "" {
		t.Fatalf("it answers %d and leads to %q", got.Status, got.Header.Get("Location"))
	}
	if in := consoletest.LastChange[accounts.SignInCodeInput](t, h); in.BrowserToken != "cagb_browser" ||
		in.Code != "123456" {
		t.Errorf("it asks for %+v", in)
	}
	for _, c := range got.Cookies {
		switch c.Name {
		case "__Host-session":
			in := expect.In(t, "the session's cookie is %+v", c)
			expect.Equal(in, c.Value, "cags_new")
			expect.True(in, c.Secure)
			expect.True(in, c.HttpOnly)
			expect.Equal(in, c.SameSite, http.SameSiteLaxMode)
			expect.Equal(in, c.Path, "/")
			expect.Equal(in, c.Domain, "")
		case "__Host-visitor", "__Host-signin":
			if c.MaxAge >= 0 {
				t.Errorf("%s is kept", c.Name)
			}
		default:
			t.Errorf("it sets %s", c.Name)
		}
	}
	if len(got.Cookies) != 3 {
		t.Errorf("it sets %d cookies", len(got.Cookies))
	}
}

func TestSignIn_WrongCodeIsShownAtTheField(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.Visitor(t, h, Register)
	b.Get("/sign-in")
	b.Post("/sign-in", url.Values{"email": {"mira@studio-north.example"}})
	h.Refusal = fault.New(fault.FieldRefused, "This is not the code.").With("field", "code")
	if got := b.Post("/sign-in/code", url.Values{"code": {"000000"}}); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, `id="code-error">This is not the code.`) {
		t.Errorf("it answers %d", got.Status)
	}
	if _, in := b.Cookies["__Host-session"]; in {
		t.Error("a wrong code signs in")
	}
	h.Refusal = fault.New(fault.FieldRefused, "The e-mail address is missing.").With("field", "email")
	if got := b.Post("/sign-in", url.Values{"email": {""}}); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, `id="email-error">The e-mail address is missing.`) {
		t.Errorf("no address answers %d", got.Status)
	}
}

func TestSignIn_AsksForACodeOnlyWhileOneIsUnderWay(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	for _, value := range []string{"", "cagb_browser", "cagb_browser.%%%"} {
		b := consoletest.Visitor(t, h, Register)
		b.Get("/")
		b.Cookies["__Host-signin"] = value
		if got := b.Get("/sign-in/code"); got.Header.Get("Location") != "/sign-in" {
			t.Errorf("with the cookie %q it answers %d", value, got.Status)
		}
	}
	b := consoletest.Visitor(t, h, Register)
	b.Get("/")
	if got := b.Post("/sign-in/code", url.Values{"code": {"123456"}}); got.Header.Get("Location") != "/sign-in" ||
		h.ChangeCount() != 0 {
		t.Errorf("without a cookie a code answers %d", got.Status)
	}
}

func TestSignIn_LinkIsUsedUpByTheButtonOnly(t *testing.T) {
	t.Parallel()
	for path, button := range map[string]string{
		"/sign-in/link": "Sign in", "/invitations/accept": "Join as kim@studio-north.example",
	} {
		h := consoletest.NewOperations()
		b := consoletest.Visitor(t, h, Register)
		got := b.Get(path + "?token=cagl_x")
		in := expect.In(t, "%s", path)
		expect.Equal(in, got.Status, http.StatusOK)
		expect.Contains(in, got.Body, button)
		expect.Contains(in, got.Body, `name="token" value="cagl_x"`)
		if got.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s lets its address be named: %q", path, got.Header.Get("Referrer-Policy"))
		}
		if h.ChangeCount() != 0 {
			t.Errorf("looking at %s changed something", path)
		}
		if got := b.Post(path, url.Values{"token": {"cagl_x"}}); got.Header.Get("Location") != "/keys" ||
			b.Cookies["__Host-session"] != "cags_new" {
			t.Errorf("the button of %s answers %d", path, got.Status)
		}
		before := h.ChangeCount()
		twice := url.Values{"token": {"cagl_x"}, "csrf": {consoletest.Token("the cookie of before", "")}}
		if got := b.Post(path, twice); got.Status != http.StatusForbidden || h.ChangeCount() != before {
			t.Errorf("a stale form of %s, whose link was not used, answers %d", path, got.Status)
		}
		h.Link = fault.New(fault.FieldRefused, "This link was used already.").With("field", "token")
		got = b.Post(path, twice)
		in = expect.In(t, "the button of %s, pressed twice", path)
		expect.Equal(in, got.Status, http.StatusSeeOther)
		expect.Equal(in, got.Header.Get("Location"), "/overview")
		expect.Equal(in, h.ChangeCount(), before)
		if got := consoletest.Visitor(t, h, Register).Post(path, twice); got.Status != http.StatusForbidden ||
			h.ChangeCount() != before {
			t.Errorf("a stale form of %s answers whoever is not signed in %d", path, got.Status)
		}
		if got := b.Post("/keys", twice); got.Status != http.StatusForbidden {
			t.Errorf("another stale form answers %d", got.Status)
		}
		h.Refusal = fault.New(fault.FieldRefused, "This link was used already.").With("field", "token")
		b = consoletest.Visitor(t, h, Register)
		b.Get("/")
		if got := b.Post(path, url.Values{"token": {"cagl_x"}}); got.Status != http.StatusUnprocessableEntity ||
			!strings.Contains(got.Body, "This link was used already.") {
			t.Errorf("used up, %s answers %d", path, got.Status)
		}
	}
}

// An invited user who exists signs in first. A user who is signed in as somebody else is told so,
// and is not redirected in a loop.
func TestInvitation_ForAKnownUserAsksForTheRightPerson(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Refusal = fault.New(fault.KeyInvalid, "")
	form := url.Values{"token": {"cagi_x"}}
	nobody := consoletest.Visitor(t, h, Register)
	nobody.Get("/sign-in") // takes the cookie for CSRF tokens
	if got := nobody.Post("/invitations/accept", form); got.Status != http.StatusSeeOther ||
		got.Header.Get("Location") != "/sign-in?next=%2Finvitations%2Faccept%3Ftoken%3Dcagi_x" {
		t.Errorf("nobody is answered %d, to %s", got.Status, got.Header.Get("Location"))
	}
	if got := consoletest.SignedIn(t, h, Register).Post("/invitations/accept",
		form); got.Status != http.StatusConflict ||
		!strings.Contains(got.Body, "Sign out, open the link again") {
		t.Errorf("somebody else is answered %d", got.Status)
	}
}

func TestSignIn_RedirectsToThisSiteOnly(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)"} {
		if text := consoletest.Visitor(t, h, Register).Get("/sign-in?next=" +
			url.QueryEscape(next)).Body; strings.Contains(text,
			`name="next"`) {
			t.Errorf("%q stands in the form", next)
		}
		if got := consoletest.SignedIn(t, h, Register).Get("/sign-in?next=" + url.QueryEscape(next)); got.Header.Get(
			"Location") != "/overview" {
			t.Errorf("%q leads to %q", next, got.Header.Get("Location"))
		}
	}
	if got := consoletest.SignedIn(t, h, Register).Get("/sign-in?next=/agents%3Fclaim_code=cagc_x"); got.Header.Get(
		"Location") != "/agents?claim_code=cagc_x" {
		t.Errorf("a claim link leads to %q", got.Header.Get("Location"))
	}
}

func TestSignOut_EndsTheSessionInBrowserAndRecord(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	if got := b.Post("/sign-out", nil); got.Header.Get("Location") != "/" || h.ChangeCount() != 1 {
		t.Errorf("it answers %d", got.Status)
	}
	if _, kept := b.Cookies["__Host-session"]; kept {
		t.Error("the cookie is kept")
	}
}

package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// Paths of support. Holders of API keys may use those under pathSupport, too. Every error links to
// pathAsk.
const (
	pathSupport    = "/support"
	pathAsk        = pathSupport + "/new"
	pathAskTickets = pathSupport + "/tickets"
	pathAskKey     = pathSupport + "/key"
	pathTickets    = "/tickets"
	pathNewTicket  = pathTickets + "/new"
	pathFeedback   = "/feedback"
)

// Fields of the forms of support.
const (
	requestField = "request_id"
	keyField     = "key"
	nextField    = "next"
	// withKey, in the URL of pathAsk, asks for a key even when somebody is signed in, because the
	// call may have used a key of another account.
	withKey = "with"
)

// supportRoutes registers the customer's side of support.
func (p *Pages) supportRoutes() {
	p.console("GET "+pathTickets, (*request).tickets)
	p.console("GET "+pathNewTicket, (*request).newTicket)
	p.console("POST "+pathNewTicket, (*request).fileTicket)
	p.console("GET "+pathTickets+"/{reference}", (*request).ticket)
	p.console("POST "+pathTickets+"/{reference}", (*request).answerTicket)
	p.console("GET "+pathFeedback, (*request).feedback)
	p.console("POST "+pathFeedback, (*request).giveFeedback)

	p.supportPage("GET "+pathAsk, (*request).newTicket)
	p.supportPage("POST "+pathAsk, (*request).fileTicket)
	p.supportPage("GET "+pathAskTickets, (*request).tickets)
	p.supportPage("GET "+pathAskTickets+"/{reference}", (*request).ticket)
	p.supportPage("POST "+pathAskTickets+"/{reference}", (*request).answerTicket)
	p.handle("POST "+pathAskKey, (*request).saveKey)
	p.handle("POST "+pathAskKey+"/leave", (*request).forgetKey)
}

// supportPage serves a pattern for the holder of an entered key, or else for the person who signed
// in. Anybody else is asked to do either.
func (p *Pages) supportPage(pattern string, f func(*request) error) {
	p.handle(pattern, func(v *request) error {
		known, err := v.findSupportUser()
		switch {
		case err != nil:
			return err
		case !known || v.holder.IsZero() && v.r.URL.Query().Get(withKey) == keyField && v.r.Method != http.MethodPost:
			return v.askForKey("")
		case v.r.Method == http.MethodPost && v.formOf != v.account():
			return v.formMoved()
		}
		err = f(v)
		if !v.holder.IsZero() && refusedFor(err, fault.KeyInvalid) {
			v.dropKey()
			return v.askForKey("The key that you entered is no longer accepted: it was revoked.")
		}
		return err
	})
}

// findSupportUser identifies who asks.
func (v *request) findSupportUser() (bool, error) {
	key, ok := v.seal.open(v.jar.sealedKey(v.r), v.csrfCookie, v.Now())
	if !ok {
		return v.enter()
	}
	v.holder, v.reader = key, reader{now: v.Now(), zone: time.UTC}
	return true, nil
}

// formMoved refuses a form of a page for another account or another key.
func (v *request) formMoved() error {
	return &refusal{status: http.StatusConflict, heading: "This page belongs to another account", text: movedText}
}

// askForKey shows the ways to ask: signing in, or entering the key that made the call. A submitted
// text is shown again, so that it is not lost.
func (v *request) askForKey(wrong string) error {
	next := localPath(v.r.URL.RequestURI(), pathAsk)
	code := http.StatusOK
	if v.r.Method == http.MethodPost {
		next, code = v.r.URL.Path, http.StatusForbidden
		if request := v.r.PostForm.Get(requestField); request != "" {
			next += "?" + url.Values{requestField: {request}}.Encode()
		}
	}
	return v.showDoor(code, next, v.r.PostForm.Get("message"), wrong)
}

func (v *request) showDoor(code int, next, kept, wrong string) error {
	p := supportDoorPage{
		SignIn: link{
			"Sign in", pathSignIn + "?next=" + url.QueryEscape(strings.Replace(next, pathAskTickets, pathTickets, 1)),
		}, Next: next, Kept: kept,
		Key: field{
			Name: keyField, Label: "API key", Required: true, Most: 100, Hint: "cag_…", Error: wrong,
			Rule: "The key that made the call. It is kept encrypted in a cookie of these pages for an hour and is " +
				"never shown.",
		},
	}
	if at, err := url.Parse(next); err == nil {
		p.Request = at.Query().Get(requestField)
	}
	return v.show(code, p)
}

// supportPathOf returns a path of the support pages without the parameter withKey, or pathAsk for
// any other path.
func supportPathOf(path string) string {
	at, err := url.Parse(localPath(path, pathAsk))
	if err != nil || !strings.HasPrefix(at.Path, pathSupport+"/") || strings.Contains(at.Path, "..") {
		return pathAsk
	}
	query := at.Query()
	query.Del(withKey)
	at.RawQuery, at.Fragment = query.Encode(), ""
	return at.RequestURI()
}

const noKeyText = "This key is not known or was revoked. Copy all of it: cag_ and 49 letters and digits."

// saveKey stores a key sealed in a cookie. No answer contains the key itself.
func (v *request) saveKey() error {
	next := supportPathOf(v.r.PostForm.Get(nextField))
	key, ok := account.ParseKey(strings.TrimSpace(v.r.PostForm.Get(keyField)))
	if !ok {
		return v.showDoor(http.StatusUnprocessableEntity, next, "", noKeyText)
	}
	v.holder = key
	_, err := ask(v, v.Calls.ListTickets, service.ListTicketsInput{Limit: 1})
	v.holder = account.Key{}
	if refusedFor(err, fault.KeyInvalid) {
		return v.showDoor(http.StatusUnprocessableEntity, next, "", noKeyText)
	}
	if err != nil {
		return err
	}
	until := v.Now().Add(keyLifetime)
	http.SetCookie(v.w, v.jar.keyCookie(v.seal.close(key, v.csrfCookie, until), int(keyLifetime/time.Second)))
	return v.redirect(next)
}

// forgetKey deletes the stored key.
func (v *request) forgetKey() error {
	v.dropKey()
	return v.redirect(pathAsk)
}

func (v *request) dropKey() {
	http.SetCookie(v.w, v.jar.keyCookie("", -1))
	v.holder = account.Key{}
}

// askingWith returns the key that asks, for the page to show; empty when somebody signed in.
func (v *request) askingWith() string {
	if v.holder.IsZero() {
		return ""
	}
	return v.holder.Prefix()
}

// Paths of the tickets and of the form for this request.
func (v *request) ticketsAt() string {
	if v.holder.IsZero() {
		return pathTickets
	}
	return pathAskTickets
}

func (v *request) askAt() string {
	if v.holder.IsZero() {
		return pathNewTicket
	}
	return pathAsk
}

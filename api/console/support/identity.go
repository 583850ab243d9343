// Package support has the pages on which people and holders of keys file tickets, read the answers,
// and give feedback.
package support

import (
	"embed"
	"net/http"
	"net/url"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/tickets"
)

// Paths that only these pages have.
const (
	pathAskKey   = paths.Support + "/key"
	pathFeedback = "/feedback"
)

// Fields of the forms of support.
const (
	requestField = "request_id"
	keyField     = "key"
	nextField    = "next"
	// withKey, in the URL of paths.Ask, asks for a key even when somebody is signed in, because the
	// call may have used a key of another account.
	withKey = "with"
)

//go:embed templates
var templates embed.FS

// Register registers the customer's side of support.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	s.HandleSignedIn("GET "+paths.Tickets, listTickets)
	s.HandleSignedIn("GET "+paths.NewTicket, startTicket)
	s.HandleSignedIn("POST "+paths.NewTicket, fileTicket)
	s.HandleSignedIn("GET "+paths.Tickets+"/{reference}", getTicket)
	s.HandleSignedIn("POST "+paths.Tickets+"/{reference}", answerTicket)
	s.HandleSignedIn("GET "+pathFeedback, listFeedback)
	s.HandleSignedIn("POST "+pathFeedback, giveFeedback)

	handle(s, "GET "+paths.Ask, startTicket)
	handle(s, "POST "+paths.Ask, fileTicket)
	handle(s, "GET "+paths.AskTickets, listTickets)
	handle(s, "GET "+paths.AskTickets+"/{reference}", getTicket)
	handle(s, "POST "+paths.AskTickets+"/{reference}", answerTicket)
	s.Handle("POST "+pathAskKey, saveKey)
	s.Handle("POST "+pathAskKey+"/leave", forgetKey)
	return nil
}

// handle serves a pattern for the holder of an entered key, or else for the person who signed
// in. Anybody else is asked to do either.
func handle(s *site.Site, pattern string, f func(*site.Request) error) {
	s.Handle(pattern, func(v *site.Request) error {
		known, err := v.Identify()
		switch {
		case err != nil:
			return err
		case !known || !v.AsksWithKey() && v.R.URL.Query().Get(withKey) == keyField && v.R.Method != http.MethodPost:
			return askForKey(v, "")
		}
		if err := v.CheckAccount(); err != nil {
			return err
		}
		err = f(v)
		if v.AsksWithKey() && site.RefusedFor(err, fault.KeyInvalid) {
			v.DropKey()
			return askForKey(v, "The key that you entered is no longer accepted: it was revoked.")
		}
		return err
	})
}

// askForKey shows the ways to ask: signing in, or entering the key that made the call. A submitted
// text is shown again, so that it is not lost.
func askForKey(v *site.Request, wrong string) error {
	next := paths.Local(v.R.URL.RequestURI(), paths.Ask)
	code := http.StatusOK
	if v.R.Method == http.MethodPost {
		next, code = v.R.URL.Path, http.StatusForbidden
		if request := v.R.PostForm.Get(requestField); request != "" {
			next += "?" + url.Values{requestField: {request}}.Encode()
		}
	}
	return showDoor(v, code, next, v.R.PostForm.Get("message"), wrong)
}

func showDoor(v *site.Request, code int, next, kept, wrong string) error {
	p := supportDoorPage{
		SignIn: view.Link{
			Text: "Sign in", To: paths.SignIn + "?next=" +
				url.QueryEscape(strings.Replace(next, paths.AskTickets, paths.Tickets, 1)),
		}, Next: next, Kept: kept,
		Key: view.Field{
			Name: keyField, Label: "API key", Required: true, Most: 100, Hint: "cag_…", Error: wrong,
			Rule: "The key that made the call. It is kept encrypted in a cookie of these pages for an hour and is " +
				"never shown.",
		},
	}
	if at, err := url.Parse(next); err == nil {
		p.Request = at.Query().Get(requestField)
	}
	return v.Show(code, p)
}

// supportPathOf returns a path of the support pages without the parameter withKey, or paths.Ask for
// any other path.
func supportPathOf(path string) string {
	at, err := url.Parse(paths.Local(path, paths.Ask))
	if err != nil || !strings.HasPrefix(at.Path, paths.Support+"/") || strings.Contains(at.Path, "..") {
		return paths.Ask
	}
	query := at.Query()
	query.Del(withKey)
	at.RawQuery, at.Fragment = query.Encode(), ""
	return at.RequestURI()
}

const noKeyText = "This key is not known or was revoked. Copy all of it: cag_ and 49 letters and digits."

// saveKey stores a key sealed in a cookie. No answer contains the key itself.
func saveKey(v *site.Request) error {
	next := supportPathOf(v.R.PostForm.Get(nextField))
	key, ok := account.ParseKey(strings.TrimSpace(v.R.PostForm.Get(keyField)))
	if !ok {
		return showDoor(v, http.StatusUnprocessableEntity, next, "", noKeyText)
	}
	_, err := site.Ask(v.As(key), v.Calls.ListTickets, tickets.ListTicketsInput{Limit: 1})
	if site.RefusedFor(err, fault.KeyInvalid) {
		return showDoor(v, http.StatusUnprocessableEntity, next, "", noKeyText)
	}
	if err != nil {
		return err
	}
	v.KeepKey(key)
	return v.Redirect(next)
}

// forgetKey deletes the stored key.
func forgetKey(v *site.Request) error {
	v.DropKey()
	return v.Redirect(paths.Ask)
}

// Paths of the tickets and of the form for this request.
func ticketsAt(v *site.Request) string {
	if !v.AsksWithKey() {
		return paths.Tickets
	}
	return paths.AskTickets
}

func askAt(v *site.Request) string {
	if !v.AsksWithKey() {
		return paths.NewTicket
	}
	return paths.Ask
}

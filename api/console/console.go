package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/service"
)

// Paths that several pages link to.
const (
	pathSignIn = "/sign-in"

	pathSignInLink = pathSignIn + "/link"
	pathAccept     = "/invitations/accept"

	pathOverview = "/overview"
	pathKeys     = "/keys"
	pathAgents   = "/agents"
	pathAdopt    = "/agents/adopt"
	pathSettings = "/settings"

	pathBilling    = "/billing"
	pathStatements = "/statements"
)

// caller returns the caller for this request's operations.
func (v *request) caller() *service.Caller {
	id, _ := uuid.Parse(v.request)
	c := &service.Caller{Door: service.DoorConsole, RequestID: id, Network: v.Network(v.r), Browser: v.r.UserAgent()}
	if v.holder.IsZero() {
		c.Session = v.jar.get(v.r, sessionCookie)
	} else {
		c.Bearer = v.holder.Reveal()
	}
	return c
}

// ask runs an operation for this request.
func ask[In, Out any](v *request, run Call[In, Out], in In) (Out, error) {
	out, refusal := run(v.r.Context(), v.caller(), in)
	if refusal != nil {
		return out, refusal
	}
	return out, nil
}

// maxAsked is how many operations a page runs in parallel.
const maxAsked = 3

// asked returns a function for inParallel that runs an operation and stores its answer.
func asked[In, Out any](v *request, run Call[In, Out], in In, answer *Out) func(context.Context) error {
	return func(ctx context.Context) error {
		out, refusal := run(ctx, v.caller(), in)
		if refusal != nil {
			return refusal
		}
		*answer = out
		return nil
	}
}

// inParallel runs independent operations in parallel, and returns the error of the first that
// fails.
func (v *request) inParallel(reads ...func(context.Context) error) error {
	return parallel.Do(v.r.Context(), maxAsked, reads...)
}

// console serves a pattern for people who signed in. Anybody else signs in first and comes back.
func (p *Pages) console(pattern string, f func(*request) error) {
	p.handle(pattern, func(v *request) error {
		known, err := v.enter()
		switch {
		case err != nil:
			return err
		case !known:
			return v.signInFirst()
		case v.r.Method == http.MethodPost && v.formOf != v.account():
			return v.formMoved()
		}
		return f(v)
	})
}

// enter identifies who signed in. It returns false when nobody did or the session has ended.
func (v *request) enter() (bool, error) {
	if v.jar.get(v.r, sessionCookie) == "" {
		return false, nil
	}
	session, err := ask(v, v.Calls.ShowSession, service.Nothing{})
	switch {
	case refusedFor(err, fault.KeyInvalid):
		v.jar.drop(v.w, sessionCookie)
		v.csrfCookie = v.jar.get(v.r, visitorCookie)
		return false, nil
	case err != nil:
		return false, err
	}
	v.session, v.reader = &session, reader{now: v.Now(), zone: zoneOf(session.TimeZone)}
	choice, err := ask(v, v.Calls.ListAccounts, service.Nothing{})
	if err != nil {
		return false, err
	}
	v.accounts = choice.Accounts
	return true, nil
}

// refusedFor reports whether an error is a refusal for a reason.
func refusedFor(err error, reason fault.Reason) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Reason == reason
}

// signInFirst redirects to the sign-in, which leads back to the page. The content of a submitted
// form is lost.
func (v *request) signInFirst() error {
	back := v.r.URL.RequestURI()
	if v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
		back = pathOverview
		if from, err := url.Parse(v.r.Header.Get("Referer")); err == nil && from.Path != "" {
			back = from.RequestURI()
		}
	}
	return v.redirect(pathSignIn + "?next=" + url.QueryEscape(localPath(back, pathOverview)))
}

// zoneOf returns a time zone by name, or UTC when this machine does not know it.
func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return time.UTC
	}
	return zone
}

// person returns who is signed in, for the frame.
func (v *request) person() *person {
	s := v.session
	if s == nil {
		return nil
	}
	p := &person{
		Email: s.Email, Account: accountTitle(s.AccountName, s.Email), Plan: s.PlanTitle,
		Period: period(s.PeriodStart, s.PeriodEnd), Left: v.reader.left(s.PeriodEnd), Staff: s.Staff,
	}
	for _, a := range v.accounts {
		if !a.Current {
			p.Others = append(p.Others, otherAccount{ID: a.AccountID, Name: accountTitle(a.Name, a.AccountID)})
		}
	}
	return p
}

// accountTitle returns the name of an account, or otherwise when it has none.
func accountTitle(name, otherwise string) string {
	if name != "" {
		return name
	}
	return otherwise
}

// suspension returns the notice that an account is suspended, which all its pages show.
func (v *request) suspension() (notice, bool) {
	if v.session == nil || v.session.Status == account.Active {
		return notice{}, false
	}
	entry := fault.AccountSuspended.Entry()
	n := notice{Tone: bad, Title: "This account is suspended", Text: v.session.SuspendedFor, Code: codeOf(entry.Code)}
	n.Steps = append(n.Steps, "Every call with its keys is refused, and nothing can be changed here.")
	n.Links = append(n.Links, link{"File a ticket to learn why and how it ends", pathAsk})
	return n, true
}

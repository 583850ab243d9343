package site

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/service/operation"
)

// Caller returns the caller for this request's operations.
func (v *Request) Caller() *operation.Caller {
	id, _ := uuid.Parse(v.ID)
	c := &operation.Caller{
		Door: operation.DoorConsole, RequestID: id, Network: v.Network(v.R),
		Browser: v.R.UserAgent(),
	}
	if v.holder.IsZero() {
		c.Session = v.Cookie(SessionCookie)
	} else {
		c.Bearer = v.holder.Reveal()
	}
	return c
}

// Ask runs an operation for this request.
func Ask[In, Out any](v *Request, run Call[In, Out], in In) (Out, error) {
	out, refusal := run(v.R.Context(), v.Caller(), in)
	if refusal != nil {
		return out, refusal
	}
	return out, nil
}

// maxAsked is how many operations a page runs in parallel.
const maxAsked = 3

// Asked returns a function for InParallel that runs an operation and stores its answer.
func Asked[In, Out any](v *Request, run Call[In, Out], in In, answer *Out) func(context.Context) error {
	return func(ctx context.Context) error {
		out, refusal := run(ctx, v.Caller(), in)
		if refusal != nil {
			return refusal
		}
		*answer = out
		return nil
	}
}

// InParallel runs independent operations in parallel, and returns the error of the first that
// fails.
func (v *Request) InParallel(reads ...func(context.Context) error) error {
	return parallel.Do(v.R.Context(), maxAsked, reads...)
}

// HandleSignedIn serves a pattern for people who signed in. Anybody else signs in first and comes
// back.
func (p *Site) HandleSignedIn(pattern string, f func(*Request) error) {
	p.Handle(pattern, func(v *Request) error {
		known, err := v.enter()
		switch {
		case err != nil:
			return err
		case !known:
			return v.signInFirst()
		}
		if err := v.CheckAccount(); err != nil {
			return err
		}
		return f(v)
	})
}

// enter identifies who signed in. It returns false when nobody did or the session has ended.
func (v *Request) enter() (bool, error) {
	if v.Cookie(SessionCookie) == "" {
		return false, nil
	}
	session, err := Ask(v, v.Calls.ShowSession, operation.Nothing{})
	switch {
	case RefusedFor(err, fault.KeyInvalid):
		v.DropCookie(SessionCookie)
		v.csrfCookie = v.Cookie(VisitorCookie)
		return false, nil
	case err != nil:
		return false, err
	}
	v.Session, v.Reader = &session, view.Reader{Now: v.Now(), Zone: zoneOf(session.TimeZone), Chains: v.Known}
	choice, err := Ask(v, v.Calls.ListAccounts, operation.Nothing{})
	if err != nil {
		return false, err
	}
	v.accounts = choice.Accounts
	return true, nil
}

// RefusedFor reports whether an error is a refusal for a reason.
func RefusedFor(err error, reason fault.Reason) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Reason == reason
}

// signInFirst redirects to the sign-in, which leads back to the page. The content of a submitted
// form is lost.
func (v *Request) signInFirst() error {
	back := v.R.URL.RequestURI()
	if v.R.Method != http.MethodGet && v.R.Method != http.MethodHead {
		back = paths.Overview
		if from, err := url.Parse(v.R.Header.Get("Referer")); err == nil && from.Path != "" {
			back = from.RequestURI()
		}
	}
	return v.Redirect(paths.SignIn + "?next=" + url.QueryEscape(paths.Local(back, paths.Overview)))
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
func (v *Request) person() *view.Person {
	s := v.Session
	if s == nil {
		return nil
	}
	p := &view.Person{
		Email: s.Email, Account: view.AccountTitle(s.AccountName, s.Email), Plan: s.PlanTitle,
		Period: view.Period(s.PeriodStart, s.PeriodEnd), Left: v.Reader.Left(s.PeriodEnd), Staff: s.Staff,
	}
	for _, a := range v.accounts {
		if !a.Current {
			p.Others = append(p.Others, view.OtherAccount{
				ID:   a.AccountID,
				Name: view.AccountTitle(a.Name, a.AccountID),
			})
		}
	}
	return p
}

// suspension returns the notice that an account is suspended, which all its pages show.
func (v *Request) suspension() (view.Notice, bool) {
	if v.Session == nil || v.Session.Status == account.Active {
		return view.Notice{}, false
	}
	entry := fault.AccountSuspended.Entry()
	n := view.Notice{
		Tone: view.Bad, Title: "This account is suspended", Text: v.Session.SuspendedFor,
		Code: view.CodeOf(entry.Code),
	}
	n.Steps = append(n.Steps, "Every call with its keys is refused, and nothing can be changed here.")
	n.Links = append(n.Links, view.Link{Text: "File a ticket to learn why and how it ends", To: paths.Ask})
	return n, true
}

// Owner reports whether the person who signed in owns the account.
func (v *Request) Owner() bool { return v.Session.Role == view.RoleOwner }

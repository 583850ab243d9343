package accounts

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// Sign-in and sessions. These operations have no route: pages call them in process, because their
// results belong in cookies.

// StartSignInInput requests a sign-in mail.
type StartSignInInput struct {
	Email    string `json:"email" minLength:"1" maxLength:"1016" doc:"one e-mail address"`
	ReturnTo string `json:"return_to,omitempty" maxLength:"4096" doc:"local path to come back to; what is none is left out"`
}

// StartedSignIn is the state of a sign-in that waits for its mail. It is the same for every
// address.
type StartedSignIn struct {
	BrowserToken string    `json:"browser_token" doc:"for a cookie of this browser until expires_at: only with it the code of the mail works"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// SignInLinkInput is the link of a sign-in mail.
type SignInLinkInput struct {
	Token string `json:"token" maxLength:"256" doc:"the token of the link, all of it"`
}

// ShownSignIn is the address that a link signs in.
type ShownSignIn struct {
	Email     string    `json:"email"`
	ExpiresAt time.Time `json:"expires_at"`
}

// SignInCodeInput is the code of a sign-in mail, entered in the browser that requested it.
type SignInCodeInput struct {
	BrowserToken string `json:"browser_token" maxLength:"256" doc:"what the cookie holds that start_sign_in gave"`
	Code         string `json:"code" maxLength:"64" doc:"the six digits of the mail"`
}

// Entered is the result of signing in. The caller's previous session has ended.
type Entered struct {
	SessionToken string `json:"session_token" doc:"for the session's cookie"`
	Email        string `json:"email"`
	AccountID    string `json:"account_id" format:"uuid"`
	NewAccount   bool   `json:"new_account" doc:"made for them just now, on the Free plan"`
	Joined       bool   `json:"joined" doc:"an invitation made them a member just now"`
	ReturnTo     string `json:"return_to,omitempty" doc:"local path to come back to"`
}

// CurrentSession is the user, the account and the role of a session.
type CurrentSession struct {
	SessionID    string         `json:"session_id" format:"uuid"`
	UserID       string         `json:"user_id" format:"uuid"`
	Email        string         `json:"email"`
	Role         string         `json:"role" enum:"owner,member"`
	AccountID    string         `json:"account_id" format:"uuid"`
	AccountName  string         `json:"account_name"`
	Plan         string         `json:"plan"`
	PlanTitle    string         `json:"plan_title"`
	PeriodStart  time.Time      `json:"period_start"`
	PeriodEnd    time.Time      `json:"period_end" doc:"first instant after the period"`
	TimeZone     string         `json:"time_zone" doc:"of the account, from the IANA database"`
	Status       account.Status `json:"status"`
	SuspendedFor string         `json:"suspended_for,omitempty" doc:"why the account is suspended"`
	Staff        bool           `json:"staff" doc:"whether the user answers the tickets of all accounts"`
}

// SessionList lists the open sessions of a user, most recently seen first.
type SessionList struct {
	Sessions []ListedSession `json:"sessions"`
}

// ListedSession is an open session.
type ListedSession struct {
	ID        string    `json:"id" format:"uuid"`
	Current   bool      `json:"current"`
	AccountID string    `json:"account_id" format:"uuid"`
	Network   string    `json:"network" doc:"first part of the address that signed in"`
	UserAgent string    `json:"user_agent"`
	BeganAt   time.Time `json:"began_at"`
	SeenAt    time.Time `json:"seen_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// EndSessionInput identifies a session.
type EndSessionInput struct {
	ID string `json:"id" maxLength:"64" doc:"a session of yours, as list_sessions gives it"`
}

// EndedSessions is the number of sessions that ended.
type EndedSessions struct {
	Ended int64 `json:"ended"`
}

// signInFails are the reasons with which operations of signing in fail.
var signInFails = []fault.Reason{fault.RateWindow, fault.MeterUnreachable, fault.DurableUnavailable}

func (h *handlers) startSignIn() *operation.Operation[StartSignInInput, StartedSignIn] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "start_sign_in", Title: "Ask for a mail to sign in", Access: operation.Everybody, Fails: signInFails,
		Description: "Sends a link and a code that sign in for 15 minutes, once, whether the address is known or " +
			"not. Each repeat sends another mail, within limits.",
	}, func(ctx context.Context, c *operation.Call, in StartSignInInput) (StartedSignIn, error) {
		started, err := h.People.StartSignIn(ctx, in.Email, in.ReturnTo, visitorOf(c))
		if err != nil {
			return StartedSignIn{}, err
		}
		return StartedSignIn{started.Browser.Reveal(), started.ExpiresAt}, nil
	})
}

func (h *handlers) showSignInLink() *operation.Operation[SignInLinkInput, ShownSignIn] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "show_sign_in_link", Title: "Look at a sign-in link", Access: operation.Everybody, Reads: true,
		Fails:       signInFails,
		Description: "Says as whom a link signs in, and uses nothing up: programs that look at mails follow links.",
	}, func(ctx context.Context, c *operation.Call, in SignInLinkInput) (ShownSignIn, error) {
		shown, err := h.People.ShowLink(ctx, in.Token, visitorOf(c))
		return ShownSignIn{shown.Email.Address(), shown.ExpiresAt}, err
	})
}

func (h *handlers) finishSignInByLink() *operation.Operation[SignInLinkInput, Entered] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "finish_sign_in_by_link", Title: "Sign in by link", Access: operation.Everybody, Fails: signInFails,
		Description: "Signs in by the link of a mail, once. Who is new gets an account on the Free plan. A repeat is " +
			"refused.",
	}, func(ctx context.Context, c *operation.Call, in SignInLinkInput) (Entered, error) {
		return entered(h.People.FinishByLink(ctx, in.Token, visitorOf(c)))
	})
}

func (h *handlers) finishSignInByCode() *operation.Operation[SignInCodeInput, Entered] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "finish_sign_in_by_code", Title: "Sign in by code", Access: operation.Everybody, Fails: signInFails,
		Description: "Signs in by the code of a mail, once, in the browser that asked for it. The fifth wrong code " +
			"ends the sign-in.",
	}, func(ctx context.Context, c *operation.Call, in SignInCodeInput) (Entered, error) {
		return entered(h.People.FinishByCode(ctx, in.BrowserToken, in.Code, visitorOf(c)))
	})
}

func entered(e people.Entered, err error) (Entered, error) { //nolint:gocritic // the results of a call
	if err != nil {
		return Entered{}, err
	}
	return Entered{
		SessionToken: e.Session.Reveal(), Email: e.Email.Address(), AccountID: e.Account.String(),
		NewAccount: e.NewAccount, Joined: e.Joined != nil, ReturnTo: e.ReturnTo,
	}, nil
}

func (h *handlers) showSession() *operation.Operation[operation.Nothing, CurrentSession] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "show_session", Title: "Show who signed in", Access: operation.Users, Reads: true,
		Fails:       []fault.Reason{fault.DurableUnavailable},
		Description: "Says who signed in, in which account and as what, and why the account is suspended when it is.",
	}, h.runShowSession)
}

func (h *handlers) runShowSession(ctx context.Context, c *operation.Call, _ operation.Nothing) (CurrentSession, error) {
	terms, err := c.Account.Terms()
	if err != nil {
		return CurrentSession{}, err
	}
	settings, err := h.Store.LoadSettings(ctx, c.Account.ID)
	if err != nil {
		return CurrentSession{}, operation.ToFault(err, "account")
	}
	terms = terms.At(h.Now())
	s, period := &c.User.Session, terms.Period(h.Now())
	return CurrentSession{
		SessionID: s.ID.String(), UserID: s.User.String(), Email: s.Email.Address(), Role: string(s.Role),
		AccountID: s.Account.String(), AccountName: s.AccountName, Plan: s.Plan, PlanTitle: terms.Plan.Title,
		PeriodStart: period.Start, PeriodEnd: period.End, TimeZone: settings.TimeZone, Status: s.Status,
		SuspendedFor: s.SuspendedFor, Staff: s.Staff,
	}, nil
}

func (h *handlers) signOut() *operation.Operation[operation.Nothing, operation.Nothing] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "sign_out", Title: "Sign out", Access: operation.Everybody,
		Fails:       []fault.Reason{fault.DurableUnavailable},
		Description: "Ends the caller's session. Without one it does nothing.",
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (operation.Nothing, error) {
		return operation.Nothing{}, h.People.SignOut(ctx, c.Session)
	})
}

func (h *handlers) signOutEverywhere() *operation.Operation[operation.Nothing, EndedSessions] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "sign_out_everywhere", Title: "Sign out everywhere", Access: operation.Users, OfUser: true,
		Fails: []fault.Reason{fault.DurableUnavailable}, Description: "Ends all sessions of the user, this one too.",
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (EndedSessions, error) {
		n, err := h.People.SignOutEverywhere(ctx, &c.User.Session)
		return EndedSessions{n}, err
	})
}

func (h *handlers) listSessions() *operation.Operation[operation.Nothing, SessionList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_sessions", Title: "List sessions", Access: operation.Users, Reads: true,
		Fails: []fault.Reason{fault.DurableUnavailable}, Description: "Lists where the user is signed in, at most 50.",
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (SessionList, error) {
		open, err := h.People.ListSessions(ctx, &c.User.Session)
		list := SessionList{Sessions: make([]ListedSession, len(open))}
		for i := range open {
			o := &open[i]
			list.Sessions[i] = ListedSession{
				ID: o.ID.String(), Current: o.ID == c.User.Session.ID, AccountID: o.Account.String(),
				Network: o.Network, UserAgent: o.UserAgent, BeganAt: o.BeganAt, SeenAt: o.SeenAt,
				ExpiresAt: o.ExpiresAt,
			}
		}
		return list, err
	})
}

func (h *handlers) endSession() *operation.Operation[EndSessionInput, operation.Nothing] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "end_session", Title: "End a session", Access: operation.Users, OfUser: true, Fails: []fault.Reason{
			fault.NotYours, fault.DurableUnavailable,
		},
		Description: "Ends one session of the user, in whatever browser. A repeat is not found.",
	}, func(ctx context.Context, c *operation.Call, in EndSessionInput) (operation.Nothing, error) {
		return operation.Nothing{}, h.People.EndSession(ctx, &c.User.Session, in.ID)
	})
}

// visitorOf returns the caller as package people takes it.
func visitorOf(c *operation.Call) people.Visitor {
	return people.Visitor{Network: c.Network, UserAgent: c.Browser, Session: c.Session}
}

package people

import (
	"context"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/peopledb"
)

// FindSession returns the session of a cookie: the user, the account and role, and whether and why
// the account is suspended. A cookie that was tampered with is refused without a query. Without a
// session the error is fault.KeyInvalid (401).
func (p *People) FindSession(ctx context.Context, cookie string) (peopledb.Session, error) {
	token, ok := account.ParseSessionToken(cookie)
	if !ok {
		return peopledb.Session{}, p.signedOut()
	}
	session, err := p.o.Store.FindSession(ctx, token.Digest(p.o.Hasher), p.o.Now())
	return session, toFault(err, p.signedOut())
}

func (p *People) signedOut() *fault.Error {
	return fault.New(fault.KeyInvalid,
		"You are not signed in, or your session is over. Sign in at %s/sign-in and try again.", p.o.PublicURL)
}

// SignOut ends the session of a cookie. It is idempotent: a cookie without a session is no error.
func (p *People) SignOut(ctx context.Context, cookie string) error {
	token, ok := account.ParseSessionToken(cookie)
	if !ok {
		return nil
	}
	return toFault(p.o.Store.EndSession(ctx, token.Digest(p.o.Hasher), p.o.Now()), nil)
}

// SignOutEverywhere ends all sessions of a user and returns how many.
func (p *People) SignOutEverywhere(ctx context.Context, s *peopledb.Session) (int64, error) {
	n, err := p.o.Store.EndSessionsOf(ctx, s.User, p.o.Now())
	return n, toFault(err, nil)
}

// ListSessions lists the open sessions of a user, most recently seen first.
func (p *People) ListSessions(ctx context.Context, s *peopledb.Session) ([]peopledb.OpenSession, error) {
	all, err := p.o.Store.ListSessions(ctx, s.User, p.o.Now())
	return all, toFault(err, nil)
}

// EndSession ends one session of the user, which may be another browser's.
func (p *People) EndSession(ctx context.Context, s *peopledb.Session, id string) error {
	session, err := parseID(id, "session")
	if err != nil {
		return err
	}
	return toFault(p.o.Store.EndSessionOf(ctx, s.User, peopledb.SessionID{UUID: session}, p.o.Now()),
		notFound("session"))
}

// ListAccounts lists the accounts that the user belongs to.
func (p *People) ListAccounts(ctx context.Context, s *peopledb.Session) ([]peopledb.Membership, error) {
	all, err := p.o.Store.ListMemberships(ctx, s.User)
	return all, toFault(err, nil)
}

// SwitchAccount moves the session to another account of the user.
func (p *People) SwitchAccount(ctx context.Context, s *peopledb.Session, to string) error {
	id, err := parseID(to, "account")
	if err != nil {
		return err
	}
	return toFault(p.o.Store.SwitchSession(ctx, s.User, s.ID, account.ID{UUID: id}, p.o.Now()), notFound("account"))
}

// parseID parses an id in its canonical form. For any other text it returns notFound.
func parseID(text, what string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return uuid.Nil, notFound(what)
	}
	return id, nil
}

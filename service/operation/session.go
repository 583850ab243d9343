package operation

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/peopledb"
)

// SignedIn is the user who signed in, with the account and the role.
type SignedIn struct {
	User  account.UserID
	Email string
	Owner bool // of the account

	Session peopledb.Session
}

// userLimit is the rate limit of operations per user. A page uses several.
var userLimit = account.RateWindow{Limit: 600, Per: time.Minute}

// identifyUser identifies the user who signed in and checks the access. In a suspended account a
// user can only read, and leave.
func (r *Runner) identifyUser(ctx context.Context, c *Call, m *Meta) *fault.Error {
	session, err := r.deps.People.FindSession(ctx, c.Session)
	if err != nil {
		return fault.From(err)
	}
	if c.Account, err = r.deps.Store.LoadAccount(ctx, session.Account); err != nil {
		return RecordUnavailable(err)
	}
	c.User = SignedIn{
		User: session.User, Email: session.Email.Address(), Owner: session.Role == peopledb.RoleOwner, Session: session,
	}
	if refusal := r.Limit(ctx, "manage:"+session.User.String(), userLimit); refusal != nil {
		return refusal
	}
	switch {
	case m.Access == Staff && !session.Staff:
		return fault.New(fault.NotYours, "There is nothing here for you.")
	case session.Status != account.Active && !m.Reads && !m.ReadsToo && !m.OfUser:
		return suspended(&session)
	case m.Access == Owners && !c.User.Owner:
		return fault.New(fault.WrongKindOfKey,
			"Only owners of the account may do this. Ask one of them: they are listed under members.")
	}
	return nil
}

// MayChange refuses changes by users of a suspended account. Keys of such an account are refused
// before.
func (c *Call) MayChange() *fault.Error {
	if c.Account.Status == account.Active {
		return nil
	}
	return suspended(&c.User.Session)
}

// suspended refuses a change and gives the user the reason.
func suspended(s *peopledb.Session) *fault.Error {
	f := fault.New(fault.AccountSuspended,
		"The account is suspended, so nothing of it can be changed. Write to the support named on this page to learn "+
			"how it ends.")
	if s.SuspendedFor != "" {
		f = f.With("suspended_for", s.SuspendedFor)
	}
	return f
}

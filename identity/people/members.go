package people

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// Who may manage whom is checked in the transaction of the change (peopledb.ErrNotOwner), so that
// an owner who is removed concurrently changes nothing any more.

// ListMembers lists the members of the account.
func (p *People) ListMembers(ctx context.Context, s *peopledb.Session) ([]peopledb.Member, error) {
	all, err := p.o.Store.ListMembers(ctx, s.Account)
	return all, toFault(err, nil)
}

// ListInvitations lists the open invitations of the account.
func (p *People) ListInvitations(ctx context.Context, s *peopledb.Session) ([]peopledb.Invitation, error) {
	all, err := p.o.Store.ListInvitations(ctx, s.Account, p.o.Now())
	return all, toFault(err, nil)
}

// Invite invites an address to the account, by mail. It replaces an open invitation to the same
// address, whose link then no longer works.
func (p *People) Invite(ctx context.Context, s *peopledb.Session, address, role string) (peopledb.Invitation, error) {
	if s.Role != peopledb.RoleOwner {
		return peopledb.Invitation{}, toFault(peopledb.ErrNotOwner, nil)
	}
	as, err := parseRole(role)
	if err != nil {
		return peopledb.Invitation{}, err
	}
	email, refusal := account.ParseEmail(address)
	if refusal != nil {
		return peopledb.Invitation{}, refusal
	}
	if err := p.limit(ctx, "invite:account:"+s.Account.String(), invitationsPerAccount,
		"invitations of this account"); err != nil {
		return peopledb.Invitation{}, err
	}
	if err := p.limitAddress(ctx, "invite", email, invitationsPerAddress, "invitations"); err != nil {
		return peopledb.Invitation{}, err
	}
	link, err := account.MintInvitationToken(p.o.Random)
	if err != nil {
		return peopledb.Invitation{}, fault.Internal(err)
	}
	now := p.o.Now()
	n := peopledb.NewInvitation{
		ID: peopledb.InvitationID{UUID: uuid.Must(uuid.NewV7())}, Account: s.Account, Email: email, Role: as,
		InvitedBy: s.User, Link: link.Digest(p.o.Hasher), At: now, ExpiresAt: now.Add(InvitationValid),
	}
	mails, err := p.prepare(outbox.Mail{
		Reason: "invitation/" + n.ID.String(), To: email.Address(), Account: s.Account, Expires: n.ExpiresAt,
		Mail: notify.Invitation{
			InvitedBy: s.Email.Address(), Account: called(s.AccountName, s.Email.Address()),
			Link: p.o.PublicURL + pathInvitation + link.Reveal(), Expires: n.ExpiresAt,
		},
	})
	if err != nil {
		return peopledb.Invitation{}, err
	}
	if err := p.o.Store.Invite(ctx, n, author(s), mails...); err != nil {
		return peopledb.Invitation{}, toFault(err, notFound("account"))
	}
	return peopledb.Invitation{
		ID: n.ID, Account: n.Account, AccountName: s.AccountName, Email: email, Role: as, InvitedBy: s.Email.Address(),
		InvitedAt: now, ExpiresAt: n.ExpiresAt,
	}, nil
}

// RevokeInvitation revokes an open invitation of the account.
func (p *People) RevokeInvitation(ctx context.Context, s *peopledb.Session, id string) error {
	invitation, err := parseID(id, "invitation")
	if err != nil {
		return err
	}
	err = p.o.Store.RevokeInvitation(ctx, s.Account, s.User, peopledb.InvitationID{UUID: invitation}, p.o.Now(),
		author(s))
	return toFault(err, notFound("invitation"))
}

// ShowInvitation returns who invites whom to which account. It does not use up the link.
func (p *People) ShowInvitation(ctx context.Context, token string, v Visitor) (peopledb.Invitation, error) {
	link, err := p.invitation(ctx, token, &v)
	if err != nil {
		return peopledb.Invitation{}, err
	}
	invitation, err := p.o.Store.FindInvitation(ctx, link.Digest(p.o.Hasher), p.o.Now())
	return invitation, toFault(err, invitationOver())
}

// AcceptInvitation makes the invited person a member, once. A new user is signed in by it: holding
// the link proves access to the address's mails. A known user needs a session of their own, because
// the link works for days and must not open their other accounts; without one the error is
// fault.KeyInvalid.
func (p *People) AcceptInvitation(ctx context.Context, token string, v Visitor) (Entered, error) {
	link, err := p.invitation(ctx, token, &v)
	if err != nil {
		return Entered{}, err
	}
	var as account.UserID
	if session, err := p.FindSession(ctx, v.Session); err == nil {
		as = session.User
	}
	return p.enter(v, func(b peopledb.Browser) (peopledb.Arrival, error) {
		arrival, err := p.o.Store.AcceptInvitation(ctx, link.Digest(p.o.Hasher), as, b, p.o.Now(), p.tell)
		if errors.Is(err, peopledb.ErrSignInFirst) {
			return arrival, fault.New(fault.KeyInvalid,
				"This invitation is for somebody who has an account here. Sign in with the invited address, then "+
					"open the link again.")
		}
		return arrival, toFault(err, invitationOver())
	})
}

// SetRole makes a member an owner, or an owner a member.
func (p *People) SetRole(ctx context.Context, s *peopledb.Session, user, role string) error {
	id, err := parseID(user, "member")
	if err != nil {
		return err
	}
	as, err := parseRole(role)
	if err != nil {
		return err
	}
	err = p.o.Store.SetRole(ctx, s.Account, s.User, account.UserID{UUID: id}, as, p.o.Now(), author(s))
	return toFault(err, notFound("member"))
}

// RemoveMember removes a member from the account; the member's sessions in it end at once. Members
// may remove themselves, which is leaving.
func (p *People) RemoveMember(ctx context.Context, s *peopledb.Session, user string) error {
	id, err := parseID(user, "member")
	if err != nil {
		return err
	}
	err = p.o.Store.RemoveMember(ctx, s.Account, s.User, account.UserID{UUID: id}, p.o.Now(), author(s))
	return toFault(err, notFound("member"))
}

// author returns the user as the author of a change in the audit log: by id, because its lines are
// kept longer than an address may be.
func author(s *peopledb.Session) accountdb.Author {
	return accountdb.Author{Actor: s.User.Actor(), Origin: accountdb.OriginConsole}
}

func parseRole(text string) (peopledb.Role, error) {
	switch role := peopledb.Role(text); role {
	case peopledb.RoleOwner, peopledb.RoleMember:
		return role, nil
	}
	return "", fault.New(fault.FieldRefused,
		"The role is owner or member. Owners manage the members of the account.").With("field", "role")
}

func (p *People) invitation(ctx context.Context, token string, v *Visitor) (account.InvitationToken, error) {
	if err := p.limitNetwork(ctx, netlimit.SignIns, v.Network, "attempts to sign in"); err != nil {
		return account.InvitationToken{}, err
	}
	link, ok := account.ParseInvitationToken(token)
	if !ok {
		return link, fault.New(fault.FieldRefused,
			"This link is not complete. Copy all of it from the mail, or ask for a new invitation.").With("field",
			"token")
	}
	return link, nil
}

func invitationOver() *fault.Error {
	return fault.New(fault.FieldRefused,
		"This invitation was accepted or taken back, or is older than 7 days. Ask whoever invited you for a new one; "+
			"who accepted already signs in as usual.").With("field", "token")
}

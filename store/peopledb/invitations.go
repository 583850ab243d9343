package peopledb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// InvitationID identifies an invitation (UUIDv7). It is not a secret.
type InvitationID struct{ uuid.UUID }

// NewInvitation invites an address to an account. Only the digest of its link is stored.
type NewInvitation struct {
	ID        InvitationID
	Account   account.ID
	Email     account.Email
	Role      Role
	InvitedBy account.UserID
	Link      account.Digest
	At        time.Time
	ExpiresAt time.Time
}

// Invitation is an open invitation of an account.
type Invitation struct {
	ID          InvitationID
	Account     account.ID
	AccountName string // may be empty; FindInvitation fills it
	Email       account.Email
	Role        Role
	InvitedBy   string // the inviter's address
	InvitedAt   time.Time
	ExpiresAt   time.Time
}

// Invite inserts an invitation and queues its mail in one transaction. An open invitation of the
// same address is replaced. It returns ErrNotOwner when the inviter does not own the account,
// ErrMemberExists when the address belongs to a member, and ErrTooManyPeople when the account has
// MaxInvitations open ones.
func (s *Store) Invite(ctx context.Context, n NewInvitation, by accountdb.Author, mails ...maildb.NewMail) error {
	err := s.byOwner(ctx, n.Account, n.InvitedBy, func(q *db.Queries) error {
		member, err := q.IsMemberByEmail(ctx, db.IsMemberByEmailParams{
			AccountID: n.Account.UUID, EmailKey: n.Email.Key(),
		})
		if err != nil {
			return err
		}
		if member {
			return ErrMemberExists
		}
		err = q.ReplaceInvitation(ctx, db.ReplaceInvitationParams{
			At: n.At, AccountID: n.Account.UUID, EmailKey: n.Email.Key(),
		})
		if err != nil {
			return err
		}
		open, err := q.CountOpenInvitations(ctx, db.CountOpenInvitationsParams{AccountID: n.Account.UUID, At: n.At})
		if err != nil {
			return err
		}
		if open >= MaxInvitations {
			return ErrTooManyPeople
		}
		err = q.InsertInvitation(ctx, db.InsertInvitationParams{
			ID: n.ID.UUID, AccountID: n.Account.UUID, Email: n.Email.Address(), EmailKey: n.Email.Key(),
			Role: string(n.Role), InvitedBy: n.InvitedBy.UUID, LinkDigest: n.Link[:], CreatedAt: n.At,
			ExpiresAt: n.ExpiresAt,
		})
		if err != nil {
			return err
		}
		if err := notePerson(ctx, q, n.Account, "invite_member", by, nobody,
			invited(n.Email.Address(), string(n.Role))); err != nil {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return fmt.Errorf("invite to account %s: %w", n.Account, err)
	}
	return nil
}

// ListInvitations reads the open invitations of an account, oldest first.
func (s *Store) ListInvitations(ctx context.Context, id account.ID, at time.Time) ([]Invitation, error) {
	rows, err := s.pool.Queries().ListOpenInvitations(ctx, db.ListOpenInvitationsParams{
		AccountID: id.UUID, At: at, MaxRows: MaxInvitations,
	})
	if err != nil {
		return nil, fmt.Errorf("list invitations of account %s: %w", id, err)
	}
	all := make([]Invitation, len(rows))
	for i, row := range rows {
		all[i] = Invitation{
			ID: InvitationID{row.ID}, Account: id, Email: account.RecordedEmail(row.Email, row.EmailKey),
			Role: Role(row.Role), InvitedBy: row.InvitedBy, InvitedAt: row.CreatedAt.UTC(),
			ExpiresAt: row.ExpiresAt.UTC(),
		}
	}
	return all, nil
}

// RevokeInvitation revokes an open invitation on behalf of an owner. It returns ErrNotFound, or
// ErrNotOwner.
func (s *Store) RevokeInvitation(ctx context.Context, of account.ID, owner account.UserID, id InvitationID,
	at time.Time, by accountdb.Author,
) error {
	err := s.byOwner(ctx, of, owner, func(q *db.Queries) error {
		row, err := q.RevokeInvitation(ctx, db.RevokeInvitationParams{At: at, ID: id.UUID, AccountID: of.UUID})
		if err != nil {
			return pg.NotFound(err)
		}
		return notePerson(ctx, q, of, "revoke_invitation", by, invited(row.Email, row.Role), nobody)
	})
	if err != nil {
		return fmt.Errorf("revoke invitation %s of account %s: %w", id, of, err)
	}
	return nil
}

// FindInvitation reads the invitation of a link without using it. It returns ErrNotFound when it
// was accepted or revoked, has expired, or never existed.
func (s *Store) FindInvitation(ctx context.Context, link account.Digest, at time.Time) (Invitation, error) {
	return findInvitation(ctx, s.pool.Queries(), link, at)
}

func findInvitation(ctx context.Context, q *db.Queries, link account.Digest, at time.Time) (Invitation, error) {
	row, err := q.GetInvitationByLink(ctx, db.GetInvitationByLinkParams{LinkDigest: link[:], At: at})
	if err != nil {
		return Invitation{}, fmt.Errorf("find an invitation: %w", pg.NotFound(err))
	}
	return Invitation{
		ID: InvitationID{row.ID}, Account: account.ID{UUID: row.AccountID}, AccountName: row.AccountName,
		Email: account.RecordedEmail(row.Email, row.EmailKey), Role: Role(row.Role), InvitedBy: row.InvitedBy,
		InvitedAt: row.CreatedAt.UTC(), ExpiresAt: row.ExpiresAt.UTC(),
	}, nil
}

// ErrSignInFirst reports that an invitation belongs to an existing user who is not the one that
// accepts it.
var ErrSignInFirst = errors.New("store: the invited user must sign in first")

// AcceptInvitation uses the invitation of a link, once. A new address becomes a user, is signed in
// and becomes a member in one transaction. Because a link lives for days and may be forwarded, it
// opens nothing that a user already has: an existing user must accept as themselves, given by as
// (zero for nobody). Otherwise it returns ErrSignInFirst, and the invitation stays unused. It
// returns ErrNotFound like FindInvitation, and ErrTooManyPeople when the account has MaxMembers
// members. A user who is a member already keeps their role.
func (s *Store) AcceptInvitation(ctx context.Context, link account.Digest, as account.UserID, b Browser, at time.Time,
	tell Telling,
) (Arrival, error) {
	var arrived Arrival
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		of, err := findInvitation(ctx, q, link, at)
		if err != nil {
			return err
		}
		// The same lock order as every other change of members.
		if _, err := q.LockPeople(ctx, of.Account.UUID); err != nil {
			return pg.NotFound(err)
		}
		if _, err := q.AcceptInvitation(ctx, db.AcceptInvitationParams{At: at, LinkDigest: link[:]}); err != nil {
			return pg.NotFound(err)
		}
		arrived = Arrival{Email: of.Email, Account: of.Account}
		if err := arrive(ctx, q, &arrived, at); err != nil {
			return err
		}
		if arrived.known && arrived.User != as {
			return ErrSignInFirst
		}
		if err := joinInvited(ctx, q, &arrived, of, at); err != nil {
			return err
		}
		return welcome(ctx, q, &arrived, b, at, tell)
	})
	if err != nil {
		return Arrival{}, fmt.Errorf("accept an invitation: %w", err)
	}
	return arrived, nil
}

// joinInvited makes the arriving user a member of the locked account.
//
//nolint:gocritic // a copy does no harm
func joinInvited(ctx context.Context, q *db.Queries, arrived *Arrival, of Invitation, at time.Time) error {
	joined, err := join(ctx, q, arrived.Account, arrived.User.UUID, of.Role, at)
	if err != nil || !joined {
		return err
	}
	members, err := listMembers(ctx, q, arrived.Account, MaxMembers+1)
	if err != nil {
		return err
	}
	if len(members) > MaxMembers {
		return ErrTooManyPeople
	}
	owners := slices.DeleteFunc(members, func(m Member) bool { return m.Role != RoleOwner || m.User == arrived.User })
	arrived.Joined = &Joined{By: of, Owners: owners}
	by := accountdb.Author{Actor: arrived.User.Actor(), Origin: accountdb.OriginConsole}
	return notePerson(ctx, q, arrived.Account, "join_account", by, nobody,
		person(arrived.User, arrived.Email.Address(), string(of.Role)))
}

// invited is the audit log's document of an invitation.
func invited(email, role string) map[string]any {
	return map[string]any{"email": email, "role": role}
}

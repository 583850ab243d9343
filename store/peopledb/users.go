package peopledb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// Bounds of members and invitations.
const (
	MaxMembers     = 100 // of an account
	MaxMemberships = 100 // of a user
	MaxInvitations = 50  // open ones of an account
)

var (
	// ErrLastOwner reports that a change would leave an account without an owner.
	ErrLastOwner = errors.New("store: an account keeps at least one owner")
	// ErrNotOwner reports that the user who changes members or invitations is not, or no longer, an
	// owner of the account.
	ErrNotOwner = errors.New("store: not an owner of the account")
	// ErrMemberExists reports that an invited address belongs to a member.
	ErrMemberExists = errors.New("store: a member already")
	// ErrTooManyPeople reports that an account has the maximum of members or of open invitations.
	ErrTooManyPeople = errors.New("store: no room for more people")
)

// Role is what a member may do in an account. Owners manage its members.
type Role string

// The roles.
const (
	RoleOwner  Role = "owner"
	RoleMember Role = "member"
)

// Member is a user in an account.
type Member struct {
	User         account.UserID
	Email        account.Email
	Role         Role
	JoinedAt     time.Time
	LastSignedIn time.Time // to any account; zero when never
}

// Membership is an account that a user is a member of.
type Membership struct {
	Account  account.ID
	Name     string // the account's name; may be empty
	Role     Role
	LastUsed time.Time
}

// ListMembers reads the members of an account in the order in which they joined.
func (s *Store) ListMembers(ctx context.Context, id account.ID) ([]Member, error) {
	members, err := listMembers(ctx, s.pool.Queries(), id, MaxMembers)
	if err != nil {
		return nil, fmt.Errorf("list members of account %s: %w", id, err)
	}
	return members, nil
}

func listMembers(ctx context.Context, q *db.Queries, id account.ID, limit int32) ([]Member, error) {
	rows, err := q.ListMembers(ctx, db.ListMembersParams{AccountID: id.UUID, MaxRows: limit})
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(rows))
	for i, row := range rows {
		members[i] = Member{
			User: account.UserID{UUID: row.UserID}, Email: account.RecordedEmail(row.Email, row.EmailKey),
			Role: Role(row.Role), JoinedAt: row.JoinedAt.UTC(), LastSignedIn: pg.UTCOrZero(row.LastSignedInAt),
		}
	}
	return members, nil
}

// ListMemberships reads the accounts of a user in the order in which they were joined.
func (s *Store) ListMemberships(ctx context.Context, id account.UserID) ([]Membership, error) {
	rows, err := s.pool.Queries().ListMemberships(ctx,
		db.ListMembershipsParams{UserID: id.UUID, MaxRows: MaxMemberships})
	if err != nil {
		return nil, fmt.Errorf("list accounts of user %s: %w", id, err)
	}
	all := make([]Membership, len(rows))
	for i, row := range rows {
		all[i] = Membership{account.ID{UUID: row.AccountID}, row.Name, Role(row.Role), row.LastUsedAt.UTC()}
	}
	return all, nil
}

// EmailsOf returns the addresses of the actors of audit lines, by actor. Actors that are not users
// are omitted.
func (s *Store) EmailsOf(ctx context.Context, actors []string) (map[string]string, error) {
	return EmailsOf(ctx, s.pool.Queries(), actors)
}

// EmailsOf is EmailsOf for a caller with queries of its own.
func EmailsOf(ctx context.Context, q *db.Queries, actors []string) (map[string]string, error) {
	var ids []uuid.UUID
	for _, actor := range actors {
		if id, ok := account.ParseActor(actor); ok {
			ids = append(ids, id.UUID)
		}
	}
	if len(ids) == 0 {
		return map[string]string{}, nil
	}
	rows, err := q.ListEmails(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list the addresses of %d users: %w", len(ids), err)
	}
	emails := make(map[string]string, len(rows))
	for _, row := range rows {
		emails[account.UserID{UUID: row.ID}.Actor()] = row.Email
	}
	return emails, nil
}

// SetRole changes the role of a member on behalf of an owner. The open invitations of an owner who
// loses that role are revoked. It is idempotent. It returns ErrNotOwner when owner does not own the
// account, ErrNotFound when there is no such member, and ErrLastOwner when the account would have
// no owner left.
func (s *Store) SetRole(ctx context.Context, id account.ID, owner, user account.UserID, role Role, at time.Time,
	by accountdb.Author,
) error {
	err := s.byOwner(ctx, id, owner, func(q *db.Queries) error {
		member, err := q.GetMember(ctx, db.GetMemberParams{AccountID: id.UUID, UserID: user.UUID})
		if err != nil {
			return pg.NotFound(err)
		}
		if member.Role == string(role) {
			return nil
		}
		if role != RoleOwner {
			if err := giveUpOwnership(ctx, q, id, user, at); err != nil {
				return err
			}
		}
		if err := q.SetMemberRole(ctx, db.SetMemberRoleParams{
			AccountID: id.UUID, UserID: user.UUID, Role: string(role),
		}); err != nil {
			return err
		}
		return notePerson(ctx, q, id, "change_member", by, person(user, member.Email, member.Role),
			person(user, member.Email, string(role)))
	})
	if err != nil {
		return fmt.Errorf("change the role of user %s in account %s: %w", user, id, err)
	}
	return nil
}

// RemoveMember removes a member from an account and ends their sessions in it, on behalf of an
// owner, or of the member, who may always leave. It returns ErrNotOwner when owner does not own the
// account, ErrNotFound when there is no such member, and ErrLastOwner when the account would have
// no owner left.
func (s *Store) RemoveMember(ctx context.Context, id account.ID, owner, user account.UserID, at time.Time,
	by accountdb.Author,
) error {
	remove := func(q *db.Queries) error { return removeMember(ctx, q, id, user, at, by) }
	var err error
	if owner == user {
		err = s.people(ctx, id, remove)
	} else {
		err = s.byOwner(ctx, id, owner, remove)
	}
	if err != nil {
		return fmt.Errorf("remove user %s from account %s: %w", user, id, err)
	}
	return nil
}

func removeMember(ctx context.Context, q *db.Queries, id account.ID, user account.UserID, at time.Time,
	by accountdb.Author,
) error {
	member, err := q.GetMember(ctx, db.GetMemberParams{AccountID: id.UUID, UserID: user.UUID})
	if err != nil {
		return pg.NotFound(err)
	}
	if member.Role == string(RoleOwner) {
		if err := giveUpOwnership(ctx, q, id, user, at); err != nil {
			return err
		}
	}
	if err := q.DeleteMember(ctx, db.DeleteMemberParams{AccountID: id.UUID, UserID: user.UUID}); err != nil {
		return err
	}
	if _, err := q.EndSessionsOfMember(ctx, db.EndSessionsOfMemberParams{
		At: at, UserID: user.UUID, AccountID: id.UUID,
	}); err != nil {
		return err
	}
	return notePerson(ctx, q, id, "remove_member", by, person(user, member.Email, member.Role), nobody)
}

// byOwner runs do on behalf of an owner, under a lock on the account's members.
func (s *Store) byOwner(ctx context.Context, id account.ID, owner account.UserID, do func(*db.Queries) error) error {
	return s.people(ctx, id, func(q *db.Queries) error {
		// Checked under the lock, so that an owner who was just removed can change nothing.
		acting, err := q.GetMember(ctx, db.GetMemberParams{AccountID: id.UUID, UserID: owner.UUID})
		switch {
		case errors.Is(err, pgx.ErrNoRows), err == nil && acting.Role != string(RoleOwner):
			return ErrNotOwner
		case err != nil:
			return err
		}
		return do(q)
	})
}

// people runs do under a lock on the account's members. It returns ErrNotFound when the account is
// not of the kind that users own.
func (s *Store) people(ctx context.Context, id account.ID, do func(*db.Queries) error) error {
	return s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockPeople(ctx, id.UUID); err != nil {
			return pg.NotFound(err)
		}
		return do(q)
	})
}

// giveUpOwnership refuses to remove the last owner, and revokes the owner's open invitations.
func giveUpOwnership(ctx context.Context, q *db.Queries, id account.ID, user account.UserID, at time.Time) error {
	count, err := q.CountMembers(ctx, id.UUID)
	if err != nil {
		return err
	}
	if count.Owners <= 1 {
		return ErrLastOwner
	}
	return q.RevokeInvitationsBy(ctx, db.RevokeInvitationsByParams{At: at, AccountID: id.UUID, InvitedBy: user.UUID})
}

// join makes a user a member, and reports whether they were not one before.
func join(ctx context.Context, q *db.Queries, id account.ID, user uuid.UUID, role Role, at time.Time) (bool, error) {
	n, err := q.InsertMember(ctx, db.InsertMemberParams{AccountID: id.UUID, UserID: user, Role: string(role), At: at})
	return n > 0, err
}

// notePerson writes the audit line of a change of members. It changes no limits, so nothing is
// pushed to the meter.
func notePerson(ctx context.Context, q *db.Queries, id account.ID, action string, by accountdb.Author, before,
	after any,
) error {
	return q.InsertAudit(ctx, db.InsertAuditParams{
		AccountID: id.UUID, Actor: by.Actor, Origin: by.Origin, Action: action, Reason: by.Reason,
		Before: pg.JSON(before), After: pg.JSON(after),
	})
}

// nobody is the document of a person before they join and after they leave.
var nobody = map[string]any{}

// person is what the audit log shows of a member. It includes the address, so that the line is
// readable after the member has left.
func person(user account.UserID, email, role string) map[string]any {
	return map[string]any{"user": user.String(), "email": email, "role": role}
}

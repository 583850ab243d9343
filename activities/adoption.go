package activities

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// Owners is what AdoptionLetters reads about the key and the account's members.
type Owners interface {
	LoadKey(ctx context.Context, id account.KeyID) (accountdb.Key, error)
	ListMembers(ctx context.Context, id account.ID) ([]peopledb.Member, error)
	ListMemberships(ctx context.Context, id account.UserID) ([]peopledb.Membership, error)
	LoadSettings(ctx context.Context, id account.ID) (accountdb.Settings, error)
}

// Sealer turns a mail into an outbox row.
type Sealer interface {
	Prepare(l outbox.Mail) (maildb.NewMail, error)
}

// AdoptionLetters writes the mails that tell an account's owners of an adopted key.
type AdoptionLetters struct {
	Owners Owners
	Sealer Sealer
	URL    string // of the service, without a trailing slash
	Now    func() time.Time
}

var _ AdoptionMails = (*AdoptionLetters)(nil)

// KeyAdopted returns one mail for each owner of the account. It is refused unless a.User is one of
// them.
//
//nolint:gocritic // a copy does no harm
func (l *AdoptionLetters) KeyAdopted(ctx context.Context, a KeyAdoption) ([]maildb.NewMail, error) {
	key, err := l.Owners.LoadKey(ctx, a.Key)
	if err != nil {
		return nil, err
	}
	members, err := l.Owners.ListMembers(ctx, a.Account)
	if err != nil {
		return nil, err
	}
	by := ""
	for i := range members {
		if members[i].User == a.User && members[i].Role == peopledb.RoleOwner {
			by = members[i].Email.Address()
		}
	}
	if by == "" {
		return nil, fault.New(fault.NotYours,
			"You do not own this account any more. Sign in again and choose an account of yours.")
	}
	name, err := l.name(ctx, &a, by)
	if err != nil {
		return nil, err
	}
	settings, err := l.Owners.LoadSettings(ctx, a.Account)
	if err != nil {
		return nil, err
	}
	told := notify.KeyAdopted{Prefix: key.Prefix, Account: name, By: by, At: l.Now(), Link: l.URL + "/agents"}
	var mails []maildb.NewMail
	for i := range members {
		if members[i].Role != peopledb.RoleOwner {
			continue
		}
		mail, err := l.Sealer.Prepare(outbox.Mail{
			Reason: "adopted/" + a.Key.String() + "/" + members[i].User.String(), To: members[i].Email.Address(),
			Account: a.Account, Zone: settings.TimeZone, Mail: told,
		})
		if err != nil {
			return nil, err
		}
		mails = append(mails, mail)
	}
	return mails, nil
}

// name returns the account's name, or otherwise if it has none.
func (l *AdoptionLetters) name(ctx context.Context, a *KeyAdoption, otherwise string) (string, error) {
	memberships, err := l.Owners.ListMemberships(ctx, a.User)
	if err != nil {
		return "", err
	}
	for _, m := range memberships {
		if m.Account == a.Account && m.Name != "" {
			return m.Name, nil
		}
	}
	return otherwise, nil
}

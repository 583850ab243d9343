package accountdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// Adoption is the record that an owner adopted a key.
type Adoption struct {
	Key       account.KeyID
	From      account.ID
	Account   account.ID
	User      account.UserID
	AdoptedAt time.Time
}

// Adopted is the result of AdoptKey: the key with its owner's account.
type Adopted struct {
	Key      Key
	Account  Account
	Adoption Adoption
	Before   bool // it was adopted earlier, and nothing changed
}

// FindClaim finds the key of a claim code by the code's digest. It returns ErrNotFound when there
// is none. The Adoption is zero unless the key was adopted.
func (s *Store) FindClaim(ctx context.Context, digest []byte) (Key, Adoption, error) {
	row, err := s.pool.Queries().GetKeyByClaim(ctx, digest)
	var adoption Adoption
	if errors.Is(err, pgx.ErrNoRows) {
		// Read second: a key that is adopted in between leaves keys and appears here.
		var adopted db.Adoption
		if adopted, err = s.pool.Queries().GetAdoptionByClaim(ctx, digest); err == nil {
			adoption = adoptionOf(adopted)
			row, err = s.pool.Queries().GetKey(ctx, adopted.KeyID)
		}
	}
	if err != nil {
		return Key{}, Adoption{}, fmt.Errorf("find a key by its claim code: %w", pg.NotFound(err))
	}
	key, err := keyOf(row)
	return key, adoption, err
}

// AdoptKey moves a door key, anonymous or bound to a wallet, to an owner's account, whose limits
// apply to it from then on. It uses up the claim code and queues the mails in the same transaction.
// It is idempotent: adopting into the same account again returns the first adoption and changes
// nothing. A key that another account adopted, that is revoked or whose account is suspended is
// refused. It returns ErrNotFound when there is no such key.
func (s *Store) AdoptKey(ctx context.Context, id account.KeyID, to account.ID, user account.UserID, by Author,
	mails ...maildb.NewMail,
) (Adopted, error) {
	var adopted Adopted
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) (err error) {
		adopted, err = adoptKey(ctx, q, id, to, user, by)
		if err != nil || adopted.Before {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return Adopted{}, fmt.Errorf("adopt key %s: %w", id, err)
	}
	return adopted, nil
}

// adoptKey locks the key, then the account that it leaves, then the one that adopts it. The last
// lock keeps the count of keys from changing meanwhile.
func adoptKey(ctx context.Context, q *db.Queries, id account.KeyID, to account.ID, user account.UserID,
	by Author,
) (Adopted, error) {
	row, err := q.LockKey(ctx, db.LockKeyParams{ID: id.UUID})
	if err != nil {
		return Adopted{}, pg.NotFound(err)
	}
	key, err := keyOf(row)
	if err != nil {
		return Adopted{}, err
	}
	before, err := q.GetAdoption(ctx, id.UUID)
	switch {
	case err == nil && before.AccountID == to.UUID:
		owner, err := LoadAccount(ctx, q, key.Account)
		return Adopted{key, owner, adoptionOf(before), true}, err
	case err == nil:
		return Adopted{}, NoClaim()
	case !errors.Is(err, pgx.ErrNoRows):
		return Adopted{}, err
	}
	source, err := q.ShareAccount(ctx, row.AccountID)
	if err != nil {
		return Adopted{}, err
	}
	target, err := q.LockAccount(ctx, to.UUID)
	if err != nil {
		return Adopted{}, pg.NotFound(err)
	}
	if refusal := mayAdopt(&key, source, target); refusal != nil {
		return Adopted{}, refusal
	}
	if err := roomForKey(ctx, q, to, "adopt this one with the same code: it stays as it is until then"); err != nil {
		return Adopted{}, err
	}
	return adopt(ctx, q, &key, row.ClaimDigest, target, user, by)
}

// NoClaim is the refusal of a claim code that no key waits for. The message is the same for codes
// that never existed and for used ones.
func NoClaim() *fault.Error {
	return fault.New(fault.NotYours,
		"No key waits for an owner under this claim code. Check it for characters lost in copying; one that was used "+
			"is used up.")
}

func mayAdopt(key *Key, source, target db.Account) *fault.Error { //nolint:gocritic // rows go by value
	switch {
	case !key.Adoptable || (key.Door != account.DoorPublic && key.Door != account.DoorWallet):
		return NoClaim()
	case key.Status != account.Active:
		return fault.New(fault.FieldRefused,
			"claim_code belongs to a key that is revoked. Ask for the code of one that works.")
	case source.Status != string(account.Active):
		return fault.New(fault.AccountSuspended,
			"This key is suspended, and cannot be adopted before that ends. File a ticket to learn why.")
	case target.Kind != string(KindOwner):
		return fault.New(fault.WrongKindOfKey,
			"Only the account of an owner adopts keys. Sign in with an e-mail address and try again.")
	case target.Status != string(account.Active):
		return fault.New(fault.AccountSuspended,
			"Your account is suspended, so it adopts no keys. File a ticket to learn why and how it ends.")
	}
	return nil
}

//nolint:gocritic // rows go by value
func adopt(ctx context.Context, q *db.Queries, key *Key, claim []byte, target db.Account, user account.UserID,
	by Author,
) (Adopted, error) {
	owner, err := withPacks(ctx, q, target)
	if err != nil {
		return Adopted{}, err
	}
	row, err := q.AdoptKey(ctx, db.AdoptKeyParams{ID: key.ID.UUID, Account: owner.ID.UUID})
	if err != nil {
		return Adopted{}, err
	}
	moved, err := keyOf(row)
	if err != nil {
		return Adopted{}, err
	}
	if err := noteMove(ctx, q, key, &moved, "adopt_key", by); err != nil {
		return Adopted{}, err
	}
	if err := moveSupport(ctx, q, key, owner.ID); err != nil {
		return Adopted{}, err
	}
	adoption, err := q.InsertAdoption(ctx, db.InsertAdoptionParams{
		KeyID: key.ID.UUID, ClaimDigest: claim, FromAccount: key.Account.UUID, AccountID: owner.ID.UUID,
		UserID: user.UUID,
	})
	return Adopted{moved, owner, adoptionOf(adoption), false}, err
}

// moveSupport moves the key's tickets and feedback to its new account. The key still sees them, and
// its owner now does too.
func moveSupport(ctx context.Context, q *db.Queries, key *Key, to account.ID) error {
	if err := q.MoveDeskLinesOfKey(ctx, db.MoveDeskLinesOfKeyParams{
		Account: to.UUID, FromAccount: key.Account.UUID, Key: key.ID.UUID,
	}); err != nil {
		return err
	}
	if err := q.MoveTicketsOfKey(ctx, db.MoveTicketsOfKeyParams{
		Account: to.UUID, FromAccount: key.Account.UUID, Key: &key.ID.UUID,
	}); err != nil {
		return err
	}
	return q.MoveFeedbackOfKey(ctx, db.MoveFeedbackOfKeyParams{
		Account: to.UUID, FromAccount: key.Account.UUID, Key: &key.ID.UUID,
	})
}

func adoptionOf(row db.Adoption) Adoption {
	return Adoption{
		Key: account.KeyID{UUID: row.KeyID}, From: account.ID{UUID: row.FromAccount},
		Account: account.ID{UUID: row.AccountID}, User: account.UserID{UUID: row.UserID},
		AdoptedAt: row.AdoptedAt.UTC(),
	}
}

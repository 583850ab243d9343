package accountdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// Wallet is a wallet that proved itself. It has one account for good, and one active key at a time.
type Wallet struct {
	Address wallet.Address
	Account account.ID
	Key     account.KeyID // may be revoked
	Message string        // the signed message (EIP-4361)
	BoundAt time.Time
}

// Binding is a wallet's proof, by a signed message, for a key.
type Binding struct {
	Key     account.KeyID
	Address wallet.Address
	Message string
}

// Bound is a key with its wallet, and the account that both have now.
type Bound struct {
	Key     Key
	Account Account
	Wallet  Wallet
}

// FindWallet reads a wallet. It returns ErrNotFound when there is none.
func (s *Store) FindWallet(ctx context.Context, address wallet.Address) (Wallet, error) {
	row, err := s.pool.Queries().GetWallet(ctx, address[:])
	if err != nil {
		return Wallet{}, fmt.Errorf("find a wallet: %w", pg.NotFound(err))
	}
	return walletOf(row), nil
}

// FindWalletOfKey reads the wallet that a key is bound to. It returns ErrNotFound when there is
// none.
func (s *Store) FindWalletOfKey(ctx context.Context, id account.KeyID) (Wallet, error) {
	row, err := s.pool.Queries().GetWalletOfKey(ctx, id.UUID)
	if err != nil {
		return Wallet{}, fmt.Errorf("find the wallet of key %s: %w", id, pg.NotFound(err))
	}
	return walletOf(row), nil
}

// BindKey binds an anonymous key to a wallet. A new wallet takes over the key's account. A wallet
// whose earlier key is revoked takes the key into its own account, so that its allowance follows
// the wallet. BindKey is idempotent. It refuses, and changes nothing, when the key or the wallet
// has another binding, the key is revoked or not a door key, or an account is suspended. It returns
// ErrNotFound when there is no such key.
func (s *Store) BindKey(ctx context.Context, b Binding, by Author) (Bound, error) {
	var bound Bound
	bind := func(_ pgx.Tx, q *db.Queries) (err error) {
		bound, err = bindKey(ctx, q, b, by)
		return err
	}
	err := s.pool.Tx(ctx, pgx.TxOptions{}, bind)
	if violates(err, "wallets_pkey") { // a concurrent call bound the wallet first; it exists now
		err = s.pool.Tx(ctx, pgx.TxOptions{}, bind)
	}
	if err != nil {
		return Bound{}, fmt.Errorf("bind key %s: %w", b.Key, err)
	}
	return bound, nil
}

// bindKey locks the key, then its account, then the wallet, then the wallet's account.
func bindKey(ctx context.Context, q *db.Queries, b Binding, by Author) (Bound, error) {
	row, err := q.LockKey(ctx, db.LockKeyParams{ID: b.Key.UUID})
	if err != nil {
		return Bound{}, pg.NotFound(err)
	}
	key, err := keyOf(row)
	if err != nil {
		return Bound{}, err
	}
	own, err := q.LockAccount(ctx, row.AccountID)
	if err != nil {
		return Bound{}, pg.NotFound(err)
	}
	if refusal := mayBind(&key, own.Status); refusal != nil {
		return Bound{}, refusal
	}
	has, err := q.GetWalletOfKey(ctx, b.Key.UUID)
	switch {
	case err == nil && wallet.Address(has.Address) == b.Address: // already bound
		owner, err := withPacks(ctx, q, own)
		return Bound{key, owner, walletOf(has)}, err
	case err == nil:
		return Bound{}, fault.New(fault.BindingRefused,
			"This key is bound to another wallet, and a key keeps its wallet. Make another key with POST /keys and "+
				"bind that one.")
	case !errors.Is(err, pgx.ErrNoRows):
		return Bound{}, err
	}
	known, err := q.LockWallet(ctx, b.Address[:])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return bindNew(ctx, q, b, key, own, by)
	case err != nil:
		return Bound{}, err
	}
	return bindKnown(ctx, q, b, key, known, by)
}

// mayBind refuses keys that cannot be bound.
func mayBind(key *Key, status string) *fault.Error {
	switch {
	case key.Status != account.Active:
		return fault.New(fault.BindingRefused, "This key is revoked. Make another one with POST /keys and bind that.")
	case key.Door != account.DoorPublic && key.Door != account.DoorWallet:
		return fault.New(fault.WrongKindOfKey,
			"This key belongs to an account of an owner, so there is nothing to bind. A wallet binds keys of POST "+
				"/keys.")
	case status != string(account.Active):
		return fault.New(fault.AccountSuspended, "")
	}
	return nil
}

// bindNew turns the key's account into the account of a new wallet. The account's usage of this
// month still counts.
//
//nolint:gocritic // rows go by value
func bindNew(ctx context.Context, q *db.Queries, b Binding, key Key, own db.Account, by Author) (Bound, error) {
	after, err := accountOf(own)
	if err != nil {
		return Bound{}, err
	}
	before := accountDocument(&after)
	after.Plan = plan.WalletBound
	if err := q.BecomeWallet(ctx, own.ID); err != nil {
		return Bound{}, err
	}
	row, err := q.UpdateAccountLimits(ctx, accountRow(&after))
	if err != nil {
		return Bound{}, err
	}
	owner, err := withPacks(ctx, q, row)
	if err != nil {
		return Bound{}, err
	}
	of := subject{account: owner.ID, version: owner.Version}
	if err := note(ctx, q, of, "bind_wallet", by, before, accountDocument(&owner)); err != nil {
		return Bound{}, err
	}
	moved, err := bindRow(ctx, q, &key, owner.ID, by)
	if err != nil {
		return Bound{}, err
	}
	made, err := q.InsertWallet(ctx, db.InsertWalletParams{
		Address: b.Address[:], AccountID: own.ID, Key: b.Key.UUID, Message: b.Message,
	})
	return Bound{moved, owner, walletOf(made)}, err
}

// bindKnown moves the key into the account of a wallet that was bound before.
//
//nolint:gocritic // rows go by value
func bindKnown(ctx context.Context, q *db.Queries, b Binding, key Key, known db.Wallet, by Author) (Bound, error) {
	if known.KeyID != nil {
		// Read without a lock: another binding may hold that key's lock while it waits for this
		// wallet. A revoked key stays revoked.
		other, err := q.GetKey(ctx, *known.KeyID)
		if err != nil {
			return Bound{}, err
		}
		if other.Status == string(account.Active) {
			return Bound{}, fault.New(fault.BindingRefused,
				"This wallet is bound to another key, %s…, and a wallet has one key. Use that key, or have it "+
					"revoked and start again.", other.Prefix)
		}
	}
	row, err := q.ShareAccount(ctx, known.AccountID)
	if err != nil {
		return Bound{}, err
	}
	if row.Status != string(account.Active) {
		return Bound{}, fault.New(fault.AccountSuspended,
			"The account of this wallet is suspended. File a ticket to learn why and how it ends.")
	}
	owner, err := withPacks(ctx, q, row)
	if err != nil {
		return Bound{}, err
	}
	moved, err := bindRow(ctx, q, &key, owner.ID, by)
	if err != nil {
		return Bound{}, err
	}
	bound, err := q.RebindWallet(ctx, db.RebindWalletParams{Address: b.Address[:], Key: b.Key.UUID, Message: b.Message})
	return Bound{moved, owner, walletOf(bound)}, err
}

func bindRow(ctx context.Context, q *db.Queries, key *Key, to account.ID, by Author) (Key, error) {
	row, err := q.BindKey(ctx, db.BindKeyParams{ID: key.ID.UUID, Account: to.UUID})
	if err != nil {
		return Key{}, err
	}
	moved, err := keyOf(row)
	if err != nil {
		return Key{}, err
	}
	return moved, noteMove(ctx, q, key, &moved, "bind_key", by)
}

// noteMove writes the audit lines of a key that was bound or adopted, and queues its pushes, in its
// new account and in the one that it left.
func noteMove(ctx context.Context, q *db.Queries, before, after *Key, action string, by Author) error {
	was, is := doorDocument(before), doorDocument(after)
	if err := note(ctx, q, subject{after.Account, after.ID, after.Version}, action, by, was, is); err != nil ||
		before.Account == after.Account {
		return err
	}
	return note(ctx, q, subject{before.Account, after.ID, after.Version}, action, by, was, is)
}

// doorDocument is what the audit log shows of a key that is bound or adopted.
func doorDocument(k *Key) []byte {
	return pg.JSON(map[string]any{
		"account": k.Account.String(), "door": k.Door, "daily_units": unitsOrNull(k.Daily, account.Unlimited),
		"monthly_cap_units": unitsOrNull(k.MonthlyCap, 0),
	})
}

func walletOf(row db.Wallet) Wallet {
	w := Wallet{Account: account.ID{UUID: row.AccountID}, Message: row.Message, BoundAt: row.BoundAt.UTC()}
	copy(w.Address[:], row.Address)
	if row.KeyID != nil {
		w.Key = account.KeyID{UUID: *row.KeyID}
	}
	return w
}

// violates reports whether err is a violation of the named constraint.
func violates(err error, constraint string) bool {
	violation, ok := errors.AsType[*pgconn.PgError](err)
	return ok && violation.ConstraintName == constraint
}

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/store/db"
)

// AccountKind says who stands behind an account.
type AccountKind string

// A door account has one anonymous key, a wallet account a verified wallet, an owner account users who sign in.
const (
	KindDoor   AccountKind = "door"
	KindWallet AccountKind = "wallet"
	KindOwner  AccountKind = "owner"
)

// NewAccount is what an account begins with. Plan is the key of a plan.
type NewAccount struct {
	ID   account.ID
	Kind AccountKind
	Plan string
}

// Account is an account as recorded. Version grows with every change of a fence.
type Account struct {
	ID        account.ID
	Kind      AccountKind
	Plan      string
	Status    account.Status
	Version   int64
	CreatedAt time.Time
}

// CreateAccount records a new account, active, at version 1. ErrAccountExists when the id is taken.
func (s *Store) CreateAccount(ctx context.Context, a NewAccount) (Account, error) {
	row, err := s.queries().InsertAccount(ctx, insertAccount(a))
	if err != nil {
		return Account{}, fmt.Errorf("create account %s: %w", a.ID, conflict(err))
	}
	return accountOf(row), nil
}

// CreateDoorKey records an anonymous account and its key together: both or neither. The key's account is a.
func (s *Store) CreateDoorKey(ctx context.Context, a NewAccount, k NewKey) (Account, Key, error) {
	var (
		made Account
		key  Key
	)
	k.Account = a.ID
	err := s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		accountRow, err := q.InsertAccount(ctx, insertAccount(a))
		if err != nil {
			return err
		}
		keyRow, err := q.InsertKey(ctx, insertKey(k))
		if err != nil {
			return err
		}
		made, key = accountOf(accountRow), keyOf(keyRow)
		return nil
	})
	if err != nil {
		return Account{}, Key{}, fmt.Errorf("create door key %s: %w", k.ID, conflict(err))
	}
	return made, key, nil
}

// LoadAccount reads an account, or ErrNotFound.
func (s *Store) LoadAccount(ctx context.Context, id account.ID) (Account, error) {
	row, err := s.queries().GetAccount(ctx, id.UUID)
	if err != nil {
		return Account{}, fmt.Errorf("load account %s: %w", id, found(err))
	}
	return accountOf(row), nil
}

// SetAccountStatus makes an account active or suspended and returns it with its new version. Setting the status it has changes
// nothing. The fence is in force once the meter has that version.
func (s *Store) SetAccountStatus(ctx context.Context, id account.ID, status account.Status) (Account, error) {
	row, err := s.queries().SetAccountStatus(ctx, db.SetAccountStatusParams{ID: id.UUID, Status: string(status)})
	return s.changedAccount(ctx, id, row, err)
}

// SetAccountPlan moves an account to another plan and returns it with its new version. Setting the plan it has changes nothing.
func (s *Store) SetAccountPlan(ctx context.Context, id account.ID, planKey string) (Account, error) {
	row, err := s.queries().SetAccountPlan(ctx, db.SetAccountPlanParams{ID: id.UUID, Plan: planKey})
	return s.changedAccount(ctx, id, row, err)
}

// changedAccount reads the account when an update found nothing to change in it.
func (s *Store) changedAccount(ctx context.Context, id account.ID, row db.Account, err error) (Account, error) {
	switch {
	case err == nil:
		return accountOf(row), nil
	case errors.Is(err, pgx.ErrNoRows):
		return s.LoadAccount(ctx, id)
	}
	return Account{}, fmt.Errorf("change account %s: %w", id, err)
}

func insertAccount(a NewAccount) db.InsertAccountParams {
	return db.InsertAccountParams{ID: a.ID.UUID, Kind: string(a.Kind), Plan: a.Plan}
}

func accountOf(row db.Account) Account {
	return Account{
		ID: account.ID{UUID: row.ID}, Kind: AccountKind(row.Kind), Plan: row.Plan,
		Status: account.Status(row.Status), Version: row.Version, CreatedAt: row.CreatedAt.UTC(),
	}
}

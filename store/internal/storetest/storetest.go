// Package storetest has what tests of the store's parts share.
package storetest

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// Timeout bounds every wait of a test.
const Timeout = 30 * time.Second

// Open opens a store on a database of its own.
func Open(t *testing.T) (context.Context, *store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Timeout)
	t.Cleanup(cancel)
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return ctx, s
}

// NewDoorKey returns an anonymous account and a key with a daily limit.
func NewDoorKey(daily int64) (accountdb.NewAccount, accountdb.NewKey) {
	a := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindDoor, Plan: plan.Door1}
	id := account.NewKeyID()
	digest := sha256.Sum256(id.UUID[:])
	return a, accountdb.NewKey{
		ID: id, Digest: digest[:], Prefix: "cag_12345678", Door: account.DoorPublic, Daily: UnitsOf(daily),
	}
}

// Must returns the value of a call that must not fail.
func Must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// UnitsOf returns whole units.
func UnitsOf(units int64) plan.Units { return plan.Units(units) * plan.Unit }

// Operator is the author of changes in tests.
var Operator = accountdb.Author{Actor: "operator", Origin: "ops", Reason: "a test"}

// CreateOwner creates an account on a plan.
func CreateOwner(ctx context.Context, t *testing.T, s *store.Store, planKey string) account.ID {
	t.Helper()
	return Must[accountdb.Account](t)(s.CreateAccount(ctx, accountdb.NewAccount{
		ID: account.NewID(), Kind: accountdb.KindOwner, Plan: planKey,
	})).ID
}

// ChangeAccount changes an account's terms.
func ChangeAccount(ctx context.Context, t *testing.T, s *store.Store, id account.ID, change func(*accountdb.Account)) {
	t.Helper()
	Must[accountdb.Account](t)(s.ChangeAccount(ctx, id, "change", Operator, func(a *accountdb.Account) error {
		change(a)
		return nil
	}))
}

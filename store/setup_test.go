package store_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
)

// testTimeout bounds every wait of a test.
const testTimeout = 30 * time.Second

func setup(t *testing.T) (context.Context, *store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout)
	t.Cleanup(cancel)
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return ctx, s
}

func newDoorKey(daily int64) (store.NewAccount, store.NewKey) {
	a := store.NewAccount{ID: account.NewID(), Kind: store.KindDoor, Plan: plan.Door1}
	id := account.NewKeyID()
	digest := sha256.Sum256(id.UUID[:])
	return a, store.NewKey{
		ID: id, Digest: digest[:], Prefix: "cag_12345678", Door: account.DoorPublic, Daily: unitsOf(daily),
	}
}

// must returns the value of a call that must not fail.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

package accountdb_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
)

func TestDoorKey_AndItsAccountAreFoundByDigest(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a, k := storetest.NewDoorKey(10_000)
	madeAccount, madeKey, err := s.CreateDoorKey(ctx, a, k)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, madeAccount.Version, 1)
	expect.Equal(t, madeAccount.Status, account.Active)
	expect.False(t, madeAccount.CreatedAt.IsZero())
	expect.Equal(t, madeKey.Account, a.ID)
	expect.Equal(t, madeKey.Daily, storetest.UnitsOf(10_000))
	expect.Equal(t, madeKey.Version, 1)
	expect.True(t, madeKey.RevokedAt.IsZero())
	identity := storetest.Must[account.Identity](t)(s.FindIdentity(ctx, k.Digest))
	want := account.Identity{Key: k.ID, Account: a.ID, Door: account.DoorPublic, Plan: plan.Door1, Supply: plan.Public}
	if identity != want {
		t.Errorf("identity is %+v, want %+v", identity, want)
	}
	if _, err := s.FindIdentity(ctx, make([]byte, 32)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown digest gives %v, want ErrNotFound", err)
	}
}

func TestDoorKey_WithTakenDigestLeavesNoAccountBehind(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a, k := storetest.NewDoorKey(1)
	if _, _, err := s.CreateDoorKey(ctx, a, k); err != nil {
		t.Fatal(err)
	}
	second := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindDoor, Plan: plan.Door1}
	k.ID = account.NewKeyID()
	if _, _, err := s.CreateDoorKey(ctx, second, k); !errors.Is(err, accountdb.ErrKeyExists) {
		t.Fatalf("taken digest gives %v, want ErrKeyExists", err)
	}
	if _, err := s.LoadAccount(ctx, second.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("account of the refused key: %v, want ErrNotFound", err)
	}
}

func TestKey_NeedsAnAccount(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	_, k := storetest.NewDoorKey(1)
	k.Account = account.NewID()
	if _, err := s.CreateKey(ctx, k); !errors.Is(err, accountdb.ErrAccountMissing) {
		t.Errorf("key without account gives %v, want ErrAccountMissing", err)
	}
	owner := accountdb.NewAccount{ID: k.Account, Kind: accountdb.KindOwner, Plan: plan.Pro}
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, owner))
	if _, err := s.CreateAccount(ctx, owner); !errors.Is(err, accountdb.ErrAccountExists) {
		t.Errorf("account twice gives %v, want ErrAccountExists", err)
	}
	k.Daily = account.Unlimited
	key := storetest.Must[accountdb.Key](t)(s.CreateKey(ctx, k))
	if key.Daily != account.Unlimited {
		t.Errorf("daily is %d, want unlimited", key.Daily)
	}
	identity := storetest.Must[account.Identity](t)(s.FindIdentity(ctx, k.Digest))
	if identity.Plan != plan.Pro || identity.Supply != plan.Premium {
		t.Errorf("identity on a paid plan is %+v", identity)
	}
	if keys := storetest.Must[[]accountdb.Key](t)(s.ListKeys(ctx, owner.ID)); len(keys) != 1 ||
		!reflect.DeepEqual(keys[0], key) {
		t.Errorf("keys of the account are %+v, want %+v", keys, key)
	}
}

package operator

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// NewDoorKey creates an anonymous key as POST /keys does, without its limit per address.
func NewDoorKey(ctx context.Context, cfg config.Config) (account.Key, error) {
	return mint(ctx, cfg, func(s *store.Store, hasher *account.Hasher) (account.Key, error) {
		return limits.New(s, nil, hasher, time.Now).NewDoorKey(ctx, rand.Reader)
	})
}

// NewPlanKey creates an account on a plan, without payment, and a key of it without an allowance of
// its own.
func NewPlanKey(ctx context.Context, cfg config.Config, p plan.Plan) (account.Key, error) {
	return mint(ctx, cfg, func(s *store.Store, hasher *account.Hasher) (account.Key, error) {
		key, err := account.MintKey(rand.Reader)
		if err != nil {
			return account.Key{}, fmt.Errorf("mint a key: %w", err)
		}
		owner, err := s.CreateAccount(ctx,
			accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: p.Key})
		if err != nil {
			return account.Key{}, err
		}
		digest := key.Digest(hasher)
		_, err = s.CreateKey(ctx, accountdb.NewKey{
			ID: account.NewKeyID(), Account: owner.ID, Digest: digest[:], Prefix: key.Prefix(),
			Door: account.DoorAccount, Daily: account.Unlimited,
		})
		return key, err
	})
}

func mint(ctx context.Context, cfg config.Config,
	makeKey func(*store.Store, *account.Hasher) (account.Key, error),
) (account.Key, error) {
	hasher, err := account.NewHasher([]byte(cfg.KeyPepper))
	if err != nil {
		return account.Key{}, fmt.Errorf("KEY_PEPPER: %w", err)
	}
	s, err := store.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return account.Key{}, fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer s.Close()
	return makeKey(s, hasher)
}

// AddStaff grants the staff role to a user of a development gateway. It returns store.ErrNotFound
// when nobody has signed in with the address.
func AddStaff(ctx context.Context, cfg config.Config, email account.Email) error {
	s, err := store.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer s.Close()
	_, err = s.AddStaff(ctx, email, time.Now(), accountdb.Author{
		Actor: "operator", Origin: "ops", Reason: "asked for on a development gateway",
	})
	return err
}

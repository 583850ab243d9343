package limits

import (
	"context"
	"fmt"
	"io"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// NewDoorKey makes an anonymous account with its one key (docs/interface.md, 2.3). The plaintext
// key is only in the result and stored nowhere. Nothing is pushed: the key's first call loads its
// limits.
func (f *Limits) NewDoorKey(ctx context.Context, random io.Reader) (account.Key, error) {
	key, err := account.MintKey(random)
	if err != nil {
		return account.Key{}, fmt.Errorf("mint a key: %w", err)
	}
	digest, claim := key.Digest(f.ids.hasher), key.ClaimCode(f.ids.hasher).Digest(f.ids.hasher)
	_, _, err = f.store.CreateDoorKey(ctx,
		accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindDoor, Plan: plan.Door1},
		accountdb.NewKey{
			ID: account.NewKeyID(), Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorPublic,
			Daily: plan.Must(plan.Door1).DailyQuota(), Claim: claim[:],
		})
	if err != nil {
		return account.Key{}, err
	}
	return key, nil
}

// NewKey adds a key to an account, with a monthly cap or none (0). The cap must not exceed what the
// account has. The plaintext key is only in the result and stored nowhere.
func (f *Limits) NewKey(ctx context.Context, random io.Reader, owner account.ID, name string, s account.Settings,
	by accountdb.Author,
) (account.Key, accountdb.Key, error) {
	key, err := account.MintKey(random)
	if err != nil {
		return account.Key{}, accountdb.Key{}, fmt.Errorf("mint a key: %w", err)
	}
	at, err := f.meter.Now(ctx) // packs expire by Redis' clock
	if err != nil {
		at = f.now()
	}
	digest := key.Digest(f.ids.hasher)
	wanted := accountdb.NewKey{
		ID: account.NewKeyID(), Account: owner, Digest: digest[:], Prefix: key.Prefix(), Name: name,
		Door: account.DoorAccount, Daily: account.Unlimited,
	}
	made, err := f.store.AddKey(ctx, &wanted, by, func(a accountdb.Account, active int64) error {
		if active >= accountdb.MaxKeys {
			return fault.New(fault.FieldRefused,
				"The account has %d active keys, and no account has more. Revoke one that is no longer used.", active)
		}
		bounds, err := around(&a, at)
		if err != nil {
			return err
		}
		limit, _, refusal := s.ForKey(0, account.ServiceLimits{}, bounds)
		if refusal != nil {
			return refusal
		}
		wanted.MonthlyCap = limit
		return nil
	})
	if err != nil {
		return account.Key{}, accountdb.Key{}, refusalOr(err)
	}
	return key, made, nil
}

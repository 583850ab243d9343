package fences

import (
	"context"
	"fmt"
	"io"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/store"
)

// NewDoorKey makes an anonymous account with its one key (interface document 2, section 3). The plaintext exists in the answer
// only. Nothing is pushed: the key's first call loads its fences.
func (f *Fences) NewDoorKey(ctx context.Context, random io.Reader) (account.Key, error) {
	key, err := account.MintKey(random)
	if err != nil {
		return account.Key{}, fmt.Errorf("mint a key: %w", err)
	}
	digest, claim := key.Digest(f.ids.hasher), key.ClaimCode(f.ids.hasher).Digest(f.ids.hasher)
	_, _, err = f.store.CreateDoorKey(ctx,
		store.NewAccount{ID: account.NewID(), Kind: store.KindDoor, Plan: plan.Door1},
		store.NewKey{
			ID: account.NewKeyID(), Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorPublic,
			Daily: plan.Must(plan.Door1).DailyQuota(), Claim: claim[:],
		})
	if err != nil {
		return account.Key{}, err
	}
	return key, nil
}

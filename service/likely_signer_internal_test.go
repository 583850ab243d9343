package service

import (
	"testing"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
)

// Without the chain a recorded payer is who signed, else the signer of the message that is named,
// or of the newest of the menus'.
func TestLikelySigner(t *testing.T) {
	t.Parallel()
	old, today, before := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}
	menus := []signing{{signer: old}, {signer: today}, {signer: before}}
	for name, c := range map[string]struct {
		signed []signing
		known  []store.Settlement
		want   wallet.Address
		told   bool
	}{
		"nobody is recorded": {menus, nil, today, false},
		"somebody else is recorded": {
			menus, []store.Settlement{{ID: x402.ID{Payer: wallet.Address{9}}}, {}}, today, false,
		},
		"the payer is, of an hour's": {
			menus,
			[]store.Settlement{{ID: x402.ID{Payer: wallet.Address{9}}}, {ID: x402.ID{Payer: before}}},
			before, true,
		},
		"the payer is, of an old": {menus, []store.Settlement{{ID: x402.ID{Payer: old}}}, old, true},
		"the message is named":    {menus[2:], nil, before, true},
	} {
		r := &redeeming{signed: c.signed}
		if got, told := r.likelySigner(c.known); got != c.want || told != c.told {
			t.Errorf("%s: %s, told %t", name, got, told)
		}
	}
}

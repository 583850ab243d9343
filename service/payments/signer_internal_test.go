package payments

import (
	"testing"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// Without the chain a recorded payer is who signed, or the signer of the message that the redeem
// names. Of several messages nobody can tell which one was signed.
func TestSigner_WithoutChainIsWhoSignedOrTheMessagesSigner(t *testing.T) {
	t.Parallel()
	old, today, before := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}
	another := paymentdb.Settlement{ID: x402.ID{Payer: wallet.Address{9}}}
	menus := []signing{{signer: old}, {signer: today}, {signer: before}}
	for name, c := range map[string]struct {
		signed []signing
		known  []paymentdb.Settlement
		want   wallet.Address
	}{
		"nobody is recorded":         {menus, nil, wallet.Address{}},
		"somebody else is recorded":  {menus, []paymentdb.Settlement{another, {}}, wallet.Address{}},
		"the payer is, of an hour's": {menus, []paymentdb.Settlement{another, {ID: x402.ID{Payer: before}}}, before},
		"the payer is, of an old":    {menus, []paymentdb.Settlement{{ID: x402.ID{Payer: old}}}, old},
		"the message is named":       {menus[2:], nil, before},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &redeeming{signed: c.signed}
			if got := r.signerWithoutChain(c.known); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

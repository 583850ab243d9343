package servicetest

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

// Can returns what a caller can do.
func (o *Env) Can(t *testing.T, caller *operation.Caller) advice.WhatICanDo {
	t.Helper()
	return Must[advice.WhatICanDo](t)(o.WhatCanIDo.Invoke(o.Ctx, caller, operation.Nothing{}))
}

// LimitNamed returns the doorways past a limit.
func LimitNamed(t *testing.T, can *advice.WhatICanDo, name string) advice.FenceDoorways {
	t.Helper()
	at := slices.IndexFunc(can.Doorways, func(f advice.FenceDoorways) bool { return f.Fence == name })
	if at < 0 {
		t.Fatalf("no fence %s among %+v", name, can.Doorways)
	}
	return can.Doorways[at]
}

// TicketPast returns the doorway of a ticket, which is open past each limit.
func (*Env) TicketPast(limit string) keys.Doorway {
	return keys.Doorway{
		Past: limit, Open: true, Do: "File a ticket with the request id of the call: the tool manage_tickets takes it.",
		At: "https://gateway.example/mcp",
	}
}

// AdviceOf returns the advice of a kind.
func AdviceOf(can *advice.WhatICanDo, kind string) []advice.Advice {
	return slices.DeleteFunc(slices.Clone(can.Advice), func(a advice.Advice) bool { return a.Kind != kind })
}

// Adopted moves a door key into the account of a user, as the adoption workflow does.
func (d *BillingEnv) Adopted(t *testing.T, door keys.Welcome, owner string) { //nolint:gocritic // a copy does no harm
	t.Helper()
	code, _ := account.ParseClaimCode(door.Doorways["adopt"].ClaimCode)
	digest := code.Digest(d.Hasher)
	key, _, err := d.Store.FindClaim(d.Ctx, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	user := account.UserID{UUID: uuid.MustParse(d.WhoIs(t, owner).UserID)}
	if _, err := d.Limits.AdoptKey(d.Ctx, key.ID, d.AccountID, user, accountdb.Author{
		Actor: user.Actor(), Origin: "console",
	}); err != nil {
		t.Fatal(err)
	}
}

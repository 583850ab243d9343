package servicetest

import (
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

// ByOps is the author of operators' commands.
var ByOps = accountdb.Author{Actor: "op@host", Origin: "ops"}

// Staff returns the cookie of a user with the staff role.
func (o *Env) Staff(t *testing.T) string {
	t.Helper()
	const address = "dee@staff.example"
	cookie := o.SignIn(t, address)
	email, _ := account.ParseEmail(address)
	if added, err := o.Store.AddStaff(o.Ctx, email, time.Now(), ByOps); err != nil || !added {
		t.Fatal(added, err)
	}
	return cookie
}

// Desk returns the operations of staff.
func (o *Env) Desk() []operation.Definition {
	return slices.DeleteFunc(o.All(), func(c operation.Definition) bool { return c.Meta().Access != operation.Staff })
}

// Waiting counts the mails in the outbox by kind.
func (o *Env) Waiting(t *testing.T) map[string]int {
	t.Helper()
	waiting, err := o.Store.CountWaitingMails(o.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, w := range waiting {
		counts[w.Kind] = w.Count
	}
	return counts
}

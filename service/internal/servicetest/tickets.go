package servicetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Call records a call of a key and returns its request id.
func (o *Env) Call(t *testing.T, key string, items ...usagedb.Call) string {
	t.Helper()
	s, refusal := o.Limits.Identify(o.Ctx, key, Browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	id := uuid.Must(uuid.NewV7())
	for i := range items {
		c := &items[i]
		c.RequestID, c.Index, c.StartedAt, c.Account, c.Key = id, i, time.Now(), s.Account, s.Key
		c.Chain, c.Service, c.Method, c.Class, c.Tier = chain.EthMainnet, "rpc", "eth_call", "standard", "balanced"
		if c.Outcome == "" {
			c.Outcome = "ok"
		}
	}
	if err := o.Store.CopyCalls(o.Ctx, items); err != nil {
		t.Fatal(err)
	}
	return id.String()
}

// File has a caller file a ticket and returns its row.
func (o *Env) File(t *testing.T, who *operation.Caller) supportdb.Ticket {
	t.Helper()
	made := Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, who, tickets.CreateTicketInput{
		Subject: "s", Message: "m",
	}))
	return o.Ticket(t, who, made.Reference)
}

// Ticket reads a ticket by its reference.
func (o *Env) Ticket(t *testing.T, who *operation.Caller, reference string) supportdb.Ticket {
	t.Helper()
	of, err := account.ParseID(o.WhoIs(t, who.Session).AccountID)
	if err != nil {
		t.Fatal(err)
	}
	number, _ := ticket.ParseReference(reference)
	now, _, err := o.Store.LoadTicket(o.Ctx, of, supportdb.Scope{}, number)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// Enter puts an address on the waitlist and returns the token of its confirmation mail.
func (o *Env) Enter(t *testing.T, address string) string {
	t.Helper()
	Must[tickets.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.Ctx, Browser(""), tickets.JoinWaitlistInput{
		EmailAddress: address, Qualifier: "developer", ProductUpdates: true,
	}))
	//nolint:errcheck // an empty link fails below
	mail, _ := o.Mails["waitlist_joined "+address].(notify.WaitlistJoined)
	if !strings.HasPrefix(mail.Link, "https://gateway.example"+support.EntryPath+"?token=") ||
		strings.Contains(mail.Link, "ann") {
		t.Fatalf("the mail leads to %q", mail.Link)
	}
	return Token(t, mail.Link)
}

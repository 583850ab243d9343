// Package consoletest has fake operations, a browser, and checks of pages, for the tests of the
// console and its sections.
package consoletest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/statements"
	"github.com/chainaccess/gateway/service/usage"
)

// Operations fakes the operations: its answers are scripted, and it records the inputs of changes.
type Operations struct {
	Mu      sync.Mutex // guards the following fields
	Changes []any      // inputs of changes, in order

	Session  accounts.CurrentSession
	accounts []accounts.Membership
	Keys     []keys.KeyView
	Services []keys.ServiceFence
	settings accounts.AccountSettings
	Members  accounts.MemberList
	sessions []accounts.ListedSession
	Agents   []agents.AgentView
	log      []accounts.AuditLine
	Status   billing.BillingStatus
	ladder   billing.PriceLadder
	Invoices billing.InvoiceList
	periods  statements.StatementList
	Stated   statement.Statement
	Checkout billing.FinishedCheckout
	usage    usage.UsageByDay
	Explored usage.ExploredUsage
	Desk     Desk
	// StatusRefused is the answer to requests for the status; nil for success.
	StatusRefused *fault.Error
	StatusAsked   atomic.Int64 // number of requests for the status
	insights      advice.UsageInsights
	Tools         []*Tool // of the toolbox
	// Refusal is the answer to every change; nil for success.
	Refusal *fault.Error
	// Link is the answer about a link in a mail; nil while it works.
	Link *fault.Error
}

const (
	// KeyOne is the id of an active key.
	KeyOne = "019a9f2e-1111-7000-8000-000000000001"
	// KeyOld is the id of a revoked key.
	KeyOld = "019a9f2e-1111-7000-8000-000000000002"
	// KeyTwo is the id of no key.
	KeyTwo = "019a9f2e-1111-7000-8000-000000000003"
	// Plaintext is the text of an API key.
	Plaintext = "cag_aHCrXoRO8jJkkpA0AmJRr2oWWKCKkKJlfPaMzyJtGR334ZJfk"
)

// NewOperations returns the operations of an account that owns keys, agents and a subscription.
func NewOperations() *Operations {
	allowance, limit := 1_000_000*plan.Unit, 500_000*plan.Unit
	used, revoked := Now.Add(-time.Hour), Now.Add(-2*time.Hour)
	h := &Operations{
		Session: accounts.CurrentSession{
			SessionID: "s1", UserID: "u1", Email: "mira@studio-north.example", Role: view.RoleOwner, AccountID: "a1",
			AccountName: "Studio North", Plan: plan.Free, PlanTitle: "Free",
			PeriodStart: time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC),
			PeriodEnd:   time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC), TimeZone: "Europe/Berlin",
			Status: account.Active,
		},
		accounts: []accounts.Membership{
			{AccountID: "a1", Name: "Studio North", Role: view.RoleOwner, Current: true},
			{AccountID: "a2", Name: "Personal", Role: view.RoleOwner},
		},
		Keys: []keys.KeyView{
			{
				ID: KeyOne, Name: "indexer", Prefix: "cag_aHCrXoRO", Door: account.DoorAccount, Status: account.Active,
				MonthlyRequestCap: &limit, CreatedAt: Now.Add(-100 * time.Hour), LastUsedAt: &used,
			},
			{
				ID: KeyOld, Name: "old", Prefix: "cag_9d2LkqPz", Door: account.DoorAdopted, Status: account.Revoked,
				CreatedAt: Now.Add(-200 * time.Hour), RevokedAt: &revoked,
			},
		},
		settings: accounts.AccountSettings{NotifyUsage80: true, TimeZone: "Europe/Berlin"},
		usage: usage.UsageByDay{
			Plan: plan.Free, PlanTitle: "Free", Used: 812_340_500, Allowance: &allowance, Refuses: true,
			PeriodEnd: time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC),
			Days: []usage.DayUsage{
				{Day: "2026-11-19", Requests: 5, Hits: 2, Refused: 1, Standard: 3 * plan.Unit},
				{Day: "2026-11-20", Heavy: 4 * plan.Unit},
			},
		},
	}
	h.Members, h.sessions, h.Agents, h.log = sampleMembers(), sampleSessions(), sampleAgents(), sampleLog()
	h.Status, h.ladder, h.Invoices = SampleBilling()
	h.Explored, h.insights = SampleExplored("indexer"), SampleInsights()
	h.periods, h.Stated = SampleStatements(Now, "indexer")
	h.Checkout = billing.FinishedCheckout{
		CheckoutID: CheckoutOne, Item: "scale_monthly", Title: "Scale by the month",
		State: "paid", Tier: plan.Scale, Note: "It is paid, and what was bought is in force.",
	}
	h.Desk = SampleDesk("The message.")
	for _, s := range account.Services() {
		h.Services = append(h.Services, keys.ServiceFence{Service: s, Enabled: true})
	}
	return h
}

// reads returns a call that answers without a change.
func reads[In, Out any](answer func() Out) site.Call[In, Out] {
	return func(_ context.Context, c *operation.Caller, _ In) (Out, *fault.Error) {
		if c.Session == "" && c.Bearer == "" {
			var none Out
			return none, fault.New(fault.KeyInvalid, "")
		}
		return answer(), nil
	}
}

// Refuses returns a call that refuses with a reason.
func Refuses[In, Out any](reason fault.Reason) site.Call[In, Out] {
	return func(context.Context, *operation.Caller, In) (Out, *fault.Error) {
		var none Out
		return none, fault.New(reason, "")
	}
}

// Record returns a call that records its input, or refuses.
func Record[In, Out any](h *Operations, answer Out) site.Call[In, Out] {
	return func(_ context.Context, _ *operation.Caller, in In) (Out, *fault.Error) {
		h.Mu.Lock()
		defer h.Mu.Unlock()
		if h.Refusal != nil {
			return answer, h.Refusal
		}
		h.Changes = append(h.Changes, in)
		return answer, nil
	}
}

// mixed returns a call that reads when its input is empty except for an id, and changes otherwise.
func mixed[In comparable, Out any](h *Operations, answer func() Out, empty func(In) bool) site.Call[In, Out] {
	return func(ctx context.Context, c *operation.Caller, in In) (Out, *fault.Error) {
		if empty(in) {
			return reads[In](answer)(ctx, c, in)
		}
		return Record[In](h, answer())(ctx, c, in)
	}
}

// none returns a change without an output.
func none[In any](h *Operations) site.Call[In, operation.Nothing] {
	return Record[In](h, operation.Nothing{})
}

// Calls returns the operations for a site.
func (h *Operations) Calls() site.Calls {
	c := site.Calls{Tools: Definitions(h.Tools)}
	h.peopleCalls(&c)
	h.accountCalls(&c)
	h.billingCalls(&c)
	h.publicCalls(&c)
	return h.staffCalls(h.claimCalls(h.deskCalls(c)))
}

// LastChange returns the input of the last change, which must be an In.
func LastChange[In any](t *testing.T, h *Operations) In {
	t.Helper()
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if len(h.Changes) == 0 {
		t.Fatal("nothing was changed")
	}
	in, ok := h.Changes[len(h.Changes)-1].(In)
	if !ok {
		t.Fatalf("the newest change is %T", h.Changes[len(h.Changes)-1])
	}
	return in
}

// ChangeCount returns the number of changes so far.
func (h *Operations) ChangeCount() int {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return len(h.Changes)
}

// AgentWallet is the wallet of an agent.
const AgentWallet = "0x00000000219ab540356cBB839Cbe05303d7705Fa"

// claimCalls adds the operations for claiming an agent.
func (h *Operations) claimCalls(c site.Calls) site.Calls {
	c.ClaimAgentStart = Record[agents.ClaimAgentStartInput](h, agents.Challenged{
		Address: AgentWallet, MessageToSign: "gateway.example wants\n<you>", ExpiresInSeconds: 600,
	})
	c.ClaimAgentComplete = Record[agents.ClaimAgentInput](h, agents.ClaimedAgent{
		Address: AgentWallet, PlaintextToken: Plaintext, KeyID: KeyOne, KeyPrefix: "cag_aHCrXoRO",
	})
	return c
}

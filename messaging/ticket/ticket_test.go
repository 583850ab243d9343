package ticket_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/ticket"
)

func TestReference_IsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	if n, ok := ticket.ParseReference(ticket.Number(1001).Reference()); !ok || n != 1001 {
		t.Errorf("read %d, %t", n, ok)
	}
	for _, wrong := range []string{
		"", "CAG-", "CAG-0", "CAG-01", "cag-1001", "CAG-1001 ", " CAG-1001", "CAG--1", "CAG-1e3", "CAG-1\n", "1001",
		"CAG-" + strings.Repeat("9", 19),
	} {
		if n, ok := ticket.ParseReference(wrong); ok {
			t.Errorf("%q is read as %d", wrong, n)
		}
	}
}

func TestTicket_MovesAsItsPeopleSay(t *testing.T) {
	t.Parallel()
	says := func(by ticket.Author) ticket.Move { return ticket.Move{By: by, Message: true} }
	resolves := func(by ticket.Author, message bool) ticket.Move {
		return ticket.Move{By: by, Message: message, Resolve: true}
	}
	reopens := func(by ticket.Author, message bool) ticket.Move {
		return ticket.Move{By: by, Message: message, Reopen: true}
	}
	const customer, operator = ticket.Customer, ticket.Operator
	for _, c := range []struct {
		from    ticket.Status
		move    ticket.Move
		to      ticket.Status
		verdict ticket.Verdict
	}{
		{ticket.Open, says(customer), ticket.Open, ticket.Moves},
		{ticket.Open, says(operator), ticket.WaitingCustomer, ticket.Moves},
		{ticket.Open, resolves(customer, false), ticket.Resolved, ticket.Moves},
		{ticket.Open, reopens(customer, true), ticket.Open, ticket.NotOver},
		{ticket.Open, ticket.Move{By: customer}, ticket.Open, ticket.NothingIn},
		{ticket.WaitingCustomer, says(customer), ticket.WaitingUs, ticket.Moves},
		{ticket.WaitingCustomer, says(operator), ticket.WaitingCustomer, ticket.Moves},
		{ticket.WaitingUs, says(customer), ticket.WaitingUs, ticket.Moves},
		{ticket.WaitingUs, says(operator), ticket.WaitingCustomer, ticket.Moves},
		{ticket.WaitingUs, resolves(operator, true), ticket.Resolved, ticket.Moves},
		{ticket.Resolved, says(customer), ticket.WaitingUs, ticket.Moves},
		{ticket.Resolved, says(operator), ticket.Resolved, ticket.Moves},
		{ticket.Resolved, reopens(customer, false), ticket.WaitingUs, ticket.Moves},
		{ticket.Resolved, reopens(operator, true), ticket.WaitingCustomer, ticket.Moves},
		{ticket.Resolved, resolves(customer, false), ticket.Resolved, ticket.IsResolved},
		{ticket.Resolved, resolves(customer, true), ticket.Resolved, ticket.Moves},
		{ticket.Closed, says(customer), ticket.Closed, ticket.IsClosed},
		{ticket.Closed, says(operator), ticket.Closed, ticket.IsClosed},
		{ticket.Closed, resolves(customer, true), ticket.Closed, ticket.IsClosed},
		{ticket.Closed, reopens(customer, true), ticket.WaitingUs, ticket.Moves},
		{
			ticket.Closed,
			ticket.Move{By: customer, Message: true, Resolve: true, Reopen: true},
			ticket.Closed,
			ticket.Contrary,
		},
	} {
		t.Run(string(c.from), func(t *testing.T) {
			if to, verdict := c.from.After(c.move); to != c.to || verdict != c.verdict {
				t.Errorf("%s after %+v is %s (%s), want %s (%s)", c.from, c.move, to, verdict, c.to, c.verdict)
			}
		})
	}
}

func called(reason fault.Reason) ticket.Evidence {
	return ticket.Evidence{
		Call: &ticket.ReportedCall{
			Outcome: reason.String(), Code: reason.Entry().Code, Chain: "eth_mainnet", Method: "eth_call",
		},
	}
}

func TestTicket_CategoryAndPriorityFollowFromTheEvidence(t *testing.T) {
	t.Parallel()
	down := called(fault.NoUpstream)
	down.Chain = &ticket.ChainCondition{State: ticket.ChainDown}
	refused := ticket.Evidence{
		Refusals: []ticket.RefusalCount{{Reason: "upstream_timeout", Count: 7}, {Reason: "plan_quota", Count: 1}},
	}
	hit := ticket.Evidence{Call: &ticket.ReportedCall{Outcome: "hit"}, Refusals: refused.Refusals}
	unknown := ticket.Evidence{Refusals: []ticket.RefusalCount{{Reason: "client_gone"}}}
	for name, c := range map[string]struct {
		evidence   ticket.Evidence
		about      ticket.Category
		free, paid ticket.Priority
	}{
		"nothing":              {ticket.Evidence{}, ticket.Question, ticket.Low, ticket.Normal},
		"an answered call":     {hit, ticket.Question, ticket.Low, ticket.Normal},
		"an own cap":           {called(fault.KeyBudget), ticket.Question, ticket.Low, ticket.Normal},
		"a wrong field":        {called(fault.FieldRefused), ticket.Question, ticket.Low, ticket.Normal},
		"a used-up quota":      {called(fault.PlanQuota), ticket.Billing, ticket.Low, ticket.Normal},
		"a plan without data":  {called(fault.PlanLacksService), ticket.Billing, ticket.Low, ticket.Normal},
		"a failed call":        {called(fault.UpstreamFailed), ticket.Incident, ticket.Normal, ticket.High},
		"an unknown outcome":   {called(fault.OutcomeUnknown), ticket.Incident, ticket.Normal, ticket.High},
		"a chain that is down": {down, ticket.Incident, ticket.High, ticket.Urgent},
		"refusals alone":       {refused, ticket.Incident, ticket.Normal, ticket.High},
		"an outcome of none":   {unknown, ticket.Question, ticket.Low, ticket.Normal},
	} {
		t.Run(name, func(t *testing.T) {
			about := c.evidence.Category()
			in := expect.In(t, "%s", name)
			expect.Equal(in, about, c.about)
			expect.Equal(in, c.evidence.Priority(about, false), c.free)
			expect.Equal(in, c.evidence.Priority(about, true), c.paid)
		})
	}
}

func TestTicket_PathsComeFromTheFaultTableAndTheEvidence(t *testing.T) {
	t.Parallel()
	e := called(fault.DoorKeyDay)
	e.Refusals = []ticket.RefusalCount{
		{Reason: "door_key_day"},
		{Reason: "key_invalid"},
		{Reason: "client_gone"},
		{Reason: "rate_window"},
		{Reason: "plan_quota"},
	}
	e.Chain = &ticket.ChainCondition{Chain: "eth_mainnet", State: ticket.ChainDegraded, Usable: 1, Upstreams: 2}
	var got []string
	for _, p := range e.Paths() {
		got = append(got, p.Reason)
		if p.Title == "" || len(p.Steps) == 0 {
			t.Errorf("%s says %+v", p.Reason, p)
		}
	}
	if want := "chain_degraded door_key_day key_invalid rate_window"; strings.Join(got, " ") != want {
		t.Errorf("the paths are %q, want %q", got, want)
	}
	p := e.Paths()[2]
	in := expect.In(t, "the table's path")
	expect.Equal(in, p.Code, -32001)
	expect.Equal(in, p.At, "/keys")
	expect.Equal(in, p.Steps[0], fault.KeyInvalid.Entry().Steps[0])
	if none := (&ticket.Evidence{}).Paths(); none == nil || len(none) != 0 {
		t.Errorf("without evidence: %v", none)
	}
}

package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/workflows"
)

var someTicket = activities.TicketRef{Number: 1001, Account: someOwner}

// desk is the flow of a ticket in Temporal's test environment, which skips time. The store is
// scripted.
type desk struct {
	env    *testsuite.TestWorkflowEnvironment
	begun  time.Time
	held   supportdb.Ticket
	looks  []time.Duration
	broken int // reads that fail
}

// CloseTicket applies the rule of the real store.
func (d *desk) CloseTicket(_ context.Context, n ticket.Number, at time.Time) (supportdb.Ticket, error) {
	d.looks = append(d.looks, at.Sub(d.begun).Round(time.Minute))
	switch {
	case d.broken > 0:
		d.broken--
		return supportdb.Ticket{}, errors.New("the record is away")
	case n != d.held.Number:
		return supportdb.Ticket{}, store.ErrNotFound
	case d.held.Status == ticket.Resolved && at.Sub(d.held.LastActivityAt) >= ticket.CloseAfter:
		d.held.Status = ticket.Closed
	}
	return d.held, nil
}

func keepTicket(status ticket.Status) *desk {
	d := &desk{env: newEnvironment()}
	d.begun = d.env.Now()
	d.held = supportdb.Ticket{Number: someTicket.Number, Status: status, LastActivityAt: d.begun}
	workflows.RegisterGateway(d.env)
	d.env.RegisterActivity(&activities.Tickets{Record: d, Now: d.env.Now, Logger: slog.New(slog.DiscardHandler)})
	return d
}

// becomes changes the ticket after a while and signals the flow.
func (d *desk) becomes(after time.Duration, status ticket.Status) {
	d.env.RegisterDelayedCallback(func() {
		d.held.Status, d.held.LastActivityAt = status, d.env.Now()
		d.env.SignalWorkflow(workflows.SignalLook, nil)
	}, after)
}

// ends runs the flow and returns its result and when it ended.
func (d *desk) ends(t *testing.T, ref activities.TicketRef) (status ticket.Status, after time.Duration) {
	t.Helper()
	d.env.ExecuteWorkflow(workflows.TicketWorkflow, ref)
	if err := d.env.GetWorkflowResult(&status); err != nil {
		t.Fatal(err)
	}
	return status, d.env.Now().Sub(d.begun)
}

func TestTicket_ResolvedClosesByItselfAfterSevenDays(t *testing.T) {
	t.Parallel()
	d := keepTicket(ticket.Open)
	d.becomes(30*day, ticket.Resolved)
	status, after := d.ends(t, someTicket)
	expect.Equal(t, status, ticket.Closed)
	expect.Equal(t, after.Round(time.Minute), 37*day)
	expect.Len(t, d.looks, 3)
}

func TestTicket_ReplyKeepsAResolvedOneOpen(t *testing.T) {
	t.Parallel()
	d := keepTicket(ticket.Resolved)
	d.becomes(6*day, ticket.WaitingUs)
	d.becomes(20*day, ticket.Resolved)
	d.becomes(22*day, ticket.Resolved) // one more reply
	status, after := d.ends(t, someTicket)
	if status != ticket.Closed || after.Round(time.Minute) != 29*day {
		t.Errorf("ended %s after %s with looks at %v", status, after, d.looks)
	}
	if slices.Contains(d.looks, 7*day) {
		t.Error("it was looked at when it would have closed")
	}
}

// The stored state decides, whatever the flow believes.
func TestTicket_FlowWithoutASignalReadsTheRecord(t *testing.T) {
	t.Parallel()
	d := keepTicket(ticket.Resolved)
	d.env.RegisterDelayedCallback(func() { d.held.LastActivityAt = d.env.Now() }, 3*day)
	if status, after := d.ends(t, someTicket); status != ticket.Closed || after.Round(time.Minute) != 10*day {
		t.Errorf("ended %s after %s", status, after)
	}
	d = keepTicket(ticket.Resolved)
	d.broken = 5
	if status, _ := d.ends(t, someTicket); status != ticket.Closed {
		t.Errorf("with a record that was away it ended %s", status)
	}
	d = keepTicket(ticket.Closed)
	if status, after := d.ends(t, someTicket); status != ticket.Closed || after > time.Minute {
		t.Errorf("a closed one ended %s after %s", status, after)
	}
	d = keepTicket(ticket.Open)
	if status, after := d.ends(t, activities.TicketRef{Number: 7}); status != "" || after > time.Minute {
		t.Errorf("one that there is not ended %s after %s", status, after)
	}
}

// recordedTickets are the states that a recording's polls find, in order.
var recordedTickets = []ticket.Status{ticket.Open, ticket.Resolved, ticket.WaitingUs, ticket.Resolved, ticket.Closed}

func registerTickets(w worker.Worker) <-chan struct{} {
	looked, n := make(chan struct{}, 100), 0
	w.RegisterActivityWithOptions(func(context.Context, activities.TicketRef) (activities.TicketState, error) {
		state := activities.TicketState{Known: true, Status: recordedTickets[min(n, len(recordedTickets)-1)]}
		if state.Status == ticket.Resolved {
			state.Closes = time.Now().Add(ticket.CloseAfter)
		}
		n++
		looked <- struct{}{}
		return state, nil
	}, activity.RegisterOptions{Name: "LookAtTicket"})
	return looked
}

// recordTickets records the flow of a ticket that was resolved, reopened, resolved again and
// closed.
func recordTickets(ctx context.Context, t *testing.T, c client.Client, looked <-chan struct{}) {
	t.Helper()
	flows := workflows.NewClient(c)
	for range recordedTickets {
		if err := flows.TellTicket(ctx, someTicket); err != nil {
			t.Fatal(err)
		}
		<-looked
	}
	var status ticket.Status
	if err := c.GetWorkflow(ctx, workflows.TicketID(someTicket.Number), "").Get(ctx, &status); err != nil ||
		status != ticket.Closed {
		t.Fatalf("ended %s, %v", status, err)
	}
	save(ctx, t, c, workflows.TicketID(someTicket.Number), "ticket.json")
}

// A ticket that is signalled after its flow ended, for example by a reopen, gets another flow. A
// worker that dies in between loses nothing.
func TestTicket_OutlivesItsFlowAndTheWorker(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	c := setupCarried(t)
	of, _ := c.owner(t)
	kill := c.carrier(t)
	made, _, err := c.store.CreateTicket(c.ctx, supportdb.NewTicket{
		Writer: supportdb.Writer{Account: of, Channel: "api"}, Subject: "s", Message: "m", Category: ticket.Other,
		Priority: ticket.Low, At: time.Now().Add(-2 * ticket.CloseAfter),
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := activities.TicketRef{Number: made.Number, Account: of}
	tell := func() { persist(t, "tell", func() error { return c.flows.TellTicket(c.ctx, ref) }) }
	tell()
	testkit.Eventually(t, testTimeout, func() bool {
		described, err := c.client.DescribeWorkflowExecution(c.ctx, workflows.TicketID(made.Number), "")
		return err == nil && len(described.PendingActivities) == 0 &&
			described.WorkflowExecutionInfo.GetHistoryLength() > 8
	}, "it was looked at")
	kill()
	reply := supportdb.TicketReply{
		Number: made.Number, By: ticket.Operator, Resolve: true, At: time.Now().Add(-ticket.CloseAfter),
	}
	end := func() {
		t.Helper()
		if _, _, err := c.store.ReplyTicket(c.ctx, reply); err != nil {
			t.Fatal(err)
		}
		tell()
		var status ticket.Status
		if err := c.client.GetWorkflow(c.ctx, workflows.TicketID(made.Number), "").Get(c.ctx, &status); err != nil ||
			status != ticket.Closed {
			t.Errorf("ended %s, %v", status, err)
		}
	}
	c.carrier(t)
	end()
	reply.Resolve, reply.Reopen = false, true
	if _, _, err := c.store.ReplyTicket(c.ctx, reply); err != nil {
		t.Fatal(err)
	}
	reply.Resolve, reply.Reopen = true, false
	end()
	now, messages, err := c.store.LoadTicket(c.ctx, of, supportdb.Scope{}, made.Number)
	require.NoError(t, err)
	expect.Equal(t, now.Status, ticket.Closed)
	expect.Len(t, messages, 3)
}

package workflows_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/workflows"
)

// dyingDesk is a ticket store in a process that kills itself with SIGKILL before or after a ticket
// is closed.
type dyingDesk struct {
	activities.TicketRecord

	at string
}

func (d *dyingDesk) CloseTicket(ctx context.Context, n ticket.Number, at time.Time) (supportdb.Ticket, error) {
	now, err := supportdb.Ticket{}, error(nil)
	if d.at != "before close" {
		now, err = d.TicketRecord.CloseTicket(ctx, n, at)
	}
	if d.at == "before close" || d.at == "after close" && now.Status == ticket.Closed {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // wait for the signal
	}
	return now, err
}

// answered is a ticket handled by a carrier.
type answered struct {
	*carried
	ref activities.TicketRef
}

func (a *answered) move(t *testing.T, r supportdb.TicketReply) { //nolint:gocritic // a copy does no harm
	t.Helper()
	r.Number, r.Account = a.ref.Number, a.ref.Account
	if _, verdict, err := a.store.ReplyTicket(a.ctx, r); err != nil || verdict != ticket.Moves {
		t.Fatalf("%+v: %s, %v", r, verdict, err)
	}
	if err := a.flows.TellTicket(a.ctx, a.ref); err != nil {
		t.Fatal(err)
	}
}

func (a *answered) now(t *testing.T) (supportdb.Ticket, []supportdb.TicketMessage) {
	t.Helper()
	now, messages, err := a.store.LoadTicket(a.ctx, a.ref.Account, supportdb.Scope{}, a.ref.Number)
	if err != nil {
		t.Fatal(err)
	}
	return now, messages
}

// A ticket is resolved and reopened while no worker runs, and closed by one that dies while it does
// so. It is closed once, with one message about it.
func TestTicket_OutlivesTheWorkersThatKeptIt(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"before close", "after close"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			a := &answered{carried: setupCarried(t)}
			of := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Free}
			if _, err := a.store.CreateAccount(a.ctx, of); err != nil {
				t.Fatal(err)
			}
			begun := time.Now().Add(-30 * day)
			made, _, err := a.store.CreateTicket(a.ctx, supportdb.NewTicket{
				Writer: supportdb.Writer{Account: of.ID, Channel: "console"}, Subject: "s", Message: "m",
				Category: ticket.Question, Priority: ticket.Low, At: begun,
			})
			if err != nil {
				t.Fatal(err)
			}
			a.ref = activities.TicketRef{Number: made.Number, Account: of.ID}
			kill := a.carrier(t)
			a.move(t, supportdb.TicketReply{By: ticket.Operator, Text: "Mended.", Resolve: true, At: time.Now()})
			testkit.Eventually(t, testTimeout, func() bool {
				return a.stage(t) == string(ticket.Resolved)
			}, "the flow knows that it is resolved")
			kill()
			// No worker runs: the customer reopens, and an operator resolves again.
			a.move(t, supportdb.TicketReply{By: ticket.Customer, Text: "Not yet.", Reopen: true, At: time.Now()})
			a.move(t, supportdb.TicketReply{By: ticket.Operator, Text: "Now.", Resolve: true, At: begun.Add(day)})
			dead, _ := a.process(t, carrierDies+"="+point)
			select {
			case <-dead:
			case <-a.ctx.Done():
				t.Fatal("the worker lives")
			}
			if now, _ := a.now(t); (now.Status == ticket.Closed) != (point == "after close") {
				t.Errorf("when the worker died it was %s", now.Status)
			}
			a.carrier(t)
			var ended ticket.Status
			if err := a.client.GetWorkflow(a.ctx, workflows.TicketID(made.Number), "").Get(a.ctx, &ended); err != nil ||
				ended != ticket.Closed {
				t.Errorf("the flow ended with %q, %v", ended, err)
			}
			now, messages := a.now(t)
			last := messages[len(messages)-1]
			expect.Equal(t, now.Status, ticket.Closed)
			expect.Len(t, messages, 5)
			expect.Equal(t, last.Author, ticket.Service)
			expect.Equal(t, last.Body, supportdb.ClosedNote)
		})
	}
}

// stage returns the flow's search attribute Stage.
func (a *answered) stage(t *testing.T) (stage string) {
	t.Helper()
	described, err := a.client.DescribeWorkflowExecution(a.ctx, workflows.TicketID(a.ref.Number), "")
	if err != nil {
		t.Fatal(err)
	}
	shown := described.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()[workflows.Stage.GetName()]
	if shown == nil {
		return ""
	}
	if err := converter.GetDefaultDataConverter().FromPayload(shown, &stage); err != nil {
		t.Fatal(err)
	}
	return stage
}

package worker_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

// Tickets are created, resolved and closed although no flow was signalled: the process died,
// Temporal was down, or it lost the flow.
func TestTickets_WhoseFlowsHeardNothingAreClosed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	record, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)
	of := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Free}
	if _, err := record.CreateAccount(ctx, of); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	create := func(at time.Time) supportdb.Ticket {
		made, _, err := record.CreateTicket(ctx, supportdb.NewTicket{
			Writer: supportdb.Writer{Account: of.ID, Channel: "api"}, Subject: "s", Message: "m",
			Category: ticket.Other,
			Priority: ticket.Low, At: at,
		})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	resolve := func(made supportdb.Ticket, at time.Time, told bool) {
		now, _, err := record.ReplyTicket(ctx, supportdb.TicketReply{
			Number: made.Number, By: ticket.Operator, Resolve: true, At: at,
		})
		if err == nil && told {
			err = record.MarkTicketTold(ctx, supportdb.TicketNews{Number: made.Number, Version: now.Version})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fresh, open := create(now), create(now.Add(-time.Hour))
	resolved, unheard, lost := create(now.Add(-time.Hour)), create(now.Add(-30*24*time.Hour)),
		create(now.Add(-30*24*time.Hour))
	resolve(fresh, now, false)
	resolve(resolved, now.Add(-time.Hour), false)
	resolve(unheard, now.Add(-8*24*time.Hour), false)
	resolve(lost, now.Add(-8*24*time.Hour), true)

	server := testkit.Temporal(t)
	c, o := server.Dial(t), &outside{}
	w := o.worker(t, c, server.Namespace, func(options *worker.Options) {
		options.Store, options.NoticeInterval = record, 20*time.Millisecond
	})
	start(t, w)
	ready(t, w)
	at := func(made supportdb.Ticket) supportdb.Ticket {
		now, _, err := record.LoadTicket(ctx, of.ID, supportdb.Scope{}, made.Number)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	testkit.Eventually(t, testTimeout, func() bool {
		return at(unheard).Status == ticket.Closed && at(lost).Status == ticket.Closed && at(resolved).Told == 1
	}, "they are closed, and the resolved one has a flow")
	if now := at(open); now.Status != ticket.Open || now.Told != 0 {
		t.Errorf("the open one, of which there is nothing to time, is %+v", now)
	}
	if _, err := c.DescribeWorkflowExecution(ctx, workflows.TicketID(resolved.Number), ""); err != nil {
		t.Errorf("the resolved one's flow: %v", err)
	}
	if now := at(fresh); now.Told != 0 {
		t.Error("a fresh one was told, which its maker does")
	}
}

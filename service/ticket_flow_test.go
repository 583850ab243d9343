package service_test

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/workflows"
)

// file has a caller file a ticket and returns its row.
func (o *office) file(t *testing.T, who *service.Caller) supportdb.Ticket {
	t.Helper()
	made := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, who, service.CreateTicketInput{
		Subject: "s", Message: "m",
	}))
	return o.ticket(t, who, made.Reference)
}

func (o *office) ticket(t *testing.T, who *service.Caller, reference string) supportdb.Ticket {
	t.Helper()
	of, err := account.ParseID(o.whoIs(t, who.Session).AccountID)
	if err != nil {
		t.Fatal(err)
	}
	number, _ := ticket.ParseReference(reference)
	now, _, err := o.store.LoadTicket(o.ctx, of, supportdb.Scope{}, number)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func TestTicket_FlowIsSignalledAtOnce(t *testing.T) {
	t.Parallel()
	temporal := testkit.Temporal(t).Dial(t)
	o := openOffice(t, func(c *service.Options) { c.Flows = workflows.NewClient(temporal) })
	ann := browser(o.signIn(t, "ann@buyer.example"))
	made := o.file(t, ann)
	if _, err := temporal.DescribeWorkflowExecution(o.ctx, workflows.TicketID(made.Number), ""); err == nil ||
		made.Version != 0 {
		t.Error("there is a flow before there is something to time")
	}
	in := service.ReplyTicketInput{Reference: made.Number.Reference(), Resolve: true}
	must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, ann, in))
	if now := o.ticket(t, ann, in.Reference); now.Version != 1 || now.Told != 1 {
		t.Errorf("resolved, it was told of version %d of %d", now.Told, now.Version)
	}
	if _, err := temporal.DescribeWorkflowExecution(o.ctx, workflows.TicketID(made.Number), ""); err != nil {
		t.Errorf("its flow: %v", err)
	}
}

func TestTicket_IsFiledAndAnsweredWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	_ = closed.Close()
	away, err := client.NewLazyClient(client.Options{
		HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(away.Close)
	o := openOffice(t, func(c *service.Options) { c.Flows = workflows.NewClient(away) })
	ann := browser(o.signIn(t, "ann@buyer.example"))
	made := o.file(t, ann)
	in := service.ReplyTicketInput{Reference: made.Number.Reference(), Resolve: true}
	must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, ann, in))
	if now := o.ticket(t, ann, in.Reference); now.Status != ticket.Resolved || now.Told != 0 || now.Version != 1 {
		t.Errorf("it is %+v", now)
	}
	late, err := o.store.ListUntoldTickets(o.ctx, time.Now().Add(time.Minute), time.Time{}, 0, 10)
	if err != nil || len(late) != 1 || late[0].Number != made.Number {
		t.Errorf("a worker finds %+v, %v", late, err)
	}
}

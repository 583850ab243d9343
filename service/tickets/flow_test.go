package tickets_test

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/workflows"
)

func TestTicket_FlowIsSignalledAtOnce(t *testing.T) {
	t.Parallel()
	temporal := testkit.Temporal(t).Dial(t)
	o := servicetest.OpenEnv(t, func(c *service.Options) { c.Flows = workflows.NewClient(temporal) })
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	made := o.File(t, ann)
	if _, err := temporal.DescribeWorkflowExecution(o.Ctx, workflows.TicketID(made.Number), ""); err == nil ||
		made.Version != 0 {
		t.Error("there is a flow before there is something to time")
	}
	in := tickets.ReplyTicketInput{Reference: made.Number.Reference(), Resolve: true}
	servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, ann, in))
	if now := o.Ticket(t, ann, in.Reference); now.Version != 1 || now.Told != 1 {
		t.Errorf("resolved, it was told of version %d of %d", now.Told, now.Version)
	}
	if _, err := temporal.DescribeWorkflowExecution(o.Ctx, workflows.TicketID(made.Number), ""); err != nil {
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
	o := servicetest.OpenEnv(t, func(c *service.Options) { c.Flows = workflows.NewClient(away) })
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	made := o.File(t, ann)
	in := tickets.ReplyTicketInput{Reference: made.Number.Reference(), Resolve: true}
	servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, ann, in))
	now := o.Ticket(t, ann, in.Reference)
	expect.Equal(t, now.Status, ticket.Resolved)
	expect.Equal(t, now.Told, 0)
	expect.Equal(t, now.Version, 1)
	late, err := o.Store.ListUntoldTickets(o.Ctx, time.Now().Add(time.Minute), time.Time{}, 0, 10)
	require.NoError(t, err)
	require.Len(t, late, 1)
	expect.Equal(t, late[0].Number, made.Number)
}

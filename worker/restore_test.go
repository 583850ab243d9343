package worker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

// restored is how soon everything must exist again.
const restored = time.Minute

// scheduled reports whether all schedules exist.
func scheduled(t *testing.T, c client.Client) bool {
	t.Helper()
	for _, id := range []string{workflows.PartitionSchedule, workflows.StatementSweepSchedule} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := c.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
		cancel()
		if err != nil {
			return false
		}
	}
	return true
}

// probeRuns reports whether a chain's probe is running.
func probeRuns(t *testing.T, c client.Client, id chain.ID) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	found, err := c.DescribeWorkflowExecution(ctx, workflows.ProbeID(id), "")
	return err == nil && found.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

func TestWorker_StartsATerminatedProbeAndMakesDeletedSchedulesAgain(t *testing.T) {
	t.Parallel()
	server := testkit.Temporal(t)
	c := server.Dial(t)
	o := &outside{}
	w := o.worker(t, c, server.Namespace, nil)
	start(t, w)
	ready(t, w)
	kept, err := c.DescribeWorkflowExecution(t.Context(), workflows.ProbeID(chain.SolanaMainnet), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{workflows.PartitionSchedule, workflows.StatementSweepSchedule} {
		if err := c.ScheduleClient().GetHandle(t.Context(), id).Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.TerminateWorkflow(t.Context(), workflows.ProbeID(chain.EthMainnet), "", "by hand"); err != nil {
		t.Fatal(err)
	}
	before := o.rounds(chain.EthMainnet)
	testkit.Eventually(t, restored, func() bool {
		return scheduled(t, c) && probeRuns(t, c, chain.EthMainnet) && o.rounds(chain.EthMainnet) > before
	}, "the probe measures again and the schedules stand")
	now, err := c.DescribeWorkflowExecution(t.Context(), workflows.ProbeID(chain.SolanaMainnet), "")
	if err != nil {
		t.Fatal(err)
	}
	if kept.GetWorkflowExecutionInfo().GetExecution().GetRunId() !=
		now.GetWorkflowExecutionInfo().GetExecution().GetRunId() {
		t.Error("the other chain's probe, which ran, was started anew")
	}
	for _, event := range eventsOf(t, c, workflows.ProbeID(chain.SolanaMainnet))[3:] {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			t.Error("looking after a probe that runs signals it")
		}
	}
}

func TestWorker_SetsATemporalUpAgainThatCameBackEmpty(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	server := testkit.OwnTemporal(t)
	const namespace = "gateway-production"
	namespaces, err := client.NewNamespaceClient(client.Options{
		HostPort: server.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer namespaces.Close()
	err = namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	type working struct {
		*worker.Worker

		namespace string
		c         client.Client
		o         *outside
		before    int
	}
	var workers []*working
	for _, name := range []string{namespace, client.DefaultNamespace} { // the second exists in an empty server as well
		k := &working{namespace: name, c: server.Dial(t, name), o: &outside{}}
		k.Worker = k.o.worker(t, k.c, name, nil)
		start(t, k.Worker)
		workers = append(workers, k)
	}
	for _, k := range workers {
		ready(t, k.Worker)
	}
	server.Empty(t)
	for _, k := range workers {
		k.before = k.o.rounds(chain.EthMainnet)
	}
	for _, k := range workers {
		testkit.Eventually(t, restored, func() bool {
			return scheduled(t, k.c) && probeRuns(t, k.c, chain.EthMainnet) && probeRuns(t, k.c, chain.SolanaMainnet) &&
				k.o.rounds(chain.EthMainnet) > k.before && k.Ready() == nil
		}, "namespace %s is as it was: %v", k.namespace, k.Ready())
	}
}

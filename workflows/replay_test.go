package workflows_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/workflows"
)

// update records the histories again. After a change of a workflow keep the old history next to the
// new one: runs that began with the old code continue with the new.
var update = flag.Bool("update", false, "record the histories under testdata anew")

// machineNames matches the identity of a process, and the name of its sticky queue.
var machineNames = regexp.MustCompile(`("(?:identity|name)":\s*")[^"]*(?:@|:[0-9a-f]{8}-)[^"]*"`)

// testTimeout is longer than an activity of one minute that is lost on its way to a worker, plus
// its retry.
const testTimeout = 150 * time.Second

// TestReplay_RecordedHistoriesReplay fails when a workflow's code no longer replays its recorded
// histories.
func TestReplay_RecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	if *update {
		record(t)
		recordStatements(t)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) < 26 {
		t.Fatalf("%d recorded histories (%v), want one per workflow; record them with -update", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			replayer := worker.NewWorkflowReplayer()
			workflows.RegisterProbe(replayer)
			workflows.RegisterGateway(replayer)
			workflows.RegisterBilling(replayer)
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet, file); err != nil {
				t.Errorf("%s: guard the change with workflow.GetVersion: %v", file, err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, address := range []string{"http://", "https://", "ws://", "wss://", "redis://", "postgres://"} {
				if strings.Contains(string(text), address) {
					t.Errorf("%s holds an address (%s…)", file, address)
				}
			}
		})
	}
}

// record runs each workflow on a real server and stores its history.
func record(t *testing.T) {
	t.Helper()
	server := testkit.Temporal(t)
	c := server.Dial(t)
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	var tickets <-chan struct{}
	rounds, looked, followed := make(chan struct{}, 100), make(chan struct{}, 100), make(chan struct{}, 100)
	n := 0
	// One chain at a time, so n needs no lock.
	probe := func(_ context.Context, _ chain.ID) (activities.ProbeResult, error) {
		n++
		rounds <- struct{}{}
		if n == 2 || n == 3 {
			return activities.ProbeResult{}, temporal.NewApplicationError("no measurement", activities.ErrPublishFailed)
		}
		return snapshot(true, n%2 == 0), nil
	}
	keep := func(context.Context, activities.PartitionUpkeep) (activities.PartitionReport, error) {
		return activities.PartitionReport{Made: 8}, nil
	}
	// The notice of 80 percent is delivered by the second attempt. That of 100 percent is cancelled
	// while it retries, which also gives it a result.
	failing := make(chan struct{}, 100)
	deliver := func(ctx context.Context, ref activities.NoticeRef) (string, error) {
		if ref.Percent == 80 && activity.GetInfo(ctx).Attempt > 1 {
			return activities.NoticeDelivered, nil
		}
		if ref.Percent == 100 {
			failing <- struct{}{}
		}
		return "", temporal.NewApplicationError("not now", activities.ErrNoticeUndelivered)
	}
	end := func(_ context.Context, end activities.NoticeEnd) (string, error) { return end.Result, nil }
	for queue, register := range map[string]func(worker.Worker){
		workflows.QueueProbe: func(w worker.Worker) {
			workflows.RegisterProbe(w)
			w.RegisterActivityWithOptions(probe, activity.RegisterOptions{Name: "Probe"})
		},
		workflows.QueueGateway: func(w worker.Worker) {
			workflows.RegisterGateway(w)
			w.RegisterActivityWithOptions(keep, activity.RegisterOptions{Name: "KeepPartitions"})
			w.RegisterActivityWithOptions(deliver, activity.RegisterOptions{Name: "DeliverNotice"})
			w.RegisterActivityWithOptions(end, activity.RegisterOptions{Name: "EndNotice"})
			registerDoors(w)
			registerSettlements(w, looked)
			tickets = registerTickets(w)
		},
		workflows.QueueBilling: func(w worker.Worker) { registerBilling(w, followed) },
	} {
		w := worker.New(c, queue, worker.Options{})
		register(w)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
	}
	recordDoors(ctx, t, c)
	recordSettlements(ctx, t, c, looked)
	recordBilling(ctx, t, c, followed)
	recordTickets(ctx, t, c, tickets)
	durable := workflows.NewClient(c)
	in := workflows.ProbeInput{Chain: chain.EthMainnet, IntervalMillis: 200, TimeoutMillis: 5000}
	start := func() {
		if err := durable.StartProbe(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	start()
	for i := range 8 {
		<-rounds
		if i == 5 {
			in.IntervalMillis = 100
			start()
		}
	}
	if err := c.CancelWorkflow(ctx, workflows.ProbeID(in.Chain), ""); err != nil {
		t.Fatal(err)
	}
	// The history of the cancelled run, with failed rounds and a change of interval and of stage.
	_ = c.GetWorkflow(ctx, workflows.ProbeID(in.Chain), "").Get(ctx, nil)
	save(ctx, t, c, workflows.ProbeID(in.Chain), "probe.json")

	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "upkeep", TaskQueue: workflows.QueueGateway},
		workflows.PartitionWorkflow, workflows.PartitionInput())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Get(ctx, nil); err != nil {
		t.Fatal(err)
	}
	save(ctx, t, c, "upkeep", "partition-upkeep.json")

	ref := activities.NoticeRef{Account: account.NewID(), Period: "2026-11-01"}
	for percent, file := range map[int]string{80: "usage-notice.json", 100: "usage-notice-cancelled.json"} {
		ref.Percent = percent
		if err := durable.StartUsageNotice(ctx, ref); err != nil {
			t.Fatal(err)
		}
		if percent == 100 {
			<-failing
			if err := c.CancelWorkflow(ctx, workflows.UsageNoticeID(ref), ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.GetWorkflow(ctx, workflows.UsageNoticeID(ref), "").Get(ctx, nil); err != nil {
			t.Fatal(err)
		}
		save(ctx, t, c, workflows.UsageNoticeID(ref), file)
	}
}

func save(ctx context.Context, t *testing.T, c client.Client, id, file string) {
	t.Helper()
	saveRun(ctx, t, c, id, "", file)
}

// saveRun saves one run; the newest if run is empty.
func saveRun(ctx context.Context, t *testing.T, c client.Client, id, run, file string) {
	t.Helper()
	all := &history.History{}
	events := c.GetWorkflowHistory(ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		all.Events = append(all.Events, event)
	}
	text, err := protojson.MarshalOptions{Indent: " "}.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	// Host and process names are not part of the workflow.
	text = machineNames.ReplaceAll(text, []byte(`${1}recorder"`))
	if err := os.MkdirAll("testdata", 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", file), append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

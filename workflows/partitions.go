package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// PartitionWorkflow creates the partitions of the coming days and deletes records past their
// retention.
//
//   - ID: partition-upkeep-<time>, from the schedule partition-upkeep.
//   - Queue: gateway.
//   - Started by: the schedule, daily, and by every worker at its start; runs never overlap.
//   - Ends: each run, with a PartitionReport.
const (
	PartitionWorkflow = "partition-upkeep"
	PartitionSchedule = "partition-upkeep"
)

const (
	// partitionEvery leaves a margin: partitions are created a week ahead, and rows without one go
	// to the default partition.
	partitionEvery = 24 * time.Hour
	// partitionCatchup is how late a run may start; a later one is left to the next day.
	partitionCatchup = 10 * time.Minute
)

// PartitionInput returns the input of each scheduled run, with these retentions:
//
//   - call records: 30 days unless CALL_RECORDS_DAYS is set;
//   - ledger of flushed usage: five days longer than a meter may be unreachable and still flush;
//   - latencies: five days longer than the longest window that can be queried;
//   - sessions, sign-ins and invitations: one day after they expire;
//   - Stripe webhooks: long after Stripe stops retrying them;
//   - chain status: as long as the status page shows it;
//   - unconfirmed addresses and declined wishes: 30 days;
//   - anonymous keys: 30 days if they were never used, otherwise 180 days after their last call.
func PartitionInput() activities.PartitionUpkeep {
	return activities.PartitionUpkeep{
		DaysAhead: 7, KeepCallDays: 30, KeepLedgerDays: 35, KeepLatencyDays: 35, KeepPeopleDays: 1, KeepEventDays: 90,
		KeepStatusDays: 90, KeepEntryDays: 30, KeepUnusedKeyDays: 30, KeepIdleKeyDays: 180,
	}
}

// KeepPartitions is the workflow.
func KeepPartitions(ctx workflow.Context, in activities.PartitionUpkeep) (activities.PartitionReport, error) {
	var (
		partitions *activities.Partitions
		report     activities.PartitionReport
	)
	err := workflow.ExecuteActivity(flow.Upkeeping(ctx, "keep the partitions of call records"),
		partitions.KeepPartitions,
		in).Get(ctx, &report)
	return report, err
}

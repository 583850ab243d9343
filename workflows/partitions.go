package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
)

// Partition upkeep: makes the partitions of the coming days and drops records past their keeping.
//
// ID       partition-upkeep-<time>, from the schedule partition-upkeep
// Queue    gateway
// Started  by the schedule, daily, and by every worker at its start; runs never overlap
// Ends     each run, with a PartitionReport
const (
	PartitionWorkflow = "partition-upkeep"
	PartitionSchedule = "partition-upkeep"
)

const (
	// partitionEvery is shorter than a day could be missed: partitions are made a week ahead, and
	// what has none lands in the default one.
	partitionEvery = 24 * time.Hour
	// partitionCatchup is how late a run may start; a later one is left to the next day.
	partitionCatchup = 10 * time.Minute
)

// PartitionInput is what the schedule hands to each run: call records are kept for 30 days
// unless CALL_RECORDS_DAYS says otherwise, the ledger of flushed usage five days
// longer than any meter could be out of reach and come back, latencies five days longer than the
// longest window asked for, sessions, sign-ins and invitations a day after they expired, webhooks
// of Stripe long after it would send them again, how chains stood as long as the page of status
// shows it, and addresses that nobody confirmed and wishes that were declined for a month.
// Anonymous keys that were never used go after a month, others half a year after their last call.
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
	err := workflow.ExecuteActivity(upkeeping(ctx, "keep the partitions of call records"), partitions.KeepPartitions,
		in).Get(ctx, &report)
	return report, err
}

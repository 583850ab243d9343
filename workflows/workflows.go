// Package workflows contains the workflow definitions, each with its contract (id, input, signals,
// task queue, end) at the top of its file, and the typed client that starts them. Side effects are
// in package activities. Operators can read workflow histories, so they contain no secrets, no URLs
// of upstreams and no e-mail addresses.
package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Task queues, one per failure domain: a queue that hangs does not block the others.
const (
	QueueGateway = "gateway"
	QueueProbe   = "gateway-probe"
	QueueBilling = "gateway-billing"
)

// Stage is the search attribute with a workflow's stage.
var Stage = temporal.NewSearchAttributeKeyKeyword("Stage")

// AccountID is the search attribute with the account of a workflow.
var AccountID = temporal.NewSearchAttributeKeyKeyword("AccountID")

// StuckReason is the search attribute of workflows that wait for something outside; its value is
// the reason.
var StuckReason = temporal.NewSearchAttributeKeyKeyword("StuckReason")

// SearchAttributes returns the names of the search attributes that the workflows set; each is a
// Keyword. The namespace must have them.
func SearchAttributes() []string {
	return []string{Stage.GetName(), AccountID.GetName(), StuckReason.GetName()}
}

// RegisterProbe registers the workflows of QueueProbe.
func RegisterProbe(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Probe, workflow.RegisterOptions{Name: ProbeWorkflow})
}

// RegisterGateway registers the workflows of QueueGateway.
func RegisterGateway(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(KeepPartitions, workflow.RegisterOptions{Name: PartitionWorkflow})
	r.RegisterWorkflowWithOptions(UsageNotice, workflow.RegisterOptions{Name: UsageNoticeWorkflow})
	r.RegisterWorkflowWithOptions(Bind, workflow.RegisterOptions{Name: BindWorkflow})
	r.RegisterWorkflowWithOptions(Adopt, workflow.RegisterOptions{Name: AdoptWorkflow})
	r.RegisterWorkflowWithOptions(Claim, workflow.RegisterOptions{Name: ClaimWorkflow})
	r.RegisterWorkflowWithOptions(Settle, workflow.RegisterOptions{Name: SettlementWorkflow})
	r.RegisterWorkflowWithOptions(KeepTicket, workflow.RegisterOptions{Name: TicketWorkflow})
}

// RegisterBilling registers the workflows of QueueBilling.
func RegisterBilling(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Subscribe, workflow.RegisterOptions{Name: SubscriptionWorkflow})
	r.RegisterWorkflowWithOptions(CheckOut, workflow.RegisterOptions{Name: CheckoutWorkflow})
	r.RegisterWorkflowWithOptions(CloseStatement, workflow.RegisterOptions{Name: StatementWorkflow})
	r.RegisterWorkflowWithOptions(SweepStatements, workflow.RegisterOptions{Name: StatementSweepWorkflow})
}

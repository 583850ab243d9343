package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

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

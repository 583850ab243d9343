// Package workflows owns what lasts: the workflow definitions, each with its contract (id, input,
// signals, task queue, end) on top of its file, and the typed client that starts them. Side effects
// are the activities' matter. What enters a history is public to operators: no secrets, no
// addresses of upstreams, no e-mail addresses.
package workflows

import "go.temporal.io/sdk/temporal"

// Task queues, one per failure domain: what hangs in one does not hold the others.
const (
	QueueGateway = "gateway"
	QueueProbe   = "gateway-probe"
	QueueBilling = "gateway-billing"
)

// Stage is the search attribute by which operators find workflows by the stage they are in.
var Stage = temporal.NewSearchAttributeKeyKeyword("Stage")

// AccountID is the search attribute by which operators find the workflows of an account.
var AccountID = temporal.NewSearchAttributeKeyKeyword("AccountID")

// StuckReason is the search attribute by which operators find workflows that wait for something
// outside, by why they do.
var StuckReason = temporal.NewSearchAttributeKeyKeyword("StuckReason")

// SearchAttributes names the search attributes that the workflows set; each is a Keyword. A
// namespace must know them.
func SearchAttributes() []string {
	return []string{Stage.GetName(), AccountID.GetName(), StuckReason.GetName()}
}

// Package faultpoint names the instants at which a process of the gateway may be killed and its
// books must still balance. In a program built with the tag faultpoints, which only the fault
// harness in test/chaos uses, the environment selects one of them to kill the process at. In every
// other build a point is an empty function, which the compiler removes.
package faultpoint

// Point is an instant while a call, usage or money is processed.
type Point string

// The points.
const (
	// AdmitSent: the admission script was sent and its reply is pending. Redis may or may not have
	// run it.
	AdmitSent Point = "admit.sent"
	// AdmitReplied: the call is admitted or refused; no upstream was asked yet.
	AdmitReplied Point = "admit.replied"
	// SettleDue: the upstream has answered or failed. Nothing was refunded, and the client has no
	// answer.
	SettleDue Point = "settle.due"
	// RefundReplied: Redis has returned the charge; nothing else knows it yet.
	RefundReplied Point = "refund.replied"
	// FlushCommitted: buckets are committed in PostgreSQL and not yet deleted from Redis.
	FlushCommitted Point = "flush.committed"
	// RedeemDecided: the settlement's workflow has granted the units, and the credential was not
	// returned yet.
	RedeemDecided Point = "redeem.decided"
	// EventStored: an event of Stripe is in PostgreSQL, and no workflow was signalled.
	EventStored Point = "event.stored"
	// EventSignalled: workflows were signalled, and the event is not marked as handed on.
	EventSignalled Point = "event.signalled"
	// ReconcileStep: a step of a reconciliation is done; later steps are not. Each step is a hit.
	ReconcileStep Point = "reconcile.step"
	// StatementFrozen: statements are written in a transaction that is not committed.
	StatementFrozen Point = "statement.frozen"
	// StatementClosed: statements are committed, and no one was notified.
	StatementClosed Point = "statement.closed"
)

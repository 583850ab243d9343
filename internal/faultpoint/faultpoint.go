// Package faultpoint names the instants at which a process of the gateway may die and its books
// must balance all the same. In a program built with the tag faultpoints, which only the fault
// harness in faults/ builds, the environment chooses one of them to kill the process at. In every
// other build a point is an empty function, which the compiler leaves out.
package faultpoint

// Point is an instant on the way of a call, of usage, or of money.
type Point string

// The points.
const (
	// AdmitSent: the caller waits for the reply of the admission script, which Redis may have run
	// or not.
	AdmitSent Point = "admit.sent"
	// AdmitReplied: the verdict is there, and nothing was asked of an upstream yet.
	AdmitReplied Point = "admit.replied"
	// SettleDue: the upstream's answer or failure is there. Nothing was given back, and the client
	// was told nothing.
	SettleDue Point = "settle.due"
	// RefundReplied: Redis has given the charge back, and nobody knows yet.
	RefundReplied Point = "refund.replied"
	// FlushCommitted: buckets are in PostgreSQL, and still in Redis.
	FlushCommitted Point = "flush.committed"
	// RedeemDecided: the settlement's flow has granted the units, and nobody was told the
	// credential.
	RedeemDecided Point = "redeem.decided"
	// EventStored: an event of the payment provider is in PostgreSQL, and no flow was told.
	EventStored Point = "event.stored"
	// EventSignalled: flows were told of it, and it is not marked as handed on.
	EventSignalled Point = "event.signalled"
	// ReconcileStep: a step of a reconcile is done, and the others may not be. Its hits are the
	// steps.
	ReconcileStep Point = "reconcile.step"
	// StatementFrozen: statements are written, and their transaction is not committed.
	StatementFrozen Point = "statement.frozen"
	// StatementClosed: statements are committed, and nobody was told.
	StatementClosed Point = "statement.closed"
)

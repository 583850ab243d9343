// Package ticket has the rules of support tickets: references, states and who may change them, the
// symptom by which tickets join, and the category, priority and paths to try that follow from the
// evidence. It has no storage and does no I/O.
package ticket

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Bounds of tickets. Texts are counted in Unicode code points.
const (
	MaxSubject  = 140
	MaxMessage  = 5000
	MaxMessages = 200 // of a ticket, by people
	// MaxByCustomers is how many messages a ticket may have before its customer cannot add another.
	// The rest is reserved for the staff's answers.
	MaxByCustomers = 190
	// MaxMoves is how many times a ticket may have been resolved, reopened or written to while
	// resolved before its customer can neither resolve nor reopen it.
	MaxMoves = 400
	MaxOpen  = 100 // unresolved tickets of an account
	MaxDaily = 50  // tickets that an account files in 24 hours
	// MaxDailyAtDoors is MaxDaily for accounts that nobody signed up for.
	MaxDailyAtDoors = 10
)

// Time limits of tickets (docs/decisions/0068).
const (
	// JoinWithin is how long after its last activity a ticket is joined by one with the same
	// symptom.
	JoinWithin = time.Hour
	// CloseAfter is how long a resolved ticket waits for an answer before it closes.
	CloseAfter = 7 * 24 * time.Hour
)

// Number is the number of a ticket. People use its reference.
type Number int64

const prefix = "CAG-"

var referenceForm = regexp.MustCompile(`^CAG-[1-9][0-9]{0,17}$`)

// Reference returns CAG-<number>.
func (n Number) Reference() string { return prefix + strconv.FormatInt(int64(n), 10) }

// ParseReference parses the form that Reference returns, and no other.
func ParseReference(text string) (Number, bool) {
	if !referenceForm.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text[len(prefix):], 10, 64)
	return Number(n), err == nil
}

// Status is the state of a ticket.
type Status string

// The states. Open means that the staff has not answered yet.
const (
	Open            Status = "open"
	WaitingCustomer Status = "waiting_customer"
	WaitingUs       Status = "waiting_us"
	Resolved        Status = "resolved"
	Closed          Status = "closed"
)

// Unresolved lists the states that are not over.
func Unresolved() []Status { return []Status{Open, WaitingCustomer, WaitingUs} }

// Over reports whether the ticket needs no action: resolved or closed.
func (s Status) Over() bool { return s == Resolved || s == Closed }

// Author is who wrote a message.
type Author string

// The authors. Service is the author of automatic messages.
const (
	Customer Author = "customer"
	Operator Author = "operator"
	Service  Author = "service"
)

// Category is what a ticket is about.
type Category string

// The categories.
const (
	Incident Category = "incident"
	Question Category = "question"
	Billing  Category = "billing"
	Other    Category = "other"
)

// Categories lists the categories.
func Categories() []Category { return []Category{Incident, Question, Billing, Other} }

// Priority orders tickets for the staff.
type Priority string

// The priorities, lowest first.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
	Urgent Priority = "urgent"
)

var priorities = []Priority{Low, Normal, High, Urgent}

// Priorities lists the priorities, lowest first.
func Priorities() []Priority { return slices.Clone(priorities) }

// Symptom is what tickets of an account join by. Code is error.code of the call, 0 when it was
// answered.
type Symptom struct {
	Code   int
	Chain  chain.ID
	Method string
}

// Move is a change that somebody requests of a ticket.
type Move struct {
	By      Author
	Message bool // it comes with a message
	Resolve bool
	Reopen  bool
}

// Verdict is the outcome of a move.
type Verdict string

// The verdicts. All but Moves leave the ticket unchanged.
const (
	Moves      Verdict = "moves"
	IsClosed   Verdict = "closed"   // a closed ticket can only be reopened
	Contrary   Verdict = "contrary" // it cannot be resolved and reopened at once
	NothingIn  Verdict = "nothing"  // no message, and no change of state
	NotOver    Verdict = "not_over" // only a resolved or closed ticket can be reopened
	IsResolved Verdict = "resolved" // it is resolved already, and there is no message
)

// After returns the status after a move, or s with the reason why it is refused.
func (s Status) After(m Move) (Status, Verdict) {
	switch {
	case m.Resolve && m.Reopen:
		return s, Contrary
	case s == Closed && !m.Reopen:
		return s, IsClosed
	case m.Reopen && !s.Over():
		return s, NotOver
	case !m.Message && !m.Resolve && !m.Reopen:
		return s, NothingIn
	case m.Resolve && s == Resolved && !m.Message:
		return s, IsResolved
	case m.Resolve:
		return Resolved, Moves
	case m.By == Operator:
		return s.afterOperator(m), Moves
	case s == Open:
		return Open, Moves
	}
	return WaitingUs, Moves
}

// afterOperator returns the status after an operator wrote or reopened.
func (s Status) afterOperator(m Move) Status {
	switch {
	case s == Resolved && !m.Reopen: // a last word; the customer's reply reopens it
		return Resolved
	case m.Message:
		return WaitingCustomer
	}
	return WaitingUs
}

// raised returns the priority that many steps higher, at most the highest.
func (p Priority) raised(steps int) Priority {
	at := slices.Index(priorities, p)
	return priorities[min(at+steps, len(priorities)-1)]
}

// UnderSubject returns the message with which a ticket is joined: prefixed by its own subject when
// that differs, cut to MaxMessage.
func UnderSubject(first, subject, message string) string {
	if subject == first {
		return message
	}
	text := []rune("Subject: " + subject + "\n\n" + message)
	return string(text[:min(len(text), MaxMessage)])
}

// Package ticket owns what a support ticket is: its reference, its states and who moves it between
// them, the symptom by which tickets join, and what follows from the evidence about it: category,
// priority and paths to try first. It keeps nothing and asks nobody.
package ticket

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Bounds of tickets. Texts are counted in characters (Unicode code points).
const (
	MaxSubject  = 140
	MaxMessage  = 5000
	MaxMessages = 200 // of a ticket, by people
	// MaxByCustomers is how many messages a ticket may have for its customer to write another: the
	// rest is for those who answer.
	MaxByCustomers = 190
	// MaxMoves is how often a ticket may have been resolved and reopened, or written to while it
	// was resolved, for its customer to do either again.
	MaxMoves = 400
	MaxOpen  = 100 // unresolved tickets of an account
	MaxDaily = 50  // tickets that an account makes in 24 hours
	// MaxDailyAtDoors is MaxDaily of an account that nobody signed up for.
	MaxDailyAtDoors = 10
)

// Times of tickets (docs/decisions/0068).
const (
	// JoinWithin is how long after its last activity a ticket is joined by the same symptom.
	JoinWithin = time.Hour
	// CloseAfter is how long a resolved ticket waits for an answer before it closes.
	CloseAfter = 7 * 24 * time.Hour
)

// Number counts tickets. Its reference is what people call one.
type Number int64

const prefix = "CAG-"

var referenceForm = regexp.MustCompile(`^CAG-[1-9][0-9]{0,17}$`)

// Reference is CAG-<number>.
func (n Number) Reference() string { return prefix + strconv.FormatInt(int64(n), 10) }

// ParseReference reads what Reference gives, and nothing else.
func ParseReference(text string) (Number, bool) {
	if !referenceForm.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text[len(prefix):], 10, 64)
	return Number(n), err == nil
}

// Status is where a ticket stands.
type Status string

// The states. Open is one that nobody of the service has answered yet.
const (
	Open            Status = "open"
	WaitingCustomer Status = "waiting_customer"
	WaitingUs       Status = "waiting_us"
	Resolved        Status = "resolved"
	Closed          Status = "closed"
)

// Unresolved are the states in which somebody is to do something.
func Unresolved() []Status { return []Status{Open, WaitingCustomer, WaitingUs} }

// Over reports whether nobody is to do anything: resolved or closed.
func (s Status) Over() bool { return s == Resolved || s == Closed }

// Author is who wrote a message.
type Author string

// The authors. The service writes what it does by itself.
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

// Priority orders tickets for those who answer them.
type Priority string

// The priorities, from the lowest.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
	Urgent Priority = "urgent"
)

var priorities = []Priority{Low, Normal, High, Urgent}

// Priorities lists the priorities, from the lowest.
func Priorities() []Priority { return slices.Clone(priorities) }

// Symptom is by what tickets of an account join. Code is error.code of the call, 0 when it was
// answered.
type Symptom struct {
	Code   int
	Chain  chain.ID
	Method string
}

// Move is what somebody asks of a ticket, with or without a message.
type Move struct {
	By      Author
	Message bool // whether a message comes with it
	Resolve bool
	Reopen  bool
}

// Verdict is what becomes of a move.
type Verdict string

// The verdicts. Every other than Moves leaves the ticket as it is.
const (
	Moves      Verdict = "moves"
	IsClosed   Verdict = "closed"   // a closed ticket takes nothing but a reopen
	Contrary   Verdict = "contrary" // it cannot be resolved and reopened at once
	NothingIn  Verdict = "nothing"  // no message, and no change of state
	NotOver    Verdict = "not_over" // only a resolved or closed ticket is reopened
	IsResolved Verdict = "resolved" // it is resolved already, and no message came
)

// After says where a ticket stands after a move.
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

// afterOperator says where a ticket stands after an operator wrote, or reopened it.
func (s Status) afterOperator(m Move) Status {
	switch {
	case s == Resolved && !m.Reopen: // a last word; the customer's reply reopens
		return Resolved
	case m.Message:
		return WaitingCustomer
	}
	return WaitingUs
}

// raised is a priority so many steps higher, at most the highest.
func (p Priority) raised(steps int) Priority {
	at := slices.Index(priorities, p)
	return priorities[min(at+steps, len(priorities)-1)]
}

// UnderSubject is the message with which a ticket of a subject is joined: under its own subject
// where that differs, cut to the bound of messages.
func UnderSubject(first, subject, message string) string {
	if subject == first {
		return message
	}
	text := []rune("Subject: " + subject + "\n\n" + message)
	return string(text[:min(len(text), MaxMessage)])
}

package notify

import (
	"strings"
	"time"
)

// The kinds of mails about support.
const (
	KindTicketReceived   Kind = "ticket_received"
	KindTicketReplied    Kind = "ticket_replied"
	KindTicketResolved   Kind = "ticket_resolved"
	KindTicketReopened   Kind = "ticket_reopened"
	KindTicketNews       Kind = "ticket_news"
	KindTicketPressing   Kind = "ticket_pressing"
	KindFeedbackNews     Kind = "feedback_news"
	KindFeedbackAnswered Kind = "feedback_answered"
	KindWishReceived     Kind = "wish_received"
	KindWishAnswered     Kind = "wish_answered"
	KindWaitlistJoined   Kind = "waitlist_joined"
	KindWaitlistInvited  Kind = "waitlist_invited"
)

// TicketReceived confirms a ticket to the user who filed it, with its reference and what to try
// meanwhile.
type TicketReceived struct {
	Reference string
	Subject   string // as it was written
	Paths     Prose  // what to try, one per line; empty for nothing
	Link      string // to the ticket
}

// TicketReplied brings the staff's reply to a ticket.
type TicketReplied struct {
	Reference string
	Subject   string // as it was written
	Message   Prose
	Link      string // to the ticket
}

// TicketResolved reports that the staff resolved a ticket, and when it closes.
type TicketResolved struct {
	Reference string
	Subject   string // as it was written
	Message   Prose  // of the step; empty for none
	Closes    time.Time
	Link      string // to the ticket
}

// TicketReopened reports that the staff reopened a ticket without a message.
type TicketReopened struct {
	Reference string
	Subject   string // as it was written
	Link      string // to the ticket
}

// TicketNews reports to the operator a new ticket, a customer's reply, or that a customer reopened
// one.
type TicketNews struct {
	Reference string
	Subject   string // as it was written
	New       bool
	Priority  string
	Category  string
	Account   string // the account's name, or its id
	Plan      string // the account's plan
	Message   Prose  // as it was written; empty when reopened without one
	Link      string // to the ticket at the desk
}

// TicketPressing reports to the operator a new ticket of high or urgent priority. It is a kind of
// its own, so that other mails cannot use up its daily limit.
type TicketPressing TicketNews

// FeedbackNews reports feedback to the operator.
type FeedbackNews struct {
	Kinds   string // feature, chain, praise, complaint or other
	Title   string // as it was written
	Body    Prose  // as it was written; may be empty
	Account string // the account's name, or its id
	Link    string // to the feedback at the desk
}

// FeedbackAnswered brings the staff's answer to feedback.
type FeedbackAnswered struct {
	Title  string // as it was written
	Status string // what became of it
	Reply  Prose  // empty for none
	Link   string // to the feedback
}

// WishReceived confirms a request for an enterprise agreement. The address is unproven, so the mail
// repeats nothing of the request.
type WishReceived struct {
	At   time.Time
	Days int    // validity of the link
	Link string // to withdraw it
}

// WishAnswered brings the staff's answer to a request for an enterprise agreement.
type WishAnswered struct {
	At     time.Time // of the request
	Status string    // what became of it
	Reply  Prose
	Link   string // to withdraw it
	Days   int    // validity of the link
}

// WaitlistJoined confirms that an address is on the waitlist. The address is unproven.
type WaitlistJoined struct {
	At   time.Time
	Days int    // validity of the link
	Link string // to confirm it, or to leave
}

// WaitlistInvited reports to a confirmed address on the waitlist that it may sign in.
type WaitlistInvited struct {
	Link string // to sign in
}

// Prose is a text of several lines that somebody wrote: at most 5,000 characters, each line cleaned
// as by Spoken but not cut.
type Prose string

const maxProse = 5000

// Lines returns the lines of the text, without empty ones at its ends and without two empty ones in
// a row.
func (p Prose) Lines() []string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f",
		"\n").Replace(string(p))
	var lines []string
	left, blank := maxProse, false
	for line := range strings.SplitSeq(text, "\n") {
		if line = oneLine(line, max(left, 1)); line == "" {
			blank = len(lines) > 0
			continue
		}
		if left <= 0 {
			return append(lines, "…")
		}
		if blank {
			lines, blank = append(lines, ""), false
		}
		lines = append(lines, line)
		left -= len([]rune(line))
	}
	return lines
}

// Quoted returns the text with a mark before each line, so that nothing in it reads as the mail's
// own words.
func (p Prose) Quoted() string {
	var b strings.Builder
	for _, line := range p.Lines() {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Kind returns the kind of the mail.
func (TicketReceived) Kind() Kind { return KindTicketReceived }

// Kind returns the kind of the mail.
func (TicketReplied) Kind() Kind { return KindTicketReplied }

// Kind returns the kind of the mail.
func (TicketResolved) Kind() Kind { return KindTicketResolved }

// Kind returns the kind of the mail.
func (TicketReopened) Kind() Kind { return KindTicketReopened }

// Kind returns the kind of the mail.
func (TicketNews) Kind() Kind { return KindTicketNews }

// Kind returns the kind of the mail.
func (TicketPressing) Kind() Kind { return KindTicketPressing }

// Kind returns the kind of the mail.
func (FeedbackNews) Kind() Kind { return KindFeedbackNews }

// Kind returns the kind of the mail.
func (FeedbackAnswered) Kind() Kind { return KindFeedbackAnswered }

// Kind returns the kind of the mail.
func (WishReceived) Kind() Kind { return KindWishReceived }

// Kind returns the kind of the mail.
func (WishAnswered) Kind() Kind { return KindWishAnswered }

// Kind returns the kind of the mail.
func (WaitlistJoined) Kind() Kind { return KindWaitlistJoined }

// Kind returns the kind of the mail.
func (WaitlistInvited) Kind() Kind { return KindWaitlistInvited }

func (m TicketReceived) link() string   { return m.Link }
func (m TicketReplied) link() string    { return m.Link }
func (m TicketResolved) link() string   { return m.Link }
func (m TicketReopened) link() string   { return m.Link }
func (m TicketNews) link() string       { return m.Link }
func (m TicketPressing) link() string   { return m.Link }
func (m FeedbackNews) link() string     { return m.Link }
func (m FeedbackAnswered) link() string { return m.Link }
func (m WishReceived) link() string     { return m.Link }
func (m WishAnswered) link() string     { return m.Link }
func (m WaitlistJoined) link() string   { return m.Link }
func (m WaitlistInvited) link() string  { return m.Link }

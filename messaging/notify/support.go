package notify

import (
	"strings"
	"time"
)

// The kinds of mails about what is asked of people.
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

// TicketReceived tells whoever filed a ticket its reference, and what to try meanwhile.
type TicketReceived struct {
	Reference string
	Subject   string // as it was written
	Paths     Prose  // what to try, a line each; empty for nothing
	Link      string // to the ticket
}

// TicketReplied brings what the service answered to a ticket.
type TicketReplied struct {
	Reference string
	Subject   string // as it was written
	Message   Prose
	Link      string // to the ticket
}

// TicketResolved tells that the service resolved a ticket, and when it closes.
type TicketResolved struct {
	Reference string
	Subject   string // as it was written
	Message   Prose  // that came with it; empty for none
	Closes    time.Time
	Link      string // to the ticket
}

// TicketReopened tells that the service opened a ticket again, without a word besides.
type TicketReopened struct {
	Reference string
	Subject   string // as it was written
	Link      string // to the ticket
}

// TicketNews tells the operator of the service of a new ticket, of a customer's reply, or that a
// customer reopened one.
type TicketNews struct {
	Reference string
	Subject   string // as it was written
	New       bool
	Priority  string
	Category  string
	Account   string // what the account is called, or its id
	Plan      string // of the account
	Message   Prose  // as it was written; empty when it was reopened without one
	Link      string // to the ticket at the desk
}

// TicketPressing tells the operator of a new ticket that cannot wait: of high or urgent priority.
// It is a kind of its own, so that no crowd of others keeps it back.
type TicketPressing TicketNews

// FeedbackNews tells the operator of feedback.
type FeedbackNews struct {
	Kinds   string // what it is: feature, chain, praise, complaint, other
	Title   string // as it was written
	Body    Prose  // as it was written; may be empty
	Account string // what the account is called, or its id
	Link    string // to the feedback at the desk
}

// FeedbackAnswered brings what the service says to feedback.
type FeedbackAnswered struct {
	Title  string // as it was written
	Status string // what became of it
	Reply  Prose  // empty for none
	Link   string // to the feedback
}

// WishReceived confirms that a request for an enterprise agreement arrived. Nobody proved that the
// address is theirs, so it holds nothing of it.
type WishReceived struct {
	At   time.Time
	Days int    // that the link works
	Link string // to withdraw it
}

// WishAnswered brings what the service says to a request for an enterprise agreement.
type WishAnswered struct {
	At     time.Time // of the request
	Status string    // what became of it
	Reply  Prose
	Link   string // to withdraw it
	Days   int    // that the link works
}

// WaitlistJoined confirms that an address is on the waitlist. Nobody proved that it is theirs.
type WaitlistJoined struct {
	At   time.Time
	Days int    // that the link works
	Link string // to confirm it, or to leave
}

// WaitlistInvited tells a confirmed address of the waitlist that it may come in.
type WaitlistInvited struct {
	Link string // to sign in
}

// Prose is a text of several lines that somebody wrote: at most 5,000 characters, each line as
// Spoken gives it, however long.
type Prose string

const maxProse = 5000

// Lines are the lines of the text, without empty ones at its ends and without two empty ones in a
// row.
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

// Quoted is the text with a mark before each line, so that nothing in it reads as the mail's own
// words.
func (p Prose) Quoted() string {
	var b strings.Builder
	for _, line := range p.Lines() {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Kind of the mail.
func (TicketReceived) Kind() Kind { return KindTicketReceived }

// Kind of the mail.
func (TicketReplied) Kind() Kind { return KindTicketReplied }

// Kind of the mail.
func (TicketResolved) Kind() Kind { return KindTicketResolved }

// Kind of the mail.
func (TicketReopened) Kind() Kind { return KindTicketReopened }

// Kind of the mail.
func (TicketNews) Kind() Kind { return KindTicketNews }

// Kind of the mail.
func (TicketPressing) Kind() Kind { return KindTicketPressing }

// Kind of the mail.
func (FeedbackNews) Kind() Kind { return KindFeedbackNews }

// Kind of the mail.
func (FeedbackAnswered) Kind() Kind { return KindFeedbackAnswered }

// Kind of the mail.
func (WishReceived) Kind() Kind { return KindWishReceived }

// Kind of the mail.
func (WishAnswered) Kind() Kind { return KindWishAnswered }

// Kind of the mail.
func (WaitlistJoined) Kind() Kind { return KindWaitlistJoined }

// Kind of the mail.
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

package x402

import (
	"strconv"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

const (
	// issueStep is the step of the times that the menu writes into messages: few enough of them lie
	// within the window that all can be tried.
	issueStep = 10 * time.Minute
	// issueFormat is RFC 3339 in UTC, to the second.
	issueFormat = "2006-01-02T15:04:05Z"
	// IssueAhead is how far ahead of our clock a signer's may be.
	IssueAhead = time.Minute
	// OldMessageAge is how old a payment may be whose payer signs the message of before, which says
	// no time.
	OldMessageAge = 24 * time.Hour
)

// Message is what the payer of a transaction signs by personal_sign to redeem it
// (docs/interface.md, 2.4: service, purpose and hash), extended at its end by host, chain, what it
// is for, and when it was issued. docs/decisions/0007-redeem-message.md says why.
func (t Terms) Message(tx TxHash, issued time.Time) string { return t.message(tx.String(), issued) }

// MessageShape is Message with {tx_hash} in place of the hash, issued now, for people and programs
// who write it.
func (t Terms) MessageShape(now time.Time) string {
	return t.message("{tx_hash}", IssueTimes(now, 0)[0])
}

// OldMessage is Message as it was before it said more than service, purpose and hash.
func (t Terms) OldMessage(tx TxHash) string { return t.oldMessage(tx.String()) }

func (t Terms) oldMessage(tx string) string { return t.Service + " x402 redeem\n" + tx }

func (t Terms) message(tx string, issued time.Time) string {
	return t.oldMessage(tx) + "\nHost: " + t.Host + "\nChain ID: " + strconv.FormatUint(t.Chain, 10) +
		"\nPurpose: get a credential for the units that this transaction paid for\nIssued At: " +
		issued.UTC().Format(issueFormat)
}

// IssueTimes lists the times that menus wrote into messages since some time back, the newest first.
func IssueTimes(now time.Time, back time.Duration) []time.Time {
	var all []time.Time
	for at := now.UTC().Truncate(issueStep); !at.Before(now.Add(-back - issueStep)); at = at.Add(-issueStep) {
		all = append(all, at)
	}
	return all
}

// ParseIssueTime reads a time as messages have it.
func ParseIssueTime(text string) (time.Time, bool) {
	at, err := time.Parse(issueFormat, text)
	return at, err == nil && at.Format(issueFormat) == text
}

// MessageLife is how long before a settlement's first redeem its message may be issued: as long as
// the window is. The same signature then serves until the window is over.
const MessageLife = plan.SettlementWindow

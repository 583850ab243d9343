package x402

import (
	"strconv"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

const (
	// issueStep is the granularity of the issue times that the menu writes into messages. It is
	// coarse, so that all times within the window can be tried.
	issueStep = 10 * time.Minute
	// issueFormat is RFC 3339 in UTC with seconds.
	issueFormat = "2006-01-02T15:04:05Z"
	// IssueAhead is the tolerance for a signer's clock that runs ahead of ours.
	IssueAhead = time.Minute
	// OldMessageAge is the maximum age of a payment that may be redeemed with OldMessage, which
	// contains no time.
	OldMessageAge = 24 * time.Hour
)

// Message returns what the payer of a transaction signs with personal_sign to redeem it: service,
// purpose and hash (docs/interface.md, 2.4), then host, chain, what the message is for, and its
// issue time. docs/decisions/0007-redeem-message.md has the reasons.
func (t Terms) Message(tx TxHash, issued time.Time) string { return t.message(tx.String(), issued) }

// MessageShape returns Message with {tx_hash} in place of the hash, issued now. It is a template
// for people and programs that compose the message.
func (t Terms) MessageShape(now time.Time) string {
	return t.message("{tx_hash}", IssueTimes(now, 0)[0])
}

// OldMessage returns the earlier form of Message: service, purpose and hash.
func (t Terms) OldMessage(tx TxHash) string { return t.oldMessage(tx.String()) }

func (t Terms) oldMessage(tx string) string { return t.Service + " x402 redeem\n" + tx }

func (t Terms) message(tx string, issued time.Time) string {
	return t.oldMessage(tx) + "\nHost: " + t.Host + "\nChain ID: " + strconv.FormatUint(t.Chain, 10) +
		"\nPurpose: get a credential for the units that this transaction paid for\nIssued At: " +
		issued.UTC().Format(issueFormat)
}

// IssueTimes returns the issue times that menus wrote into messages since now minus back, newest
// first.
func IssueTimes(now time.Time, back time.Duration) []time.Time {
	var all []time.Time
	for at := now.UTC().Truncate(issueStep); !at.Before(now.Add(-back - issueStep)); at = at.Add(-issueStep) {
		all = append(all, at)
	}
	return all
}

// ParseIssueTime parses an issue time in the exact format of messages.
func ParseIssueTime(text string) (time.Time, bool) {
	at, err := time.Parse(issueFormat, text)
	return at, err == nil && at.Format(issueFormat) == text
}

// MessageLife is how long before a settlement's first redeem its message may be issued. It equals
// the window, so that one signature works until the window is over.
const MessageLife = plan.SettlementWindow

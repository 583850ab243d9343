// Package notify renders the service's mails and delivers them by SMTP: their kinds, and what each
// says in HTML and in plain text. It does not decide who gets a mail and when, and it stores
// nothing: mails wait in the outbox (package outbox).
package notify

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Kind identifies a kind of mail, in the outbox and in metrics.
type Kind string

// The kinds.
const (
	KindSignIn           Kind = "sign_in"
	KindInvitation       Kind = "invitation"
	KindWelcome          Kind = "welcome"
	KindKeyAdopted       Kind = "key_adopted"
	KindMemberJoined     Kind = "member_joined"
	KindUsageReached     Kind = "usage_reached"
	KindAccountSuspended Kind = "account_suspended"
	KindChargeFailed     Kind = "charge_failed"
	KindPackExpiring     Kind = "pack_expiring"
	KindIncidentBegan    Kind = "incident_began"
	KindIncidentOver     Kind = "incident_over"
	KindEnterpriseWish   Kind = "enterprise_wish"
)

// Mail is the content of a mail: one of the types of this package. Texts that people entered
// (names, reasons, origins) may hold anything; rendering reduces them to one line and escapes them.
// A Link must begin with the address of the service.
type Mail interface {
	Kind() Kind
	link() string
}

// SignIn lets its reader sign in, by link or by code.
type SignIn struct {
	Link    string
	Code    string // six digits
	Minutes int    // how long both are valid
	Origin  string // where it was requested from, such as an IP address
	At      time.Time
}

// Invitation invites its reader to join an account.
type Invitation struct {
	InvitedBy string // an e-mail address
	Account   string // the account's name
	Link      string
	Expires   time.Time // when the link expires
}

// Welcome greets the first user of a new account.
type Welcome struct {
	Plan     string // the plan's title
	Included plan.Units
	Link     string // to the overview
}

// KeyAdopted reports that an anonymous or wallet-bound key now belongs to the account.
type KeyAdopted struct {
	Prefix  string // the key's public prefix
	Account string // the account's name
	By      string // the user's e-mail address
	At      time.Time
	Link    string // to the agents page
}

// MemberJoined reports to the owners that an invitation was accepted.
type MemberJoined struct {
	Member    string // an e-mail address
	InvitedBy string // an e-mail address
	Account   string // the account's name
	At        time.Time
	Link      string // to the members page
}

// Next is what happens to calls when a quota is used up.
type Next string

// The values of Next.
const (
	NextRefused Next = "refused" // refused until the period ends
	NextPacks   Next = "packs"   // drawn from packs, then refused
	NextSlower  Next = "slower"  // admitted at a lower rate until the period ends
)

// UsageReached reports that a percentage of a period's quota is used.
type UsageReached struct {
	Account   string // the account's name
	Percent   int    // 80 or 100
	Start     time.Time
	End       time.Time // exclusive end of the period
	Used      plan.Units
	Allowance plan.Units
	Next      Next
	Packs     plan.Units // left in packs, for NextPacks
	SlowRate  string     // such as "10 requests per second", for NextSlower
	Link      string     // to the overview
}

// AccountSuspended reports that every call of the account is refused.
type AccountSuspended struct {
	Account string // the account's name
	Reason  string // in words for the owners; may be empty
	At      time.Time
	Link    string // to the overview
}

// ChargeFailed reports that an invoice could not be charged.
type ChargeFailed struct {
	Account string    // the account's name
	Plan    string    // the plan's title
	Invoice string    // the invoice's number; may be empty
	Amount  string    // amount due, with the currency
	Card    string    // brand and last four digits; empty when there is none
	Next    time.Time // the next attempt; zero when there is none
	Link    string    // to the billing page
}

// PackExpiring reports that the rest of a pack expires in some days.
type PackExpiring struct {
	Account string // the account's name
	Pack    string // the pack's title
	Left    plan.Units
	Units   plan.Units // the pack's size
	Expires time.Time
	Days    int    // days left, at most
	Link    string // to the billing page
}

// IncidentBegan reports that a chain is down.
type IncidentBegan struct {
	Account string // the account's name
	Chain   string // the chain's title
	Began   time.Time
	Link    string // to the status page
}

// IncidentOver reports that a chain is up again.
type IncidentOver struct {
	Account string // the account's name
	Chain   string // the chain's title
	Began   time.Time
	Ended   time.Time
	Link    string // to the status page
}

// EnterpriseWish reports to the operator that an unknown person asks for an enterprise agreement.
type EnterpriseWish struct {
	Wanted Passage // what they ask for, in their own words
	// ID is the wish's id for gateway ops, which shows and answers it. Only the database holds the
	// address, so that withdrawing the wish deletes it everywhere.
	ID   string
	At   time.Time
	Link string // to the service
}

// Passage is a longer text that somebody wrote: one line of at most 1,000 characters.
type Passage string

// Kind returns the kind of the mail.
func (SignIn) Kind() Kind { return KindSignIn }

// Kind returns the kind of the mail.
func (Invitation) Kind() Kind { return KindInvitation }

// Kind returns the kind of the mail.
func (Welcome) Kind() Kind { return KindWelcome }

// Kind returns the kind of the mail.
func (KeyAdopted) Kind() Kind { return KindKeyAdopted }

// Kind returns the kind of the mail.
func (MemberJoined) Kind() Kind { return KindMemberJoined }

// Kind returns the kind of the mail.
func (UsageReached) Kind() Kind { return KindUsageReached }

// Kind returns the kind of the mail.
func (AccountSuspended) Kind() Kind { return KindAccountSuspended }

// Kind returns the kind of the mail.
func (ChargeFailed) Kind() Kind { return KindChargeFailed }

// Kind returns the kind of the mail.
func (PackExpiring) Kind() Kind { return KindPackExpiring }

// Kind returns the kind of the mail.
func (IncidentBegan) Kind() Kind { return KindIncidentBegan }

// Kind returns the kind of the mail.
func (IncidentOver) Kind() Kind { return KindIncidentOver }

// Kind returns the kind of the mail.
func (EnterpriseWish) Kind() Kind { return KindEnterpriseWish }

func (m SignIn) link() string           { return m.Link }
func (m Invitation) link() string       { return m.Link }
func (m Welcome) link() string          { return m.Link }
func (m KeyAdopted) link() string       { return m.Link }
func (m MemberJoined) link() string     { return m.Link }
func (m UsageReached) link() string     { return m.Link }
func (m AccountSuspended) link() string { return m.Link }
func (m ChargeFailed) link() string     { return m.Link }
func (m PackExpiring) link() string     { return m.Link }
func (m IncidentBegan) link() string    { return m.Link }
func (m IncidentOver) link() string     { return m.Link }
func (m EnterpriseWish) link() string   { return m.Link }

// kinds lists all types of Mail. Each has a pair of templates named after its kind.
var kinds = []Mail{
	SignIn{},
	Invitation{},
	Welcome{},
	KeyAdopted{},
	MemberJoined{},
	UsageReached{},
	AccountSuspended{},
	ChargeFailed{},
	PackExpiring{},
	IncidentBegan{},
	IncidentOver{},
	EnterpriseWish{},
	TicketReceived{},
	TicketReplied{},
	TicketResolved{},
	TicketReopened{},
	TicketNews{},
	TicketPressing{},
	FeedbackNews{},
	FeedbackAnswered{},
	WishReceived{},
	WishAnswered{},
	WaitlistJoined{},
	WaitlistInvited{},
}

// Kinds lists all kinds.
func Kinds() []Kind {
	names := make([]Kind, len(kinds))
	for i, m := range kinds {
		names[i] = m.Kind()
	}
	return names
}

// ErrUnknownKind reports a kind of mail that this version does not know.
var ErrUnknownKind = errors.New("notify: a kind of mail that this version does not know")

// Encode encodes a mail for Decode.
func Encode(m Mail) ([]byte, error) {
	var b bytes.Buffer
	// Not JSON: it writes whole units, which it cannot read back.
	if err := gob.NewEncoder(&b).Encode(m); err != nil {
		return nil, fmt.Errorf("encode a mail of kind %s: %w", m.Kind(), err)
	}
	return b.Bytes(), nil
}

// Decode decodes a mail of the given kind. It returns ErrUnknownKind when there is no such kind.
func Decode(kind Kind, text []byte) (Mail, error) {
	for _, m := range kinds {
		if m.Kind() != kind {
			continue
		}
		into := reflect.New(reflect.TypeOf(m))
		if err := gob.NewDecoder(bytes.NewReader(text)).Decode(into.Interface()); err != nil {
			return nil, fmt.Errorf("decode a mail of kind %s: %w", kind, err)
		}
		read, _ := reflect.TypeAssert[Mail](into.Elem()) // has m's type
		return read, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownKind, kind)
}

// Spoken reduces a text that somebody entered to what mails show: one line of at most 200
// characters, without control and direction characters.
func Spoken(text string) string { return oneLine(text, maxSpoken) }

func oneLine(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, separates), " ")
	text = strings.Map(visible, text)
	if letters := []rune(text); len(letters) > limit {
		return string(letters[:limit-1]) + "…"
	}
	return text
}

const (
	maxSpoken  = 200
	maxPassage = 1000
)

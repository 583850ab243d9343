// Package notify owns the mails of the service: which kinds there are, what each says in HTML and
// in text, and the way to an SMTP server. It does not decide who is written to and when, and it
// keeps nothing: mails wait in the outbox (package outbox).
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

// Kind names a kind of mail, in the outbox and in metrics.
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

// Mail is what one mail says: one of the types below, no others. Texts that people gave (names,
// reasons, where something came from) may hold anything; they are made one line and escaped. A Link
// must begin with the address of the service.
type Mail interface {
	Kind() Kind
	link() string
}

// SignIn lets its reader sign in, by the link or by the code.
type SignIn struct {
	Link    string
	Code    string // six digits
	Minutes int    // for which both are valid
	Origin  string // where it was asked from, such as an IP address
	At      time.Time
}

// Invitation asks its reader to join an account.
type Invitation struct {
	InvitedBy string // an e-mail address
	Account   string // what the account is called
	Link      string
	Expires   time.Time // of the link
}

// Welcome greets the first user of a new account.
type Welcome struct {
	Plan     string // its title
	Included plan.Units
	Link     string // to the overview
}

// KeyAdopted tells that an anonymous or a wallet-bound key belongs to the account now.
type KeyAdopted struct {
	Prefix  string // the key's first characters
	Account string // what the account is called
	By      string // the user's e-mail address
	At      time.Time
	Link    string // to the agents
}

// MemberJoined tells the owners that an invitation was taken.
type MemberJoined struct {
	Member    string // an e-mail address
	InvitedBy string // an e-mail address
	Account   string // what the account is called
	At        time.Time
	Link      string // to the members
}

// Next is what happens to calls when all of an allowance is used.
type Next string

// What may happen next.
const (
	NextRefused Next = "refused" // refused until the period ends
	NextPacks   Next = "packs"   // drawn from packs, then refused
	NextSlower  Next = "slower"  // admitted at a lower rate until the period ends
)

// UsageReached tells that a share of a period's allowance is used.
type UsageReached struct {
	Account   string // what the account is called
	Percent   int    // 80 or 100
	Start     time.Time
	End       time.Time // the first instant after the period
	Used      plan.Units
	Allowance plan.Units
	Next      Next
	Packs     plan.Units // left in packs, for NextPacks
	SlowRate  string     // such as "10 requests per second", for NextSlower
	Link      string     // to the overview
}

// AccountSuspended tells that every call of the account is refused.
type AccountSuspended struct {
	Account string // what the account is called
	Reason  string // as its owners may read it; may be empty
	At      time.Time
	Link    string // to the overview
}

// ChargeFailed tells that an invoice could not be charged.
type ChargeFailed struct {
	Account string    // what the account is called
	Plan    string    // its title
	Invoice string    // its number; may be empty
	Amount  string    // what is due, with the currency
	Card    string    // brand and last four digits; empty when there is none
	Next    time.Time // when it is charged again; zero when it is not
	Link    string    // to the plan and its billing
}

// PackExpiring tells that what is left in a pack can be used for some days more.
type PackExpiring struct {
	Account string // what the account is called
	Pack    string // what the pack is called
	Left    plan.Units
	Units   plan.Units // that it held
	Expires time.Time
	Days    int    // at most so many are left
	Link    string // to the billing page
}

// IncidentBegan tells that nothing of a chain can be reached.
type IncidentBegan struct {
	Account string // what the account is called
	Chain   string // its title
	Began   time.Time
	Link    string // to the overview
}

// IncidentOver tells that a chain is well again.
type IncidentOver struct {
	Account string // what the account is called
	Chain   string // its title
	Began   time.Time
	Ended   time.Time
	Link    string // to the overview
}

// EnterpriseWish tells the operator of the service that somebody, who is not known, asks for an
// enterprise agreement.
type EnterpriseWish struct {
	Wanted Passage // what they ask for, in their words
	// by which gateway ops shows and answers it. The address is there alone, so that withdrawing
	// the wish takes it away everywhere
	ID   string
	At   time.Time
	Link string // to the service
}

// Passage is a text that somebody wrote and that is longer than a name: one line of at most 1,000
// characters.
type Passage string

// Kind of the mail.
func (SignIn) Kind() Kind { return KindSignIn }

// Kind of the mail.
func (Invitation) Kind() Kind { return KindInvitation }

// Kind of the mail.
func (Welcome) Kind() Kind { return KindWelcome }

// Kind of the mail.
func (KeyAdopted) Kind() Kind { return KindKeyAdopted }

// Kind of the mail.
func (MemberJoined) Kind() Kind { return KindMemberJoined }

// Kind of the mail.
func (UsageReached) Kind() Kind { return KindUsageReached }

// Kind of the mail.
func (AccountSuspended) Kind() Kind { return KindAccountSuspended }

// Kind of the mail.
func (ChargeFailed) Kind() Kind { return KindChargeFailed }

// Kind of the mail.
func (PackExpiring) Kind() Kind { return KindPackExpiring }

// Kind of the mail.
func (IncidentBegan) Kind() Kind { return KindIncidentBegan }

// Kind of the mail.
func (IncidentOver) Kind() Kind { return KindIncidentOver }

// Kind of the mail.
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

// kinds are all types of Mail; each has a pair of templates by the name of its kind.
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

// Kinds lists the kinds.
func Kinds() []Kind {
	names := make([]Kind, len(kinds))
	for i, m := range kinds {
		names[i] = m.Kind()
	}
	return names
}

// ErrUnknownKind says that this version knows no mail of a kind.
var ErrUnknownKind = errors.New("notify: a kind of mail that this version does not know")

// Encode writes a mail for Decode.
func Encode(m Mail) ([]byte, error) {
	var b bytes.Buffer
	// JSON would write units in whole ones, and cannot read them back
	if err := gob.NewEncoder(&b).Encode(m); err != nil {
		return nil, fmt.Errorf("encode a mail of kind %s: %w", m.Kind(), err)
	}
	return b.Bytes(), nil
}

// Decode reads what Encode wrote of a mail of the kind. ErrUnknownKind when there is no such kind.
func Decode(kind Kind, text []byte) (Mail, error) {
	for _, m := range kinds {
		if m.Kind() != kind {
			continue
		}
		into := reflect.New(reflect.TypeOf(m))
		if err := gob.NewDecoder(bytes.NewReader(text)).Decode(into.Interface()); err != nil {
			return nil, fmt.Errorf("decode a mail of kind %s: %w", kind, err)
		}
		read, _ := reflect.TypeAssert[Mail](into.Elem()) // it is of m's type
		return read, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownKind, kind)
}

// Spoken returns a text that somebody else wrote as mails show it: one line without control and
// direction characters, at most 200 characters.
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

// Package outbox owns the way of a mail from the fact it tells to the SMTP server. A mail is
// prepared (rendered once to prove that it can be, and sealed), queued in the record with the fact,
// in the same transaction, and sent by a Sender in the worker role: once per reason, also when the
// server is down or a process dies. It needs neither Temporal nor Redis. What mails say, and SMTP,
// is package notify's.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/store"
)

// Mail is a mail to somebody, and why.
type Mail struct {
	// Reason is a business key of the mail, such as adopted/<key>/<user>: one mail is sent for it,
	// whoever queues it how often. It stands in the clear, so it holds no address and no secret.
	Reason  string
	To      string     // an e-mail address
	Account account.ID // that it is about; zero for none
	Zone    string     // IANA name of the reader's time zone; empty for UTC
	Mail    notify.Mail
	// Topic is what a reader who wants no more mails like it does without, and User the reader;
	// zero for mails that are always sent. Whether the reader wants it was asked before.
	Topic account.Topic
	User  account.UserID
	// Expires is when it is not worth sending any more; zero for three days after now. A mail with
	// a link to sign in ends with the link.
	Expires time.Time
}

// patience is how long a mail is tried when its letter does not say.
const patience = 3 * 24 * time.Hour

const (
	maxReason  = 200
	maxAddress = 254 // RFC 5321, section 4.5.3.1.3, without the angle brackets
)

// most is how many mails of a kind one recipient gets in 24 hours. There is no other way in than a
// mail to sign in, so its bound lies above what package people lets through for an address (a test
// of it holds that): nobody fills it who is not limited, visibly, before. The operator gets as many
// of customers' tickets and feedback as fit into a day's reading, ofAccount of them about one
// account, so that no account fills it for the others: many times the tickets of somebody in need,
// and a tenth of the day's. Zero is no bound of its own.
func most(kind notify.Kind) (all, ofAccount int) {
	switch kind { //nolint:exhaustive // the others have the common bound
	case notify.KindSignIn:
		return 200, 0
	case notify.KindTicketNews, notify.KindTicketPressing, notify.KindFeedbackNews:
		return 200, 20
	}
	return 30, 0
}

// ErrAddress says that a mail was to go to something that is no e-mail address.
var ErrAddress = errors.New("outbox: not an e-mail address")

// Record is where prepared mails go.
type Record interface {
	QueueMail(ctx context.Context, mails ...store.NewMail) error
}

// Outbox prepares mails. It is safe for concurrent use.
type Outbox struct {
	house  notify.Site
	seal   *seal
	record Record
	now    func() time.Time
}

// New makes an outbox. The secret is one of the environment, the same in every process; what seals
// mails is derived from it.
func New(record Record, house notify.Site, secret []byte, now func() time.Time) (*Outbox, error) {
	s, err := newSeal(secret)
	if err != nil {
		return nil, err
	}
	return &Outbox{house: house, seal: s, record: record, now: now}, nil
}

// Prepare seals a letter for the record; hand it to the transaction that records the fact.
// ErrAddress when To is none. Other errors are mistakes of the program.
func (o *Outbox) Prepare(l Mail) (store.NewMail, error) {
	if err := checkAddress(l.To); err != nil {
		return store.NewMail{}, err
	}
	kind := l.Mail.Kind()
	if l.Reason == "" || len(l.Reason) > maxReason || strings.ContainsFunc(l.Reason, func(r rune) bool {
		return r == '@' || r <= ' ' || r > unicode.MaxASCII
	}) {
		return store.NewMail{},
			fmt.Errorf("prepare a mail of kind %s: the reason must be a short key without an address", kind)
	}
	of := notify.Copy{Zone: l.Zone}
	if l.Topic != "" {
		if !l.Topic.Known() || l.User == (account.UserID{}) {
			return store.NewMail{},
				fmt.Errorf("prepare a mail of kind %s: a mail that can be stopped names a topic and its reader", kind)
		}
		of.Unsubscribe = o.house.URL + UnsubscribePath + "?token=" + o.seal.token(l.User, l.Topic)
	}
	if _, err := o.house.Render(l.Mail, of); err != nil {
		return store.NewMail{}, err
	}
	if l.Expires.IsZero() {
		if kind == notify.KindSignIn {
			return store.NewMail{}, errors.New("prepare a mail to sign in: say when its link expires")
		}
		l.Expires = o.now().Add(patience)
	}
	payload, err := encode(l, of)
	if err != nil {
		return store.NewMail{}, err
	}
	m := store.NewMail{
		ID: store.NewMailID(), Reason: l.Reason, Kind: string(kind), Account: l.Account,
		RecipientDigest: o.seal.digest(l.To), Expires: l.Expires,
	}
	m.Most, m.MaxOfAccount = most(kind)
	m.Recipient = o.seal.close(m.ID, m.Kind, partRecipient, []byte(l.To))
	m.Payload = o.seal.close(m.ID, m.Kind, partPayload, payload)
	return m, nil
}

// Queue prepares letters and queues them, all or none.
func (o *Outbox) Queue(ctx context.Context, letters ...Mail) error {
	mails := make([]store.NewMail, 0, len(letters))
	for i := range letters {
		m, err := o.Prepare(letters[i])
		if err != nil {
			return err
		}
		mails = append(mails, m)
	}
	return o.record.QueueMail(ctx, mails...)
}

// checkAddress takes a bare address, as RFC 5322 has it, and nothing that could end a line of SMTP.
func checkAddress(address string) error {
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || parsed.Name != "" || len(address) > maxAddress ||
		strings.ContainsFunc(address, func(r rune) bool {
			return r <= ' ' || unicode.IsControl(r) || unicode.IsSpace(r)
		}) {
		return ErrAddress
	}
	return nil
}

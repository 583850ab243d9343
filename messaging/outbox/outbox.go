// Package outbox is a transactional outbox of mails. A mail is prepared (rendered once, to prove
// that it can be, and encrypted), queued in PostgreSQL in the transaction of the fact that it
// reports, and sent by a Sender in the worker role. It is deduplicated by reason, and survives an
// outage of the server and the death of a process. It needs neither Temporal nor Redis. The texts
// of mails and SMTP are in package notify.
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
	"github.com/chainaccess/gateway/store/maildb"
)

// Mail is a mail to be queued.
type Mail struct {
	// Reason is the deduplication key, such as adopted/<key>/<user>: only one mail is sent for it.
	// It is stored in the clear, so it must hold no address and no secret.
	Reason  string
	To      string     // an e-mail address
	Account account.ID // the account it is about; zero for none
	Zone    string     // IANA name of the reader's time zone; empty for UTC
	Mail    notify.Mail
	// Topic is what the reader of such mails may opt out of, and User is the reader. Both are zero
	// for mails that are always sent. The caller has checked that the reader has not opted out.
	Topic account.Topic
	User  account.UserID
	// Expires is when the mail is no longer worth sending; zero means three days after now. A mail
	// with a sign-in link expires with the link.
	Expires time.Time
}

// patience is how long a mail is retried when Mail.Expires is zero.
const patience = 3 * 24 * time.Hour

const (
	maxReason  = 200
	maxAddress = 254 // RFC 5321, section 4.5.3.1.3, without the angle brackets
)

// maxima returns how many mails of a kind one recipient gets in 24 hours, and how many of them
// about one account; zero ofAccount means no separate limit. A sign-in mail is the only way in, so
// its limit is above what package people allows for an address: a test ensures that people's
// visible limit is reached first. The operator gets at most a day's reading of tickets and
// feedback, a tenth of it about one account, so that no account uses it up for the others.
func maxima(kind notify.Kind) (all, ofAccount int) {
	switch kind { //nolint:exhaustive // the others have the common limit
	case notify.KindSignIn:
		return 200, 0
	case notify.KindTicketNews, notify.KindTicketPressing, notify.KindFeedbackNews:
		return 200, 20
	}
	return 30, 0
}

// ErrAddress reports that a mail's recipient is not an e-mail address.
var ErrAddress = errors.New("outbox: not an e-mail address")

// Record stores prepared mails.
type Record interface {
	QueueMail(ctx context.Context, mails ...maildb.NewMail) error
}

// Outbox prepares mails. It is safe for concurrent use.
type Outbox struct {
	site   notify.Site
	seal   *seal
	record Record
	now    func() time.Time
}

// New returns an outbox. secret is from the environment and the same in every process; the keys
// that encrypt mails are derived from it.
func New(record Record, site notify.Site, secret []byte, now func() time.Time) (*Outbox, error) {
	s, err := newSeal(secret)
	if err != nil {
		return nil, err
	}
	return &Outbox{site: site, seal: s, record: record, now: now}, nil
}

// Prepare encrypts a mail, to be queued in the transaction that records the fact. It returns
// ErrAddress when To is not an address. Other errors are programming errors.
func (o *Outbox) Prepare(l Mail) (maildb.NewMail, error) {
	if err := checkAddress(l.To); err != nil {
		return maildb.NewMail{}, err
	}
	kind := l.Mail.Kind()
	if l.Reason == "" || len(l.Reason) > maxReason || strings.ContainsFunc(l.Reason, func(r rune) bool {
		return r == '@' || r <= ' ' || r > unicode.MaxASCII
	}) {
		return maildb.NewMail{},
			fmt.Errorf("prepare a mail of kind %s: the reason must be a short key without an address", kind)
	}
	of := notify.Copy{Zone: l.Zone}
	if l.Topic != "" {
		if !l.Topic.Known() || l.User == (account.UserID{}) {
			return maildb.NewMail{},
				fmt.Errorf("prepare a mail of kind %s: a mail that can be stopped names a topic and its reader", kind)
		}
		of.Unsubscribe = o.site.URL + UnsubscribePath + "?token=" + o.seal.token(l.User, l.Topic)
	}
	if _, err := o.site.Render(l.Mail, of); err != nil {
		return maildb.NewMail{}, err
	}
	if l.Expires.IsZero() {
		if kind == notify.KindSignIn {
			return maildb.NewMail{}, errors.New("prepare a mail to sign in: say when its link expires")
		}
		l.Expires = o.now().Add(patience)
	}
	payload, err := encode(l, of)
	if err != nil {
		return maildb.NewMail{}, err
	}
	m := maildb.NewMail{
		ID: maildb.NewMailID(), Reason: l.Reason, Kind: string(kind), Account: l.Account,
		RecipientDigest: o.seal.digest(l.To), Expires: l.Expires,
	}
	m.MaxOfRecipient, m.MaxOfAccount = maxima(kind)
	m.Recipient = o.seal.close(m.ID, m.Kind, partRecipient, []byte(l.To))
	m.Payload = o.seal.close(m.ID, m.Kind, partPayload, payload)
	return m, nil
}

// Queue prepares mails and queues them in one transaction.
func (o *Outbox) Queue(ctx context.Context, letters ...Mail) error {
	mails := make([]maildb.NewMail, 0, len(letters))
	for i := range letters {
		m, err := o.Prepare(letters[i])
		if err != nil {
			return err
		}
		mails = append(mails, m)
	}
	return o.record.QueueMail(ctx, mails...)
}

// checkAddress accepts a bare address (RFC 5322) without anything that could end an SMTP line.
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

package outbox

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/store/maildb"
)

// SenderRecord is what a sender needs of the database.
type SenderRecord interface {
	ClaimMails(ctx context.Context, lease time.Duration, limit int) ([]maildb.ClaimedMail, error)
	EndMail(ctx context.Context, id maildb.MailID) error
	RetryMail(ctx context.Context, id maildb.MailID, attempt int, after time.Duration, class string) error
	GiveUpMail(ctx context.Context, id maildb.MailID, attempt int, class string) error
	ExpireMails(ctx context.Context, limit int) ([]string, error)
	CountWaitingMails(ctx context.Context) ([]maildb.WaitingMails, error)
	ForgetMails(ctx context.Context, before time.Time, limit int) (int, error)
}

// Deliverer hands a mail to an SMTP server. An error that is not a *notify.DeliveryError concerns
// the server as a whole.
type Deliverer interface {
	Deliver(ctx context.Context, p notify.Message) error
}

// Result is the outcome of an attempt to send a mail, as metrics count it.
type Result string

// The outcomes.
const (
	Sent    Result = "sent"
	PutOff  Result = "put_off"  // to be retried
	GivenUp Result = "given_up" // refused permanently
	Expired Result = "expired"  // expired before it could be sent
)

// Results lists the outcomes.
func Results() []Result { return []Result{Sent, PutOff, GivenUp, Expired} }

// SenderOptions configures a Sender. A zero value means the default that is named with each field.
type SenderOptions struct {
	Abreast  int           // mails sent concurrently; 4
	Interval time.Duration // between polls for due mails; 1 s
	Lease    time.Duration // lease of a claimed mail, longer than a delivery; 2 minutes
	// Backoff after a mail's first failed attempt, doubled after each further one; 5 s.
	FirstBackoff time.Duration
	MaxBackoff   time.Duration // maximum of that backoff; 10 minutes
	MaxPause     time.Duration // maximum pause while the server accepts no mail at all; 30 s
	// Interval of expiring and counting mails; 15 s.
	TendInterval time.Duration
	Drain        time.Duration // for deliveries in progress when Run ends; 10 s
	Logger       *slog.Logger  // slog.Default()

	OnResult  func(kind string, r Result)         // called after every attempt
	OnWaiting func(waiting []maildb.WaitingMails) // called after every count
	Jitter    func(d time.Duration) time.Duration // adds jitter to waits; by default up to 25%
}

// keptFor is how long mails that were sent or given up, and their reasons, are kept.
const keptFor = 400 * 24 * time.Hour

const (
	page          = 500
	recordTimeout = 10 * time.Second
	recordTries   = 3
)

// Sender sends the mails of the outbox. Any number may run concurrently. A mail is sent once,
// unless the process dies or PostgreSQL is down between the server's reply and its record. Then it
// is sent again, with the same Message-ID.
type Sender struct {
	outbox  *Outbox
	record  SenderRecord
	deliver Deliverer
	o       SenderOptions

	pause  time.Duration // after a failure of the whole server; zero while it accepts mails
	failed bool          // whether the last access to the database failed
	tended time.Time
}

// NewSender returns a sender. Without a deliverer, mails wait until they expire.
//
//nolint:gocritic // a copy does no harm
func (o *Outbox) NewSender(record SenderRecord, deliver Deliverer, options SenderOptions) *Sender {
	for value, byDefault := range map[*time.Duration]time.Duration{
		&options.Interval: time.Second, &options.Lease: 2 * time.Minute, &options.FirstBackoff: 5 * time.Second,
		&options.MaxBackoff: 10 * time.Minute, &options.MaxPause: 30 * time.Second,
		&options.TendInterval: 15 * time.Second, &options.Drain: 10 * time.Second,
	} {
		if *value <= 0 {
			*value = byDefault
		}
	}
	if options.Abreast <= 0 {
		options.Abreast = 4
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.OnResult == nil {
		options.OnResult = func(string, Result) {}
	}
	if options.OnWaiting == nil {
		options.OnWaiting = func([]maildb.WaitingMails) {}
	}
	if options.Jitter == nil {
		options.Jitter = quarter
	}
	return &Sender{outbox: o, record: record, deliver: deliver, o: options}
}

// quarter adds up to a quarter to a wait.
func quarter(d time.Duration) time.Duration {
	return d + rand.N(d/4+1) //nolint:gosec // spreads load; not for security
}

// Run sends due mails until ctx is done, and then lets deliveries in progress finish within
// SenderOptions.Drain.
func (c *Sender) Run(ctx context.Context) {
	if c.deliver == nil {
		c.o.Logger.Warn("mails wait: SMTP_URL is not set")
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(c.round(ctx))
	}
}

// round sends what is due now, and returns how long to wait for the next round.
func (c *Sender) round(ctx context.Context) time.Duration {
	c.tend(ctx)
	if c.deliver == nil {
		return c.o.TendInterval
	}
	abreast := c.o.Abreast
	if c.pause > 0 {
		abreast = 1 // enough to see whether the server is back
	}
	mails, err := c.record.ClaimMails(ctx, c.o.Lease, abreast)
	c.note(ctx, err)
	if err != nil {
		return c.o.Jitter(c.o.MaxPause / 4)
	}
	whole := c.sendAll(ctx, mails)
	switch {
	case whole != nil && c.pause == 0:
		c.pause = c.o.Interval
		c.o.Logger.Error("mails wait: the SMTP server accepts none; will retry", "error", whole)
	case whole != nil:
		c.pause = min(2*c.pause, c.o.MaxPause)
	case len(mails) > 0 && c.pause > 0:
		c.pause = 0
		c.o.Logger.Info("the SMTP server accepts mails again")
	}
	switch {
	case c.pause > 0:
		return c.o.Jitter(c.pause)
	case len(mails) == abreast:
		return 0
	}
	return c.o.Interval
}

// sendAll sends mails concurrently. Its error means that no mail can be sent now.
func (c *Sender) sendAll(ctx context.Context, mails []maildb.ClaimedMail) error {
	if len(mails) == 0 {
		return nil
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		drained := time.AfterFunc(c.o.Drain, cancel)
		context.AfterFunc(sending, func() { drained.Stop() })
	})
	defer stop()
	failures := make([]error, len(mails))
	var all sync.WaitGroup
	for i := range mails {
		all.Go(func() { failures[i] = c.send(sending, &mails[i]) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// send sends one mail and records the outcome. It returns an error when no other mail can be sent
// either.
func (c *Sender) send(ctx context.Context, m *maildb.ClaimedMail) error {
	log := c.o.Logger.With("mail_id", m.ID.String(), "kind", m.Kind, "attempt", m.Attempt)
	parcel, err := c.open(m)
	if err == nil {
		err = c.deliver.Deliver(ctx, parcel)
	}
	if err == nil {
		c.o.OnResult(m.Kind, Sent)
		log.Info("mail sent")
		if err := c.recorded(ctx, func(ctx context.Context) error { return c.record.EndMail(ctx, m.ID) }); err != nil {
			log.Error("mail sent, but that could not be recorded: it may be sent again", "error", err)
		}
		return nil
	}
	failure, told := errors.AsType[*notify.DeliveryError](err)
	if !told {
		failure = &notify.DeliveryError{Class: notify.ServerUnreachable, Whole: true}
	}
	mark, result := c.putOff(m, failure), PutOff
	if failure.Permanent {
		result = GivenUp
		mark = func(ctx context.Context) error {
			return c.record.GiveUpMail(ctx, m.ID, m.Attempt, string(failure.Class))
		}
		log.Error("mail given up", "error", failure)
	} else if !failure.Whole {
		log.Warn("mail not sent; will retry", "error", failure)
	}
	c.o.OnResult(m.Kind, result)
	if err := c.recorded(ctx, mark); err != nil {
		log.Error("outcome of a mail attempt not recorded; the mail is retried when its lease expires", "error", err)
	}
	if failure.Whole {
		return err
	}
	return nil
}

// putOff schedules a retry with backoff. While the server as a whole fails the backoff stays short,
// so that mails take turns.
func (c *Sender) putOff(m *maildb.ClaimedMail, failure *notify.DeliveryError) func(context.Context) error {
	longest := c.o.MaxBackoff
	if failure.Whole {
		longest = min(2*c.o.MaxPause, c.o.MaxBackoff)
	}
	const doublings = 20 // beyond it every wait is the longest
	after := c.o.Jitter(min(c.o.FirstBackoff<<min(m.Attempt-1, doublings), longest))
	return func(ctx context.Context) error {
		return c.record.RetryMail(ctx, m.ID, m.Attempt, after, string(failure.Class))
	}
}

// open decrypts and renders a mail.
func (c *Sender) open(m *maildb.ClaimedMail) (notify.Message, error) {
	to, err := c.outbox.seal.open(m.ID, m.Kind, partRecipient, m.Recipient)
	if err != nil {
		return notify.Message{}, unreadable
	}
	payload, err := c.outbox.seal.open(m.ID, m.Kind, partPayload, m.Payload)
	if err != nil {
		return notify.Message{}, unreadable
	}
	said, of, err := decode(m.Kind, payload)
	if err != nil {
		return notify.Message{}, unreadable
	}
	content, err := c.outbox.site.Render(said, of)
	if err != nil {
		return notify.Message{}, unreadable
	}
	return notify.Message{ID: m.ID.String(), To: string(to), Date: m.CreatedAt, Content: content}, nil
}

// unreadable is not permanent: a worker with the right secret or of a newer version may read the
// mail.
var unreadable = &notify.DeliveryError{Class: notify.Unreadable}

// recorded writes to the database, with a few tries, even when ctx is done.
func (c *Sender) recorded(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	var err error
	for range recordTries {
		if err = write(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// tend expires mails, counts the waiting ones and deletes old ones.
func (c *Sender) tend(ctx context.Context) {
	now := c.outbox.now()
	if now.Before(c.tended.Add(c.o.TendInterval)) && !now.Before(c.tended) {
		return
	}
	c.tended = now
	kinds, err := c.record.ExpireMails(ctx, page)
	for _, kind := range kinds {
		c.o.OnResult(kind, Expired)
	}
	if len(kinds) > 0 {
		c.o.Logger.Warn("mails given up: they expired before they could be sent", "mails", len(kinds))
	}
	var waiting []maildb.WaitingMails
	if err == nil {
		waiting, err = c.record.CountWaitingMails(ctx)
	}
	if err == nil {
		c.o.OnWaiting(waiting)
		_, err = c.record.ForgetMails(ctx, now.Add(-keptFor), page)
	}
	c.note(ctx, err)
}

// note logs when the database becomes unreachable, and when it is back.
func (c *Sender) note(ctx context.Context, err error) {
	if ctx.Err() != nil || (err != nil) == c.failed {
		return
	}
	c.failed = err != nil
	if err != nil {
		c.o.Logger.Error("mails wait: PostgreSQL cannot be reached; will retry", "error", err)
		return
	}
	c.o.Logger.Info("PostgreSQL is reachable again; mails are sent")
}

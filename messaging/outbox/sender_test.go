package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/maildb"
)

// impatient returns options with short waits.
func impatient() outbox.SenderOptions {
	return outbox.SenderOptions{
		Interval: 10 * time.Millisecond, FirstBackoff: 10 * time.Millisecond, MaxBackoff: 50 * time.Millisecond,
		MaxPause: 50 * time.Millisecond, TendInterval: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	}
}

// run runs a sender until the test ends or stop is called.
func run(t *testing.T, c *outbox.Sender) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

func catcher(t *testing.T, o mailbox.Options) *mailbox.Box {
	t.Helper()
	box, err := mailbox.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return box
}

func sender(t *testing.T, at string) *notify.Sender {
	t.Helper()
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	s, err := notify.NewSender(notify.SenderOptions{
		Server: config.SMTP{Host: host, Port: number, TLS: config.SMTPPlain}, From: "no-reply@gateway.example",
		Timeout: testTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// await waits until ok accepts the state of the mail with this reason.
func (b *bundle) await(t *testing.T, reason, what string, ok func(maildb.MailState) bool) maildb.MailState {
	t.Helper()
	var s maildb.MailState
	testkit.Eventually(t, testTimeout, func() bool {
		s = b.state(t, reason)
		return ok(s)
	}, "%s is %s", reason, what)
	return s
}

func sent(s maildb.MailState) bool   { return !s.SentAt.IsZero() }   //nolint:gocritic // a copy does no harm
func failed(s maildb.MailState) bool { return !s.FailedAt.IsZero() } //nolint:gocritic // a copy does no harm

func TestSender_SendsAMailAndWipesItsContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	var results sync.Map
	o := impatient()
	o.OnResult = func(kind string, r outbox.Result) { results.Store(kind, r) }
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), o))
	l := signIn()
	l.Zone = "Europe/Berlin"
	b.queue(t, l)
	m, err := box.Await(b.ctx, address, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := expect.In(t, "arrived")
	expect.Equal(in, m.Code, code)
	expect.Equal(in, m.Link(), site.URL+"/sign-in?token="+token)
	expect.Contains(in, m.Text, " CE")
	s := b.await(t, signInReason, "sent", sent)
	expect.True(t, s.Wiped)
	expect.Equal(t, s.Attempts, 1)
	expect.Equal(t, s.LastError, "")
	expect.Equal(t, m.MessageID, "<"+s.ID.String()+"@gateway.example>")
	if r, _ := results.Load("sign_in"); r != outbox.Sent {
		t.Errorf("counted as %v", r)
	}
	// The reason stays used, even when the mail is done.
	b.queue(t, l, welcome("welcome/1"))
	b.await(t, "welcome/1", "sent", sent)
	if n := len(box.To(address)); n != 2 {
		t.Errorf("%d mails arrived, want the sign-in once and the welcome", n)
	}
}

func TestSender_MailsWaitWhileTheServerIsDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var logged safeBuffer
	o := impatient()
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	at := testkit.ClosedAddress(t)
	run(t, b.outbox.NewSender(b.store, sender(t, at), o))
	const mails = 20
	for n := range mails {
		l := welcome(fmt.Sprintf("welcome/%d", n))
		l.To = fmt.Sprintf("reader%d@buyer.example", n)
		b.queue(t, l)
	}
	b.queue(t, signIn())
	b.await(t, signInReason, "tried several times", func(s maildb.MailState) bool { return s.Attempts > 2 })
	s := b.state(t, signInReason)
	in := expect.In(t, "while the server is down")
	expect.Equal(in, s.LastError, string(notify.ServerUnreachable))
	expect.False(in, s.Wiped)
	expect.True(in, s.FailedAt.IsZero())
	box := catcher(t, mailbox.Options{Address: at})
	if _, err := box.Await(b.ctx, address, 1); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, testTimeout, func() bool { return len(box.Mails()) == mails+1 }, "every mail arrives")
	text := logged.String()
	if strings.Count(text, "the SMTP server accepts none") != 1 || !strings.Contains(text, "accepts mails again") {
		t.Errorf("the log does not tell once that the server is away, and that it is back: %s", text)
	}
	for _, secret := range []string{"buyer", token, code} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %s: %s", secret, text)
		}
	}
}

// safeBuffer is a log that is read while it is written.
type safeBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestSender_RetriesTemporaryRefusalsAndEndsOnPermanentOnes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var greylisted atomic.Int32
	box := catcher(t, mailbox.Options{Refuse: func(at mailbox.Stage, to string) error {
		switch {
		case at == mailbox.StageRecipient && to == "gone@buyer.example":
			return mailbox.Reply(550, "no such user gone@buyer.example")
		case at == mailbox.StageRecipient && greylisted.Add(1) < 3:
			return mailbox.Reply(451, "try again later")
		}
		return nil
	}})
	var logged safeBuffer
	o := impatient()
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), o))
	gone := welcome("welcome/gone")
	gone.To = "gone@buyer.example"
	b.queue(t, welcome("welcome/1"), gone)
	if _, err := box.Await(b.ctx, address, 1); err != nil {
		t.Fatal(err)
	}
	if s := b.await(t, "welcome/1", "sent", sent); s.Attempts != 3 || s.LastError != "" {
		t.Errorf("the greylisted mail is %+v, want sent at the third attempt", s)
	}
	s := b.await(t, "welcome/gone", "given up", failed)
	in := expect.In(t, "the refused mail")
	expect.Equal(in, s.LastError, string(notify.RecipientRefused))
	expect.Equal(in, s.Attempts, 1)
	expect.True(in, s.Wiped)
	expect.False(in, sent(s), s)
	if text := logged.String(); !strings.Contains(text, "SMTP reply 550") || strings.Contains(text, "buyer") {
		t.Errorf("the log lacks the reply or holds an address: %s", text)
	}
}

func TestSender_DropsAnExpiredLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	over := signIn()
	over.Expires = time.Now().Add(-time.Second)
	b.queue(t, over, welcome("welcome/1"))
	var expired atomic.Int32
	o := impatient()
	o.OnResult = func(_ string, r outbox.Result) {
		if r == outbox.Expired {
			expired.Add(1)
		}
	}
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), o))
	b.await(t, "welcome/1", "sent", sent)
	s := b.await(t, signInReason, "given up", failed)
	in := expect.In(t, "the mail whose link is over")
	expect.Equal(in, s.LastError, maildb.MailExpired)
	expect.True(in, s.Wiped)
	expect.Equal(in, s.Attempts, 0)
	if n := len(box.Mails()); n != 1 || expired.Load() != 1 {
		t.Errorf("%d mails arrived and %d were counted as expired, want one each", n, expired.Load())
	}
}

func TestSender_MailsWaitWithoutAServerAndOldLinksExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	over := signIn()
	over.Expires = time.Now().Add(-time.Second)
	b.queue(t, over, welcome("welcome/1"))
	var logged safeBuffer
	counted := make(chan []maildb.WaitingMails, 100)
	o := impatient()
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	o.OnWaiting = func(w []maildb.WaitingMails) {
		select {
		case counted <- w:
		default:
		}
	}
	stop := run(t, b.outbox.NewSender(b.store, nil, o))
	b.await(t, signInReason, "given up", failed)
	testkit.Eventually(t, testTimeout, func() bool {
		w := <-counted
		return len(w) == 1 && w[0].Kind == "welcome" && w[0].Count == 1
	}, "one mail is counted as waiting")
	stop()
	if s := b.state(t, "welcome/1"); s.Attempts != 0 || failed(s) {
		t.Errorf("without a server: %+v", s)
	}
	if n := strings.Count(logged.String(), "SMTP_URL is not set"); n != 1 {
		t.Errorf("the log says %d times that mails wait: %s", n, logged.String())
	}
}

func TestSender_TakesOverAMailOfAWorkerThatDied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	b.queue(t, signIn())
	const lease = time.Hour
	// What a worker does before it is killed.
	claimed, err := b.store.ClaimMails(b.ctx, lease, 10)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %d: %v", len(claimed), err)
	}
	if again, err := b.store.ClaimMails(b.ctx, lease, 10); err != nil || len(again) != 0 {
		t.Fatalf("another worker claimed %d mails within the lease: %v", len(again), err)
	}
	if _, err := b.database(t).Exec(b.ctx, "UPDATE mails SET due_at = due_at - make_interval(secs => $1)",
		lease.Seconds()); err != nil {
		t.Fatal(err) // the lease ends
	}
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), impatient()))
	if _, err := box.Await(b.ctx, address, 1); err != nil {
		t.Fatal(err)
	}
	if s := b.await(t, signInReason, "sent", sent); s.Attempts != 2 {
		t.Errorf("the mail is %+v, want it sent at the second attempt", s)
	}
	// The first worker was only slow: what it reports of its attempt is ignored.
	if err := errors.Join(b.store.RetryMail(b.ctx, claimed[0].ID, claimed[0].Attempt, 0, "late"),
		b.store.GiveUpMail(b.ctx, claimed[0].ID, claimed[0].Attempt, "late")); err != nil {
		t.Fatal(err)
	}
	s := b.state(t, signInReason)
	in := expect.In(t, "after the late words of the first worker")
	expect.True(in, sent(s), s)
	expect.False(in, failed(s), s)
	expect.Equal(in, s.LastError, "")
}

// forgetful is a database that is down when the first mails are sent.
type forgetful struct {
	*store.Store

	left atomic.Int32
}

func (f *forgetful) EndMail(ctx context.Context, id maildb.MailID) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("the record is away")
	}
	return f.Store.EndMail(ctx, id)
}

func TestSender_MailSentTwiceHasOneMessageID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	record := &forgetful{Store: b.store}
	record.left.Store(3) // as many as a sender's tries
	o := impatient()
	o.Lease = 100 * time.Millisecond
	run(t, b.outbox.NewSender(record, sender(t, box.Address()), o))
	b.queue(t, signIn())
	second, err := box.Await(b.ctx, address, 2)
	if err != nil {
		t.Fatal(err)
	}
	first := box.To(address)[0]
	in := expect.In(t, "the two have the Message-IDs")
	expect.NotEqual(in, first.MessageID, "")
	expect.Equal(in, first.MessageID, second.MessageID)
	expect.Equal(in, first.Text, second.Text)
	b.await(t, signInReason, "sent", sent)
}

func TestSender_SeveralWorkersSendEachMailOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{Keep: 1000})
	for range 3 {
		run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), impatient()))
	}
	const mails = 100
	for n := range mails {
		l := welcome(fmt.Sprintf("welcome/%d", n))
		l.To = fmt.Sprintf("reader%d@buyer.example", n)
		b.queue(t, l)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		waiting, err := b.store.CountWaitingMails(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return len(waiting) == 0
	}, "no mail waits")
	seen := map[string]int{}
	for _, m := range box.Mails() {
		seen[m.To[0]]++
	}
	for to, n := range seen {
		if n != 1 {
			t.Errorf("%s got %d mails", to, n)
		}
	}
	if len(seen) != mails {
		t.Errorf("%d readers got mail, want %d", len(seen), mails)
	}
}

func TestSender_FinishesAMailUnderWayWhenTheWorkerStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	box := catcher(t, mailbox.Options{Refuse: func(at mailbox.Stage, _ string) error {
		if at == mailbox.StageData {
			close(begun)
			<-goOn
		}
		return nil
	}})
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.outbox.NewSender(b.store, sender(t, box.Address()), impatient()).Run(ctx)
	}()
	b.queue(t, welcome("welcome/1"))
	<-begun
	cancel()
	select {
	case <-ended:
		t.Error("the courier left a mail under way")
	default:
	}
	close(goOn)
	<-ended
	if s := b.state(t, "welcome/1"); !sent(s) {
		t.Errorf("after the stop: %+v", s)
	}
}

func TestSender_SendsSignInLinksBeforeNews(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 20 {
		l := welcome(fmt.Sprintf("welcome/%d", n))
		b.queue(t, l)
	}
	b.queue(t, signIn())
	box := catcher(t, mailbox.Options{})
	o := impatient()
	o.Abreast = 1
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), o))
	if _, err := box.Await(b.ctx, address, 2); err != nil {
		t.Fatal(err)
	}
	if first := box.To(address)[0]; first.Code != code {
		t.Errorf("first came %q", first.Subject)
	}
}

func TestSender_MailSealedUnderAnotherSecretWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	other, err := outbox.New(b.store, site, []byte(strings.ToUpper(secret)), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, other.NewSender(b.store, sender(t, box.Address()), impatient()))
	b.queue(t, signIn())
	b.await(t, signInReason, "tried", func(s maildb.MailState) bool { return s.LastError == string(notify.Unreadable) })
	stop()
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), impatient()))
	if _, err := box.Await(b.ctx, address, 1); err != nil {
		t.Fatal(err)
	}
}

func TestSeal_PartsOfOneRowCannotBePutIntoAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	mine := welcome("welcome/mine")
	mine.To = "thief@evil.example"
	b.queue(t, signIn(), mine)
	if _, err := b.database(t).Exec(b.ctx,
		"UPDATE mails SET recipient = (SELECT recipient FROM mails WHERE reason = 'welcome/mine') WHERE reason = $1",
		signInReason); err != nil {
		t.Fatal(err)
	}
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), impatient()))
	b.await(t, "welcome/mine", "sent", sent)
	b.await(t, signInReason, "not readable", func(s maildb.MailState) bool {
		return s.LastError == string(notify.Unreadable)
	})
	if n := len(box.Mails()); n != 1 {
		t.Errorf("%d mails arrived, want the one that was left alone", n)
	}
}

func TestSender_DeletesMailsThatAreLongOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	b.queue(t, welcome("welcome/old"), welcome("welcome/new"))
	if _, err := b.database(t).Exec(b.ctx,
		"UPDATE mails SET created_at = now() - interval '401 days' WHERE reason = 'welcome/old'"); err != nil {
		t.Fatal(err)
	}
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), impatient()))
	testkit.Eventually(t, testTimeout, func() bool {
		return b.missing(t, "welcome/old")
	}, "the old mail is sent and forgotten")
	if b.await(t, "welcome/new", "sent", sent); len(box.Mails()) != 2 {
		t.Errorf("%d mails arrived, want both", len(box.Mails()))
	}
}

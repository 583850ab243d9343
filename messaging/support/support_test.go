package support_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// testTimeout bounds every wait of a test.
const testTimeout = 90 * time.Second

var site = notify.Site{
	Name: "Chain Access Gateway", URL: "https://gateway.example", Contact: "support@gateway.example",
}

// noon is on the hour, so that a test's changes fall into one hour.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// bundle is a support service on a database of its own.
type bundle struct {
	*support.Service

	ctx context.Context //nolint:containedctx // of the test
	url string          // of the database
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	url := testkit.Postgres(t)
	s, err := store.Open(ctx, url)
	must(err)
	t.Cleanup(s.Close)
	secret := []byte(strings.Repeat("pepper", 8))
	hasher, err := account.NewHasher(secret)
	must(err)
	mails, err := outbox.New(s, site, secret, time.Now)
	must(err)
	return &bundle{
		&support.Service{Store: s, Mails: mails, Hasher: hasher, PublicURL: site.URL, Contact: site.Contact},
		ctx, url,
	}
}

// person creates an account with an owner who reads mails.
func (b *bundle) person(t *testing.T, address string) (user account.UserID, of account.ID) {
	t.Helper()
	user, of = account.UserID{UUID: uuid.Must(uuid.NewV7())}, account.NewID()
	if _, err := b.Store.CreateAccount(b.ctx, accountdb.NewAccount{
		ID: of, Kind: accountdb.KindOwner, Plan: plan.Free,
	}); err != nil {
		t.Fatal(err)
	}
	db, err := pgx.Connect(b.ctx, b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(b.ctx) }()
	if _, err := db.Exec(b.ctx, "INSERT INTO users (id, email, email_key, created_at) VALUES ($1, $2, $2, now())",
		user.UUID, address); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(b.ctx,
		"INSERT INTO members (account_id, user_id, role, joined_at, last_used_at) VALUES ($1, $2, 'owner', now(), "+
			"now())", of.UUID, user.UUID); err != nil {
		t.Fatal(err)
	}
	return user, of
}

func (b *bundle) file(t *testing.T, of account.ID, by account.UserID, p ticket.Priority) supportdb.Ticket {
	t.Helper()
	made, _, err := b.CreateTicket(b.ctx, supportdb.NewTicket{
		Writer: supportdb.Writer{Account: of, User: by, Channel: "api"}, Subject: "Slow", Message: "Why?",
		Category: ticket.Question, Priority: p, At: noon,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (b *bundle) reply(t *testing.T, r supportdb.TicketReply) { //nolint:gocritic // a copy does no harm
	t.Helper()
	if _, verdict, err := b.ReplyTicket(b.ctx, r); err != nil || verdict != ticket.Moves {
		t.Fatal(verdict, err)
	}
}

// waiting counts the waiting mails by kind.
func (b *bundle) waiting(t *testing.T) map[string]int {
	t.Helper()
	waiting, err := b.Store.CountWaitingMails(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, w := range waiting {
		counts[w.Kind] = w.Count
	}
	return counts
}

func TestOperatorMail_OneAccountDoesNotCrowdOutOthersTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, hers := b.person(t, "ann@buyer.example")
	bob, his := b.person(t, "bob@buyer.example")
	for range 25 {
		b.file(t, hers, ann, ticket.Low)
	}
	if got := b.waiting(t)["ticket_news"]; got != 20 {
		t.Errorf("%d mails tell of 25 tickets of one account, want 20", got)
	}
	b.file(t, his, bob, ticket.Normal)
	b.file(t, hers, ann, ticket.High)
	b.file(t, hers, ann, ticket.Urgent)
	if got := b.waiting(t); got["ticket_news"] != 21 || got["ticket_pressing"] != 2 {
		t.Errorf("with another's ticket and two that cannot wait there are %v", got)
	}
}

func TestOperatorMail_TellsUrgentThingsEachTimeAndTheRestHourly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, hers := b.person(t, "ann@buyer.example")
	made := b.file(t, hers, ann, ticket.Low)
	customer := supportdb.TicketReply{Number: made.Number, Account: hers, By: ticket.Customer, Text: "Still.", At: noon}
	operator := supportdb.TicketReply{Number: made.Number, By: ticket.Operator, Text: "Now?", At: noon}
	for range 3 {
		b.reply(t, customer) // the operator did not ask: these share one mail an hour
	}
	if got := b.waiting(t)["ticket_news"]; got != 2 {
		t.Errorf("%d mails tell of a ticket and three replies in an hour, want 2", got)
	}
	for range 2 {
		b.reply(t, operator)
		b.reply(t, customer) // an answer to it
	}
	if got := b.waiting(t); got["ticket_news"] != 4 || got["ticket_replied"] != 2 {
		t.Errorf("with two answers to staff there are %v", got)
	}
}

func TestTicket_ReopenedOneNotifiesTheOtherSide(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, hers := b.person(t, "ann@buyer.example")
	made := b.file(t, hers, ann, ticket.Low)
	for range 2 { // the operator gets one mail an hour about it
		b.reply(t, supportdb.TicketReply{
			Number: made.Number, Account: hers, By: ticket.Customer, Resolve: true,
			At: noon,
		})
		b.reply(t, supportdb.TicketReply{
			Number: made.Number, Account: hers, By: ticket.Customer, Reopen: true,
			At: noon,
		})
	}
	if got := b.waiting(t)["ticket_news"]; got != 2 {
		t.Errorf("%d mails tell of a ticket that was filed, and reopened twice", got)
	}
	b.reply(t, supportdb.TicketReply{Number: made.Number, By: ticket.Operator, Resolve: true, At: noon})
	b.reply(t, supportdb.TicketReply{Number: made.Number, By: ticket.Operator, Reopen: true, At: noon})
	got := b.waiting(t)
	in := expect.In(t, "when staff resolved and reopened")
	expect.Equal(in, got["ticket_reopened"], 1)
	expect.Equal(in, got["ticket_resolved"], 1)
	expect.Equal(in, got["ticket_news"], 2)
}

func TestFeedback_IsMailedToTheOperator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, hers := b.person(t, "ann@buyer.example")
	for range 25 {
		f := supportdb.Feedback{ID: supportdb.NewFeedbackID(), Kind: "praise", Title: "Fast", CreatedAt: noon}
		if _, err := b.SubmitFeedback(b.ctx, supportdb.Writer{Account: hers, User: ann, Channel: "api"},
			f); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.waiting(t); got["feedback_news"] != 20 || len(got) != 1 {
		t.Errorf("of 25 pieces of feedback tell %v", got)
	}
}

func TestSupport_WithoutMailsTakesWishesAndTheWaitlist(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Mails = nil
	email, refusal := account.ParseEmail("ann@buyer.example")
	if refusal != nil {
		t.Fatal(refusal)
	}
	if sent, err := b.JoinWishlist(b.ctx, supportdb.Wish{
		ID: supportdb.NewWishID(), Items: "A node", Email: email, Channel: "api", At: noon,
	}); err != nil || sent {
		t.Errorf("a wish gives %v, %v", sent, err)
	}
	if became, err := b.JoinWaitlist(b.ctx, supportdb.Waiting{
		Email: email, Qualifier: "curious", Channel: "api", At: noon,
	}); err != nil || became != supportdb.JoinedNow {
		t.Errorf("the waitlist gives %v, %v", became, err)
	}
	wishes, err := b.Store.ListWishes(b.ctx, supportdb.WishStatuses(), supportdb.WishID{}, 2)
	require.NoError(t, err)
	expect.Len(t, wishes, 1)
	expect.Empty(t, b.waiting(t))
}

// letters keeps the mails before they are encrypted.
type letters struct {
	support.Mailer

	all []outbox.Mail
}

func (l *letters) Prepare(letter outbox.Mail) (maildb.NewMail, error) {
	l.all = append(l.all, letter)
	return l.Mailer.Prepare(letter)
}

// Withdrawing deletes the address everywhere. So the operator's mail has no address, and every mail
// to the address has a link for withdrawing.
func TestWish_AnswerLinksToItsWithdrawal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kept := &letters{Mailer: b.Mails}
	b.Mails = kept
	email, refusal := account.ParseEmail("ann@buyer.example")
	if refusal != nil {
		t.Fatal(refusal)
	}
	w := supportdb.Wish{ID: supportdb.NewWishID(), Items: "A node", Email: email, Channel: "api", At: time.Now()}
	if _, err := b.JoinWishlist(b.ctx, w); err != nil {
		t.Fatal(err)
	}
	a := supportdb.Answer{
		Status: "talking", Reply: "When?", By: accountdb.Author{Actor: "op@host", Origin: "ops"}, At: time.Now(),
	}
	if _, err := b.AnswerWish(b.ctx, w.ID, a); err != nil {
		t.Fatal(err)
	}
	link := ""
	for _, l := range kept.all {
		switch m := l.Mail.(type) {
		case notify.EnterpriseWish:
			text, err := json.Marshal(m)
			in := expect.In(t, "the operator's mail")
			require.NoError(in, err)
			expect.NotContains(in, string(text), "buyer.example")
			expect.Equal(in, m.ID, w.ID.String())
		case notify.WishAnswered:
			link = m.Link
		}
	}
	_, token, found := strings.Cut(link, site.URL+support.EntryPath+"?token=")
	if !found || len(kept.all) != 3 {
		t.Fatalf("%d mails; the answer leads to %q", len(kept.all), link)
	}
	token, err := url.QueryUnescape(token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.LeaveEntry(b.ctx, token, time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Store.CountWishes(b.ctx, email); err != nil || n != 0 {
		t.Errorf("%d wishes are left, %v", n, err)
	}
}

// The operator sees an address that left and returned as invited, so the mail must be sent.
func TestWaitlist_ReturningAddressIsInvitedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	email, refusal := account.ParseEmail("ann@buyer.example")
	if refusal != nil {
		t.Fatal(refusal)
	}
	by := accountdb.Author{Actor: "op@host", Origin: "ops"}
	for times := 1; times <= 2; times++ {
		w := supportdb.Waiting{Email: email, Qualifier: "curious", Channel: "web", At: noon}
		if _, err := b.Store.ConfirmWaiting(b.ctx, w, email.Digest(b.Hasher)); err != nil {
			t.Fatal(err)
		}
		for _, before := range []bool{false, true} {
			if already, err := b.InviteWaiting(b.ctx, email, by, noon); err != nil || already != before {
				t.Errorf("invited before: %t, %v; want %t", already, err, before)
			}
		}
		if n := b.waiting(t)["waitlist_invited"]; n != times {
			t.Errorf("%d mails invite, want %d", n, times)
		}
		if was, err := b.LeaveWaitlist(b.ctx, email, noon); err != nil || !was {
			t.Fatal(was, err)
		}
	}
}

package supportdb_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/supportdb"
)

func digestOf(e account.Email) account.Digest { return sha256.Sum256([]byte(e.Key())) }

func emailOf(t *testing.T, text string) account.Email {
	t.Helper()
	e, refusal := account.ParseEmail(text)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return e
}

// The first entry of an address is kept: repeating it changes nothing, whoever does it.
func TestWaitlist_HoldsAnAddressOnce(t *testing.T) {
	t.Parallel()
	url, ctx := testkit.Postgres(t), t.Context()
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var joined atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			email, _ := account.ParseEmail("Ann@Buyer.example")
			became, err := s.JoinWaitlist(ctx, supportdb.Waiting{
				Email: email, Qualifier: "developer", Channel: "api", At: noon,
			}, digestOf(email), nil)
			if err != nil {
				t.Error(err)
			} else if became == supportdb.JoinedNow {
				joined.Add(1)
			}
		})
	}
	all.Wait()
	again, _ := account.ParseEmail("ann@buyer.example")
	became, err := s.JoinWaitlist(ctx, supportdb.Waiting{
		Email: again, Qualifier: "investor", Source: "x", ProductUpdates: true, Channel: "api", At: noon.Add(time.Hour),
	}, digestOf(again), nil)
	require.NoError(t, err)
	expect.Equal(t, became, supportdb.JoinedBefore)
	expect.Equal(t, joined.Load(), 1)
	var rows int
	var qualifier string
	var updates bool
	if err := conn.QueryRow(ctx, "SELECT count(*), min(qualifier), bool_or(product_updates) FROM waitlist").Scan(&rows,
		&qualifier, &updates); err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, rows, 1)
	expect.Equal(t, qualifier, "developer")
	expect.False(t, updates)
}

// list is a store with a separate connection.
type list struct {
	*store.Store

	ctx  context.Context //nolint:containedctx // of the test
	conn *pgx.Conn
}

func openList(t *testing.T) *list {
	t.Helper()
	url, ctx := testkit.Postgres(t), t.Context()
	s := storetest.Must[*store.Store](t)(store.Open(ctx, url))
	t.Cleanup(s.Close)
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, url))
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	return &list{s, ctx, conn}
}

func (l *list) join(t *testing.T, e account.Email, at time.Time) supportdb.Joining {
	t.Helper()
	return storetest.Must[supportdb.Joining](t)(l.JoinWaitlist(l.ctx, supportdb.Waiting{
		Email: e, Qualifier: "developer", Source: "a friend", ProductUpdates: true, Channel: "api", At: at,
	}, digestOf(e), nil))
}

func (l *list) confirm(t *testing.T, e account.Email, news bool, at time.Time) supportdb.Waiting {
	t.Helper()
	return storetest.Must[supportdb.Waiting](t)(l.ConfirmWaiting(l.ctx, supportdb.Waiting{
		Email: e, Qualifier: "curious", ProductUpdates: news, Channel: "console", At: at,
	}, digestOf(e)))
}

func TestWaitlist_ConfirmingKeepsTheEntryAndItsFirstInstant(t *testing.T) {
	t.Parallel()
	l, ann := openList(t), emailOf(t, "Ann@buyer.example")
	l.join(t, ann, noon)
	first := l.confirm(t, ann, true, noon.Add(time.Hour))
	again := l.confirm(t, emailOf(t, "ANN@buyer.example"), false, noon.Add(2*time.Hour))
	expect.Equal(t, first.Status, "confirmed")
	expect.True(t, first.ConfirmedAt.Equal(noon.Add(time.Hour)), first.ConfirmedAt)
	expect.True(t, first.At.Equal(noon), first.At)
	expect.Equal(t, first.Qualifier, "developer")
	expect.True(t, first.ProductUpdates)
	in := expect.In(t, "confirmed again")
	expect.True(in, again.ConfirmedAt.Equal(first.ConfirmedAt), again.ConfirmedAt, first.ConfirmedAt)
	expect.False(in, again.ProductUpdates)
	expect.Equal(in, again.Qualifier, "developer")
}

// Only a digest is kept of an address that left, and nobody else can add it again.
func TestWaitlist_WhoLeftIsPutBackByThemselvesAlone(t *testing.T) {
	t.Parallel()
	l, ann := openList(t), emailOf(t, "Ann@buyer.example")
	l.join(t, ann, noon)
	for i, want := range []bool{true, false} {
		if was := storetest.Must[bool](t)(l.LeaveWaitlist(l.ctx, ann, digestOf(ann), noon)); was != want {
			t.Errorf("leaving for the %d. time: was on it %t", i+1, was)
		}
	}
	if became := l.join(t, emailOf(t, "ann@BUYER.example"), noon); became != supportdb.JoinRefused {
		t.Errorf("entered by somebody it becomes %d", became)
	}
	var rows int
	if err := l.conn.QueryRow(l.ctx, "SELECT count(*) FROM waitlist").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows are left, %v", rows, err)
	}
	back := l.confirm(t, ann, false, noon.Add(time.Hour))
	expect.Equal(t, back.Status, "confirmed")
	expect.Equal(t, back.Qualifier, "curious")
	expect.Equal(t, back.Source, "")
	if became := l.join(t, ann, noon); became != supportdb.JoinedBefore {
		t.Errorf("entered once it is back it becomes %d", became)
	}
}

// Joining waits for a concurrent leave of the same address, and is refused.
func TestWaitlist_EnteringDoesNotOvertakeLeaving(t *testing.T) {
	t.Parallel()
	l, ann := openList(t), emailOf(t, "ann@buyer.example")
	digest := digestOf(ann)
	leaving := storetest.Must[pgx.Tx](t)(l.conn.Begin(l.ctx))
	do := func(sql string, args ...any) {
		t.Helper()
		if _, err := leaving.Exec(l.ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	do("SELECT pg_advisory_xact_lock(hashtextextended('waitlist/ann@buyer.example', 0))")
	do("INSERT INTO confirmations (email_digest, about, at, left_at) VALUES ($1, 'waitlist', now(), now())", digest[:])
	entered := make(chan supportdb.Joining, 1)
	go func() {
		became, err := l.JoinWaitlist(l.ctx,
			supportdb.Waiting{Email: ann, Qualifier: "curious", Channel: "api", At: noon},
			digest, nil)
		if err != nil {
			t.Error(err)
		}
		entered <- became
	}()
	for waits := false; !waits; {
		if len(entered) > 0 {
			t.Fatalf("it did not wait, and became %d", <-entered)
		}
		err := leaving.QueryRow(l.ctx,
			`SELECT EXISTS (SELECT FROM pg_locks AS k JOIN pg_database AS d ON d.oid = k.database
			WHERE d.datname = current_database() AND k.locktype = 'advisory' AND NOT k.granted)`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := leaving.Commit(l.ctx); err != nil {
		t.Fatal(err)
	}
	if became := <-entered; became != supportdb.JoinRefused {
		t.Errorf("it became %d", became)
	}
}

func TestWaitlist_ConfirmedIsInvitedOnce(t *testing.T) {
	t.Parallel()
	l, ann := openList(t), emailOf(t, "ann@buyer.example")
	by := accountdb.Author{Actor: "op@host", Origin: "ops"}
	told := 0
	invite := func() (bool, error) {
		return l.InviteWaiting(l.ctx, ann, digestOf(ann), by, noon, func() ([]maildb.NewMail, error) {
			told++
			return nil, nil
		})
	}
	if _, err := invite(); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("who is not on the list: %v", err)
	}
	l.join(t, ann, noon)
	if _, err := invite(); !errors.Is(err, supportdb.ErrUnconfirmed) || told != 0 {
		t.Errorf("who is not confirmed: %v", err)
	}
	l.confirm(t, ann, false, noon)
	for _, want := range []bool{false, true} {
		if already, err := invite(); err != nil || already != want {
			t.Errorf("invited: already %t, %v; want %t", already, err, want)
		}
	}
	lines := storetest.Must[[]supportdb.DeskLine](t)(l.ListDeskLines(l.ctx, "waitlist/"+digestOf(ann).String()))
	w := storetest.Must[supportdb.Waiting](t)(l.FindWaiting(l.ctx, ann))
	expect.Equal(t, told, 1)
	expect.Equal(t, w.Status, "invited")
	expect.True(t, w.InvitedAt.Equal(noon), w.InvitedAt)
	expect.Len(t, lines, 1)
}

// A process that dies after the change and before the mail leaves neither; the retry makes both.
func TestWaitlist_NobodyIsInvitedWithoutTheirMail(t *testing.T) {
	t.Parallel()
	l, ann := openList(t), emailOf(t, "ann@buyer.example")
	l.confirm(t, ann, false, noon)
	mail := maildb.NewMail{
		ID: maildb.NewMailID(), Reason: "waitlist/invited/1", Kind: "waitlist_invited",
		RecipientDigest: make([]byte, sha256.Size), Recipient: []byte("r"), Payload: []byte("p"),
		Expires: time.Now().Add(time.Hour), MaxOfRecipient: 10,
	}
	tell := func() ([]maildb.NewMail, error) { return []maildb.NewMail{mail}, nil }
	dies := func() ([]maildb.NewMail, error) { // ends the connection, like a killed process
		_, err := l.conn.Exec(l.ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()`)
		return []maildb.NewMail{mail}, err
	}
	by := accountdb.Author{Actor: "op@host", Origin: "ops"}
	if _, err := l.InviteWaiting(l.ctx, ann, digestOf(ann), by, noon, dies); err == nil {
		t.Fatal("a connection that ended invites")
	}
	var mails int
	if err := l.conn.QueryRow(l.ctx, "SELECT count(*) FROM mails").Scan(&mails); err != nil || mails != 0 {
		t.Errorf("%d mails wait, %v", mails, err)
	}
	if w := storetest.Must[supportdb.Waiting](t)(l.FindWaiting(l.ctx, ann)); w.Status != "confirmed" {
		t.Errorf("it is %s", w.Status)
	}
	if already, err := l.InviteWaiting(l.ctx, ann, digestOf(ann), by, noon, tell); err != nil || already {
		t.Errorf("the next one: already %t, %v", already, err)
	}
	if err := l.conn.QueryRow(l.ctx, "SELECT count(*) FROM mails").Scan(&mails); err != nil || mails != 1 {
		t.Errorf("%d mails wait, %v", mails, err)
	}
}

func TestWaitlist_IsListedByStatusAndPages(t *testing.T) {
	t.Parallel()
	l := openList(t)
	for i, name := range []string{"a", "b", "c", "d"} {
		e := emailOf(t, name+"@buyer.example")
		l.join(t, e, noon.Add(time.Duration(i/2)*time.Minute)) // two at the same time
		if name == "b" || name == "c" {
			l.confirm(t, e, false, noon)
		}
	}
	page := func(statuses []string, after *supportdb.Waiting, limit int) (names string, last *supportdb.Waiting) {
		rows := storetest.Must[[]supportdb.Waiting](t)(l.ListWaitlist(l.ctx, statuses, after, limit))
		for i := range rows {
			name, _, _ := strings.Cut(rows[i].Email.Address(), "@")
			names, last = names+name, &rows[i]
		}
		return names, last
	}
	first, last := page(supportdb.WaitlistStatuses(), nil, 3)
	rest, _ := page(supportdb.WaitlistStatuses(), last, 3)
	confirmed, last := page([]string{"confirmed"}, nil, 1)
	more, _ := page([]string{"confirmed"}, last, 1)
	if got := []string{first, rest, confirmed, more}; !slices.Equal(got, []string{"dcb", "a", "c", "b"}) {
		t.Errorf("pages are %q", got)
	}
}

func TestWishes_OfAnAddressAreWithdrawnAndEmptied(t *testing.T) {
	t.Parallel()
	l, by := openList(t), accountdb.Author{Actor: "op@host", Origin: "ops"}
	var ids []supportdb.WishID
	for _, address := range []string{"Ann@buyer.example", "aNN@BUYER.example", "bob@buyer.example"} {
		w := supportdb.Wish{
			ID: supportdb.NewWishID(), Items: "A node", Email: emailOf(t, address), Channel: "api",
			At: noon,
		}
		if _, err := l.JoinWishlist(l.ctx, w, nil, nil); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.ID)
	}
	storetest.Must[supportdb.Wish](t)(l.AnswerWish(l.ctx, ids[0], supportdb.Answer{
		Status: "talking", Reply: "When?", By: by, At: noon,
	}, nil))
	ann := emailOf(t, "ann@buyer.example")
	if n := storetest.Must[int](t)(l.CountWishes(l.ctx, ann)); n != 2 {
		t.Errorf("%d wishes are Ann's", n)
	}
	for _, want := range []int{2, 0} {
		if n := storetest.Must[int](t)(l.WithdrawWishes(l.ctx, ann, by, noon)); n != want {
			t.Errorf("%d wishes are withdrawn, want %d", n, want)
		}
	}
	gone := storetest.Must[[]supportdb.Wish](t)(l.ListWishes(l.ctx, []string{supportdb.WishWithdrawn},
		supportdb.WishID{}, 10))
	require.Len(t, gone, 2)
	expect.Equal(t, gone[0].Items+gone[1].Items+gone[0].Reply+gone[1].Reply, "")
	expect.True(t, gone[0].Email.IsZero())
	expect.True(t, gone[1].Email.IsZero())
	if stays := storetest.Must[[]supportdb.Wish](t)(l.ListWishes(l.ctx, supportdb.WishAnswers(), supportdb.WishID{},
		10)); len(stays) != 1 ||
		stays[0].ID != ids[2] {
		t.Errorf("others are %+v", stays)
	}
	if _, err := l.AnswerWish(l.ctx, ids[0], supportdb.Answer{Status: "agreed", By: by, At: noon}, nil); !errors.Is(err,
		supportdb.ErrWithdrawn) {
		t.Errorf("answered: %v", err)
	}
	if lines := storetest.Must[[]supportdb.DeskLine](t)(l.ListDeskLines(l.ctx, ids[0].Subject())); len(lines) != 2 ||
		lines[1].Action != "withdraw" {
		t.Errorf("the log says %+v", lines)
	}
}

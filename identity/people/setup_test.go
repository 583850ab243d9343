package people_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// testTimeout bounds all waits of a test.
const testTimeout = 30 * time.Second

const pepper = "pepper-of-tests-pepper-of-tests-pepper"

// bundle is a People over real servers, with a clock that the test moves and all mails before they
// are sealed.
type bundle struct {
	ctx    context.Context //nolint:containedctx // a test's own
	people *people.People
	store  *store.Store
	meter  *meter.Meter
	hasher *account.Hasher
	clock  *testkit.Clock
	url    string // of the database
	outbox *outbox.Outbox

	mu      sync.Mutex // guards letters
	letters []outbox.Mail
}

// Prepare records the mail and seals it.
func (b *bundle) Prepare(l outbox.Mail) (maildb.NewMail, error) { //nolint:gocritic // the signature is the package's
	b.mu.Lock()
	b.letters = append(b.letters, l)
	b.mu.Unlock()
	return b.outbox.Prepare(l)
}

// ReadUnsubscribe parses the links of real mails.
func (b *bundle) ReadUnsubscribe(token string) (account.UserID, account.Topic, bool) {
	return b.outbox.ReadUnsubscribe(token)
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*testTimeout)
	t.Cleanup(cancel)
	b := &bundle{ctx: ctx, clock: testkit.NewClock(time.Now()), url: testkit.Postgres(t)}
	var err error
	if b.store, err = store.Open(ctx, b.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Redis(t).Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	if b.meter, err = meter.New(ctx, rdb); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.meter.Close() })
	if b.hasher, err = account.NewHasher([]byte(pepper)); err != nil {
		t.Fatal(err)
	}
	site := notify.Site{
		Name: "Chain Access Gateway", URL: "https://gateway.example", Contact: "support@gateway.example",
	}
	if b.outbox, err = outbox.New(b.store, site, []byte(pepper), b.clock.Now); err != nil {
		t.Fatal(err)
	}
	b.people = people.New(people.Options{
		Store: b.store, Limiter: b.meter, Outbox: b, Hasher: b.hasher, PublicURL: site.URL, Now: b.clock.Now,
		Random: rand.Reader,
	})
	return b
}

// from returns a visitor from an address.
func from(address string) people.Visitor {
	a := netip.MustParseAddr(address)
	bits := 32
	if a.Is6() {
		bits = 64
	}
	network, err := a.Prefix(bits)
	if err != nil {
		panic(err)
	}
	return people.Visitor{Network: network, UserAgent: "Browser/1.0"}
}

var home = from("192.0.2.10")

// mailed is the content of the newest sign-in mail to an address.
type mailed struct{ link, code string }

func (b *bundle) newest(t *testing.T, address string) mailed {
	t.Helper()
	mail, ok := newestOf[notify.SignIn](b, address)
	if !ok {
		t.Fatalf("no sign-in mail to %s", address)
	}
	return mailed{tokenOf(t, mail.Link), mail.Code}
}

func newestOf[M notify.Mail](b *bundle, address string) (mail M, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range slices.Backward(b.letters) {
		if m, is := l.Mail.(M); is && l.To == address {
			return m, true
		}
	}
	return mail, false
}

func tokenOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	token := u.Query().Get("token")
	if token == "" {
		t.Fatalf("the link %s has no token", u.Path)
	}
	return token
}

// start asks for a sign-in mail.
func (b *bundle) start(t *testing.T, address string) (people.Started, mailed) {
	t.Helper()
	started, err := b.people.StartSignIn(b.ctx, address, "", home)
	if err != nil {
		t.Fatal(err)
	}
	return started, b.newest(t, address)
}

// signIn signs an address in and returns the arrival and its session.
func (b *bundle) signIn(t *testing.T, address string) (people.Entered, peopledb.Session) {
	t.Helper()
	_, mail := b.start(t, address)
	entered, err := b.people.FinishByLink(b.ctx, mail.link, home)
	if err != nil {
		t.Fatal(err)
	}
	return entered, b.session(t, entered)
}

func (b *bundle) session(t *testing.T, entered people.Entered) peopledb.Session {
	t.Helper()
	session, err := b.people.FindSession(b.ctx, entered.Session.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// invite invites an address and returns the token of its link.
func (b *bundle) invite(t *testing.T, owner *peopledb.Session, address string,
	role peopledb.Role,
) (peopledb.Invitation, string) {
	t.Helper()
	invitation, err := b.people.Invite(b.ctx, owner, address, string(role))
	if err != nil {
		t.Fatal(err)
	}
	mail, ok := newestOf[notify.Invitation](b, address)
	if !ok {
		t.Fatal("no invitation was mailed")
	}
	return invitation, tokenOf(t, mail.Link)
}

// join makes an address a member of the owner's account.
func (b *bundle) join(t *testing.T, owner *peopledb.Session, address string,
	role peopledb.Role,
) (people.Entered, peopledb.Session) {
	t.Helper()
	_, token := b.invite(t, owner, address, role)
	entered, err := b.people.AcceptInvitation(b.ctx, token, home)
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Reason == fault.KeyInvalid {
		known, _ := b.signIn(t, address)
		as := home
		as.Session = known.Session.Reveal()
		entered, err = b.people.AcceptInvitation(b.ctx, token, as)
	}
	if err != nil {
		t.Fatal(err)
	}
	return entered, b.session(t, entered)
}

// refused checks that err is a fault with this reason.
func refused(t *testing.T, err error, reason fault.Reason) fault.Error {
	t.Helper()
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok || refusal.Reason != reason {
		t.Fatalf("got %v, want a refusal for %s", err, reason)
	}
	return *refusal
}

// number runs a query that returns one number.
func (b *bundle) number(t *testing.T, query string, args ...any) int {
	t.Helper()
	conn, err := pgx.Connect(b.ctx, b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(b.ctx) }()
	var n int
	if err := conn.QueryRow(b.ctx, query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// hold locks a table against writers until release is called.
func (b *bundle) hold(t *testing.T, table string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(b.ctx, b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, statement := range []string{"BEGIN", "LOCK TABLE " + table + " IN EXCLUSIVE MODE"} {
		if _, err := conn.Exec(b.ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := conn.Exec(b.ctx, "COMMIT"); err != nil {
			t.Errorf("release %s: %v", table, err)
		}
	}
}

// waiting returns once that many connections to the database wait for locks.
func (b *bundle) waiting(t *testing.T, connections int) {
	t.Helper()
	testkit.Eventually(t, testTimeout, func() bool {
		return b.number(t,
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") ==
			connections
	}, "transactions wait for locks")
}

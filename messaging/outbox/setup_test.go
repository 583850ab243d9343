package outbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/maildb"
)

// testTimeout bounds every wait of a test.
const testTimeout = 30 * time.Second

const (
	secret  = "secret-of-tests-secret-of-tests-secret"
	address = "ann@buyer.example"
	token   = "cagl_token-canary"
	code    = "604213"

	signInReason = "sign-in/1"
)

var site = notify.Site{
	Name: "Chain Access Gateway", URL: "https://gateway.example", Contact: "support@gateway.example",
}

// bundle is an outbox on a database of its own.
type bundle struct {
	ctx    context.Context //nolint:containedctx // of the test
	url    string          // of the database
	store  *store.Store
	outbox *outbox.Outbox
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*testTimeout)
	t.Cleanup(cancel)
	b := &bundle{ctx: ctx, url: testkit.Postgres(t)}
	var err error
	if b.store, err = store.Open(ctx, b.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	if b.outbox, err = outbox.New(b.store, site, []byte(secret), time.Now); err != nil {
		t.Fatal(err)
	}
	return b
}

// signIn returns a mail with a link that expires in 15 minutes.
func signIn() outbox.Mail {
	return outbox.Mail{
		Reason: signInReason, To: address, Expires: time.Now().Add(15 * time.Minute),
		Mail: notify.SignIn{
			Link: site.URL + "/sign-in?token=" + token, Code: code, Minutes: 15, Origin: "203.0.113.7", At: time.Now(),
		},
	}
}

// welcome returns a mail without an expiry of its own.
func welcome(reason string) outbox.Mail {
	return outbox.Mail{Reason: reason, To: address, Mail: notify.Welcome{Plan: "Free", Link: site.URL + "/overview"}}
}

func (b *bundle) queue(t *testing.T, letters ...outbox.Mail) {
	t.Helper()
	if err := b.outbox.Queue(b.ctx, letters...); err != nil {
		t.Fatal(err)
	}
}

// state returns the state of the mail with this reason, which must exist.
func (b *bundle) state(t *testing.T, reason string) maildb.MailState {
	t.Helper()
	s, err := b.store.FindMail(b.ctx, reason)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bundle) missing(t *testing.T, reason string) bool {
	t.Helper()
	_, err := b.store.FindMail(b.ctx, reason)
	return errors.Is(err, store.ErrNotFound)
}

// database opens a connection for the test.
func (b *bundle) database(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(b.ctx, b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

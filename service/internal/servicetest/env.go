// Package servicetest has what tests of the packages of service share: a registry over a database
// and a meter of its own, callers, a fake Stripe and recorded usage.
package servicetest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Env is the registry over real servers, with all mails before they are sealed.
type Env struct {
	*service.Registry

	Ctx    context.Context //nolint:containedctx // a test's own
	Limits *limits.Limits
	Store  *store.Store
	Outbox *outbox.Outbox
	Hasher *account.Hasher

	Database string
	Counters *meter.Meter

	Mu    sync.Mutex // guards mails
	Mails map[string]notify.Mail
}

// Prepare stores the newest mail of each kind and address, and seals it.
func (o *Env) Prepare(l outbox.Mail) (maildb.NewMail, error) { //nolint:gocritic // the signature is the package's
	o.Mu.Lock()
	o.Mails[string(l.Mail.Kind())+" "+l.To] = l.Mail
	o.Mu.Unlock()
	return o.Outbox.Prepare(l)
}

// SealLink seals like the outbox.
func (o *Env) SealLink(use string, content []byte, until time.Time) string {
	return o.Outbox.SealLink(use, content, until)
}

// OpenLink opens what SealLink sealed.
func (o *Env) OpenLink(use, token string) ([]byte, error) { return o.Outbox.OpenLink(use, token) }

// ReadUnsubscribe reads links like the outbox.
func (o *Env) ReadUnsubscribe(token string) (account.UserID, account.Topic, bool) {
	return o.Outbox.ReadUnsubscribe(token)
}

// OpenEnv returns a registry over servers of its own, whose options change may set.
func OpenEnv(t *testing.T, change ...func(*service.Options)) *Env {
	t.Helper()
	return OpenEnvOn(t, testkit.Redis(t), change...)
}

// OpenEnvOn is OpenEnv over a running Redis. Its clock is the meter's, by which days, months
// and paid periods are counted.
func OpenEnvOn(t *testing.T, counts *testkit.RedisServer, change ...func(*service.Options)) *Env {
	t.Helper()
	testkit.RoomIn(t, time.Hour, 30*time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	o := &Env{Ctx: ctx, Mails: map[string]notify.Mail{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	o.Database = testkit.Postgres(t)
	o.Store, err = store.Open(ctx, o.Database)
	must(err)
	t.Cleanup(o.Store.Close)
	counters, err := meter.Open(ctx, counts.URL)
	must(err)
	t.Cleanup(func() { _ = counters.Close() })
	hasher, err := account.NewHasher([]byte(strings.Repeat("pepper", 8)))
	must(err)
	site := notify.Site{
		Name: "Chain Access Gateway", URL: "https://gateway.example", Contact: "support@gateway.example",
	}
	o.Outbox, err = outbox.New(o.Store, site, []byte(strings.Repeat("pepper", 8)), time.Now)
	must(err)
	o.Limits = limits.New(o.Store, counters, hasher, time.Now)
	recorder := usagedb.NewRecorder(o.Store, usagedb.RecorderOptions{MaxDelay: 10 * time.Millisecond})
	t.Cleanup(func() { _ = recorder.Close(context.Background()) })
	o.Hasher, o.Counters = hasher, counters
	options := service.Options{
		Store: o.Store, Limits: o.Limits, Meter: counters, Hasher: hasher, Recorder: recorder, PublicURL: site.URL,
		Now: time.Now, Random: rand.Reader, Mails: o, Contact: site.Contact, Logger: slog.New(slog.DiscardHandler),
		People: people.New(people.Options{
			Store: o.Store, Limiter: counters, Outbox: o, Hasher: hasher, PublicURL: site.URL, Now: time.Now,
			Random: rand.Reader,
		}),
	}
	for _, set := range change {
		set(&options)
	}
	o.Registry = service.New(options)
	return o
}

// Browser returns a caller of the console with a session cookie.
func Browser(cookie string) *operation.Caller {
	return &operation.Caller{
		Door: operation.DoorConsole, RequestID: uuid.Must(uuid.NewV7()),
		Network: netip.MustParsePrefix("192.0.2.10/32"),
		Session: cookie, Browser: "Browser/1.0",
	}
}

// Token returns the token of a link.
func Token(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Query().Get("token") == "" {
		t.Fatalf("a link has no token: %v", err)
	}
	return u.Query().Get("token")
}

// SignIn returns the cookie of a user who signed in by link.
func (o *Env) SignIn(t *testing.T, email string) string {
	t.Helper()
	if _, refusal := o.StartSignIn.Invoke(o.Ctx, Browser(""), accounts.StartSignInInput{Email: email}); refusal != nil {
		t.Fatal(refusal)
	}
	mail, _ := o.Mails["sign_in "+email].(notify.SignIn) //nolint:errcheck // an empty link fails below
	in, refusal := o.FinishSignInByLink.Invoke(o.Ctx, Browser(""), accounts.SignInLinkInput{Token: Token(t, mail.Link)})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return in.SessionToken
}

// Join makes an address a member of the cookie's account and returns the member's cookie.
func (o *Env) Join(t *testing.T, owner, email string) string {
	t.Helper()
	if _, refusal := o.InviteMember.Invoke(o.Ctx, Browser(owner), accounts.InviteMemberInput{
		Email: email, Role: "member",
	}); refusal != nil {
		t.Fatal(refusal)
	}
	mail, _ := o.Mails["invitation "+email].(notify.Invitation) //nolint:errcheck // an empty link fails below
	in, refusal := o.AcceptInvitation.Invoke(o.Ctx, Browser(""), accounts.InvitationLinkInput{
		Token: Token(t, mail.Link),
	})
	if refusal != nil && refusal.Reason == fault.KeyInvalid {
		in, refusal = o.AcceptInvitation.Invoke(o.Ctx, Browser(o.SignIn(t, email)),
			accounts.InvitationLinkInput{Token: Token(t, mail.Link)})
	}
	if refusal != nil {
		t.Fatal(refusal)
	}
	return in.SessionToken
}

// WhoIs returns the session of a cookie.
func (o *Env) WhoIs(t *testing.T, cookie string) accounts.CurrentSession {
	t.Helper()
	session, refusal := o.ShowSession.Invoke(o.Ctx, Browser(cookie), operation.Nothing{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return session
}

// Refuses serves raw arguments and expects a refusal for a reason.
func (o *Env) Refuses(t *testing.T, op operation.Definition, caller *operation.Caller, args map[string]any,
	reason fault.Reason,
) fault.Error {
	t.Helper()
	out, refusal := op.Serve(o.Ctx, caller, func() (map[string]any, *fault.Error) { return args, nil })
	if refusal == nil || refusal.Reason != reason {
		t.Errorf("%s with %v gave %v, %v; want a refusal for %s", op.Meta().Name, args, out, refusal, reason)
		return fault.Error{}
	}
	return *refusal
}

// OfUsers returns the operations that require signing in.
func (o *Env) OfUsers() []operation.Definition {
	return []operation.Definition{
		o.ShowSession, o.SignOutEverywhere, o.ListSessions, o.EndSession, o.ListAccounts, o.SwitchAccount,
		o.ListMembers, o.InviteMember, o.RevokeInvitation, o.ChangeMember, o.RemoveMember, o.ListAudit,
	}
}

// MailsSent returns the number of mails by kind and address.
func (o *Env) MailsSent() int {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	return len(o.Mails)
}

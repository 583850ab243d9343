package service_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
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
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// office is the registry over real servers, with all mails before they are sealed.
type office struct {
	*service.Registry

	ctx    context.Context //nolint:containedctx // a test's own
	limits *limits.Limits
	store  *store.Store
	outbox *outbox.Outbox
	hasher *account.Hasher

	database string
	counters *meter.Meter

	mu    sync.Mutex // guards mails
	mails map[string]notify.Mail
}

// Prepare stores the newest mail of each kind and address, and seals it.
func (o *office) Prepare(l outbox.Mail) (maildb.NewMail, error) { //nolint:gocritic // the signature is the package's
	o.mu.Lock()
	o.mails[string(l.Mail.Kind())+" "+l.To] = l.Mail
	o.mu.Unlock()
	return o.outbox.Prepare(l)
}

// SealLink seals like the outbox.
func (o *office) SealLink(use string, content []byte, until time.Time) string {
	return o.outbox.SealLink(use, content, until)
}

// OpenLink opens what SealLink sealed.
func (o *office) OpenLink(use, token string) ([]byte, error) { return o.outbox.OpenLink(use, token) }

// ReadUnsubscribe reads links like the outbox.
func (o *office) ReadUnsubscribe(token string) (account.UserID, account.Topic, bool) {
	return o.outbox.ReadUnsubscribe(token)
}

func openOffice(t *testing.T, change ...func(*service.Options)) *office {
	t.Helper()
	return openOfficeOn(t, testkit.Redis(t), change...)
}

// openOfficeOn is openOffice over a running Redis. Its clock is the meter's, by which days, months
// and paid periods are counted.
func openOfficeOn(t *testing.T, counts *testkit.RedisServer, change ...func(*service.Options)) *office {
	t.Helper()
	testkit.RoomIn(t, time.Hour, 30*time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	o := &office{ctx: ctx, mails: map[string]notify.Mail{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	o.database = testkit.Postgres(t)
	o.store, err = store.Open(ctx, o.database)
	must(err)
	t.Cleanup(o.store.Close)
	counters, err := meter.Open(ctx, counts.URL)
	must(err)
	t.Cleanup(func() { _ = counters.Close() })
	hasher, err := account.NewHasher([]byte(strings.Repeat("pepper", 8)))
	must(err)
	house := notify.Site{
		Name: "Chain Access Gateway", URL: "https://gateway.example", Contact: "support@gateway.example",
	}
	o.outbox, err = outbox.New(o.store, house, []byte(strings.Repeat("pepper", 8)), time.Now)
	must(err)
	o.limits = limits.New(o.store, counters, hasher, time.Now)
	recorder := usagedb.NewRecorder(o.store, usagedb.RecorderOptions{MaxDelay: 10 * time.Millisecond})
	t.Cleanup(func() { _ = recorder.Close(context.Background()) })
	o.hasher, o.counters = hasher, counters
	options := service.Options{
		Store: o.store, Limits: o.limits, Meter: counters, Hasher: hasher, Recorder: recorder, PublicURL: house.URL,
		Now: time.Now, Random: rand.Reader, Mails: o, Contact: house.Contact, Logger: slog.New(slog.DiscardHandler),
		People: people.New(people.Options{
			Store: o.store, Limiter: counters, Outbox: o, Hasher: hasher, PublicURL: house.URL, Now: time.Now,
			Random: rand.Reader,
		}),
	}
	for _, set := range change {
		set(&options)
	}
	o.Registry = service.New(options)
	return o
}

// browser returns a caller of the console with a session cookie.
func browser(cookie string) *service.Caller {
	return &service.Caller{
		Door: service.DoorConsole, RequestID: uuid.Must(uuid.NewV7()), Network: netip.MustParsePrefix("192.0.2.10/32"),
		Session: cookie, Browser: "Browser/1.0",
	}
}

func token(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Query().Get("token") == "" {
		t.Fatalf("a link has no token: %v", err)
	}
	return u.Query().Get("token")
}

// signIn returns the cookie of a user who signed in by link.
func (o *office) signIn(t *testing.T, email string) string {
	t.Helper()
	if _, refusal := o.StartSignIn.Invoke(o.ctx, browser(""), service.StartSignInInput{Email: email}); refusal != nil {
		t.Fatal(refusal)
	}
	mail, _ := o.mails["sign_in "+email].(notify.SignIn) //nolint:errcheck // an empty link fails below
	in, refusal := o.FinishSignInByLink.Invoke(o.ctx, browser(""), service.SignInLinkInput{Token: token(t, mail.Link)})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return in.SessionToken
}

// join makes an address a member of the cookie's account and returns the member's cookie.
func (o *office) join(t *testing.T, owner, email string) string {
	t.Helper()
	if _, refusal := o.InviteMember.Invoke(o.ctx, browser(owner), service.InviteMemberInput{
		Email: email, Role: "member",
	}); refusal != nil {
		t.Fatal(refusal)
	}
	mail, _ := o.mails["invitation "+email].(notify.Invitation) //nolint:errcheck // an empty link fails below
	in, refusal := o.AcceptInvitation.Invoke(o.ctx, browser(""), service.InvitationLinkInput{
		Token: token(t, mail.Link),
	})
	if refusal != nil && refusal.Reason == fault.KeyInvalid {
		in, refusal = o.AcceptInvitation.Invoke(o.ctx, browser(o.signIn(t, email)),
			service.InvitationLinkInput{Token: token(t, mail.Link)})
	}
	if refusal != nil {
		t.Fatal(refusal)
	}
	return in.SessionToken
}

func (o *office) whoIs(t *testing.T, cookie string) service.CurrentSession {
	t.Helper()
	session, refusal := o.ShowSession.Invoke(o.ctx, browser(cookie), service.Nothing{})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return session
}

// refuses serves raw arguments and expects a refusal for a reason.
func (o *office) refuses(t *testing.T, op service.Definition, caller *service.Caller, args map[string]any,
	reason fault.Reason,
) fault.Error {
	t.Helper()
	out, refusal := op.Serve(o.ctx, caller, func() (map[string]any, *fault.Error) { return args, nil })
	if refusal == nil || refusal.Reason != reason {
		t.Errorf("%s with %v gave %v, %v; want a refusal for %s", op.Meta().Name, args, out, refusal, reason)
		return fault.Error{}
	}
	return *refusal
}

func TestSignIn_NewPersonManagesTheirAccountAtOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	cookie := o.signIn(t, "ann@buyer.example")
	me := o.whoIs(t, cookie)
	if me.Email != "ann@buyer.example" || me.Role != "owner" || me.Plan != "free" || me.Status != account.Active {
		t.Errorf("who signed in is %+v", me)
	}
	if me.PlanTitle != "Free" || me.TimeZone != "UTC" || me.PeriodStart.Day() != 1 ||
		!me.PeriodEnd.Equal(me.PeriodStart.AddDate(0, 1, 0)) {
		t.Errorf("they read figures of %q from %s to %s in %s", me.PlanTitle, me.PeriodStart, me.PeriodEnd, me.TimeZone)
	}
	made, refusal := o.CreateKey.Invoke(o.ctx, browser(cookie), service.CreateKeyInput{Name: "indexer"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	log, refusal := o.ListAudit.Invoke(o.ctx, browser(cookie), service.ListAuditInput{})
	if refusal != nil || len(log.Lines) != 2 || log.Lines[0].KeyID != made.ID ||
		log.Lines[0].Actor != "user "+me.UserID || log.Lines[0].ActorEmail != me.Email {
		t.Errorf("the audit log is %+v, %v", log, refusal)
	}
	if _, refusal := o.SignOut.Invoke(o.ctx, browser(cookie), service.Nothing{}); refusal != nil {
		t.Fatal(refusal)
	}
	o.refuses(t, o.ShowSession, browser(cookie), nil, fault.KeyInvalid)
}

func TestSignIn_AnswersKnownAndUnknownAddressesAlike(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.signIn(t, "known@buyer.example")
	body := func(email string) string {
		out, refusal := o.StartSignIn.Invoke(o.ctx, browser(""), service.StartSignInInput{
			Email: email, ReturnTo: "/keys",
		})
		if refusal != nil {
			t.Fatal(refusal)
		}
		if len(out.BrowserToken) != len("cagb_")+49 || time.Until(out.ExpiresAt) < 14*time.Minute {
			t.Errorf("a sign-in is answered %+v", out)
		}
		out.BrowserToken, out.ExpiresAt = "", time.Time{}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if known, unknown := body("known@buyer.example"), body("unknown@buyer.example"); known != unknown {
		t.Errorf("a known address is answered %s, an unknown one %s", known, unknown)
	}
}

// ofUsers returns the operations that require signing in.
func (o *office) ofUsers() []service.Definition {
	return []service.Definition{
		o.ShowSession, o.SignOutEverywhere, o.ListSessions, o.EndSession, o.ListAccounts, o.SwitchAccount,
		o.ListMembers, o.InviteMember, o.RevokeInvitation, o.ChangeMember, o.RemoveMember, o.ListAudit,
	}
}

func TestSession_WithoutOneNothingIsShown(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	cookie := o.signIn(t, "ann@buyer.example")
	key, refusal := o.CreateKey.Invoke(o.ctx, browser(cookie), service.CreateKeyInput{Name: "indexer"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	holder := browser("")
	holder.Bearer = key.PlaintextToken
	for _, op := range o.ofUsers() {
		for name, caller := range map[string]*service.Caller{
			"nobody": browser(""), "a tampered cookie": browser(cookie[:len(cookie)-1] + "!"), "a key": holder,
			"a key as a cookie": browser(key.PlaintextToken),
		} {
			if got := o.refuses(t, op, caller, map[string]any{}, fault.KeyInvalid); !strings.Contains(got.Message,
				"/sign-in") {
				t.Errorf("%s: %s is told %q", op.Meta().Name, name, got.Message)
			}
		}
	}
}

func TestPeople_IDsOfAnotherAccountAreNotFoundByAnyCapability(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := o.signIn(t, "ann@buyer.example")
	bob := o.whoIs(t, o.join(t, ann, "bob@buyer.example"))
	invitation, refusal := o.InviteMember.Invoke(o.ctx, browser(ann), service.InviteMemberInput{
		Email: "next@buyer.example", Role: "member",
	})
	if refusal != nil {
		t.Fatal(refusal)
	}
	eve := browser(o.signIn(t, "eve@other.example"))
	o.refuses(t, o.EndSession, eve, map[string]any{"id": bob.SessionID}, fault.NotYours)
	o.refuses(t, o.SwitchAccount, eve, map[string]any{"account_id": bob.AccountID}, fault.NotYours)
	o.refuses(t, o.RevokeInvitation, eve, map[string]any{"id": invitation.ID}, fault.NotYours)
	o.refuses(t, o.ChangeMember, eve, map[string]any{"user_id": bob.UserID, "role": "owner"}, fault.NotYours)
	o.refuses(t, o.RemoveMember, eve, map[string]any{"user_id": bob.UserID}, fault.NotYours)
	list, refusal := o.ListMembers.Invoke(o.ctx, browser(ann), service.Nothing{})
	if refusal != nil || len(list.Members) != 2 || list.Members[1].Role != "member" || len(list.Invitations) != 1 {
		t.Errorf("afterwards ann's people are %+v, %v", list, refusal)
	}
	list, refusal = o.ListMembers.Invoke(o.ctx, eve, service.Nothing{})
	if refusal != nil || len(list.Members) != 1 || len(list.Invitations) != 0 || !list.Members[0].Current {
		t.Errorf("eve's people are %+v, %v", list, refusal)
	}
}

func TestMembers_ManageNobody(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := o.signIn(t, "ann@buyer.example")
	owner := o.whoIs(t, ann)
	bob := browser(o.join(t, ann, "bob@buyer.example"))
	o.refuses(t, o.InviteMember, bob, map[string]any{"email": "friend@buyer.example", "role": "owner"},
		fault.WrongKindOfKey)
	o.refuses(t, o.RevokeInvitation, bob, map[string]any{"id": uuid.NewString()}, fault.WrongKindOfKey)
	o.refuses(t, o.ChangeMember, bob, map[string]any{"user_id": owner.UserID, "role": "member"}, fault.WrongKindOfKey)
	o.refuses(t, o.RemoveMember, bob, map[string]any{"user_id": owner.UserID}, fault.WrongKindOfKey)
	me := o.whoIs(t, bob.Session)
	if _, refusal := o.RemoveMember.Invoke(o.ctx, bob, service.RemoveMemberInput{UserID: me.UserID}); refusal != nil {
		t.Errorf("leaving gives %v", refusal)
	}
	o.refuses(t, o.ShowSession, bob, nil, fault.KeyInvalid)
}

func TestAccount_SuspendedOneMayOnlyBeViewedAndLeft(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	own := o.signIn(t, "bob@buyer.example")
	ann := o.signIn(t, "ann@buyer.example")
	bob := o.join(t, ann, "bob@buyer.example")
	me := o.whoIs(t, ann)
	made, refusal := o.CreateKey.Invoke(o.ctx, browser(ann), service.CreateKeyInput{Name: "indexer"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	id, err := account.ParseID(me.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	by := accountdb.Author{Actor: "operator", Origin: "ops", Reason: "invoice CAG-7 is unpaid"}
	if _, err := o.limits.SetStatus(o.ctx, id, account.Suspended, by); err != nil {
		t.Fatal(err)
	}
	ann = o.signIn(t, "ann@buyer.example") // still possible
	if now := o.whoIs(t, ann); now.Status != account.Suspended || now.SuspendedFor != by.Reason {
		t.Errorf("signing in shows %+v", now)
	}
	for _, change := range []struct {
		op   service.Definition
		args map[string]any
	}{
		{o.InviteMember, map[string]any{"email": "friend@buyer.example", "role": "owner"}},
		{o.RevokeInvitation, map[string]any{"id": uuid.NewString()}},
		{o.ChangeMember, map[string]any{"user_id": me.UserID, "role": "member"}},
		{o.RemoveMember, map[string]any{"user_id": me.UserID}},
		{o.CreateKey, map[string]any{"name": "another"}},
		{o.UpdateAccount, map[string]any{"time_zone": "Europe/Vienna"}},
		{o.ConfigureServices, map[string]any{"enabled": []any{"rpc"}}},
		{o.ConfigureKey, map[string]any{"id": made.ID, "monthly_request_cap": float64(5)}},
	} {
		if got := o.refuses(t, change.op, browser(ann), change.args,
			fault.AccountSuspended); got.Data["suspended_for"] != by.Reason {
			t.Errorf("%s is refused with %v", change.op.Meta().Name, got.Data)
		}
	}
	for _, look := range []service.Definition{o.ListMembers, o.ListSessions, o.ListAccounts, o.ListKeys, o.ListAudit} {
		if _, refusal := look.Serve(o.ctx, browser(ann), func() (map[string]any, *fault.Error) {
			return map[string]any{}, nil
		}); refusal != nil {
			t.Errorf("%s gives %v", look.Meta().Name, refusal)
		}
	}
	for _, look := range []struct {
		op   service.Definition
		args map[string]any
	}{{o.UpdateAccount, nil}, {o.ConfigureServices, nil}, {o.ConfigureKey, map[string]any{"id": made.ID}}} {
		if _, refusal := look.op.Serve(o.ctx, browser(ann), func() (map[string]any, *fault.Error) {
			return look.args, nil
		}); refusal != nil {
			t.Errorf("asking for no change, %s gives %v", look.op.Meta().Name, refusal)
		}
	}
	elsewhere := o.whoIs(t, own).AccountID
	if _, refusal := o.SwitchAccount.Invoke(o.ctx, browser(bob), service.SwitchAccountInput{
		AccountID: elsewhere,
	}); refusal != nil {
		t.Errorf("switching to an account that is not suspended gives %v", refusal)
	}
	if out, refusal := o.SignOutEverywhere.Invoke(o.ctx, browser(ann), service.Nothing{}); refusal != nil ||
		out.Ended != 2 {
		t.Errorf("signing out everywhere gives %+v, %v", out, refusal)
	}
}

func TestPeople_WrongFieldsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := o.signIn(t, "ann@buyer.example")
	caller := browser(ann)
	before := o.mailsSent()
	wrong := map[string][]any{
		"email": {
			nil, 7, true, "", "ann", "a@b", "ann@buyer.example,eve@other.example", "ann\x00@buyer.example",
			strings.Repeat("a", 2000) + "@buyer.example",
			[]string{"x"},
		},
		"token":         {nil, 7, "", "x", "cagl_", strings.Repeat("a", 300), "\x00"},
		"browser_token": {nil, 7, "", "x", strings.Repeat("a", 300)},
		"code":          {nil, 123456, "", "12345", "abcdef", strings.Repeat("1", 70)},
		"role":          {nil, 7, "", "admin", "OWNER"},
	}
	right := map[string]any{
		"email": "new@buyer.example", "role": "member", "token": "cagl_x", "browser_token": "cagb_x", "code": "123456",
	}
	for _, c := range []struct {
		op     service.Definition
		fields []string
	}{
		{o.StartSignIn, []string{"email"}},
		{o.ShowSignInLink, []string{"token"}},
		{o.FinishSignInByLink, []string{"token"}},
		{o.FinishSignInByCode, []string{"browser_token", "code"}},
		{o.ShowInvitation, []string{"token"}},
		{o.AcceptInvitation, []string{"token"}},
		{o.InviteMember, []string{"email", "role"}},
	} {
		for _, field := range c.fields {
			for i, value := range wrong[field] {
				args := map[string]any{}
				for _, f := range c.fields {
					args[f] = right[f]
				}
				args[field] = value
				from := *caller
				// so that it has a rate limit of its own
				from.Network = netip.PrefixFrom(netip.AddrFrom4([4]byte{
					10, field[0], byte(len(c.op.Meta().Name)), byte(i),
				}), 32)
				refusal := o.refuses(t, c.op, &from, args, fault.FieldRefused)
				if text, is := value.(string); is && len(text) > 8 && strings.Contains(refusal.Message, text) {
					t.Errorf("%s repeats what it refuses: %s", c.op.Meta().Name, refusal.Message)
				}
			}
		}
		o.refuses(t, c.op, caller, map[string]any{"unknown": 1}, fault.FieldRefused)
	}
	for _, op := range []service.Definition{o.EndSession, o.RevokeInvitation} {
		o.refuses(t, op, caller, map[string]any{"id": 7}, fault.FieldRefused)
		o.refuses(t, op, caller, map[string]any{"id": "x"}, fault.NotYours)
	}
	if after := o.mailsSent(); after != before {
		t.Errorf("%d mails were written for wrong fields", after-before)
	}
}

func (o *office) mailsSent() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mails)
}

func TestSignIn_LinksAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for range 200 {
		_, refusal := o.ShowSignInLink.Invoke(o.ctx, browser(""), service.SignInLinkInput{Token: "cagl_guess"})
		switch {
		case refusal == nil:
			t.Fatal("a guess is shown")
		case refusal.Reason == fault.RateWindow && refusal.RetryAfter > 0:
			return
		case refusal.Reason != fault.FieldRefused:
			t.Fatalf("a guess gives %v", refusal)
		}
	}
	t.Error("200 guesses went through")
}

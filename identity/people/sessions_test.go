package people_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/peopledb"
)

func TestSession_TamperedCookiesOpenNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered, _ := b.signIn(t, "ann@buyer.example")
	cookie := entered.Session.Reveal()
	unknown, err := account.MintSessionToken(strings.NewReader(strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	tampered := []string{
		"", " " + cookie, cookie + " ", cookie[:len(cookie)-1], cookie + "A", strings.ToLower(cookie),
		"cagl_" + cookie[5:], unknown.Reveal(), strings.Repeat("c", 10_000), cookie + "\x00", "' OR 1=1 --",
	}
	for at := range cookie {
		tampered = append(tampered, flip(cookie, at))
	}
	for _, text := range tampered {
		_, err := b.people.FindSession(b.ctx, text)
		refused(t, err, fault.KeyInvalid)
		if err := b.people.SignOut(b.ctx, text); err != nil {
			t.Errorf("signing out with a cookie that opens nothing gives %v", err)
		}
	}
	if _, err := b.people.FindSession(b.ctx, cookie); err != nil {
		t.Errorf("the cookie as it was given gives %v", err)
	}
}

func TestSession_LastsThirtyDaysAfterUseAndNinetyAtMost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const day = 24 * time.Hour
	entered, _ := b.signIn(t, "ann@buyer.example")
	cookie := entered.Session.Reveal()
	for range 3 {
		b.clock.Advance(29 * day)
		if _, err := b.people.FindSession(b.ctx, cookie); err != nil {
			t.Fatalf("a session in use gives %v", err)
		}
	}
	b.clock.Advance(3*day - time.Second) // one second before 90 days after its start
	if _, err := b.people.FindSession(b.ctx, cookie); err != nil {
		t.Errorf("a second before its ninetieth day is over the session gives %v", err)
	}
	b.clock.Advance(time.Second)
	_, err := b.people.FindSession(b.ctx, cookie)
	refused(t, err, fault.KeyInvalid)

	entered, _ = b.signIn(t, "ann@buyer.example")
	b.clock.Advance(30 * day)
	_, err = b.people.FindSession(b.ctx, entered.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
}

func TestSession_LastSeenIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered, _ := b.signIn(t, "ann@buyer.example")
	row := func() int {
		if _, err := b.people.FindSession(b.ctx, entered.Session.Reveal()); err != nil {
			t.Fatal(err)
		}
		return b.number(t, "SELECT xmin::text::bigint::int FROM sessions") // changes with every write of the row
	}
	written := row()
	b.clock.Advance(59 * time.Second)
	if row() != written {
		t.Error("a session is written again within a minute")
	}
	b.clock.Advance(time.Second)
	seen := row()
	if seen == written {
		t.Error("a session that was seen after a minute is not written")
	}
	if row() != seen {
		t.Error("a session is written twice in a minute")
	}
}

func TestSession_NewSignInEndsTheBrowsersOldOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, _ := b.signIn(t, "ann@buyer.example")
	elsewhere, _ := b.signIn(t, "ann@buyer.example")
	_, mail := b.start(t, "bob@buyer.example")
	visitor := home
	visitor.Session = first.Session.Reveal()
	if _, err := b.people.FinishByLink(b.ctx, mail.link, visitor); err != nil {
		t.Fatal(err)
	}
	_, err := b.people.FindSession(b.ctx, first.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
	if _, err := b.people.FindSession(b.ctx, elsewhere.Session.Reveal()); err != nil {
		t.Errorf("the session of another browser gives %v", err)
	}
	// A sign-in that fails ends nothing.
	visitor.Session = elsewhere.Session.Reveal()
	_, err = b.people.FinishByLink(b.ctx, mail.link, visitor)
	refused(t, err, fault.FieldRefused)
	if _, err := b.people.FindSession(b.ctx, elsewhere.Session.Reveal()); err != nil {
		t.Errorf("after a sign-in that failed the session gives %v", err)
	}
}

func TestSession_PeopleEndTheirOwnOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, ann := b.signIn(t, "ann@buyer.example")
	two, second := b.signIn(t, "ann@buyer.example")
	others, bob := b.signIn(t, "bob@buyer.example")
	listed, err := b.people.ListSessions(b.ctx, &ann)
	require.NoError(t, err)
	require.Len(t, listed, 2)
	require.Equal(t, listed[0].Network, "192.0.2.0/24")
	require.Equal(t, listed[0].UserAgent, "Browser/1.0")
	for _, id := range []string{
		bob.ID.String(), "no id", strings.ToUpper(second.ID.String()), "00000000-0000-0000-0000-000000000000",
	} {
		refused(t, b.people.EndSession(b.ctx, &ann, id), fault.NotYours)
	}
	if err := b.people.EndSession(b.ctx, &ann, second.ID.String()); err != nil {
		t.Fatal(err)
	}
	_, err = b.people.FindSession(b.ctx, two.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
	refused(t, b.people.EndSession(b.ctx, &ann, second.ID.String()), fault.NotYours)

	b.signIn(t, "ann@buyer.example")
	if n, err := b.people.SignOutEverywhere(b.ctx, &ann); err != nil || n != 2 {
		t.Errorf("signing out everywhere ended %d sessions, %v; want 2", n, err)
	}
	_, err = b.people.FindSession(b.ctx, one.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
	if _, err := b.people.FindSession(b.ctx, others.Session.Reveal()); err != nil {
		t.Errorf("somebody else's session gives %v", err)
	}
	if err := b.people.SignOut(b.ctx, others.Session.Reveal()); err != nil {
		t.Fatal(err)
	}
	_, err = b.people.FindSession(b.ctx, others.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
}

func TestSession_MovesOnlyToAccountsOfItsUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, stranger := b.signIn(t, "eve@other.example")
	entered, bob := b.signIn(t, "bob@buyer.example")
	_, joined := b.join(t, &ann, "bob@buyer.example", peopledb.RoleMember)
	if joined.User != bob.User || joined.Account != ann.Account {
		t.Fatalf("bob joined as %+v", joined)
	}
	for _, id := range []string{stranger.Account.String(), "", "no id"} {
		refused(t, b.people.SwitchAccount(b.ctx, &bob, id), fault.NotYours)
	}
	// Nor can another user move the session.
	forged := bob
	forged.ID = stranger.ID
	refused(t, b.people.SwitchAccount(b.ctx, &forged, ann.Account.String()), fault.NotYours)

	if err := b.people.SwitchAccount(b.ctx, &bob, ann.Account.String()); err != nil {
		t.Fatal(err)
	}
	if now := b.session(t, entered); now.Account != ann.Account || now.Role != peopledb.RoleMember {
		t.Errorf("after the switch the session is %+v", now)
	}
	accounts, err := b.people.ListAccounts(b.ctx, &bob)
	if err != nil || len(accounts) != 2 {
		t.Errorf("bob's accounts are %+v, %v", accounts, err)
	}
	// The next sign-in starts in the account of the last session.
	b.clock.Advance(time.Hour)
	if _, again := b.signIn(t, "bob@buyer.example"); again.Account != ann.Account {
		t.Errorf("the next sign-in is of account %s", again.Account)
	}
}

func TestSignIn_StillShowsWhyAnAccountIsSuspended(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	set := func(to account.Status, action, reason string) {
		_, err := b.store.ChangeAccount(b.ctx, ann.Account, action, accountdb.Author{
			Actor: "operator", Origin: "ops", Reason: reason,
		}, func(a *accountdb.Account) error {
			a.Status = to
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(account.Suspended, "suspend_account", "an old reason")
	set(account.Active, "resume_account", "it was a mistake")
	if _, session := b.signIn(t, "ann@buyer.example"); session.Status != account.Active || session.SuspendedFor != "" {
		t.Errorf("after the suspension the session is %+v", session)
	}
	set(account.Suspended, "suspend_account", "invoice CAG-7 is unpaid")
	_, session := b.signIn(t, "ann@buyer.example")
	if session.Status != account.Suspended || session.SuspendedFor != "invoice CAG-7 is unpaid" {
		t.Errorf("of a suspended account the session is %+v", session)
	}
}

func TestSession_UsersKeepTheirNewestFifty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, ann := b.signIn(t, "ann@buyer.example")
	b.clock.Advance(time.Second)
	second, _ := b.signIn(t, "ann@buyer.example")
	for i := range 49 {
		// Directly in the store, past the limits of mails.
		b.clock.Advance(time.Second)
		link, now := account.Digest{byte(i), 1}, b.clock.Now()
		n := peopledb.NewSignIn{
			ID: peopledb.SignInID{UUID: newInvitationID().UUID}, Email: ann.Email, Link: link,
			Browser: account.Digest{byte(i), 2}, At: now, ExpiresAt: now.Add(people.SignInValid),
		}
		if err := b.store.StartSignIn(b.ctx, n); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.FinishByLink(b.ctx, link, peopledb.Browser{Session: account.Digest{byte(i), 3}}, now,
			nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.people.FindSession(b.ctx, first.Session.Reveal())
	refused(t, err, fault.KeyInvalid)
	if _, err := b.people.FindSession(b.ctx, second.Session.Reveal()); err != nil {
		t.Errorf("the fiftieth newest session gives %v", err)
	}
	if open, err := b.people.ListSessions(b.ctx, &ann); err != nil || len(open) != 50 {
		t.Errorf("%d sessions are open, %v; want 50", len(open), err)
	}
}

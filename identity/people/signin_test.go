package people_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// atOnce runs do in several goroutines that start together, and counts those without an error.
// Every other one must be refused for an allowed reason, by default FieldRefused.
func atOnce(t *testing.T, times int, do func(i int) error, allowed ...fault.Reason) int64 {
	t.Helper()
	if len(allowed) == 0 {
		allowed = []fault.Reason{fault.FieldRefused}
	}
	var (
		wg   sync.WaitGroup
		done atomic.Int64
	)
	begin := make(chan struct{})
	for i := range times {
		wg.Go(func() {
			<-begin
			err := do(i)
			if err == nil {
				done.Add(1)
				return
			}
			if refusal, ok := errors.AsType[*fault.Error](err); !ok || !slices.Contains(allowed, refusal.Reason) {
				t.Errorf("one of %d at once got %v, want a refusal for one of %v", times, err, allowed)
			}
		})
	}
	close(begin)
	wg.Wait()
	return done.Load()
}

func TestSignIn_NewPersonOwnsAnAccountOnTheFreePlan(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered, session := b.signIn(t, "Ann@buyer.example")
	in := expect.In(t, "the first sign-in")
	expect.True(in, entered.NewAccount)
	expect.Equal(in, session.Account, entered.Account)
	expect.Equal(in, session.Role, peopledb.RoleOwner)
	expect.Equal(in, session.Plan, plan.Free)
	expect.Equal(in, session.Status, account.Active)
	expect.Equal(in, session.Email.Address(), "Ann@buyer.example")
	made, err := b.store.LoadAccount(b.ctx, session.Account)
	if err != nil || made.Kind != accountdb.KindOwner {
		t.Errorf("the account is %+v, %v", made, err)
	}
	if welcome, ok := newestOf[notify.Welcome](b, "Ann@buyer.example"); !ok || welcome.Included != 1_000_000*plan.Unit {
		t.Errorf("the welcome is %+v, %v", welcome, ok)
	}
	audit, err := b.store.ListAudit(b.ctx, session.Account, 10)
	in = expect.In(t, "the audit log")
	require.NoError(in, err)
	require.Len(in, audit, 1)
	expect.Equal(in, audit[0].Action, "open_account")
	expect.Equal(in, audit[0].Actor, "user "+session.User.String())
	// The same person, who writes the address differently.
	again, second := b.signIn(t, "ann@buyer.example")
	in = expect.In(t, "the second sign-in")
	expect.False(in, again.NewAccount)
	expect.Equal(in, second.User, session.User)
	expect.Equal(in, second.Account, session.Account)
	expect.NotEqual(in, second.ID, session.ID)
	if n := b.number(t, "SELECT count(*) FROM mails WHERE kind = 'welcome'"); n != 1 {
		t.Errorf("%d welcomes are queued", n)
	}
}

func TestSignIn_LinkWorksOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, mail := b.start(t, "ann@buyer.example")
	for range 3 { // mail scanners follow links
		shown, err := b.people.ShowLink(b.ctx, mail.link, from("198.51.100.7"))
		if err != nil || shown.Email.Address() != "ann@buyer.example" {
			t.Fatalf("looking at the link gave %+v, %v", shown, err)
		}
	}
	if n := atOnce(t, 8, func(int) error {
		_, err := b.people.FinishByLink(b.ctx, mail.link, from("198.51.100.7"))
		return err
	}); n != 1 {
		t.Errorf("%d of 8 signed in by one link, want 1", n)
	}
	_, err := b.people.FinishByLink(b.ctx, mail.link, home)
	if refusal := refused(t, err, fault.FieldRefused); !strings.Contains(refusal.Message, "Ask for a new one") {
		t.Errorf("a replayed link is told %q", refusal.Message)
	}
	_, err = b.people.ShowLink(b.ctx, mail.link, home)
	refused(t, err, fault.FieldRefused)
	if n := b.number(t, "SELECT count(*) FROM sessions"); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

func TestSignIn_CodeWorksOnceAndOnlyInTheBrowserThatAsked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, mail := b.start(t, "ann@buyer.example")
	other, err := account.MintBrowserToken(strings.NewReader(strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	for _, browser := range []string{
		other.Reveal(), "", started.Browser.Reveal() + "x", strings.ToUpper(started.Browser.Reveal()),
	} {
		_, err := b.people.FinishByCode(b.ctx, browser, mail.code, home)
		refused(t, err, fault.FieldRefused)
	}
	// Somebody else's browser waits for another code.
	strangers, strange := b.start(t, "bob@buyer.example")
	if strange.code != mail.code {
		_, err := b.people.FinishByCode(b.ctx, strangers.Browser.Reveal(), mail.code, home)
		refused(t, err, fault.FieldRefused)
	}
	if n := atOnce(t, 6, func(int) error {
		_, err := b.people.FinishByCode(b.ctx, started.Browser.Reveal(), " "+mail.code[:3]+"-"+mail.code[3:], home)
		return err
	}); n != 1 {
		t.Errorf("%d of 6 signed in by one code, want 1", n)
	}
	_, err = b.people.FinishByLink(b.ctx, mail.link, home)
	refused(t, err, fault.FieldRefused)
}

func TestSignIn_LinkAndCodeOfOneMailWorkOnceTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, mail := b.start(t, "ann@buyer.example")
	if n := atOnce(t, 6, func(i int) error {
		var err error
		if i%2 == 0 {
			_, err = b.people.FinishByLink(b.ctx, mail.link, home)
		} else {
			_, err = b.people.FinishByCode(b.ctx, started.Browser.Reveal(), mail.code, home)
		}
		return err
	}); n != 1 {
		t.Errorf("%d signed in by one mail, want 1", n)
	}
}

// wrong returns a code that is not this one.
func wrong(code string) string {
	last := (code[5]-'0'+1)%10 + '0'
	return code[:5] + string(last)
}

func TestSignIn_EndsAfterFiveWrongCodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, mail := b.start(t, "ann@buyer.example")
	if n := atOnce(t, 8, func(int) error {
		_, err := b.people.FinishByCode(b.ctx, started.Browser.Reveal(), wrong(mail.code), home)
		return err
	}); n != 0 {
		t.Errorf("%d wrong codes signed in", n)
	}
	if n := b.number(t, "SELECT wrong_codes FROM sign_ins"); n != 5 {
		t.Errorf("%d wrong codes are counted, want 5", n)
	}
	_, err := b.people.FinishByCode(b.ctx, started.Browser.Reveal(), mail.code, home)
	refused(t, err, fault.FieldRefused)
	_, err = b.people.FinishByLink(b.ctx, mail.link, home)
	refused(t, err, fault.FieldRefused)
	// Four do not.
	started, mail = b.start(t, "bob@buyer.example")
	for range 4 {
		_, err := b.people.FinishByCode(b.ctx, started.Browser.Reveal(), wrong(mail.code), home)
		refused(t, err, fault.FieldRefused)
	}
	if _, err := b.people.FinishByCode(b.ctx, started.Browser.Reveal(), mail.code, home); err != nil {
		t.Errorf("the right code after four wrong ones gives %v", err)
	}
}

func TestSignIn_CodesOfAnAddressAreBoundedByTheDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tries := 0
	for range 4 {
		started, mail := b.start(t, "ann@buyer.example")
		for range 5 {
			_, err := b.people.FinishByCode(b.ctx, started.Browser.Reveal(), wrong(mail.code), home)
			refused(t, err, fault.FieldRefused)
			tries++
		}
	}
	started, mail := b.start(t, "ann@buyer.example")
	_, err := b.people.FinishByCode(b.ctx, started.Browser.Reveal(), mail.code, home)
	if refusal := refused(t, err, fault.RateWindow); refusal.RetryAfter <= 0 || refusal.Window == nil {
		t.Errorf("after %d codes the refusal is %+v", tries, refusal)
	}
	if _, err := b.people.FinishByLink(b.ctx, mail.link, home); err != nil {
		t.Errorf("the link, which nobody can guess, gives %v", err)
	}
}

func TestSignIn_MailsExpireAfterAQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, mail := b.start(t, "ann@buyer.example")
	b.clock.Advance(people.SignInValid - time.Second)
	if _, err := b.people.ShowLink(b.ctx, mail.link, home); err != nil {
		t.Errorf("a second before its end the link gives %v", err)
	}
	b.clock.Advance(time.Second)
	_, err := b.people.ShowLink(b.ctx, mail.link, home)
	refused(t, err, fault.FieldRefused)
	_, err = b.people.FinishByLink(b.ctx, mail.link, home)
	refused(t, err, fault.FieldRefused)
	_, err = b.people.FinishByCode(b.ctx, started.Browser.Reveal(), mail.code, home)
	refused(t, err, fault.FieldRefused)
	if n := b.number(t,
		"SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM accounts) + (SELECT count(*) FROM sessions)"); n !=
		0 {
		t.Errorf("%d rows were made by mails that are over", n)
	}
}

func TestSignIn_TwoConcurrentFirstOnesMakeOneAccount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var links []string
	for range 4 {
		_, mail := b.start(t, "ann@buyer.example")
		links = append(links, mail.link)
	}
	if n := atOnce(t, len(links), func(i int) error {
		_, err := b.people.FinishByLink(b.ctx, links[i], home)
		return err
	}); n != 4 {
		t.Errorf("%d of 4 links signed in", n)
	}
	if n := b.number(t, "SELECT 10 * count(DISTINCT users.id) + (SELECT count(*) FROM accounts) FROM users"); n != 11 {
		t.Errorf("users and accounts are %d, want one of each (11)", n)
	}
}

func TestSignIn_AnswersKnownAndUnknownAddressesAlike(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.signIn(t, "known@buyer.example")
	shape := func(address string) (people.Started, notify.SignIn) {
		started, err := b.people.StartSignIn(b.ctx, address, "/keys", home)
		if err != nil {
			t.Fatal(err)
		}
		mail, ok := newestOf[notify.SignIn](b, address)
		in := expect.In(t, "%s", address)
		require.True(in, ok)
		require.Len(in, mail.Code, 6)
		require.Len(in, tokenOf(t, mail.Link), len(started.Browser.Reveal()))
		mail.Link, mail.Code = "", ""
		started.Browser = account.BrowserToken{}
		return started, mail
	}
	known, knownMail := shape("known@buyer.example")
	unknown, unknownMail := shape("unknown@buyer.example")
	if known != unknown || knownMail != unknownMail {
		t.Errorf("a known address is answered %+v, %+v, an unknown one %+v, %+v", known, knownMail, unknown,
			unknownMail)
	}
	if n := b.number(t, "SELECT count(*) FROM users"); n != 1 {
		t.Errorf("asking made %d users", n)
	}
}

func TestSignIn_RecordHoldsNoSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	started, mail := b.start(t, "ann@buyer.example")
	_, session := b.signIn(t, "bob@buyer.example")
	entered, _ := b.signIn(t, "bob@buyer.example")
	_, invitation := b.invite(t, &session, "eve@buyer.example", peopledb.RoleMember)
	for what, secret := range map[string]string{
		"browser": started.Browser.Reveal(), "link": mail.link, "code": mail.code, "session": entered.Session.Reveal(),
		"invitation": invitation,
	} {
		t.Run(what, func(t *testing.T) {
			for _, table := range []string{
				"sign_ins", "sessions", "invitations", "users", "members", "mails", "audit_log",
			} {
				const query = " AS r WHERE to_jsonb(r)::text LIKE '%' || $1 || '%' OR to_jsonb(r)::text LIKE '%' || " +
					"encode(convert_to($1, 'UTF8'), 'hex') || '%'"
				if n := b.number(t, "SELECT count(*) FROM "+table+query, secret); n != 0 {
					t.Errorf("%s holds the %s in the clear", table, what)
				}
			}
		})
	}
}

func TestSignIn_ReturnsToPathsOfThisServiceOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, c := range []struct{ path, want string }{
		{"/keys", "/keys"},
		{"/agents?adopt=1&x=%20", "/agents?adopt=1&x=%20"},
		{"/agents?next=https://other.example/", "/agents?next=https://other.example/"},
		{"", ""},
		{"keys", ""},
		{"//other.example/", ""},
		{"/\\other.example/", ""},
		{"/\t/other.example/", ""},
		{"/\n/other.example", ""},
		{"https://other.example/", ""},
		{"/keys//other.example", ""},
		{"/./..//other.example", ""},
		{"/%2f/other.example", ""},
		{"/keys#x", ""},
		{"/ключи", ""},
		{"/" + strings.Repeat("a", 1024), ""},
	} {
		t.Run(c.want, func(t *testing.T) {
			address := "p" + string(rune('a'+i)) + "@buyer.example"
			if _, err := b.people.StartSignIn(b.ctx, address, c.path, home); err != nil {
				t.Fatal(err)
			}
			entered, err := b.people.FinishByLink(b.ctx, b.newest(t, address).link, home)
			if err != nil || entered.ReturnTo != c.want {
				t.Errorf("%q comes back to %q, %v; want %q", c.path, entered.ReturnTo, err, c.want)
			}
		})
	}
	if n := b.number(t, "SELECT count(*) FROM sign_ins WHERE octet_length(return_to) > 0"); n != 0 {
		t.Errorf("%d used sign-ins still know where to come back to", n)
	}
}

func TestSignIn_MailsAreLimitedByAddressAndNetwork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		if _, err := b.people.StartSignIn(b.ctx, "ann@buyer.example", "",
			from("2001:db8::"+string(rune('1'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.people.StartSignIn(b.ctx, "ANN@buyer.example", "", from("203.0.113.9"))
	if refusal := refused(t, err, fault.RateWindow); refusal.RetryAfter < 11*time.Minute ||
		strings.Contains(refusal.Message, "@") {
		t.Errorf("the sixth mail to an address is refused with %+v", refusal)
	}
	// All addresses of one /64 are one network, and malformed addresses count too.
	for i := range 15 {
		if _, err := b.people.StartSignIn(b.ctx, "p"+string(rune('a'+i))+"@buyer.example", "",
			from("2001:db8::ffff")); err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.people.StartSignIn(b.ctx, "nobody", "", from("2001:db8::1:1"))
	refused(t, err, fault.RateWindow)
	_, err = b.people.StartSignIn(b.ctx, "nobody", "", from("2001:db8:0:1::1"))
	refused(t, err, fault.FieldRefused)
	if n := b.number(t, "SELECT count(*) FROM mails"); n != 20 {
		t.Errorf("%d mails are queued, want 20", n)
	}
}

func TestSignIn_FailsWhileLimitsCannotBeKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, mail := b.start(t, "ann@buyer.example")
	if err := b.meter.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := b.people.StartSignIn(b.ctx, "ann@buyer.example", "", home)
	if refusal := refused(t, err, fault.MeterUnreachable); refusal.RetryAfter <= 0 {
		t.Error("the refusal does not say when to try again")
	}
	_, err = b.people.FinishByLink(b.ctx, mail.link, home)
	refused(t, err, fault.MeterUnreachable)
	if n := b.number(t, "SELECT count(*) FROM sign_ins WHERE used_at IS NULL"); n != 1 {
		t.Errorf("%d sign-ins wait, want the one from before", n)
	}
}

func TestSignIn_TamperedLinksAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, mail := b.start(t, "ann@buyer.example")
	for _, token := range []string{
		"", mail.link[:len(mail.link)-1], mail.link + "A", flip(mail.link, 5), flip(mail.link, len(mail.link)-1),
		"cags_" + mail.link[5:], strings.Repeat("a", 5000), mail.link + "\x00", "\xff\xfe",
	} {
		_, err := b.people.FinishByLink(b.ctx, token, home)
		refused(t, err, fault.FieldRefused)
	}
	if _, err := b.people.FinishByLink(b.ctx, mail.link, home); err != nil {
		t.Errorf("the link as it was sent gives %v", err)
	}
}

// flip changes one character into another of the alphabet.
func flip(text string, at int) string {
	to := byte('A')
	if text[at] == to {
		to = 'B'
	}
	return text[:at] + string(to) + text[at+1:]
}

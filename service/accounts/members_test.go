package accounts_test

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

func TestSignIn_NewPersonManagesTheirAccountAtOnce(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	cookie := o.SignIn(t, "ann@buyer.example")
	me := o.WhoIs(t, cookie)
	in := expect.In(t, "who signed")
	expect.Equal(in, me.Email, "ann@buyer.example")
	expect.Equal(in, me.Role, "owner")
	expect.Equal(in, me.Plan, "free")
	expect.Equal(in, me.Status, account.Active)
	in = expect.In(t, "they read figures")
	expect.Equal(in, me.PlanTitle, "Free")
	expect.Equal(in, me.TimeZone, "UTC")
	expect.Equal(in, me.PeriodStart.Day(), 1)
	expect.True(in, me.PeriodEnd.Equal(me.PeriodStart.AddDate(0, 1, 0)), me.PeriodEnd)
	made, refusal := o.CreateKey.Invoke(o.Ctx, servicetest.Browser(cookie), keys.CreateKeyInput{Name: "indexer"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	log, refusal := o.ListAudit.Invoke(o.Ctx, servicetest.Browser(cookie), accounts.ListAuditInput{})
	in = expect.In(t, "the audit log")
	require.Nil(in, refusal)
	require.Len(in, log.Lines, 2)
	expect.Equal(in, log.Lines[0].KeyID, made.ID)
	expect.Equal(in, log.Lines[0].Actor, "user "+me.UserID)
	expect.Equal(in, log.Lines[0].ActorEmail, me.Email)
	if _, refusal := o.SignOut.Invoke(o.Ctx, servicetest.Browser(cookie), operation.Nothing{}); refusal != nil {
		t.Fatal(refusal)
	}
	o.Refuses(t, o.ShowSession, servicetest.Browser(cookie), nil, fault.KeyInvalid)
}

func TestSignIn_AnswersKnownAndUnknownAddressesAlike(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	o.SignIn(t, "known@buyer.example")
	body := func(email string) string {
		out, refusal := o.StartSignIn.Invoke(o.Ctx, servicetest.Browser(""), accounts.StartSignInInput{
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

func TestSession_WithoutOneNothingIsShown(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	cookie := o.SignIn(t, "ann@buyer.example")
	key, refusal := o.CreateKey.Invoke(o.Ctx, servicetest.Browser(cookie), keys.CreateKeyInput{Name: "indexer"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	holder := servicetest.Browser("")
	holder.Bearer = key.PlaintextToken
	for _, op := range o.OfUsers() {
		for name, caller := range map[string]*operation.Caller{
			"nobody": servicetest.Browser(""), "a tampered cookie": servicetest.Browser(cookie[:len(cookie)-1] + "!"),
			"a key":             holder,
			"a key as a cookie": servicetest.Browser(key.PlaintextToken),
		} {
			t.Run(name, func(t *testing.T) {
				if got := o.Refuses(t, op, caller, map[string]any{}, fault.KeyInvalid); !strings.Contains(got.Message,
					"/sign-in") {
					t.Errorf("%s: %s is told %q", op.Meta().Name, name, got.Message)
				}
			})
		}
	}
}

func TestPeople_IDsOfAnotherAccountAreNotFoundByAnyCapability(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := o.SignIn(t, "ann@buyer.example")
	bob := o.WhoIs(t, o.Join(t, ann, "bob@buyer.example"))
	invitation, refusal := o.InviteMember.Invoke(o.Ctx, servicetest.Browser(ann), accounts.InviteMemberInput{
		Email: "next@buyer.example", Role: "member",
	})
	if refusal != nil {
		t.Fatal(refusal)
	}
	eve := servicetest.Browser(o.SignIn(t, "eve@other.example"))
	o.Refuses(t, o.EndSession, eve, map[string]any{"id": bob.SessionID}, fault.NotYours)
	o.Refuses(t, o.SwitchAccount, eve, map[string]any{"account_id": bob.AccountID}, fault.NotYours)
	o.Refuses(t, o.RevokeInvitation, eve, map[string]any{"id": invitation.ID}, fault.NotYours)
	o.Refuses(t, o.ChangeMember, eve, map[string]any{"user_id": bob.UserID, "role": "owner"}, fault.NotYours)
	o.Refuses(t, o.RemoveMember, eve, map[string]any{"user_id": bob.UserID}, fault.NotYours)
	list, refusal := o.ListMembers.Invoke(o.Ctx, servicetest.Browser(ann), operation.Nothing{})
	in := expect.In(t, "afterwards ann's people")
	require.Nil(in, refusal)
	require.Len(in, list.Members, 2)
	expect.Equal(in, list.Members[1].Role, "member")
	expect.Len(in, list.Invitations, 1)
	list, refusal = o.ListMembers.Invoke(o.Ctx, eve, operation.Nothing{})
	in = expect.In(t, "eve's people")
	require.Nil(in, refusal)
	require.Len(in, list.Members, 1)
	expect.Empty(in, list.Invitations)
	expect.True(in, list.Members[0].Current)
}

func TestMembers_ManageNobody(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := o.SignIn(t, "ann@buyer.example")
	owner := o.WhoIs(t, ann)
	bob := servicetest.Browser(o.Join(t, ann, "bob@buyer.example"))
	o.Refuses(t, o.InviteMember, bob, map[string]any{"email": "friend@buyer.example", "role": "owner"},
		fault.WrongKindOfKey)
	o.Refuses(t, o.RevokeInvitation, bob, map[string]any{"id": uuid.NewString()}, fault.WrongKindOfKey)
	o.Refuses(t, o.ChangeMember, bob, map[string]any{"user_id": owner.UserID, "role": "member"}, fault.WrongKindOfKey)
	o.Refuses(t, o.RemoveMember, bob, map[string]any{"user_id": owner.UserID}, fault.WrongKindOfKey)
	me := o.WhoIs(t, bob.Session)
	if _, refusal := o.RemoveMember.Invoke(o.Ctx, bob, accounts.RemoveMemberInput{UserID: me.UserID}); refusal != nil {
		t.Errorf("leaving gives %v", refusal)
	}
	o.Refuses(t, o.ShowSession, bob, nil, fault.KeyInvalid)
}

func TestAccount_SuspendedOneMayOnlyBeViewedAndLeft(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	own := o.SignIn(t, "bob@buyer.example")
	ann := o.SignIn(t, "ann@buyer.example")
	bob := o.Join(t, ann, "bob@buyer.example")
	me := o.WhoIs(t, ann)
	made, refusal := o.CreateKey.Invoke(o.Ctx, servicetest.Browser(ann), keys.CreateKeyInput{Name: "indexer"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	id, err := account.ParseID(me.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	by := accountdb.Author{Actor: "operator", Origin: "ops", Reason: "invoice CAG-7 is unpaid"}
	if _, err := o.Limits.SetStatus(o.Ctx, id, account.Suspended, by); err != nil {
		t.Fatal(err)
	}
	ann = o.SignIn(t, "ann@buyer.example") // still possible
	if now := o.WhoIs(t, ann); now.Status != account.Suspended || now.SuspendedFor != by.Reason {
		t.Errorf("signing in shows %+v", now)
	}
	for i, change := range []struct {
		op   operation.Definition
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
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if got := o.Refuses(t, change.op, servicetest.Browser(ann), change.args,
				fault.AccountSuspended); got.Data["suspended_for"] != by.Reason {
				t.Errorf("%s is refused with %v", change.op.Meta().Name, got.Data)
			}
		})
	}
	for _, look := range []operation.Definition{
		o.ListMembers, o.ListSessions, o.ListAccounts, o.ListKeys,
		o.ListAudit,
	} {
		if _, refusal := look.Serve(o.Ctx, servicetest.Browser(ann), func() (map[string]any, *fault.Error) {
			return map[string]any{}, nil
		}); refusal != nil {
			t.Errorf("%s gives %v", look.Meta().Name, refusal)
		}
	}
	for i, look := range []struct {
		op   operation.Definition
		args map[string]any
	}{{o.UpdateAccount, nil}, {o.ConfigureServices, nil}, {o.ConfigureKey, map[string]any{"id": made.ID}}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, refusal := look.op.Serve(o.Ctx, servicetest.Browser(ann), func() (map[string]any, *fault.Error) {
				return look.args, nil
			}); refusal != nil {
				t.Errorf("asking for no change, %s gives %v", look.op.Meta().Name, refusal)
			}
		})
	}
	elsewhere := o.WhoIs(t, own).AccountID
	if _, refusal := o.SwitchAccount.Invoke(o.Ctx, servicetest.Browser(bob), accounts.SwitchAccountInput{
		AccountID: elsewhere,
	}); refusal != nil {
		t.Errorf("switching to an account that is not suspended gives %v", refusal)
	}
	if out, refusal := o.SignOutEverywhere.Invoke(o.Ctx, servicetest.Browser(ann),
		operation.Nothing{}); refusal != nil ||
		out.Ended != 2 {
		t.Errorf("signing out everywhere gives %+v, %v", out, refusal)
	}
}

func TestPeople_WrongFieldsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := o.SignIn(t, "ann@buyer.example")
	caller := servicetest.Browser(ann)
	before := o.MailsSent()
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
		op     operation.Definition
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
				refusal := o.Refuses(t, c.op, &from, args, fault.FieldRefused)
				if text, is := value.(string); is && len(text) > 8 && strings.Contains(refusal.Message, text) {
					t.Errorf("%s repeats what it refuses: %s", c.op.Meta().Name, refusal.Message)
				}
			}
		}
		o.Refuses(t, c.op, caller, map[string]any{"unknown": 1}, fault.FieldRefused)
	}
	for _, op := range []operation.Definition{o.EndSession, o.RevokeInvitation} {
		o.Refuses(t, op, caller, map[string]any{"id": 7}, fault.FieldRefused)
		o.Refuses(t, op, caller, map[string]any{"id": "x"}, fault.NotYours)
	}
	if after := o.MailsSent(); after != before {
		t.Errorf("%d mails were written for wrong fields", after-before)
	}
}

func TestSignIn_LinksAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	for range 200 {
		_, refusal := o.ShowSignInLink.Invoke(o.Ctx, servicetest.Browser(""),
			accounts.SignInLinkInput{Token: "cagl_guess"})
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

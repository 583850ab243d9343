package operation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/tickets"
)

// The holder of a /48 could otherwise mail a stranger twenty times an hour from each of its 65,536
// networks.
func TestSignInMails_OfOne48AreBoundTogether(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ask := func(network, email string) *fault.Error {
		_, refusal := o.StartSignIn.Invoke(o.Ctx, servicetest.OnNetwork(network),
			accounts.StartSignInInput{Email: email})
		return refusal
	}
	sent := 0
	for i := range 60 {
		refusal := ask(fmt.Sprintf("2001:db8:7:%x::/64", i), fmt.Sprintf("stranger%d@buyer.example", i))
		switch {
		case refusal == nil:
			sent++
		case refusal.Reason != fault.RateWindow || refusal.RetryAfter <= 0 || refusal.Window == nil:
			t.Fatalf("refused with %+v", refusal)
		}
	}
	if want := int(netlimit.Defaults()[netlimit.SignInMails].Area); sent != want {
		t.Errorf("one /48 had %d of 60 strangers mailed, want %d", sent, want)
	}
	if refusal := ask("2001:db8:8::/64", "ann@buyer.example"); refusal != nil {
		t.Errorf("somebody elsewhere cannot sign in: %v", refusal)
	}
}

// Four networks once used up everybody's wishes.
func TestWishes_OfFourNetworksLockNobodyOut(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	wish := func(network string) *fault.Error {
		_, refusal := o.JoinWishlist.Invoke(o.Ctx, servicetest.OnNetwork(network), tickets.JoinWishlistInput{
			Items: "x", Email: "a@b.example",
		})
		return refusal
	}
	taken := 0
	for i := range 100 {
		network := []string{"2001:db8:1:%x::/64", "2001:db8:2:%x::/64", "198.51.100.%d/32", "203.0.113.%d/32"}[i%4]
		if refusal := wish(fmt.Sprintf(network, 1+i/4)); refusal == nil {
			taken++
		} else if refusal.Reason != fault.RateWindow {
			t.Fatal(refusal)
		}
	}
	if want := 4 * int(netlimit.Defaults()[netlimit.Wishes].Area); taken != want {
		t.Errorf("%d of a hundred wishes of four areas were taken, want %d", taken, want)
	}
	if refusal := wish("192.0.2.1/32"); refusal != nil {
		t.Errorf("somebody else is locked out: %v", refusal)
	}
}

// The limit of all networks together applies last.
func TestWishes_OfEverybodyAreBound(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t, func(o *service.Options) {
		o.Networks = netlimit.New(o.Meter, netlimit.Figures{
			netlimit.Wishes: {Address: 5, Area: 10, Whole: 12, Per: 24 * time.Hour},
		}, time.Now)
	})
	taken := 0
	for i := range 14 {
		_, refusal := o.JoinWishlist.Invoke(o.Ctx, servicetest.OnNetwork(fmt.Sprintf("198.51.%d.1/32", i)),
			tickets.JoinWishlistInput{Items: "x", Email: "a@b.example"})
		if refusal == nil {
			taken++
		}
	}
	if taken != 12 {
		t.Errorf("%d were taken, want 12", taken)
	}
}

// Challenges start workflows. Keys in every network of a /48 start only the area's share of them.
func TestChallenges_OfOne48AreBoundTogether(t *testing.T) {
	t.Parallel()
	figures := netlimit.Defaults()
	figures[netlimit.Challenges] = netlimit.Bounds{Address: 1, Area: 2, Whole: 100, Per: time.Hour}
	o := servicetest.OpenEnv(t, func(o *service.Options) { o.Networks = netlimit.New(o.Meter, figures, time.Now) })
	refused := 0
	for i := range 4 {
		c := servicetest.OnNetwork(fmt.Sprintf("2001:db8:7:%x::/64", i))
		key := servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, c, keys.GetKeyInput{}))
		c.Bearer = key.Key
		refusal := func() (f *fault.Error) {
			_, f = o.BindKeyStart.Invoke(o.Ctx, c, keys.BindStartInput{
				Address: "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
			})
			return f
		}()
		if refusal != nil && refusal.Reason == fault.RateWindow {
			refused++
			if refusal.Data["next_door"] == nil || refusal.RetryAfter <= 0 {
				t.Errorf("refused with %+v", refusal)
			}
		}
	}
	if refused != 2 {
		t.Errorf("%d of four were refused for their area, want 2", refused)
	}
}

// An address that cannot receive mail is refused as the caller's mistake everywhere.
func TestEmailAddresses_ThatDecodeToNothingAreRefused(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	const wrong = "a@xn--.example"
	_, signIn := o.StartSignIn.Invoke(o.Ctx, servicetest.Browser(""), accounts.StartSignInInput{Email: wrong})
	_, wish := o.JoinWishlist.Invoke(o.Ctx, servicetest.Browser(""),
		tickets.JoinWishlistInput{Items: "x", Email: wrong})
	_, wait := o.JoinWaitlist.Invoke(o.Ctx, servicetest.Browser(""), tickets.JoinWaitlistInput{
		EmailAddress: wrong, Qualifier: "curious",
	})
	owner := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	_, invite := o.InviteMember.Invoke(o.Ctx, owner, accounts.InviteMemberInput{Email: wrong, Role: "member"})
	for name, refusal := range map[string]*fault.Error{
		"sign-in": signIn, "wish": wish, "waitlist": wait, "invitation": invite,
	} {
		t.Run(name, func(t *testing.T) {
			in := expect.In(t, "%s", name)
			require.NotNil(in, refusal)
			expect.Equal(in, refusal.Reason, fault.FieldRefused)
			expect.Equal(in, refusal.HTTP(), 422)
		})
	}
}

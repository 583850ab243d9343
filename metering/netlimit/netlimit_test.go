package netlimit_test

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/netlimit"
)

func TestNetworkOf_IsAnAddressOfIPv4OrA64OfIPv6(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]string{
		"192.0.2.1":                 {"192.0.2.1/32", "192.0.2.0/24"},
		"::ffff:192.0.2.1":          {"192.0.2.1/32", "192.0.2.0/24"},
		"2001:db8:1:2:3:4:5:6":      {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"2001:db8:1:2:ffff::1%eth0": {"2001:db8:1:2::/64", "2001:db8:1::/48"},
		"::1":                       {"::/64", "::/48"},
	} {
		t.Run(address, func(t *testing.T) {
			network := netlimit.NetworkOf(netip.MustParseAddr(address))
			if got := [2]string{network.String(), netlimit.AreaOf(network).String()}; got != want {
				t.Errorf("the network and the area of %s are %s, want %s", address, got, want)
			}
		})
	}
	if got := netlimit.NetworkOf(netip.Addr{}); got.IsValid() {
		t.Errorf("the network of no address is %s", got)
	}
}

func TestDefaults_LeaveNoAreaMoreThanASmallShare(t *testing.T) {
	t.Parallel()
	for action, b := range netlimit.Defaults() {
		in := expect.In(t, "%s", action)
		expect.AtLeast(in, b.Address, 1)
		expect.AtLeast(in, b.Area, b.Address)
		expect.AtLeast(in, b.Whole, 50*b.Area)
	}
	if keys := netlimit.Defaults()[netlimit.NewKeys]; keys.Address != 3 || !keys.Daily {
		t.Errorf("an address may make %+v keys, the interface promises three a day", keys)
	}
}

func TestParse_ChangesWhatItNamesAlone(t *testing.T) {
	t.Parallel()
	got, err := netlimit.Parse("wishes=7/0/900, new_keys=3/120/50000")
	if err != nil {
		t.Fatal(err)
	}
	want := netlimit.Defaults()
	for action, figures := range map[netlimit.Action][3]int64{
		netlimit.Wishes: {7, 0, 900}, netlimit.NewKeys: {3, 120, 50_000},
	} {
		b := want[action]
		b.Address, b.Area, b.Whole = figures[0], figures[1], figures[2]
		want[action] = b
	}
	for action := range want {
		if got[action] != want[action] {
			t.Errorf("%s is %+v, want %+v", action, got[action], want[action])
		}
	}
}

// scripted is a counter with a fixed answer.
type scripted struct {
	answer netlimit.Counted
	asked  []netlimit.Layer
}

func (s *scripted) TakeQuota(_ context.Context, _ string, _ int64, _ netlimit.Bounds,
	layers []netlimit.Layer,
) (netlimit.Counted, error) {
	s.asked = layers
	return s.answer, nil
}

func (s *scripted) ReturnQuota(context.Context, []string) error { return nil }

func TestLimits_TellWhoseBoundRefused(t *testing.T) {
	t.Parallel()
	for at, want := range map[int]string{
		0: "this network", 1: "the networks around yours", 2: "all networks together",
	} {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			s := &scripted{answer: netlimit.Counted{
				Refused: at, Wait: time.Minute,
				Layers: make([]netlimit.LayerCount, 3),
			}}
			l := netlimit.New(s, netlimit.Defaults(), time.Now)
			got, err := l.Take(t.Context(), netlimit.Wishes, netip.MustParsePrefix("2001:db8::/64"))
			in := expect.In(t, "refused by layer %d", at)
			require.NoError(in, err)
			expect.False(in, got.OK(), got)
			expect.Equal(in, got.Whose(), want)
			expect.Equal(in, got.Limit, s.asked[at].Limit)
			expect.Equal(in, got.Wait, time.Minute)
			for i, level := range netlimit.Levels() {
				if n := l.Refusals(netlimit.Wishes, level); (n == 1) != (i == at) {
					t.Errorf("layer %d refused: %d are counted of %s", at, n, level)
				}
			}
		})
	}
}

func TestLimits_ZeroBoundsNothing(t *testing.T) {
	t.Parallel()
	figures, err := netlimit.Parse("wishes=0/0/0 waitlist=0/0/9")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{answer: netlimit.Counted{Refused: 0, Layers: make([]netlimit.LayerCount, 1)}}
	l := netlimit.New(s, figures, time.Now)
	got, err := l.Take(t.Context(), netlimit.Wishes, netip.Prefix{})
	in := expect.In(t, "without bounds")
	require.NoError(in, err)
	expect.True(in, got.OK(), got)
	expect.Nil(in, s.asked)
	got, err = l.Take(t.Context(), netlimit.Waitlist, netip.Prefix{})
	in = expect.In(t, "with one of all")
	require.NoError(in, err)
	expect.Equal(in, got.Refused, netlimit.Whole)
	expect.Len(in, s.asked, 1)
}

func TestLimits_ShareOfTheWholeFallsWithTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := &scripted{}
	l := netlimit.New(s, netlimit.Defaults(), func() time.Time { return now })
	take := func(action netlimit.Action, left int64, reset time.Duration) {
		s.answer = netlimit.Counted{
			Refused: -1, Layers: []netlimit.LayerCount{{Left: 9}, {Left: 9}, {Left: left, Reset: reset}},
		}
		if _, err := l.Take(t.Context(), action, netip.MustParsePrefix("192.0.2.1/32")); err != nil {
			t.Fatal(err)
		}
	}
	share := func(action netlimit.Action, want float64) {
		t.Helper()
		if got := l.Share(action); got < want-0.001 || got > want+0.001 {
			t.Errorf("the share of %s is %f, want %f", action, got, want)
		}
	}
	share(netlimit.SignInMails, 0)
	take(netlimit.SignInMails, 2500, 30*time.Minute)
	take(netlimit.NewKeys, 5000, 12*time.Hour)
	share(netlimit.SignInMails, 0.5)
	share(netlimit.NewKeys, 0.75)
	now = now.Add(15 * time.Minute)
	share(netlimit.SignInMails, 0.25)
	share(netlimit.NewKeys, 0.75) // the day's count stays until the day is over
	now = now.Add(12 * time.Hour)
	share(netlimit.SignInMails, 0)
	share(netlimit.NewKeys, 0)
}

func TestParse_RepeatsNoFigure(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"wishes=4711/1/2", "wishes=-4711/1/2", "4711=1/1/1", "wishes=4711", "new_keys=4711/5000/9000",
	} {
		if _, err := netlimit.Parse(text); err == nil || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

package mcp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestHandshakes_AreBoundedForEachNetwork(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	g := newGreetings(func() time.Time { return now })
	one, other := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/64")
	for i := range greetingBurst {
		if refusal := g.admit(one); refusal != nil {
			t.Fatalf("greeting %d is refused: %v", i+1, refusal)
		}
	}
	refusal := g.admit(one)
	in := expect.In(t, "one greeting more than a burst")
	require.NotNil(in, refusal)
	expect.Equal(in, refusal.RetryAfter, time.Second)
	require.NotNil(in, refusal.Window)
	expect.Equal(in, refusal.Window.Limit, greetingsPerSecond)
	if refusal := g.admit(other); refusal != nil {
		t.Errorf("another network is refused: %v", refusal)
	}
	now = now.Add(time.Second)
	for i := range greetingsPerSecond {
		if refusal := g.admit(one); refusal != nil {
			t.Fatalf("greeting %d of the next second is refused: %v", i+1, refusal)
		}
	}
	if g.admit(one) == nil {
		t.Error("a second lets through more than a second's greetings")
	}
}

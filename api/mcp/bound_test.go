package mcp

import (
	"net/netip"
	"testing"
	"time"
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
	if refusal == nil || refusal.RetryAfter != time.Second || refusal.Window == nil ||
		refusal.Window.Limit != greetingsPerSecond {
		t.Errorf("one greeting more than a burst: %+v", refusal)
	}
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

package x402_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/x402"
)

func TestMessage_ExtendsTheOldOneByHostChainPurposeAndTime(t *testing.T) {
	t.Parallel()
	terms := x402.Terms{Chain: 8453, Service: "Some Gateway", Host: "gateway.example"}
	const old = "Some Gateway x402 redeem\n0x7a00000000000000000000000000000000000000000000000000000000000000"
	if got := terms.OldMessage(x402.TxHash{0x7a}); got != old {
		t.Errorf("the old message is %q", got)
	}
	now := time.Date(2026, 11, 23, 12, 47, 3, 9, time.FixedZone("", 3600))
	want := old +
		"\nHost: gateway.example\nChain ID: 8453\nPurpose: get a credential for the units that this transaction paid " +
		"for\nIssued At: 2026-11-23T11:47:03Z"
	if got := terms.Message(x402.TxHash{0x7a}, now); got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	shape := "Some Gateway x402 redeem\n{tx_hash}" + want[len(old):len(want)-len("7:03Z")] + "0:00Z"
	if got := terms.MessageShape(now); got != shape {
		t.Errorf("the menu has %q, want %q", got, shape)
	}
}

func TestIssueTimes_AreThoseOfTheMenusOfAWhile(t *testing.T) {
	t.Parallel()
	for minute := range 60 {
		now := time.Date(2026, 11, 23, 12, minute, 1, 0, time.UTC)
		all := x402.IssueTimes(now, x402.MessageLife)
		require.Len(t, all, 7)
		expect.True(t, all[0].Equal(now.Truncate(10*time.Minute)), all[0])
		expect.AtLeast(t, now.Sub(all[6]), x402.MessageLife)
	}
	if at, ok := x402.ParseIssueTime("2026-11-23T12:47:03Z"); !ok || at.Second() != 3 {
		t.Errorf("read %s, %t", at, ok)
	}
	for _, wrong := range []string{"", "2026-11-23", "2026-11-23T12:47:03+00:00", "2026-11-23T12:47:03.5Z"} {
		if _, ok := x402.ParseIssueTime(wrong); ok {
			t.Errorf("%q is read", wrong)
		}
	}
}

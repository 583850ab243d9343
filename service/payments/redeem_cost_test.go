package payments_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// stranger redeems from a network in an area of its own, with a signature of a wallet that did not
// pay.
func (s *env) stranger(t *testing.T, hash string) (payments.Redeemed, *fault.Error) {
	t.Helper()
	n := s.visitors.Add(1)
	who := servicetest.Browser("")
	who.Door, who.Network = operation.DoorAPI,
		netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(n >> 8), byte(n), 1}), 32)
	in := payments.RedeemInput{
		TxHash: hash, Tier: plan.Balanced,
		Signature: s.signed(t, servicetest.NewSigner(t), hash),
	}
	return s.once([]*service.Registry{s.Registry, s.second}[n%2], who, in)
}

// asked counts the upstream calls during f.
func (s *env) asked(f func()) int {
	before := s.servers[0].Total() + s.servers[1].Total()
	f()
	return s.servers[0].Total() + s.servers[1].Total() - before
}

func TestRedeem_MadeUpHashesCostTheUpstreamsFewCalls(t *testing.T) {
	t.Parallel()
	s := openEnv(t)
	calls := s.asked(func() {
		for i := range 60 {
			if _, refusal := s.stranger(t,
				fmt.Sprintf("0x%064x", 0xdead0000+i)); refusal.Reason != fault.PaymentRequired ||
				refusal.Data["why"] != x402.WhyUnknown {
				t.Errorf("hash %d: %v", i, refusal)
			}
		}
	})
	t.Logf("60 made-up hashes: %d calls of upstreams", calls)
	if calls > 120 {
		t.Errorf("60 made-up hashes cost %d calls, want one of each upstream for each", calls)
	}
	if flows := s.settlements(t); flows != 0 {
		t.Errorf("%d settlements are recorded", flows)
	}
}

func (s *env) settlements(t *testing.T) (n int) {
	t.Helper()
	all, err := s.Store.ListSettlements(s.Ctx, paymentdb.SettlementFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestRedeem_OneLookAtAHashWhoeverAsks(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	for _, u := range s.servers {
		u.On("eth_getCode", testkit.Result("0x"))
	}
	for what, c := range map[string]struct {
		hash string
		most int // calls of both processes, which share no cache here
	}{
		"a made-up hash":     {fmt.Sprintf("0x%064x", 0xdeadffff), 8}, // a block may arrive in between
		"somebody's payment": {s.pay(transfer(90_000, payer)), 2 * (2 + 10 + 2)},
	} {
		calls := s.asked(func() {
			var all sync.WaitGroup
			for range 60 {
				all.Go(func() { _, _ = s.stranger(t, c.hash) })
			}
			all.Wait()
		})
		t.Logf("%s by 60 strangers: %d calls of upstreams", what, calls)
		if calls > c.most {
			t.Errorf("%s by 60 strangers cost %d calls, want %d at most", what, calls, c.most)
		}
		if receipts := s.servers[0].Count("eth_getTransactionReceipt"); receipts > 2 {
			t.Errorf("%s: its receipt was read %d times", what, receipts)
		}
	}
	s.redeem(t, payer, fmt.Sprintf("0x%064x", 0xabc000+1), "balanced")
}

// A settlement without a payment is an attempt from when the chain could not be read. It takes
// neither the shared look nor the receipt from anybody else.
func TestRedeem_RecordedAttemptsOfStrangersChangeNothingForOthers(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	for _, u := range s.servers {
		u.On("eth_getCode", testkit.Result("0x"))
	}
	madeUp, paid := fmt.Sprintf("0x%064x", 0xdeadfffe), s.pay(transfer(90_000, payer))
	for _, hash := range []string{madeUp, paid} {
		s.SQL(t, fmt.Sprintf(`INSERT INTO settlements (chain_id, tx_hash, payer, stage, reason)
			SELECT 8453, '\x%s', payer, 'stuck', 'no_usable_answer'
			FROM (SELECT n, substr(sha256(n::text::bytea), 1, 20) AS payer FROM generate_series(1, 150) AS n) AS a`,
			strings.TrimPrefix(hash, "0x")))
	}
	calls := s.asked(func() {
		for range 20 {
			if _, refusal := s.stranger(t, madeUp); refusal == nil || refusal.Data["why"] != x402.WhyUnknown {
				t.Fatalf("refused with %v", refusal)
			}
		}
	})
	if calls > 12 { // two processes, and a block or two may pass
		t.Errorf("20 strangers cost %d calls of upstreams", calls)
	}
	s.redeem(t, payer, paid, "balanced")
	receipt, refusal := s.GetReceipt.Invoke(s.Ctx, servicetest.Browser(""), payments.ReceiptInput{TxHash: paid})
	if refusal != nil || len(receipt.Settlements) != 1 {
		t.Errorf("the receipt has %d settlements, want the payer's alone (%v)", len(receipt.Settlements), refusal)
	}
}

func TestRedeem_UnknownHashBeginsNoFlowWhileAnUpstreamIsAway(t *testing.T) {
	t.Parallel()
	s := openEnv(t)
	s.servers[1].Close()
	if _, refusal := s.stranger(t, "0x"+strings.Repeat("ad", 32)); refusal.Reason != fault.PaymentRequired ||
		refusal.Data["why"] != x402.WhyUnknown {
		t.Errorf("refused with %v", refusal)
	}
	if n := s.settlements(t); n != 0 {
		t.Errorf("%d settlements are recorded", n)
	}
}

func TestRedeem_CallsOfANetworkAreBounded(t *testing.T) {
	t.Parallel()
	s := openEnv(t)
	who, last := s.visitor(), (*fault.Error)(nil)
	calls := s.asked(func() {
		for i := range 29 { // the limit of netlimit.Redeems
			hash := s.pay(transfer(90_000, servicetest.NewSigner(t)))
			in := payments.RedeemInput{
				TxHash: hash, Tier: plan.Balanced,
				Signature: s.signed(t, servicetest.NewSigner(t), hash),
			}
			if _, last = s.once(s.Registry, who, in); last.Reason == fault.RateWindow {
				t.Logf("redeem %d was refused", i)
				break
			}
		}
	})
	bound := int(netlimit.Defaults()[netlimit.RedeemCalls].Address)
	if last.Reason != fault.RateWindow || calls > bound+bound/10 {
		t.Errorf("%d calls of upstreams, and the last redeem was refused with %v; want at most %d", calls, last, bound)
	}
}

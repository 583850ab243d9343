package settlement_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

var (
	usdc   = wallet.Address{0x83, 0x35}
	seller = wallet.Address{0x5e}
	alice  = wallet.Address{0xa1}
	paying = x402.TxHash{0x7a}
	// expecting is the payment that the tests expect before they read it.
	expecting = x402.PayerSum{Payer: alice, Paid: small}
)

const (
	large = 5_000_000
	small = 90_000
)

// scene is a Reader over two upstreams. Each has a chain of its own; both are equal unless a test
// changes one.
type scene struct {
	*settlement.Reader

	servers []*testkit.UpstreamServer
	ledgers []*testkit.Ledger
	pool    *upstream.Pool
}

// lose takes an upstream out of rotation.
func (s *scene) lose(name string) {
	on, _ := s.pool.Chain(chain.BaseMainnet)
	on.Apply(upstream.Snapshot{
		Chain: chain.BaseMainnet, ChainID: 8453, MeasuredAt: time.Now(), Head: 110,
		HeadKnown: true, Upstreams: []upstream.UpstreamState{
			{Name: name, Fingerprint: on.Fingerprint(name)},
		},
	})
}

func open(t *testing.T, upstreams int) *scene {
	t.Helper()
	s := &scene{}
	list := config.ChainUpstreams{}
	for i := range upstreams {
		u, l := testkit.Upstream(t), testkit.NewLedger(8453, 110)
		l.Serve(u)
		s.servers, s.ledgers = append(s.servers, u), append(s.ledgers, l)
		list.Upstreams = append(list.Upstreams, config.Upstream{
			Name: string(rune('a' + i)), URL: u.URL, Supply: "public",
		})
	}
	pool, err := upstream.NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(chain.BaseMainnet): list},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s.pool = pool
	on, _ := pool.Chain(chain.BaseMainnet)
	snapshot := upstream.Snapshot{
		Chain: chain.BaseMainnet, ChainID: 8453, MeasuredAt: time.Now(), Head: 110, HeadKnown: true,
	}
	for i, u := range list.Upstreams {
		snapshot.Upstreams = append(snapshot.Upstreams, upstream.UpstreamState{
			// a is asked first
			Name: u.Name, Fingerprint: on.Fingerprint(u.Name), Usable: true, ChainIDOK: true, Head: 110,
			LatencyMicros: int64(1000 << (4 * i)),
		})
	}
	on.Apply(snapshot)
	s.Reader = settlement.New(pool, chain.BaseMainnet, x402.Terms{
		Chain: 8453, Asset: usdc, PayTo: seller, Confirmations: 2, CorroborateAbove: 1_000_000,
	})
	return s
}

func digits(a wallet.Address) string { return strings.ToLower(a.String()) }

func transfer(amount uint64) testkit.LedgerTx {
	return testkit.LedgerTx{
		Block: 100, Seconds: 1_790_000_000, Logs: []testkit.LedgerLog{
			{Token: digits(usdc), From: digits(alice), To: digits(seller), Amount: amount},
		},
	}
}

func (s *scene) pay(tx testkit.LedgerTx) { //nolint:gocritic // a test's own
	for _, l := range s.ledgers {
		l.Put(paying.String(), tx)
	}
}

func (s *scene) unreadable(t *testing.T, what, why string) {
	t.Helper()
	s.unreadableOf(t, what, expecting, why)
}

func (s *scene) unreadableOf(t *testing.T, what string, expected x402.PayerSum, why string) {
	t.Helper()
	got, err := s.Read(t.Context(), paying, expected)
	if u, ok := errors.AsType[*settlement.UnreadableError](err); !ok || u.Why != why {
		t.Errorf("%s: read %+v, %v; want %s", what, got, err, why)
	}
}

func TestSettlement_SmallNeedsOneUpstreamAndLargeTwo(t *testing.T) {
	t.Parallel()
	for amount, second := range map[uint64]int{small: 0, 1_000_000: 0, 1_000_001: 1, large: 1} {
		t.Run(fmt.Sprint(amount), func(t *testing.T) {
			s := open(t, 2)
			s.pay(transfer(amount))
			s.ledgers[0].Grow(110, 100)
			s.ledgers[1].Grow(104, 99)
			got, err := s.Read(t.Context(), paying, expecting)
			if err != nil {
				t.Fatal(err)
			}
			f := got.Finding(alice)
			want := x402.Finding{
				Paid: plan.Atomic(amount), Block: 100, BlockHash: f.BlockHash, Time: 1_790_000_000, Depth: 10,
				Final: true,
			}
			if second == 1 { // the head of the one that lags
				want.Depth, want.Final = 4, false
			}
			in := expect.In(t, "%d", amount)
			expect.Equal(in, got.Sight, x402.SightMined)
			expect.Equal(in, f, want)
			expect.False(in, f.BlockHash.IsZero())
			if asked := s.servers[1].Count("eth_getTransactionReceipt"); asked != second {
				t.Errorf("%d: the second upstream was asked %d times", amount, asked)
			}
		})
	}
}

func TestSettlement_InventedByOneUpstreamIsNeverGranted(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(l *testkit.Ledger){
		"a payment that is not there": func(l *testkit.Ledger) { l.Drop(paying.String()) },
		"one that failed": func(l *testkit.Ledger) {
			tx := transfer(large)
			tx.Failed = true
			l.Put(paying.String(), tx)
		},
		"another amount": func(l *testkit.Ledger) { l.Put(paying.String(), transfer(large+1)) },
		"another payer": func(l *testkit.Ledger) {
			tx := transfer(large)
			tx.Logs[0].From = digits(wallet.Address{0xb0})
			l.Put(paying.String(), tx)
		},
		"another block": func(l *testkit.Ledger) {
			tx := transfer(large)
			tx.Block = 99
			l.Put(paying.String(), tx)
		},
		"another block hash": func(l *testkit.Ledger) { l.Fork(100) },
		"nothing paid": func(l *testkit.Ledger) {
			tx := transfer(large)
			tx.Logs = nil
			l.Put(paying.String(), tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for liar := range 2 {
				s := open(t, 2)
				s.pay(transfer(large))
				lie(s.ledgers[liar])
				s.unreadable(t, name, settlement.StuckDisagree)
			}
		})
	}
}

func TestSettlement_IsNotTakenAwayByOneUpstream(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]func(l *testkit.Ledger){
		"it failed": func(l *testkit.Ledger) {
			tx := transfer(small)
			tx.Failed = true
			l.Put(paying.String(), tx)
		},
		"it pays other": func(l *testkit.Ledger) { tx := transfer(small); tx.Logs = nil; l.Put(paying.String(), tx) },
		"it pays less":  func(l *testkit.Ledger) { l.Put(paying.String(), transfer(small-1)) },
		"others pay": func(l *testkit.Ledger) {
			tx := transfer(small)
			tx.Logs[0].From = digits(wallet.Address{0xb0})
			l.Put(paying.String(), tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, 2)
			s.pay(transfer(small))
			lie(s.ledgers[0])
			s.unreadable(t, name, settlement.StuckDisagree)
		})
	}
	s := open(t, 2)
	s.pay(transfer(small))
	s.ledgers[0].Drop(paying.String()) // the other upstream, which knows it, is asked
	if got, err := s.Read(t.Context(), paying, expecting); err != nil || got.Finding(alice).Paid != small {
		t.Errorf("known by one: %+v, %v", got, err)
	}
	s.ledgers[1].Drop(paying.String())
	got, err := s.Read(t.Context(), paying, expecting)
	in := expect.In(t, "denied by both")
	require.NoError(in, err)
	expect.Equal(in, got.Sight, x402.SightNone)
	expect.False(in, got.Alone)
}

// TestSettlement_OneUpstreamTakesNothingAwayWhileAnotherIsConfigured checks that an upstream at
// capacity or out of service still counts as configured.
func TestSettlement_OneUpstreamTakesNothingAwayWhileAnotherIsConfigured(t *testing.T) {
	t.Parallel()
	failed, other := transfer(small), transfer(small)
	failed.Failed, other.Logs = true, nil
	for name, tx := range map[string]*testkit.LedgerTx{
		"unknown": nil, "failed": &failed, "pays nothing": &other, "pays less": new(transfer(small - 1)),
	} {
		t.Run(name, func(t *testing.T) {
			for _, upstreams := range []int{1, 2} {
				s := open(t, upstreams)
				if tx != nil {
					s.ledgers[0].Put(paying.String(), *tx)
				}
				if upstreams == 2 {
					s.lose("b")
					s.unreadable(t, name, settlement.StuckAlone)
					continue
				}
				got, err := s.Read(t.Context(), paying, expecting)
				in := expect.In(t, "%s, the only one", name)
				require.NoError(in, err)
				expect.Less(in, got.Finding(alice).Paid, small)
				expect.True(in, got.Alone)
			}
		})
	}
	s := open(t, 2)
	s.pay(transfer(small))
	s.lose("b")
	if got, err := s.Read(t.Context(), paying, x402.PayerSum{Paid: small}); err != nil ||
		got.Finding(alice).Paid != small {
		t.Errorf("what is expected, by whomever: %+v, %v", got, err)
	}
	s.unreadableOf(t, "by another", x402.PayerSum{Payer: seller, Paid: small}, settlement.StuckAlone)
}

func TestSettlement_WaitsForUpstreamsThatLag(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	s.pay(transfer(large))
	s.ledgers[1].Grow(99, 90)
	if got, err := s.Read(t.Context(), paying, expecting); err != nil || got.Sight != x402.SightWaiting {
		t.Errorf("while the second has not come so far: %+v, %v", got, err)
	}
	s.ledgers[1].Grow(100, 90)
	got, err := s.Read(t.Context(), paying, expecting)
	require.NoError(t, err)
	expect.Equal(t, got.Sight, x402.SightMined)
	expect.Equal(t, got.Depth, 0)
	expect.False(t, got.Final)
}

func TestSettlement_ReportsHowFarATransactionCame(t *testing.T) {
	t.Parallel()
	waiting := transfer(small)
	waiting.Block = 0
	failed := transfer(small)
	failed.Failed = true
	for name, c := range map[string]struct {
		arrange func(s *scene)
		want    x402.Sight
	}{
		"never seen":   {func(*scene) {}, x402.SightNone},
		"waits":        {func(s *scene) { s.pay(waiting) }, x402.SightWaiting},
		"waits at one": {func(s *scene) { s.ledgers[1].Put(paying.String(), waiting) }, x402.SightWaiting},
		"failed":       {func(s *scene) { s.pay(failed) }, x402.SightFailed},
		"in a block":   {func(s *scene) { s.pay(transfer(small)) }, x402.SightMined},
		"pays somebody else": {
			func(s *scene) { tx := transfer(small); tx.Logs[0].To = digits(alice); s.pay(tx) }, x402.SightMined,
		},
		"its log was removed": {
			func(s *scene) { tx := transfer(small); tx.Logs[0].Removed = true; s.pay(tx) }, x402.SightMined,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, 2)
			c.arrange(s)
			got, err := s.Read(t.Context(), paying, expecting)
			if err != nil || got.Sight != c.want {
				t.Errorf("%+v, %v", got, err)
			}
			if paid := got.Finding(alice).Paid; (paid > 0) != (name == "in a block") {
				t.Errorf("%d paid", paid)
			}
		})
	}
}

func TestSettlement_ReceiptOfANonCanonicalBlockCountsForNothing(t *testing.T) {
	t.Parallel()
	s := open(t, 1)
	s.pay(transfer(small))
	genuine := s.ledgers[0]
	other := testkit.NewLedger(8453, 110)
	other.Put(paying.String(), transfer(small))
	other.Fork(100)
	other.Serve(s.servers[0])
	s.servers[0].On("eth_getTransactionReceipt", testkit.Result(genuine.Receipt(paying.String())))
	got, err := s.Read(t.Context(), paying, expecting)
	require.NoError(t, err)
	expect.Equal(t, got.Sight, x402.SightWaiting)
	expect.Empty(t, got.Payments)
}

func TestSettlement_ContradictoryAnswersAreNoReading(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(u *testkit.UpstreamServer, l *testkit.Ledger){
		"another chain": func(u *testkit.UpstreamServer, _ *testkit.Ledger) {
			u.On("eth_chainId", testkit.Result("0x1"))
		},
		"a receipt of another hash": func(u *testkit.UpstreamServer, l *testkit.Ledger) {
			other := x402.TxHash{9}.String()
			l.Put(other, transfer(small))
			u.On("eth_getTransactionReceipt", testkit.Result(l.Receipt(other)))
		},
		"a block without it": func(u *testkit.UpstreamServer, l *testkit.Ledger) {
			u.On("eth_getBlockByNumber", testkit.ResultOf(func(testkit.Request) any {
				b := l.Block("0x64")
				b["transactions"] = []string{}
				return b
			}))
		},
		"no receipt at all": func(u *testkit.UpstreamServer, _ *testkit.Ledger) {
			u.On("eth_getTransactionReceipt", testkit.Result("mined"))
		},
		"more than there can be": func(_ *testkit.UpstreamServer, l *testkit.Ledger) {
			tx := transfer(small)
			tx.Logs[0].Amount = 1 << 63
			l.Put(paying.String(), tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, 1)
			s.pay(transfer(small))
			arrange(s.servers[0], s.ledgers[0])
			s.unreadable(t, name, settlement.StuckBroken)
		})
	}
}

func TestSettlement_SilentChainIsUnreadable(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	s.pay(transfer(large))
	s.servers[1].Default(testkit.HTML(http.StatusBadGateway))
	for _, method := range []string{"eth_getTransactionReceipt", "eth_getBlockByNumber"} {
		s.servers[1].On(method, testkit.HTML(http.StatusBadGateway))
	}
	s.unreadable(t, "the second is down", settlement.StuckNoAnswer)
	s.servers[0].On("eth_blockNumber", testkit.Reset())
	s.unreadable(t, "the first breaks off", settlement.StuckNoAnswer)

	alone := open(t, 1)
	alone.pay(transfer(large))
	alone.unreadable(t, "a large payment and one upstream", settlement.StuckAlone)
	alone.ledgers[0].Drop(paying.String())
	if got, err := alone.Read(t.Context(), paying, expecting); err != nil || got.Sight != x402.SightNone {
		t.Errorf("the only upstream denies it: %+v, %v", got, err)
	}
	open(t, 0).unreadable(t, "no upstream", settlement.StuckNoAnswer)
}

func TestSettlement_NodeWithoutFinalizedBlocksLeavesItOpen(t *testing.T) {
	t.Parallel()
	s := open(t, 1)
	s.pay(transfer(small))
	s.ledgers[0].Grow(110, 105)
	got, err := s.Read(t.Context(), paying, expecting)
	in := expect.In(t, "with one")
	require.NoError(in, err)
	expect.True(in, got.Final)
	expect.Equal(in, got.Finalized, 105)
	expect.Equal(in, got.FinalizedTime, 1)
	genuine := s.ledgers[0]
	s.servers[0].On("eth_getBlockByNumber", testkit.ResultOf(func(r testkit.Request) any {
		if strings.Contains(string(r.Params), "finalized") {
			return nil
		}
		return genuine.Block("0x64")
	}))
	got, err = s.Read(t.Context(), paying, expecting)
	in = expect.In(t, "without")
	require.NoError(in, err)
	expect.False(in, got.Final)
	expect.Equal(in, got.Sight, x402.SightMined)
}

func TestSettlement_LargePaymentsOfContractWalletsNeedTwoUpstreams(t *testing.T) {
	t.Parallel()
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("owner")))
	if err != nil {
		t.Fatal(err)
	}
	owner := wallet.Address(crypto.PubkeyToAddress(key.PublicKey))
	hash := wallet.TextHash("a message")
	raw, err := crypto.Sign(hash[:], key)
	if err != nil {
		t.Fatal(err)
	}
	signature := hexutil.Encode(raw)
	for name, c := range map[string]struct {
		upstreams int
		payer     wallet.Address
		paid      plan.Atomic
		answers   [2]string // what each upstream returns for the wallet's contract: 0x01 valid, 0x02 invalid
		want      error
	}{
		"a key's own":               {2, owner, large, [2]string{"0x02", "0x02"}, nil},
		"a small payment":           {2, alice, small, [2]string{"0x01", "0x02"}, nil},
		"a large one, both agree":   {2, alice, large, [2]string{"0x01", "0x01"}, nil},
		"a large one, they differ":  {2, alice, large, [2]string{"0x01", "0x02"}, wallet.ErrChainUnreachable},
		"a large one, one upstream": {1, alice, large, [2]string{"0x01"}, wallet.ErrChainUnreachable},
		"refused":                   {2, alice, large, [2]string{"0x02", "0x01"}, wallet.ErrSignatureMismatch},
		"no contract":               {2, alice, small, [2]string{"0x00", "0x00"}, wallet.ErrSignatureMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, c.upstreams)
			for i, u := range s.servers {
				u.On("eth_call", testkit.Result(c.answers[i]))
			}
			if err := s.Proves(t.Context(), x402.PayerSum{Payer: c.payer, Paid: c.paid}, "a message",
				signature); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

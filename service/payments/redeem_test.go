package payments_test

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/workflows"
)

func TestRedeem_PaymentGivesACredentialThatWorks(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	who := s.visitor()
	who.Country = func() string { return "US" }
	in := payments.RedeemInput{
		TxHash: strings.ToUpper(hash[2:]), Tier: plan.Balanced, Signature: s.signed(t, payer, hash),
	}
	in.TxHash = "0x" + in.TxHash // whatever the case, the message contains the hash in lower case
	out := servicetest.Must[payments.Redeemed](t)(s.RedeemPayment.Invoke(s.Ctx, who, in))
	expect.Equal(t, out.Status, "redeemed")
	expect.Equal(t, *out.Units, 10_000*plan.Unit)
	expect.Equal(t, out.Tier, plan.Balanced)
	expect.Equal(t, out.TxHash, hash)
	expect.Equal(t, out.Receipt, "https://gateway.example/x402/receipts/"+hash)
	expect.HasPrefix(t, out.Credential, "cagx_")
	if left := time.Until(*out.ExpiresAt); left < 59*time.Minute || left > time.Hour {
		t.Errorf("the window is %s", left)
	}
	if refused := s.call(t, out.Credential, 400*plan.Unit); refused != "" {
		t.Errorf("the credential is refused: %s", refused)
	}
	// Redeem again: a new credential for what is left, in the same window; the old one ends.
	again := s.redeem(t, payer, hash, "fast")
	at := expect.In(t, "redeemed again")
	expect.NotEqual(at, again.Credential, out.Credential)
	expect.Equal(at, *again.Units, 9_600*plan.Unit)
	expect.Equal(at, again.Tier, plan.Balanced)
	expect.True(at, again.ExpiresAt.Equal(*out.ExpiresAt))
	if refused := s.call(t, out.Credential, plan.Unit); refused != fault.KeyInvalid.String() {
		t.Errorf("the credential before is refused with %q", refused)
	}
	if refused := s.call(t, again.Credential, 9_600*plan.Unit); refused != "" {
		t.Errorf("the one that works is refused: %s", refused)
	}
	if f := s.refused(t, "used up", body(hash, "balanced", s.signed(t, payer, hash)), fault.SettlementRedeemed,
		""); f.HTTP() != 409 {
		t.Errorf("used up is HTTP %d", f.HTTP())
	}
	deal := s.settlement(t, payer, hash).Deal
	expect.Equal(t, deal.Country, "US")
	expect.Equal(t, deal.Net, 90_000)
	expect.Equal(t, deal.VAT, 0)
	expect.Equal(t, deal.Net+deal.VAT, deal.Paid)
}

func TestRedeem_RefusesWhatDoesNotPay(t *testing.T) {
	t.Parallel()
	s, payer, other := openEnv(t), servicetest.NewSigner(t), servicetest.NewSigner(t)
	change := func(f func(tx *testkit.LedgerTx)) string {
		tx := transfer(90_000, payer)
		f(&tx)
		return s.pay(tx)
	}
	for name, c := range map[string]struct {
		hash, why string
	}{
		"a hash of nothing":    {"0x" + strings.Repeat("ab", 32), x402.WhyUnknown},
		"a failed transaction": {change(func(tx *testkit.LedgerTx) { tx.Failed = true }), x402.WhyFailed},
		"another token": {
			change(func(tx *testkit.LedgerTx) { tx.Logs[0].Token = servicetest.SellerAt }),
			x402.WhyNothing,
		},
		"another recipient": {
			change(func(tx *testkit.LedgerTx) { tx.Logs[0].To = servicetest.USDCOnBase }),
			x402.WhyNothing,
		},
		"nothing":    {change(func(tx *testkit.LedgerTx) { tx.Logs[0].Amount = 0 }), x402.WhyNothing},
		"too little": {change(func(tx *testkit.LedgerTx) { tx.Logs[0].Amount = 89_999 }), x402.WhyTooSmall},
		"of last year": {
			change(func(tx *testkit.LedgerTx) { tx.Block, tx.Seconds = 800, tx.Seconds-366*24*3600 }), x402.WhyTooOld,
		},
	} {
		t.Run(name, func(t *testing.T) {
			refusal := s.refused(t, name, body(c.hash, "balanced", s.signed(t, payer, c.hash)), fault.PaymentRequired,
				c.why)
			in := expect.In(t, "%s", name)
			expect.Equal(in, refusal.HTTP(), 402)
			expect.Equal(in, refusal.Code(), -32018)
			expect.Equal[any](in, refusal.Data["menu"], "/x402")
		})
	}
	hash := s.pay(transfer(90_000, payer))
	good := s.signed(t, payer, hash)
	raw, _ := hex.DecodeString(good[2:])
	high := bytes.Clone(raw)
	new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(raw[32:64])).FillBytes(high[32:64])
	high[64] = 27 + (raw[64] - 27) ^ 1
	for name, signature := range map[string]string{
		"by somebody else":     s.signed(t, other, hash),
		"over another hash":    s.signed(t, payer, "0x"+strings.Repeat("11", 32)),
		"of another service":   payer.Sign(t, "Another Gateway x402 redeem\n"+hash),
		"with a line too many": payer.Sign(t, "Chain Access Gateway x402 redeem\n"+hash+"\n"),
		"with a high s":        "0x" + hex.EncodeToString(high),
		"too short":            good[:len(good)-4], // one byte less than a compact signature (EIP-2098)
		"too long":             good + "00",
		"empty":                "0x",
		"with another v":       "0x" + hex.EncodeToString(append(bytes.Clone(raw[:64]), 27+(raw[64]-27)^1)),
		"no digits":            "0xzz",
		"without 0x":           good[2:],
	} {
		t.Run(name, func(t *testing.T) {
			refusal := s.refused(t, name, body(hash, "balanced", signature), fault.FieldRefused, "")
			if refusal.HTTP() != 422 {
				t.Errorf("HTTP %d", refusal.HTTP())
			}
		})
	}
	for name, in := range map[string]map[string]any{
		"another tier": body(hash, "gold", good), "no tier": {"tx_hash": hash, "signature": good},
		"a short hash": body(hash[:64], "balanced", good), "a number": {
			"tx_hash": 1.0, "tier": "balanced", "signature": good,
		}, "one field more": {
			"tx_hash": hash, "tier": "balanced", "signature": good, "x": 1.0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_ = s.refused(t, name, in, fault.FieldRefused, "")
		})
	}
	// None of these had side effects.
	if out := s.redeem(t, payer, hash, "balanced"); *out.Units != 8_333*plan.Unit {
		t.Errorf("the payer gets %s units", out.Units)
	}
	if f := s.refused(t, "a stranger, afterwards", body(hash, "balanced", s.signed(t, other, hash)),
		fault.SettlementRedeemed, ""); f.HTTP() != 409 {
		t.Errorf("a stranger afterwards: HTTP %d", f.HTTP())
	}
}

func TestRedeem_ExcessIsCappedAndSaidSo(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(50_000_000, payer))
	out := s.redeem(t, payer, hash, "balanced")
	expect.Equal(t, *out.Units, plan.MaxUnitsPerSettlement)
	expect.Contains(t, out.Note, "More was paid")
	expect.True(t, s.settlement(t, payer, hash).Deal.Capped)
	if s.servers[1].Count("eth_getTransactionReceipt") == 0 {
		t.Error("the second upstream was not asked about a large payment")
	}
}

func TestRedeem_SeparatesPayersOfOneTransactionAndSumsTheirTransfers(t *testing.T) {
	t.Parallel()
	s, first, second := openEnv(t), servicetest.NewSigner(t), servicetest.NewSigner(t)
	tx := transfer(54_000, first, second)
	tx.Logs = append(tx.Logs, transfer(54_000, first).Logs...)
	hash := s.pay(tx)
	var out [2]payments.Redeemed
	var both sync.WaitGroup
	for i, by := range []servicetest.Signer{first, second} {
		both.Go(func() { out[i] = s.redeem(t, by, hash, []string{"balanced", "cheap"}[i]) })
	}
	both.Wait()
	if t.Failed() {
		return // what was not redeemed has no units
	}
	expect.Equal(t, *out[0].Units, 10_000*plan.Unit)
	expect.Equal(t, *out[1].Units, 10_000*plan.Unit)
	expect.Equal(t, out[0].Tier, plan.Balanced)
	expect.Equal(t, out[1].Tier, plan.Cheap)
	for _, r := range out {
		if refused := s.call(t, r.Credential, plan.Unit); refused != "" {
			t.Errorf("refused with %s", refused)
		}
	}
}

func TestRedeem_TwoHundredConcurrentLeaveOneCredentialAndOneSettlement(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	in := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: s.signed(t, payer, hash)}
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		given = map[string]int{}
		other = map[string]int{}
	)
	start := make(chan struct{})
	for i := range 200 {
		process, who := []*service.Registry{s.Registry, s.second}[i%2], s.visitor()
		all.Go(func() {
			<-start
			out, refusal := s.redeemAsTold(process, who, in)
			mu.Lock()
			defer mu.Unlock()
			if refusal != nil {
				other[refusal.Reason.String()]++
				return
			}
			given[out.Credential]++
		})
	}
	close(start)
	all.Wait()
	if len(given) == 0 || len(other) != 0 {
		t.Errorf("%d credentials were given, refused: %v", len(given), other)
	}
	works := 0
	for credential := range given {
		switch refused := s.call(t, credential, plan.Unit); refused {
		case "":
			works++
		case fault.KeyInvalid.String():
		default:
			t.Errorf("a credential is refused with %s", refused)
		}
	}
	if works != 1 {
		t.Errorf("%d of %d credentials work", works, len(given))
	}
	found := s.settlement(t, payer, hash)
	held, err := s.Store.ListSettlementsOf(s.Ctx, 8453, found.Tx)
	if err != nil || len(held) != 1 {
		t.Errorf("%d settlements, %v", len(held), err)
	}
	a, err := s.Store.LoadAccount(s.Ctx, found.Account)
	require.NoError(t, err)
	require.Len(t, a.Packs, 1)
	expect.Equal(t, a.Packs[0].Units, found.Deal.Units)
}

func TestRedeem_TooYoungPaymentIsPending(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	tx := transfer(90_000, payer)
	tx.Block = 0
	hash := s.pay(tx)
	in := body(hash, "balanced", s.signed(t, payer, hash))
	pending := func(what string) {
		t.Helper()
		answer, refusal := s.RedeemPayment.Serve(s.Ctx, s.visitor(), func() (map[string]any, *fault.Error) {
			return in, nil
		})
		out, _ := answer.Output.(payments.Redeemed)
		at := expect.In(t, "%s", what)
		require.Nil(at, refusal)
		expect.Equal(at, out.Status, "pending")
		expect.Equal(at, out.Credential, "")
		expect.Greater(at, answer.Later, 0)
		expect.NotEqual(at, out.Note, "")
	}
	pending("in no block")
	tx.Block = 999
	for _, l := range s.ledgers {
		l.Put(hash, tx)
	}
	pending("one block deep")
	for _, l := range s.ledgers {
		l.Grow(1001, 0)
	}
	testkit.Eventually(t, 30*time.Second, func() bool { // a transaction in no block is cached until the next block
		out, refusal := s.RedeemPayment.Invoke(s.Ctx, s.visitor(), payments.RedeemInput{
			TxHash: hash, Tier: plan.Balanced, Signature: s.signed(t, payer, hash),
		})
		return refusal == nil && out.Status == "redeemed"
	}, "it is deep enough")
}

func TestRedeem_ReorgMovesNothingTwice(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	first := s.redeem(t, payer, hash, "balanced")
	before := s.settlement(t, payer, hash)
	for _, l := range s.ledgers { // into another block at the same height, with other transactions around it
		l.Fork(900)
		l.Grow(1010, 950)
	}
	if err := s.flows.LookAtSettlement(s.Ctx, before.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	after := before
	testkit.Eventually(t, 30*time.Second, func() bool {
		after = s.settlement(t, payer, hash)
		return after.Finality == x402.FinalityFinal
	}, "the transaction is final")
	expect.Equal(t, after.Account, before.Account)
	expect.Equal(t, after.Key, before.Key)
	expect.NotEqual(t, after.Found.BlockHash, before.Found.BlockHash)
	if refused := s.call(t, first.Credential, plan.Unit); refused != "" {
		t.Errorf("the credential is refused with %s", refused)
	}
}

func TestRedeem_ReorganizedPaymentTakesItsCredentialAlong(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	spent, unspent := s.pay(transfer(90_000, payer)), s.pay(transfer(90_000, payer))
	var given []payments.Redeemed
	for _, hash := range []string{spent, unspent} {
		given = append(given, s.redeem(t, payer, hash, "balanced"))
	}
	if refused := s.call(t, given[0].Credential, *given[0].Units); refused != "" {
		t.Fatalf("refused with %s", refused)
	}
	for i, hash := range []string{spent, unspent} {
		for _, l := range s.ledgers {
			l.Drop(hash)
			l.Grow(1010, 950)
		}
		if err := s.flows.LookAtSettlement(s.Ctx, s.settlement(t, payer, hash).ID, time.Hour); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 30*time.Second, func() bool {
			return s.settlement(t, payer, hash).Stage == x402.StageReorganised
		}, "it is gone")
		// Recorded first, then put in force.
		testkit.Eventually(t, 30*time.Second, func() bool {
			return s.call(t, given[i].Credential, plan.Unit) == fault.KeyInvalid.String()
		}, "its credential has ended")
		if f := s.refused(t, "redeemed again", body(hash, "balanced", s.signed(t, payer, hash)),
			fault.SettlementRedeemed, ""); !strings.Contains(f.Message, "no longer part of the chain") {
			t.Errorf("told %q", f.Message)
		}
		history, err := s.Store.SettlementHistory(s.Ctx, s.settlement(t, payer, hash).ID)
		if err != nil || !strings.Contains(history[len(history)-1].Words, "reorganisation took the transaction away") {
			t.Errorf("the history is %+v, %v", history, err)
		}
	}
}

func TestSettlement_OutlivesItsHistory(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	first := s.redeem(t, payer, hash, "balanced")
	was := s.settlement(t, payer, hash)
	s.forget(t, was.ID)
	again := s.redeem(t, payer, hash, "cheap")
	if *again.Units != *first.Units || !again.ExpiresAt.Equal(*first.ExpiresAt) {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if refused := s.call(t, again.Credential, *again.Units); refused != "" {
		t.Errorf("refused with %s", refused)
	}
	_ = s.refused(t, "used up", body(hash, "balanced", s.signed(t, payer, hash)), fault.SettlementRedeemed, "")
	// Directly in a new workflow: PostgreSQL decides.
	_, err := s.flows.RedeemSettlement(s.Ctx, was.ID, time.Hour, workflows.Redeem{
		Tier: plan.Fast, Credential: newCredential(t, s),
	})
	if err != nil {
		t.Error(err)
	}
	now := s.settlement(t, payer, hash)
	expect.Equal(t, now.Deal, was.Deal)
	expect.Equal(t, now.Account, was.Account)
	expect.True(t, now.WindowEnds.Equal(was.WindowEnds), now.WindowEnds, was.WindowEnds)
	s.SQL(t, "UPDATE settlements SET redeemed_at = redeemed_at - interval '2 hours', window_ends = window_ends - "+
		"interval '2 hours'")
	if f := s.refused(t, "window over", body(hash, "balanced", s.signed(t, payer, hash)), fault.SettlementOver,
		""); f.HTTP() != 410 {
		t.Errorf("HTTP %d", f.HTTP())
	}
}

func TestRedeem_UnreadableChainParksThePaymentAndLosesNothing(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(5_000_000, payer))
	s.ledgers[1].Put(hash, transfer(5_000_001, payer)) // the second upstream disagrees
	text, issuedAt := s.message(hash, 0)
	in := body(hash, "balanced", payer.Sign(t, text))
	in["issued_at"] = issuedAt
	refusal := s.refused(t, "upstreams disagree", in, fault.NoUpstream, "")
	if refusal.HTTP() != 503 || refusal.RetryAfter <= 0 {
		t.Errorf("HTTP %d, again after %s", refusal.HTTP(), refusal.RetryAfter)
	}
	parked := s.settlement(t, payer, hash)
	expect.Equal(t, parked.Stage, x402.StageStuck)
	expect.Equal(t, parked.Reason, settlement.StuckDisagree)
	expect.False(t, parked.Redeemed(), parked)
	found := s.described(t, parked.ID)
	if found["Stage"] != "stuck" || found["StuckReason"] != settlement.StuckDisagree {
		t.Errorf("Temporal shows %v", found)
	}
	s.ledgers[1].Put(hash, transfer(5_000_000, payer))
	if err := s.flows.LookAtSettlement(s.Ctx, parked.ID, time.Hour); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 30*time.Second, func() bool {
		return s.settlement(t, payer, hash).Stage == x402.StagePayable
	}, "support's retry finds it good")
	if now := s.settlement(t, payer, hash); now.Redeemed() {
		t.Error("it was granted to nobody")
	}
	s.redeem(t, payer, hash, "balanced")
	// An invalid signature starts no workflow for a payment that cannot be read.
	unread := s.pay(transfer(5_000_000, payer))
	s.ledgers[1].Drop(unread)
	_ = s.refused(t, "no key's signature", body(unread, "balanced", "0x1234"), fault.NoUpstream, "")
	if all, err := s.Store.ListSettlementsOf(s.Ctx, 8453, x402.TxHash(common.HexToHash(unread))); err != nil ||
		len(all) != 0 {
		t.Errorf("it is recorded: %+v, %v", all, err)
	}
}

func TestRedeem_GrantOfAKilledAPIIsRedeemedAgainForTheSameUnits(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	id := x402.ID{Chain: 8453}
	id.Tx, _ = x402.ParseTxHash(hash)
	id.Payer = addressIn(t, payer.Address)
	// Sent by a process that died; nobody ever saw its credential.
	lost, err := s.flows.RedeemSettlement(s.Ctx, id, time.Hour, workflows.Redeem{
		Tier: plan.Balanced, Country: "US", Credential: newCredential(t, s),
	})
	if err != nil || lost.Stage != x402.StageRedeemed {
		t.Fatalf("%+v, %v", lost, err)
	}
	out := s.redeem(t, payer, hash, "fast")
	if *out.Units != 10_000*plan.Unit || out.Tier != plan.Balanced {
		t.Errorf("answered %+v", out)
	}
	if refused := s.call(t, out.Credential, 10_000*plan.Unit); refused != "" {
		t.Errorf("refused with %s", refused)
	}
}

func TestRedeem_ChainReadsAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	who := s.visitor()
	hash := "0x" + strings.Repeat("cd", 32)
	in := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: s.signed(t, payer, hash)}
	last := fault.InternalFault
	for range 40 {
		_, refusal := s.RedeemPayment.Invoke(s.Ctx, who, in)
		if last = refusal.Reason; last == fault.RateWindow {
			break
		}
	}
	if last != fault.RateWindow {
		t.Errorf("the last of 40 is refused with %s", last)
	}
}

func TestRedeem_ClosedLaneRedeemsNothing(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	in := body("0x"+strings.Repeat("cd", 32), "balanced", servicetest.NewSigner(t).Sign(t, "whatever"))
	if f := o.Refuses(t, o.RedeemPayment, servicetest.Browser(""), in,
		fault.DurableUnavailable); !strings.Contains(f.Message,
		"Nothing is sold") {
		t.Errorf("told %q", f.Message)
	}
}

func TestRedeem_HistoriesHoldNoSecret(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	out := s.redeem(t, payer, hash, "balanced")
	id := s.settlement(t, payer, hash).ID
	var kept []byte
	events := s.temporal.GetWorkflowHistory(s.Ctx, workflows.SettlementID(id), "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := proto.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, text...)
	}
	if !bytes.Contains(kept, []byte(out.Credential[:12])) {
		t.Error("the prefix of the credential was not found: this test reads too little")
	}
	for _, secret := range []string{out.Credential, s.signed(t, payer, hash), s.servers[0].URL} {
		if bytes.Contains(kept, []byte(secret)) || bytes.Contains(kept, []byte(secret[13:])) {
			t.Errorf("the history holds %.20s", secret)
		}
	}
}

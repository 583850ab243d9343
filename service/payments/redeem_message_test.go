package payments_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/payments"
)

// message returns the message to sign with an issue time ago before now.
func (s *env) message(hash string, ago time.Duration) (text, issuedAt string) {
	issued := time.Now().Add(-ago).UTC().Truncate(time.Second)
	tx, _ := x402.ParseTxHash(hash)
	return s.terms.Message(tx, issued), issued.Format("2006-01-02T15:04:05Z")
}

// aged makes a payment that is ago old.
func (s *env) aged(payer servicetest.Signer, ago time.Duration) string {
	tx := transfer(90_000, payer)
	tx.Seconds = time.Now().Add(-ago).Unix()
	return s.pay(tx)
}

func TestRedeem_TakesTheMenusMessageAsItStands(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.aged(payer, 48*time.Hour)
	menu := servicetest.Must[payments.Menu](t)(s.GetMenu.Invoke(s.Ctx, s.visitor(), operation.Nothing{}))
	for _, part := range []string{
		"Chain Access Gateway x402 redeem\n{tx_hash}\n", "\nHost: gateway.example\n",
		"\nChain ID: 8453\n", "\nPurpose: ", "\nIssued At: ",
	} {
		if !strings.Contains(menu.MessageToSign, part) {
			t.Errorf("the menu's message %q lacks %q", menu.MessageToSign, part)
		}
	}
	in := payments.RedeemInput{
		TxHash: hash, Tier: plan.Balanced,
		Signature: payer.Sign(t, strings.ReplaceAll(menu.MessageToSign, "{tx_hash}", hash)),
	}
	for range 2 { // and again within its window
		if out, refusal := s.redeemAsTold(s.Registry, s.visitor(), in); refusal != nil ||
			s.call(t, out.Credential, plan.Unit) != "" {
			t.Fatalf("redeemed %+v, %v", out, refusal)
		}
	}
}

func TestRedeem_RefusesMessagesOfAnotherPlaceOrTime(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash, other := s.pay(transfer(90_000, payer)), s.pay(transfer(90_000, payer))
	fresh, freshAt := s.message(hash, time.Minute)
	stale, staleAt := s.message(hash, 61*time.Minute)
	future, futureAt := s.message(hash, -3*time.Minute)
	ofOther, _ := s.message(other, time.Minute)
	for name, c := range map[string]struct{ message, issuedAt, says string }{
		"of another host":        {strings.Replace(fresh, "gateway.example", "gateway.other", 1), freshAt, ""},
		"of another chain":       {strings.Replace(fresh, "8453", "84532", 1), freshAt, ""},
		"for another purpose":    {strings.Replace(fresh, "get a credential", "send everything", 1), freshAt, ""},
		"of another transaction": {ofOther, freshAt, ""},
		"of another time":        {fresh, time.Now().UTC().Format("2006-01-02T15:04:05Z"), ""},
		"too old":                {stale, staleAt, "is good for 60 minutes"},
		"of the future":          {future, futureAt, "in the future"},
		"a time that is none":    {fresh, "2026-11-23 at 12:40Z", "issued_at takes"},
	} {
		t.Run(name, func(t *testing.T) {
			in := body(hash, "balanced", payer.Sign(t, c.message))
			in["issued_at"] = c.issuedAt
			if f := s.refused(t, name, in, fault.FieldRefused, ""); !strings.Contains(f.Message, c.says) {
				t.Errorf("told %q", f.Message)
			}
		})
	}
	in := body(hash, "balanced", payer.Sign(t, fresh))
	in["issued_at"] = freshAt
	if answer, refusal := s.RedeemPayment.Serve(s.Ctx, s.visitor(), func() (map[string]any, *fault.Error) {
		return in, nil
	}); refusal != nil {
		t.Errorf("the good one: %+v, %v", answer, refusal)
	}
}

func TestRedeem_TakesAnOldMessageForADay(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	if out := s.redeem(t, payer, s.aged(payer, 23*time.Hour), "balanced"); out.Status != "redeemed" {
		t.Errorf("of the day: %+v", out)
	}
	old := transfer(90_000, payer)
	old.Block, old.Seconds = 800, time.Now().Add(-25*time.Hour).Unix() // a block has one time
	hash := s.pay(old)
	refusal := s.refused(t, "of the day before", body(hash, "balanced", s.signed(t, payer, hash)),
		fault.FieldRefused, "")
	if !strings.Contains(refusal.Message, "Sign messageToSign of GET /x402") || refusal.Data["field"] != "signature" {
		t.Errorf("told %q", refusal.Message)
	}
	text, issuedAt := s.message(hash, 0)
	out, refused := s.redeemAsTold(s.Registry, s.visitor(), payments.RedeemInput{
		TxHash: hash, Tier: plan.Balanced, Signature: payer.Sign(t, text), IssuedAt: issuedAt,
	})
	if refused != nil || out.Status != "redeemed" {
		t.Errorf("with today's message: %+v, %v", out, refused)
	}
}

// A message serves until the end of the window that it opened, and for no other.
func TestRedeem_AMessageServesThroughItsWindow(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	hash := s.pay(transfer(90_000, payer))
	text, issuedAt := s.message(hash, 30*time.Minute)
	in := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: payer.Sign(t, text), IssuedAt: issuedAt}
	if _, refusal := s.redeemAsTold(s.Registry, s.visitor(), in); refusal != nil {
		t.Fatal(refusal)
	}
	// Forty minutes later, according to PostgreSQL: the message is seventy minutes old.
	s.SQL(t, "UPDATE settlements SET redeemed_at = redeemed_at - interval '40 minutes', window_ends = window_ends - "+
		"interval '40 minutes'")
	older, olderAt := s.message(hash, 70*time.Minute)
	in.Signature, in.IssuedAt = payer.Sign(t, older), olderAt
	if out, refusal := s.redeemAsTold(s.Registry, s.visitor(), in); refusal != nil || out.Status != "redeemed" {
		t.Errorf("of half an hour before the window, at its end: %+v, %v", out, refusal)
	}
	before, beforeAt := s.message(hash, 101*time.Minute)
	in.Signature, in.IssuedAt = payer.Sign(t, before), beforeAt
	if _, refusal := s.redeemAsTold(s.Registry, s.visitor(), in); refusal == nil ||
		refusal.Reason != fault.FieldRefused {
		t.Errorf("of more than an hour before the window: %v", refusal)
	}
}

func TestRedeem_AContractWalletSignsTheMenusMessage(t *testing.T) {
	t.Parallel()
	s := openEnv(t)
	hash, all := s.from(90_000)
	in := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: "0x1234"}
	menus := s.terms.MessageShape(time.Now())
	j := &judging{owner: all[0], message: strings.ReplaceAll(menus, "{tx_hash}", hash)}
	if _, refusal := s.redeemAsTold(s.process(j), s.visitor(), in); refusal != nil {
		t.Error(refusal)
	}
	text, issuedAt := s.message(hash, 40*time.Minute)
	j = &judging{owner: all[0], message: text}
	if _, refusal := s.redeemAsTold(s.process(j), s.visitor(), in); refusal == nil ||
		!strings.Contains(refusal.Message, "sends issued_at") {
		t.Errorf("signed for forty minutes: %v", refusal)
	}
	in.IssuedAt = issuedAt
	if _, refusal := s.redeemAsTold(s.process(j), s.visitor(), in); refusal != nil {
		t.Errorf("with its time: %v", refusal)
	}
	in.IssuedAt = ""
	other, payers := s.from(90_000)
	in.TxHash, j = other, &judging{owner: payers[0], message: strings.ReplaceAll(text, hash, other)}
	_, refusal := s.redeemAsTold(s.process(j), s.visitor(), in)
	at := expect.In(t, "a first redeem, signed for forty minutes")
	require.NotNil(at, refusal)
	expect.Equal(at, refusal.Reason, fault.FieldRefused)
	expect.Contains(at, refusal.Message, "sends issued_at")
	in.TxHash, j = hash, &judging{owner: all[0], message: "another"}
	if _, refusal := s.redeemAsTold(s.process(j), s.visitor(), in); refusal == nil ||
		refusal.Reason != fault.SettlementRedeemed {
		t.Errorf("over another message: %v", refusal)
	}
}

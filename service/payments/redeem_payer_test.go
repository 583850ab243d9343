package payments_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
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
)

// judging is the Reader of an API process of its own.
type judging struct {
	*settlement.Reader

	blind bool           // it cannot read the chain
	owner wallet.Address // contract wallet that accepts every signature
	// message is the only message that it signed; empty for all.
	message string
}

func (j *judging) Known(ctx context.Context, tx x402.TxHash) (x402.Sight, error) {
	if j.blind {
		return x402.SightNone, &settlement.UnreadableError{Why: settlement.StuckNoAnswer}
	}
	return j.Reader.Known(ctx, tx)
}

func (j *judging) Read(ctx context.Context, tx x402.TxHash, expected ...x402.PayerSum) (settlement.Reading, error) {
	if j.blind {
		return settlement.Reading{}, &settlement.UnreadableError{Why: settlement.StuckNoAnswer}
	}
	return j.Reader.Read(ctx, tx, expected...)
}

func (j *judging) Proves(_ context.Context, p x402.PayerSum, message, _ string) error {
	if p.Payer == j.owner && (j.message == "" || j.message == message) {
		return nil
	}
	return wallet.ErrSignatureMismatch
}

// process returns an API process that reads payments through j.
func (s *env) process(j *judging) *service.Registry {
	o := s.options
	j.Reader, o.Payments = s.payments, j
	return service.New(o)
}

func TestRedeem_ReadsOfTheFlowAnswerWhenTheAPICannotRead(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	blind := s.process(&judging{blind: true})
	today := func(hash string) payments.RedeemInput {
		text, issuedAt := s.message(hash, 0)
		return payments.RedeemInput{
			TxHash: hash, Tier: plan.Balanced, Signature: payer.Sign(t, text), IssuedAt: issuedAt,
		}
	}
	hash := s.pay(transfer(90_000, payer))
	// The signer of a message without a time is uncertain, so it is no verdict that the signer of
	// today's message paid nothing.
	unsure := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: s.signed(t, payer, hash)}
	if out, refusal := s.redeemAsTold(blind, s.visitor(), unsure); refusal == nil ||
		refusal.Reason != fault.NoUpstream {
		t.Errorf("an old message: %+v, %v", out, refusal)
	}
	out, refusal := s.redeemAsTold(blind, s.visitor(), today(hash))
	require.Nil(t, refusal)
	expect.Equal(t, out.Status, "redeemed")
	expect.Equal(t, s.call(t, out.Credential, plan.Unit), "")
	hash = s.pay(transfer(90_000, payer))
	text, issuedAt := s.message(hash, 61*time.Minute)
	late := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: payer.Sign(t, text), IssuedAt: issuedAt}
	if out, refusal = s.redeemAsTold(blind, s.visitor(), late); refusal == nil || refusal.Data["field"] != "signature" {
		t.Errorf("a message that is no longer good: %+v, %v", out, refusal)
	}
	young := transfer(90_000, payer)
	young.Block = 1000
	hash = s.pay(young)
	out, refusal = s.redeemAsTold(blind, s.visitor(), today(hash))
	in := expect.In(t, "too young")
	require.Nil(in, refusal)
	expect.Equal(in, out.Status, "pending")
	expect.Greater(in, out.ComeAgain(), 0)
}

// from pays from one contract wallet per amount, in one transaction.
func (s *env) from(amounts ...uint64) (hash string, wallets []wallet.Address) {
	tx := testkit.LedgerTx{Block: 900, Seconds: time.Now().Add(-time.Minute).Unix()}
	for i, amount := range amounts {
		wallets = append(wallets, wallet.Address{0xc0, byte(i)})
		tx.Logs = append(tx.Logs, testkit.LedgerLog{
			Token: servicetest.USDCOnBase, From: fmt.Sprintf("0x%x", wallets[i][:]), To: servicetest.SellerAt,
			Amount: amount,
		})
	}
	return s.pay(tx), wallets
}

func TestRedeem_NobodyBlocksAContractWallet(t *testing.T) {
	t.Parallel()
	s := openEnv(t)
	redeem := func(hash string, by wallet.Address) error {
		in := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: "0x1234"}
		if _, refusal := s.process(&judging{owner: by}).RedeemPayment.Invoke(s.Ctx, s.visitor(), in); refusal != nil {
			return refusal
		}
		return nil
	}
	hash, all := s.from(1, 2, 3, 4, 5, 6, 7, 8, 9, 90_000)
	if err := redeem(hash, all[9]); err != nil {
		t.Errorf("behind dust: %v", err)
	}
	hash, all = s.from(60_000, 60_000, 60_000, 60_000, 60_000, 60_000, 60_000, 60_000, 90_000)
	if err := redeem(hash, all[8]); err != nil {
		t.Errorf("behind eight that paid less: %v", err)
	}
	hash, all = s.from(90_000, 90_000, 90_000, 90_000, 90_000, 90_000, 90_000, 90_000, 90_000)
	if err := redeem(hash, all[8]); !errors.Is(err, wallet.ErrSignatureMismatch) {
		t.Errorf("the ninth of nine that paid the same: %v", err)
	}
	for i, when := range []string{"the first", "the ninth, when the first is done"} {
		if err := redeem(hash, all[8*i]); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
}

func TestRedeem_SeenInTimeIsNotTooLate(t *testing.T) {
	t.Parallel()
	s, payer := openEnv(t), servicetest.NewSigner(t)
	tx := transfer(90_000, payer)
	tx.Seconds -= 31 * 24 * 3600
	hash := s.pay(tx)
	_ = s.refused(t, "31 days old", body(hash, "balanced", s.signed(t, payer, hash)), fault.PaymentRequired,
		x402.WhyTooOld)
	by := addressIn(t, payer.Address)
	at, _ := x402.ParseTxHash(hash)
	s.SQL(t, "INSERT INTO settlements (chain_id, tx_hash, payer, stage, reason, seen_at) VALUES (8453, $1, $2, "+
		"'stuck', 'no_usable_answer', now() - interval '2 days')", at[:], by[:])
	text, issuedAt := s.message(hash, 0)
	in := payments.RedeemInput{TxHash: hash, Tier: plan.Balanced, Signature: payer.Sign(t, text), IssuedAt: issuedAt}
	if out, refusal := s.redeemAsTold(s.Registry, s.visitor(), in); refusal != nil || out.Status != "redeemed" {
		t.Errorf("seen in time: %+v, %v", out, refusal)
	}
}

func TestRedeem_LookupsInTheRecordAreLimited(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	in := payments.RedeemInput{
		TxHash: fmt.Sprintf("0x%064x", 7), Tier: plan.Cheap, Signature: servicetest.NewSigner(t).Sign(t, "whatever"),
	}
	for range 250 {
		_, refusal := o.RedeemPayment.Invoke(o.Ctx, servicetest.Browser(""), in)
		if refusal.Reason == fault.RateWindow && refusal.Window.Limit == 240 {
			return
		}
	}
	t.Error("250 of a minute were let into the record")
}

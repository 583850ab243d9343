package capability

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/settlement"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/wallet"
	"github.com/chainaccess/gateway/workflows"
	"github.com/chainaccess/gateway/x402"
)

const (
	retryPending  = 4 * time.Second  // two blocks of Base
	retryStuck    = 60 * time.Second // when the flow itself looks again
	receiptPrefix = "/x402/receipts/"
)

// Payments reads what was paid, and who signed; settlement.Reader does.
type Payments interface {
	Read(ctx context.Context, tx x402.TxHash, expected x402.PayerSum) (settlement.Reading, error)
	Proves(ctx context.Context, p x402.PayerSum, message, signature string) error
}

var _ Payments = (*settlement.Reader)(nil)

// redeemFirst redeems what its payer did not redeem yet, as far as is known. known are the settlements of the transaction.
func (h *house) redeemFirst(ctx context.Context, r *redeeming, known []store.Settlement) (Redeemed, error) {
	reading, err := h.Payments.Read(ctx, r.tx, expectedOf(r, known))
	if _, unreadable := errors.AsType[*settlement.UnreadableError](err); unreadable {
		return h.redeemUnread(ctx, r, err)
	}
	if err != nil {
		return Redeemed{}, err
	}
	paid := x402.PayerSum{Payer: r.signer}
	if len(reading.Payments) > 0 {
		if paid, err = h.payerOf(ctx, r, reading.Payments, known); err != nil {
			return Redeemed{}, err
		}
	}
	verdict, err := h.Terms.Judge(reading.Sight, reading.Finding(paid.Payer), r.tier, r.country, h.firstSeen(known, paid.Payer))
	switch {
	case err != nil:
		return Redeemed{}, err
	case verdict.Stage == x402.StageRefused:
		return Redeemed{}, notPaid(verdict.Why, verdict.Words)
	case reading.Sight == x402.SightWaiting: // nobody knows yet whether the signer pays
		return r.pending(verdict.Words), nil
	}
	return h.redeemInFlow(ctx, r, paid.Payer)
}

// expectedOf is what the signer must have paid; of a signature of no key, what somebody must.
func expectedOf(r *redeeming, known []store.Settlement) x402.PayerSum {
	expected := x402.PayerSum{Payer: r.signer}
	if sold, ok := plan.FindPerCallTier(r.tier); ok {
		expected.Paid = sold.NetAmountRequired()
	}
	if s := settlementOf(known, r.signer); s != nil {
		expected.Paid = max(expected.Paid, s.Found.Paid)
	}
	return expected
}

// firstSeen is when a payer's settlement was first tried; now for a new one.
func (h *house) firstSeen(known []store.Settlement, payer wallet.Address) time.Time {
	if s := settlementOf(known, payer); s != nil {
		return s.SeenAt
	}
	return h.Now()
}

func settlementOf(known []store.Settlement, payer wallet.Address) *store.Settlement {
	for i := range known {
		if known[i].Payer == payer {
			return &known[i]
		}
	}
	return nil
}

// redeemUnread leaves a payment that cannot be read here to its flow, which may read it, and goes on by itself otherwise; within bounds, because
// nobody knows whether there is one.
func (h *house) redeemUnread(ctx context.Context, r *redeeming, cause error) (Redeemed, error) {
	f := fault.New(fault.NoUpstream, "The chain that is paid on cannot be read right now, so the payment is not judged yet. Nothing is lost: send the same again in a minute.").Wrap(cause)
	f.RetryAfter = retryStuck
	if r.signer.IsZero() || h.limit(ctx, "redeem-stuck:"+r.network, stuckLimit) != nil {
		return Redeemed{}, f
	}
	answer, err := h.redeemInFlow(ctx, r, r.signer)
	if err == nil {
		return answer, nil
	}
	if told := fault.From(err); told.Reason != fault.NoUpstream && told.Reason != fault.InternalFault {
		return Redeemed{}, err
	}
	return Redeemed{}, f
}

// redeemInFlow has the settlement's flow judge and grant. The payer has proved itself.
func (h *house) redeemInFlow(ctx context.Context, r *redeeming, payer wallet.Address) (Redeemed, error) {
	id := x402.ID{Chain: h.Terms.Chain, Tx: r.tx, Payer: payer}
	secret, minted, err := h.mintCredential()
	if err != nil {
		return Redeemed{}, err
	}
	answer, err := h.Flows.RedeemSettlement(ctx, id, h.FinalityDelay, workflows.Redeem{
		Tier: r.tier, Country: r.country, Credential: activities.NewCredential(minted),
	})
	if err != nil {
		return h.redeemLate(ctx, id, err)
	}
	switch answer.Stage {
	case x402.StageRedeemed:
		faultpoint.Hit(faultpoint.RedeemDecided)
	case x402.StageRefused:
		return Redeemed{}, notPaid(answer.Why, answer.Words)
	case x402.StageStuck:
		f := fault.New(fault.NoUpstream, "%s Send the same again in a minute.", answer.Words).With("why", answer.Why)
		f.RetryAfter = retryStuck
		return Redeemed{}, f
	default:
		return r.pending(answer.Words), nil
	}
	s, err := h.Store.FindSettlement(ctx, id)
	if err != nil {
		return Redeemed{}, recordAway(err)
	}
	return h.redeemed(ctx, &s, secret)
}

// redeemLate is for a flow that did not answer: it may have granted all the same, or be busy with others' redeems.
func (h *house) redeemLate(ctx context.Context, id x402.ID, failed error) (Redeemed, error) {
	if fault.From(failed).Reason != fault.DurableUnavailable {
		return Redeemed{}, failed
	}
	s, err := h.Store.FindSettlement(ctx, id)
	if err != nil || !s.Redeemed() {
		return Redeemed{}, failed
	}
	return h.redeemAgain(ctx, &s)
}

// redeemAgain gives the payer of a redeemed settlement another credential for what is left.
func (h *house) redeemAgain(ctx context.Context, s *store.Settlement) (Redeemed, error) {
	if refusal := h.limit(ctx, "redeemed:"+s.ID.String(), againLimit); refusal != nil {
		return Redeemed{}, refusal
	}
	if s.Stage == x402.StageRedeemed && h.Now().Before(s.WindowEnds) {
		left, err := h.Fences.SettlementLeft(ctx, s)
		if err != nil {
			return Redeemed{}, meterAway(err)
		}
		if left <= 0 {
			return Redeemed{}, fault.New(fault.SettlementRedeemed, "The units of this settlement are used up. Pay a new one against the menu at /x402.").With("receipt", h.receiptURL(s))
		}
	}
	secret, minted, err := h.mintCredential()
	if err != nil {
		return Redeemed{}, err
	}
	rotated, err := h.Fences.RotateCredential(ctx, s.ID, minted, store.Author{Actor: "payer " + s.Payer.String(), Origin: DoorAPI, Reason: "redeemed again"})
	if err != nil {
		refusal := fault.From(told(err, "settlement"))
		if refusal.Reason == fault.SettlementOver || refusal.Reason == fault.SettlementRedeemed {
			refusal = refusal.With("receipt", h.receiptURL(s))
		}
		return Redeemed{}, refusal
	}
	return h.redeemed(ctx, &rotated, secret)
}

// redeemed shows a credential, once.
func (h *house) redeemed(ctx context.Context, s *store.Settlement, secret account.Credential) (Redeemed, error) {
	left, err := h.Fences.SettlementLeft(ctx, s)
	if err != nil { // the credential works; how much is left its calls will tell
		h.Logger.Warn("what is left of a settlement could not be read", "settlement", s.ID.String(), "error", err)
		left = s.Deal.Units
	}
	ends := s.WindowEnds
	r := Redeemed{
		Status: statusRedeemed, TxHash: s.Tx.String(), Credential: secret.Reveal(), Units: &left, Tier: s.Deal.Tier, ExpiresAt: &ends, Receipt: h.receiptURL(s),
		Note: "Store the credential now: it is kept nowhere and cannot be shown again. Redeem again within the window for a fresh one.",
	}
	if s.Deal.Capped {
		r.Note += fmt.Sprintf(" More was paid than the %s units that one settlement gives; the receipt says so.", s.Deal.Units)
	}
	return r, nil
}

func (r *redeeming) pending(words string) Redeemed {
	return Redeemed{Status: statusPending, TxHash: r.tx.String(), Note: words, later: retryPending}
}

func (h *house) mintCredential() (account.Credential, store.Credential, error) {
	secret, err := account.MintCredential(h.Random)
	if err != nil {
		return secret, store.Credential{}, fmt.Errorf("mint a credential: %w", err)
	}
	return secret, store.Credential{Key: account.NewKeyID(), Digest: secret.Digest(h.Hasher), Prefix: secret.Prefix()}, nil
}

func (h *house) receiptURL(s *store.Settlement) string {
	return h.PublicURL + receiptPrefix + s.Tx.String()
}

// notPaid refuses a transaction that does not pay: HTTP 402.
func notPaid(why, words string) error {
	return fault.New(fault.PaymentRequired, "%s", words).With("why", why).With("menu", x402.MenuPath)
}

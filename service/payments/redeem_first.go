package payments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/workflows"
)

const (
	retryPending  = 4 * time.Second  // two blocks of Base
	retryStuck    = 60 * time.Second // when the workflow reads the chain again
	receiptPrefix = "/x402/receipts/"
)

// Reader reads payments and verifies signatures; settlement.Reader implements it.
type Reader interface {
	Known(ctx context.Context, tx x402.TxHash) (x402.Sight, error)
	Read(ctx context.Context, tx x402.TxHash, expected ...x402.PayerSum) (settlement.Reading, error)
	Proves(ctx context.Context, p x402.PayerSum, message, signature string) error
	HasCode(ctx context.Context, at wallet.Address) (bool, error)
}

var _ Reader = (*settlement.Reader)(nil)

// redeemFirst redeems a payment that its payer has not redeemed yet. known are the recorded
// settlements of the transaction.
func (h *handlers) redeemFirst(ctx context.Context, r *redeeming, known []paymentdb.Settlement) (Redeemed, error) {
	reading, err := h.lookAt(ctx, r, expectedOf(r, known), anyPaid(known))
	if _, unreadable := errors.AsType[*settlement.UnreadableError](err); unreadable {
		return h.redeemUnread(ctx, r, known, err)
	}
	if err != nil {
		return Redeemed{}, err
	}
	by := &r.signed[0]
	paid := x402.PayerSum{Payer: by.signer}
	if len(reading.Payments) > 0 {
		if paid, by, err = h.payerOf(ctx, r, reading.Payments, known); err != nil {
			return Redeemed{}, err
		}
	}
	verdict, err := h.Terms.Judge(reading.Sight, reading.Finding(paid.Payer), r.tier, r.country,
		h.firstSeen(known, paid.Payer))
	switch {
	case err != nil:
		return Redeemed{}, err
	case verdict.Stage == x402.StageRefused:
		return Redeemed{}, notPaid(verdict.Why, verdict.Words)
	case reading.Sight == x402.SightWaiting: // it is not known yet whether the signer pays
		return r.pending(verdict.Words), nil
	}
	if refusal := h.outdated(by, h.Now(), time.Unix(reading.Time, 0)); refusal != nil {
		return Redeemed{}, refusal
	}
	return h.redeemInFlow(ctx, r, paid.Payer)
}

// anyPaid reports whether a payment was seen in the transaction. A settlement without one records
// no more than that somebody asked while the chain could not be read.
func anyPaid(known []paymentdb.Settlement) bool {
	return slices.ContainsFunc(known, func(s paymentdb.Settlement) bool { return s.Found.Paid > 0 })
}

// expectedOf returns, for each possible signer, the least amount that it must have paid. For a
// message that no key signed, the signer is the zero address, which stands for any payer.
func expectedOf(r *redeeming, known []paymentdb.Settlement) []x402.PayerSum {
	var least plan.Atomic
	if sold, ok := plan.FindPerCallTier(r.tier); ok {
		least = sold.NetAmountRequired()
	}
	expected := make([]x402.PayerSum, len(r.signed))
	for i := range r.signed {
		expected[i] = x402.PayerSum{Payer: r.signed[i].signer, Paid: least}
		if s := settlementOf(known, r.signed[i].signer); s != nil {
			expected[i].Paid = max(least, s.Found.Paid)
		}
	}
	return expected
}

// firstSeen returns when a payer's settlement was first tried, or now for a new one.
func (h *handlers) firstSeen(known []paymentdb.Settlement, payer wallet.Address) time.Time {
	if s := settlementOf(known, payer); s != nil {
		return s.SeenAt
	}
	return h.Now()
}

func settlementOf(known []paymentdb.Settlement, payer wallet.Address) *paymentdb.Settlement {
	for i := range known {
		if known[i].Payer == payer {
			return &known[i]
		}
	}
	return nil
}

// redeemUnread hands a payment that cannot be read here to its flow, which may be able to read it
// and retries by itself. It does so within the rate limit RedeemsStuck, because nobody knows
// whether there is a payment, and only for a signer who is certain: a flow for a guessed address
// would record settlements of people who never asked.
func (h *handlers) redeemUnread(ctx context.Context, r *redeeming, known []paymentdb.Settlement,
	cause error,
) (Redeemed, error) {
	f := fault.New(fault.NoUpstream,
		"The chain that is paid on cannot be read right now, so the payment is not judged yet. Nothing is lost: send "+
			"the same again in a minute.").Wrap(cause)
	f.RetryAfter = retryStuck
	payer := r.signerWithoutChain(known)
	if payer.IsZero() {
		return Redeemed{}, f
	}
	by, before := r.by(payer), settlementOf(known, payer)
	paid := h.Now()
	switch {
	case before != nil && before.Found.Time > 0:
		paid = time.Unix(before.Found.Time, 0)
	case by.issued.IsZero(): // only the chain knows how old the payment is
		return Redeemed{}, f
	}
	if refusal := h.outdated(by, h.Now(), paid); refusal != nil {
		return Redeemed{}, refusal
	}
	if h.LimitNetwork(ctx, r.network, netlimit.RedeemsStuck) != nil {
		return Redeemed{}, f
	}
	answer, err := h.redeemInFlow(ctx, r, payer)
	if err == nil {
		return answer, nil
	}
	if why := fault.From(err).Reason; why == fault.NoUpstream || why == fault.InternalFault {
		return Redeemed{}, f
	}
	return Redeemed{}, err
}

// redeemInFlow has the settlement's workflow judge and grant. The payer is authenticated.
// Concurrent redeems of one payer share one update: a workflow accepts ten at a time.
func (h *handlers) redeemInFlow(ctx context.Context, r *redeeming, payer wallet.Address) (Redeemed, error) {
	id := x402.ID{Chain: h.Terms.Chain, Tx: r.tx, Payer: payer}
	return shareRedeem(ctx, &h.payers, payerKey{id, r.tier}, func(ctx context.Context) (Redeemed, error) {
		return h.grantInFlow(ctx, r, id)
	})
}

func (h *handlers) grantInFlow(ctx context.Context, r *redeeming, id x402.ID) (Redeemed, error) {
	answer, err := h.Flows.RedeemSettlement(ctx, id, h.FinalityDelay, workflows.Redeem{
		Tier: r.tier, Country: r.country, Credential: activities.NewCredential(h.newCredential()),
		Request: activities.RedeemRequest{
			ID: r.request.String(), Asked: r.asked,
			Deadline: r.asked.Add(operation.Deadline),
		},
	})
	if err != nil {
		return h.redeemLate(ctx, r, id, err)
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
		return Redeemed{}, operation.RecordUnavailable(err)
	}
	secret, ok, err := h.credentialOf(ctx, s.Key)
	switch {
	case err != nil:
		return Redeemed{}, operation.RecordUnavailable(err)
	case !ok:
		return h.redeemAgain(ctx, r, &s)
	}
	return h.redeemed(ctx, &s, secret)
}

// redeemLate handles a workflow that did not answer in time. It may have granted the units anyway,
// or be busy with other redeems.
func (h *handlers) redeemLate(ctx context.Context, r *redeeming, id x402.ID, failed error) (Redeemed, error) {
	if fault.From(failed).Reason != fault.DurableUnavailable {
		return Redeemed{}, failed
	}
	s, err := h.Store.FindSettlement(ctx, id)
	if err != nil || !s.Redeemed() {
		return Redeemed{}, failed
	}
	return h.redeemAgain(ctx, r, &s)
}

// redeemAgain returns a new credential for what is left of a redeemed settlement. Concurrent
// redeems get the same one.
func (h *handlers) redeemAgain(ctx context.Context, r *redeeming, s *paymentdb.Settlement) (Redeemed, error) {
	return shareRedeem(ctx, &h.payers, payerKey{settlement: s.ID}, func(ctx context.Context) (Redeemed, error) {
		return h.rotate(ctx, r, s)
	})
}

func (h *handlers) rotate(ctx context.Context, r *redeeming, s *paymentdb.Settlement) (Redeemed, error) {
	if refusal := h.Limit(ctx, "redeemed:"+s.ID.String(), againLimit); refusal != nil {
		return Redeemed{}, refusal
	}
	next := paymentdb.Rotation{
		ID: s.ID, Since: r.asked,
		By: accountdb.Author{
			Actor: "payer " + s.Payer.String(), Origin: operation.DoorAPI,
			Reason: "redeemed again by request " + r.request.String(),
		},
	}
	if s.Stage == x402.StageRedeemed && h.Now().Before(s.WindowEnds) {
		left, err := h.Limits.SettlementLeft(ctx, s)
		if err != nil {
			return Redeemed{}, operation.MeterUnavailable(err)
		}
		if left <= 0 {
			return Redeemed{}, fault.New(fault.SettlementRedeemed,
				"The units of this settlement are used up. Pay a new one against the menu at /x402.").With("receipt",
				h.receiptURL(s))
		}
		if next.Left = &left; left == s.GivenLeft { // no call has used it yet
			next.Since = r.asked.Add(-credentialYouth)
		}
	}
	for { // runs twice at most
		next.Credential = h.newCredential()
		rotated, err := h.Limits.RotateCredential(ctx, next)
		if err != nil {
			refusal := fault.From(operation.ToFault(err, "settlement"))
			if refusal.Reason == fault.SettlementOver || refusal.Reason == fault.SettlementRedeemed {
				refusal = refusal.With("receipt", h.receiptURL(s))
			}
			return Redeemed{}, refusal
		}
		secret, ok, err := h.credentialOf(ctx, rotated.Key)
		switch {
		case err != nil:
			return Redeemed{}, operation.RecordUnavailable(err)
		case ok:
			return h.redeemed(ctx, &rotated, secret)
		}
		next.Since = time.Time{} // the credential in force cannot be derived, so replace it
	}
}

// redeemed returns the response with the credential, its only appearance in plaintext.
func (h *handlers) redeemed(ctx context.Context, s *paymentdb.Settlement, secret account.Credential) (Redeemed, error) {
	left, err := h.Limits.SettlementLeft(ctx, s)
	if err != nil { // the credential works; only its remainder is unknown
		h.Logger.Warn("what is left of a settlement could not be read", "settlement", s.ID.String(), "error", err)
		left = s.Deal.Units
	}
	ends := s.WindowEnds
	r := Redeemed{
		Status: statusRedeemed, TxHash: s.Tx.String(), Credential: secret.Reveal(), Units: &left, Tier: s.Deal.Tier,
		ExpiresAt: &ends, Receipt: h.receiptURL(s),
		Note: "Store the credential now: it is stored nowhere here and is not shown later. Redeem again within the " +
			"window for a fresh one.",
	}
	if s.Deal.Capped {
		r.Note += fmt.Sprintf(" More was paid than the %s units that one settlement gives; the receipt says so.",
			s.Deal.Units)
	}
	return r, nil
}

func (r *redeeming) pending(words string) Redeemed {
	return Redeemed{Status: statusPending, TxHash: r.tx.String(), Note: words, later: retryPending}
}

// newCredential returns a new credential for a settlement. Its plaintext is derived from its key.
func (h *handlers) newCredential() paymentdb.Credential {
	key := account.NewKeyID()
	secret := account.CredentialOf(key, h.Hasher)
	return paymentdb.Credential{Key: key, Digest: secret.Digest(h.Hasher), Prefix: secret.Prefix()}
}

// credentialOf derives the credential of a key. ok is false if it cannot be derived, as for the
// credentials of stock clients and of older versions.
func (h *handlers) credentialOf(ctx context.Context,
	key account.KeyID,
) (secret account.Credential, ok bool, err error) {
	secret = account.CredentialOf(key, h.Hasher)
	digest := secret.Digest(h.Hasher)
	named, err := h.Store.FindIdentity(ctx, digest[:])
	if errors.Is(err, store.ErrNotFound) {
		return secret, false, nil
	}
	return secret, named.Key == key, err
}

func (h *handlers) receiptURL(s *paymentdb.Settlement) string {
	return h.PublicURL + receiptPrefix + s.Tx.String()
}

// notPaid refuses a transaction that does not pay, with HTTP 402.
func notPaid(why, words string) error {
	return fault.New(fault.PaymentRequired, "%s", words).With("why", why).With("menu", x402.MenuPath)
}

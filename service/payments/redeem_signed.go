package payments

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// signing is a message that a redeem's signature may have signed.
type signing struct {
	message string
	issued  time.Time      // zero for a message of the old form
	signer  wallet.Address // whose key would have made the signature; zero if none, then it may be a contract wallet's
}

// signingsOfContracts is how many messages a contract wallet is asked about: the old form and those
// of the two newest menus.
const signingsOfContracts = 3

// firstSigning returns the message with the redeem's issue time, or the old form without one.
func (h *handlers) firstSigning(tx x402.TxHash, issuedAt string) ([]signing, error) {
	if issuedAt == "" {
		return []signing{{message: h.Terms.OldMessage(tx)}}, nil
	}
	issued, ok := x402.ParseIssueTime(issuedAt)
	if !ok {
		return nil, fault.New(fault.FieldRefused,
			"issued_at takes the time of the message that was signed, as it stands there: 2026-11-23T12:40:00Z for "+
				"instance.").With("field", "issued_at")
	}
	if issued.After(h.Now().Add(x402.IssueAhead)) {
		return nil, fault.New(fault.FieldRefused,
			"The message was issued in the future. Set the clock right, or sign messageToSign of GET /x402 as it "+
				"stands.").With("field", "issued_at")
	}
	return []signing{{message: h.Terms.Message(tx, issued), issued: issued}}, nil
}

// addMenuSignings adds the messages of the menus of the last two hours if the redeem names no issue
// time: a message may be an hour old at the first redeem, and serves during the window of one hour.
func (h *handlers) addMenuSignings(r *redeeming) error {
	if !r.signed[0].issued.IsZero() {
		return nil
	}
	for _, issued := range x402.IssueTimes(h.Now(), 2*x402.MessageLife) {
		r.signed = append(r.signed, signing{message: h.Terms.Message(r.tx, issued), issued: issued})
	}
	return r.recoverFrom(1)
}

// recoverFrom recovers the signers of the messages from index first on.
func (r *redeeming) recoverFrom(first int) (err error) {
	for i := first; i < len(r.signed); i++ {
		s := &r.signed[i]
		// A signature that no key made may be a contract wallet's.
		if s.signer, err = wallet.RecoverHash(wallet.TextHash(s.message), r.raw); errors.Is(err,
			wallet.ErrSignatureMalleable) {
			return wrongSignature(err)
		}
	}
	return nil
}

// by returns the message that a payer's key signed, or nil.
func (r *redeeming) by(payer wallet.Address) *signing {
	for i := range r.signed {
		if r.signed[i].signer == payer && !payer.IsZero() {
			return &r.signed[i]
		}
	}
	return nil
}

// signerWithoutChain returns who signed when that is certain without the chain: a payer that is
// recorded, or the signer of the only message that can have been signed. Otherwise it returns zero.
func (r *redeeming) signerWithoutChain(known []paymentdb.Settlement) wallet.Address {
	for i := range known {
		if r.by(known[i].Payer) != nil {
			return known[i].Payer
		}
	}
	if len(r.signed) == 1 {
		return r.signed[0].signer
	}
	return wallet.Address{}
}

// unaskedAbout returns an addition to a refusal if contract wallets were not asked about all
// messages, otherwise "".
func (r *redeeming) unaskedAbout() string {
	if !r.partly {
		return ""
	}
	return " A contract wallet that signed more than ten minutes ago sends issued_at too: the time after \"Issued " +
		"At: \" in the message that it signed, as it stands there (2026-11-23T12:40:00Z for instance)."
}

// redeemSigned is redeemAgain after a check that the signed message has not expired.
func (h *handlers) redeemSigned(ctx context.Context, r *redeeming, by *signing,
	s *paymentdb.Settlement,
) (Redeemed, error) {
	paid := s.SeenAt
	if s.Found.Time > 0 {
		paid = time.Unix(s.Found.Time, 0)
	}
	if refusal := h.outdated(by, s.RedeemedAt, paid); refusal != nil {
		return Redeemed{}, refusal
	}
	return h.redeemAgain(ctx, r, s)
}

// outdated refuses a message that was issued too long before the first redeem. It also refuses a
// message of the old form for a payment older than a day.
func (h *handlers) outdated(by *signing, redeemed, paid time.Time) error {
	const sign = " Sign messageToSign of GET /x402 as it stands there now, with the transaction's hash in it, and " +
		"redeem with that signature."
	switch {
	case by.issued.IsZero() && h.Now().Sub(paid) > x402.OldMessageAge:
		return fault.New(fault.FieldRefused,
			"The signature is of a message without a time, which is taken for a day after the payment."+sign).With(
			"field", "signature")
	case !by.issued.IsZero() && redeemed.Sub(by.issued) > x402.MessageLife:
		return fault.New(fault.FieldRefused,
			"The message that was signed was issued at %s, and one is good for %d minutes."+sign,
			by.issued.Format(time.RFC3339), int(x402.MessageLife/time.Minute)).With("field", "signature")
	}
	return nil
}

package capability

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/internal/together"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/wallet"
	"github.com/chainaccess/gateway/x402"
)

const (
	mostAskedFor = 8               // contract wallets that are asked whether a signature is theirs
	askedFor     = 4 * time.Second // all of them together
)

// payerOf finds the payer whose signature it is. Redeemed ones among known were asked before.
func (h *house) payerOf(ctx context.Context, r *redeeming, payments []x402.PayerSum, known []store.Settlement) (x402.PayerSum, error) {
	taken := slices.ContainsFunc(known, func(s store.Settlement) bool { return s.Redeemed() }) //nolint:gocritic // at most a hundred
	var open []x402.PayerSum
	for _, p := range payments {
		if p.Payer == r.signer {
			return p, nil
		}
		if s := settlementOf(known, p.Payer); p.Paid >= leastPaid() && (s == nil || !s.Redeemed()) {
			open = append(open, p)
		}
	}
	at, unasked := h.whoSigned(ctx, r, mostFirst(open))
	switch {
	case at >= 0:
		return open[at], nil
	case unasked:
		return x402.PayerSum{}, wallet.Refuse(fault.FieldRefused, wallet.ErrChainUnreachable)
	case taken:
		return x402.PayerSum{}, fault.New(fault.SettlementRedeemed, "This transaction was redeemed by the wallet that paid, and the signature is another's. "+
			"Sign messageToSign with the wallet that paid, or pay a new settlement against the menu at /x402.")
	}
	return x402.PayerSum{}, wrongSignature(wallet.ErrSignatureMismatch)
}

// redeemedBy finds the settlement that a contract wallet redeemed whose signature it is; nil when there is none.
func (h *house) redeemedBy(ctx context.Context, r *redeeming, known []store.Settlement) *store.Settlement {
	var paid []x402.PayerSum
	for i := range known {
		if s := &known[i]; s.Redeemed() {
			paid = append(paid, x402.PayerSum{Payer: s.Payer, Paid: s.Deal.Paid})
		}
	}
	if at, _ := h.whoSigned(ctx, r, mostFirst(paid)); at >= 0 {
		return settlementOf(known, paid[at].Payer)
	}
	return nil
}

// leastPaid is what the cheapest tier takes: whoever paid less has nothing to redeem.
func leastPaid() plan.Atomic {
	least := plan.Atomic(0)
	for _, t := range plan.PerCallTiers() {
		if net := t.NetAmountRequired(); least == 0 || net < least {
			least = net
		}
	}
	return least
}

// mostFirst orders payers by what they paid, so that it costs more to stand in somebody's way than they paid.
func mostFirst(payers []x402.PayerSum) []x402.PayerSum {
	slices.SortStableFunc(payers, func(a, b x402.PayerSum) int { return cmp.Compare(b.Paid, a.Paid) })
	return payers
}

// whoSigned asks the first of the payers, at the same time, whether the signature is theirs, and gives the place of one whose it is; -1 for nobody's.
// unasked says that the chain did not tell of some.
func (h *house) whoSigned(ctx context.Context, r *redeeming, payers []x402.PayerSum) (place int, unasked bool) {
	ctx, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	payers = payers[:min(len(payers), mostAskedFor)]
	said := make([]error, len(payers))
	var asking together.Group
	for i := range payers {
		asking.Go(func() error {
			said[i] = h.Payments.Proves(ctx, payers[i], r.message, r.signature)
			return nil
		})
	}
	_ = asking.Wait() // none fails
	for i, err := range said {
		if err == nil {
			return i, false
		}
		unasked = unasked || errors.Is(err, wallet.ErrChainUnreachable)
	}
	return -1, unasked
}

package payments

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/paymentdb"
)

const (
	maxAskedFor = 8               // maximum number of contract wallets asked about a signature
	askedFor    = 4 * time.Second // for all of them together
)

// payerOf returns the payer who made the signature, and the message that was signed. Wallets with a
// redeemed settlement among known are left out: they were asked before.
func (h *handlers) payerOf(ctx context.Context, r *redeeming, payments []x402.PayerSum,
	known []paymentdb.Settlement,
) (x402.PayerSum, *signing, error) {
	//nolint:gocritic // at most a hundred
	taken := slices.ContainsFunc(known, func(s paymentdb.Settlement) bool { return s.Redeemed() })
	var open []x402.PayerSum
	for _, p := range payments {
		if by := r.by(p.Payer); by != nil {
			return p, by, nil
		}
		if s := settlementOf(known, p.Payer); p.Paid >= leastPaid() && (s == nil || !s.Redeemed()) {
			open = append(open, p)
		}
	}
	asked, err := h.whoSigned(ctx, r, mostFirst(open))
	switch {
	case err != nil:
		return x402.PayerSum{}, nil, err
	case asked.by != nil:
		return asked.payer, asked.by, nil
	case asked.untold:
		return x402.PayerSum{}, nil, wallet.Refuse(fault.FieldRefused, wallet.ErrChainUnreachable)
	case taken:
		return x402.PayerSum{}, nil, fault.New(fault.SettlementRedeemed,
			"This transaction was redeemed by the wallet that paid, and the signature is another's. "+
				"Sign messageToSign with the wallet that paid, or pay a new settlement against the menu at /x402.%s",
			r.unaskedAbout())
	}
	refusal := wrongSignature(wallet.ErrSignatureMismatch)
	refusal.Message += r.unaskedAbout()
	return x402.PayerSum{}, nil, refusal
}

// redeemedBy returns the settlement redeemed by the contract wallet that made the signature, and
// the message that was signed. Both are nil if there is none.
func (h *handlers) redeemedBy(ctx context.Context, r *redeeming,
	known []paymentdb.Settlement,
) (*paymentdb.Settlement, *signing, error) {
	var paid []x402.PayerSum
	for i := range known {
		if s := &known[i]; s.Redeemed() {
			paid = append(paid, x402.PayerSum{Payer: s.Payer, Paid: s.Deal.Paid})
		}
	}
	asked, err := h.whoSigned(ctx, r, mostFirst(paid))
	if err != nil || asked.by == nil {
		return nil, nil, err
	}
	return settlementOf(known, asked.payer.Payer), asked.by, nil
}

// leastPaid returns the price of the cheapest tier. A payer who paid less has nothing to redeem.
func leastPaid() plan.Atomic {
	least := plan.Atomic(0)
	for _, t := range plan.PerCallTiers() {
		if net := t.NetAmountRequired(); least == 0 || net < least {
			least = net
		}
	}
	return least
}

// mostFirst sorts payers by amount, largest first. So crowding somebody out of the first
// maxAskedFor costs more than they paid.
func mostFirst(payers []x402.PayerSum) []x402.PayerSum {
	slices.SortStableFunc(payers, func(a, b x402.PayerSum) int { return cmp.Compare(b.Paid, a.Paid) })
	return payers
}

// askedWallets is the result of asking contract wallets about a signature.
type askedWallets struct {
	payer  x402.PayerSum
	by     *signing // the message that the payer signed; nil if nobody did
	untold bool     // some wallets could not be asked
}

// whoSigned asks the first payers concurrently whether the signature is theirs. It fails when the
// network of the redeem has used up its upstream calls.
func (h *handlers) whoSigned(ctx context.Context, r *redeeming, payers []x402.PayerSum) (askedWallets, error) {
	payers, err := h.contractsAmong(ctx, r, payers[:min(len(payers), maxAskedFor)])
	if err != nil {
		return askedWallets{}, err
	}
	messages := r.signed[:min(len(r.signed), signingsOfContracts)]
	if len(payers) == 0 {
		return askedWallets{}, nil
	}
	r.partly = len(messages) < len(r.signed)
	if refusal := h.limitCalls(ctx, r, len(payers)*len(messages)*settlement.CallsOfProves); refusal != nil {
		return askedWallets{}, refusal
	}
	ctx, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	said := make([]error, len(payers)*len(messages))
	var asking parallel.Group
	for i := range said {
		asking.Go(func() error {
			said[i] = h.Payments.Proves(ctx, payers[i/len(messages)], messages[i%len(messages)].message, r.signature)
			return nil
		})
	}
	_ = asking.Wait() // the functions return no error
	var all askedWallets
	for i, err := range said {
		if err == nil {
			return askedWallets{payer: payers[i/len(messages)], by: &messages[i%len(messages)]}, nil
		}
		all.untold = all.untold || errors.Is(err, wallet.ErrChainUnreachable)
	}
	return all, nil
}

// contractsAmong removes payers without a contract: only a key can sign for them. The result per
// address is cached for a minute. If the signature deploys its wallet (EIP-6492), all payers stay.
func (h *handlers) contractsAmong(ctx context.Context, r *redeeming, payers []x402.PayerSum) ([]x402.PayerSum, error) {
	if wallet.BringsWallet(r.raw) {
		return payers, nil
	}
	var all []x402.PayerSum
	for _, p := range payers {
		has, err := h.mayHaveContract(ctx, r, p.Payer)
		if err != nil {
			return nil, err
		}
		if has {
			all = append(all, p)
		}
	}
	return all, nil
}

// mayHaveContract reports whether an address has a contract, from a cache of one minute. It returns
// true when no upstream answers.
func (h *handlers) mayHaveContract(ctx context.Context, r *redeeming, at wallet.Address) (bool, error) {
	key := cache.NewKey([]byte("redeem contract"), []byte(strconv.FormatUint(h.Terms.Chain, 10)), at[:])
	flight, leads := h.contracts.Join(at)
	if !leads {
		may, ok := flight.Wait(ctx, operation.Deadline)
		return may || !ok, nil
	}
	shared, end := flight.Start(ctx)
	defer end()
	may := true
	defer flight.Finish(func() bool { return may })
	if text, tier := h.looks.Get(shared, key); tier != cache.Nowhere {
		may = string(text) == "true"
		return may, nil
	}
	if refusal := h.limitCalls(shared, r, 1); refusal != nil {
		return false, refusal
	}
	if has, err := h.Payments.HasCode(shared, at); err == nil {
		may = has
		h.looks.Put(key, strconv.AppendBool(nil, may), lookKept)
	}
	return may, nil
}

// Package settlement reads payments from a chain through the chain's upstreams. A single upstream
// cannot make the gateway give away more than a configured amount, and cannot deny a payment alone.
// The package stores nothing and does not judge payments; package x402 does.
package settlement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// Reader reads payments from one chain. It is safe for concurrent use.
type Reader struct {
	pool  *upstream.Pool
	on    chain.ID
	terms x402.Terms
}

// New returns a Reader of the chain that payments are made on. The caller owns the pool.
func New(pool *upstream.Pool, on chain.ID, terms x402.Terms) *Reader { //nolint:gocritic // read once at the start
	return &Reader{pool: pool, on: on, terms: terms}
}

// Terms returns the terms that the reader applies.
func (r *Reader) Terms() x402.Terms { return r.terms }

// Reading is the state of a transaction on the chain.
type Reading struct {
	Sight    x402.Sight
	Payments []x402.PayerSum // of a mined transaction
	// Position of a mined or failed transaction; the units are those of x402.Finding.
	Block     uint64
	BlockHash x402.TxHash
	Time      int64
	Depth     uint64
	Final     bool
	// Finalized is the number of the newest finalized block, 0 when unknown.
	Finalized uint64
	// FinalizedTime is the time of that block, in seconds since 1970.
	FinalizedTime int64
	// Alone reports that one upstream denied the payment and that no other upstream is configured
	// which could contradict it.
	Alone bool
	// Corroborated reports that two upstreams agree.
	Corroborated bool
}

// Answers reports whether the reading is conclusive for payers who expect at least these sums: it
// denies nothing, or no further upstream could contradict it.
func (r *Reading) Answers(expected ...x402.PayerSum) bool {
	return r.Sight == x402.SightWaiting || r.Alone || r.Corroborated || covers(r.Payments, expected)
}

// Finding returns the part of the reading that concerns one payer.
func (r *Reading) Finding(payer wallet.Address) x402.Finding {
	return x402.Finding{
		Paid: x402.PaidBy(r.Payments, payer), Block: r.Block, BlockHash: r.BlockHash, Time: r.Time, Depth: r.Depth,
		Final: r.Final,
	}
}

// Reasons why a chain cannot be read. They are stored in PostgreSQL and in search attributes, and
// are part of the interface.
const (
	StuckNoAnswer = "no_usable_answer"
	StuckDisagree = "upstreams_disagree"
	StuckAlone    = "second_upstream_missing"
	StuckBroken   = "answer_contradicts_itself"
)

// UnreadableError reports that the chain could not be read. Why is one of the Stuck constants.
type UnreadableError struct {
	Why   string
	cause error
}

// Error is for logs.
func (u *UnreadableError) Error() string {
	return fmt.Sprintf("the chain cannot be read: %s: %v", u.Why, u.cause)
}

// Unwrap returns the cause.
func (u *UnreadableError) Unwrap() error { return u.cause }

// unreadable classifies an error of observe or known.
func unreadable(err error) *UnreadableError {
	why := StuckNoAnswer
	if errors.Is(err, errBroken) || errors.Is(err, x402.ErrAmount) {
		why = StuckBroken
	}
	return &UnreadableError{why, err}
}

// readTimeout bounds a reading, including both upstreams. It is shorter than a redeem waits.
const readTimeout = 5 * time.Second

// Maximum number of upstream calls per method when two upstreams answer. Failures and further
// upstreams add some.
const (
	CallsOfKnown  = 3
	CallsOfRead   = 10
	CallsOfProves = 2
)

// Known asks whether any available upstream knows a transaction. It returns x402.SightNone if none
// does, x402.SightWaiting if the transaction is in no block, and x402.SightMined otherwise, even if
// it was reverted. Any error is an *UnreadableError.
func (r *Reader) Known(ctx context.Context, tx x402.TxHash) (x402.Sight, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	sight, _, err := r.known(ctx, tx, nil)
	if err != nil {
		return sight, unreadable(err)
	}
	return sight, nil
}

// Read returns the state of a transaction. Each expected entry is a payer with the least amount
// that this payer should have paid; the zero address stands for any payer. Two upstreams must agree
// on payments above Terms.CorroborateAbove. Two must also agree before a payment is denied: the
// transaction is unknown, it failed, or it pays less than expected. If no second upstream is
// configured, one upstream may deny it, and the reading is Alone. Any error is an *UnreadableError.
func (r *Reader) Read(ctx context.Context, tx x402.TxHash, expected ...x402.PayerSum) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	first, err := r.observe(ctx, tx, nil)
	if err != nil {
		return Reading{}, unreadable(err)
	}
	if first.sight == x402.SightWaiting || (covers(first.payments, expected) && !r.large(first.payments)) {
		return first.reading(), nil
	}
	second, err := r.observe(ctx, tx, without(first.by))
	switch {
	case errors.Is(err, errAlone) && !r.large(first.payments) && !r.others(first.by):
		alone := first.reading()
		alone.Alone = true
		return alone, nil
	case errors.Is(err, errAlone):
		return Reading{}, &UnreadableError{StuckAlone, err}
	case err != nil:
		return Reading{}, unreadable(err)
	}
	return reconcile(&first, &second)
}

// covers reports whether one of the payments reaches an expected sum.
func covers(payments, expected []x402.PayerSum) bool {
	return slices.ContainsFunc(payments, func(p x402.PayerSum) bool {
		return slices.ContainsFunc(expected, func(e x402.PayerSum) bool {
			return (p.Payer == e.Payer || e.Payer.IsZero()) && p.Paid >= e.Paid
		})
	})
}

// large reports whether a payer paid more than a single upstream is trusted with.
func (r *Reader) large(payments []x402.PayerSum) bool {
	return slices.ContainsFunc(payments, func(p x402.PayerSum) bool { return p.Paid > r.terms.CorroborateAbove })
}

// reconcile compares the observations of two upstreams. An upstream whose head is below the
// transaction's block lags, which is not a contradiction.
func reconcile(a, b *observation) (Reading, error) {
	if a.sight == b.sight {
		if a.block != b.block || a.blockHash != b.blockHash || !slices.Equal(a.payments, b.payments) {
			return Reading{}, disagreement(a, b)
		}
		both := *a
		both.head = min(a.head, b.head)
		if b.finalized < a.finalized {
			both.finalized, both.finalizedTime = b.finalized, b.finalizedTime
		}
		told := both.reading()
		told.Corroborated = true
		return told, nil
	}
	for _, pair := range [][2]*observation{{a, b}, {b, a}} {
		knows, other := pair[0], pair[1]
		behind := other.sight == x402.SightNone || other.sight == x402.SightWaiting
		if behind && (knows.sight == x402.SightWaiting || other.head < knows.block) {
			return Reading{Sight: x402.SightWaiting}, nil
		}
	}
	return Reading{}, disagreement(a, b)
}

func disagreement(a, b *observation) error {
	return &UnreadableError{
		StuckDisagree, fmt.Errorf("%s says %s in block %d, %s says %s in block %d", a.by, a.sight, a.block, b.by,
			b.sight, b.block),
	}
}

func (t *observation) reading() Reading {
	r := Reading{
		Sight: t.sight, Payments: t.payments, Block: t.block, BlockHash: t.blockHash, Time: t.time,
		Finalized: t.finalized, FinalizedTime: t.finalizedTime, Final: t.finalized >= t.block && t.block > 0,
	}
	if t.head > t.block {
		r.Depth = t.head - t.block
	}
	return r
}

// Package settlement reads what a chain says of payments, through the chain's upstreams, so that no
// single one of them can give away more than the configured amount, or take a payment away. It
// judges nothing (x402 does) and keeps nothing.
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

// Reader is safe for concurrent use.
type Reader struct {
	pool  *upstream.Pool
	on    chain.ID
	terms x402.Terms
}

// New makes a reader of the chain that is paid on, over a pool that it does not own.
func New(pool *upstream.Pool, on chain.ID, terms x402.Terms) *Reader { //nolint:gocritic // read once at the start
	return &Reader{pool: pool, on: on, terms: terms}
}

// Terms are those that it reads by.
func (r *Reader) Terms() x402.Terms { return r.terms }

// Reading is what the chain says of a transaction.
type Reading struct {
	Sight    x402.Sight
	Payments []x402.PayerSum // of a mined one
	// Where a mined or failed one is, as x402.Finding has it.
	Block     uint64
	BlockHash x402.TxHash
	Time      int64
	Depth     uint64
	Final     bool
	// Finalized is the number of the newest block that is final; 0 when that is not known.
	Finalized uint64
	// FinalizedTime is when that block was made, in seconds since 1970.
	FinalizedTime int64
	// Alone says that one upstream took the payment away, and that no other is configured which
	// could contradict it.
	Alone bool
	// Corroborated says that two upstreams told it.
	Corroborated bool
}

// Answers reports whether the reading may be held against who expects so much of one of the payers:
// nobody could say more, or nothing is taken away.
func (r *Reading) Answers(expected ...x402.PayerSum) bool {
	return r.Sight == x402.SightWaiting || r.Alone || r.Corroborated || covers(r.Payments, expected)
}

// Finding is what the reading says of one payer.
func (r *Reading) Finding(payer wallet.Address) x402.Finding {
	return x402.Finding{
		Paid: x402.PaidBy(r.Payments, payer), Block: r.Block, BlockHash: r.BlockHash, Time: r.Time, Depth: r.Depth,
		Final: r.Final,
	}
}

// Why a chain cannot be read. They are words of the record, of search attributes and of the
// interface.
const (
	StuckNoAnswer = "no_usable_answer"
	StuckDisagree = "upstreams_disagree"
	StuckAlone    = "second_upstream_missing"
	StuckBroken   = "answer_contradicts_itself"
)

// UnreadableError says that the chain could not be read, and why in a word.
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

// unreadable names what kept an upstream from telling.
func unreadable(err error) *UnreadableError {
	why := StuckNoAnswer
	if errors.Is(err, errBroken) || errors.Is(err, x402.ErrAmount) {
		why = StuckBroken
	}
	return &UnreadableError{why, err}
}

// readTimeout bounds a reading, both upstreams together, below what a redeem waits.
const readTimeout = 5 * time.Second

// How many calls of upstreams each takes, at most, with two upstreams that answer; more of them, or
// ones that fail, take some more.
const (
	CallsOfKnown  = 3
	CallsOfRead   = 10
	CallsOfProves = 2
)

// Known asks whether any upstream that can be asked knows a transaction: x402.SightNone,
// x402.SightWaiting in no block, else x402.SightMined, whatever it did there. An error is an
// *UnreadableError.
func (r *Reader) Known(ctx context.Context, tx x402.TxHash) (x402.Sight, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	sight, _, err := r.known(ctx, tx, nil)
	if err != nil {
		return sight, unreadable(err)
	}
	return sight, nil
}

// Read asks what became of a transaction of which one of the expected payers has paid at least so
// much; of an unknown payer, the zero address, somebody has. What pays more than the terms'
// CorroborateAbove must be told by two upstreams, and so must whatever takes a payment away: that
// nobody knows the transaction, that it failed, that it pays less than expected; of these the word
// of one is given, as Alone, where no other is configured. An error is an *UnreadableError.
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

// covers reports whether the payments have what is expected of one payer, or more.
func covers(payments, expected []x402.PayerSum) bool {
	return slices.ContainsFunc(payments, func(p x402.PayerSum) bool {
		return slices.ContainsFunc(expected, func(e x402.PayerSum) bool {
			return (p.Payer == e.Payer || e.Payer.IsZero()) && p.Paid >= e.Paid
		})
	})
}

// large reports whether a payer paid more than one upstream is believed.
func (r *Reader) large(payments []x402.PayerSum) bool {
	return slices.ContainsFunc(payments, func(p x402.PayerSum) bool { return p.Paid > r.terms.CorroborateAbove })
}

// reconcile holds what two upstreams say against each other. One that has not come as far as the
// transaction's block lags, and does not contradict.
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

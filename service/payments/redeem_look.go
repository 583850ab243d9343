package payments

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
)

// How long a reading of a transaction is cached. It grants nothing: the workflow that grants units
// reads the chain itself.
const (
	lookKept = time.Minute
	// missKept is how long a transaction that no upstream knows is not looked for again when no
	// block came: a block of Base. Each miss doubles it, to maxMissKept: a payer who asked before
	// the transaction was mined waits no longer than that.
	missKept    = 2 * time.Second
	maxMissKept = 16 * time.Second
	// missRemembered is how long it is remembered how often nobody knew a transaction.
	missRemembered = 2 * lookKept
	// looksBytes bounds the cache of readings, in bytes, when there is no cache of answers.
	looksBytes = 4 << 20
	// looksOfOne is how often one redeem reads the chain, or waits for a reading of another redeem,
	// until a reading is conclusive.
	looksOfOne = 3
)

// chainLook is a cached reading of a transaction.
type chainLook struct {
	Reading settlement.Reading `json:"reading"`
	Stuck   string             `json:"stuck,omitempty"` // why it could not be read
	Misses  int                `json:"misses,omitempty"`
	Until   time.Time          `json:"until"`
	Head    uint64             `json:"head,omitempty"` // a newer head ends it, unless missed twice; 0 for none
}

// answers reports whether the cached reading is valid and conclusive for a redeem. A single
// upstream cannot deny a payment.
func (l *chainLook) answers(h *handlers, expected []x402.PayerSum, recorded bool) bool {
	switch {
	case !h.Now().Before(l.Until) || (l.Head > 0 && l.Misses <= 1 && h.paidHead() > l.Head):
		return false
	case l.Stuck != "":
		return true
	case l.Reading.Sight == x402.SightNone && !recorded: // nobody can lose anything
		return true
	}
	return l.Reading.Answers(expected...)
}

func (l *chainLook) told() (settlement.Reading, error) {
	if l.Stuck != "" {
		return settlement.Reading{}, &settlement.UnreadableError{Why: l.Stuck}
	}
	return l.Reading, nil
}

// lookResult is a reading shared by redeems of one transaction. made is false if the leader was
// refused by a limit.
type lookResult struct {
	chainLook
	made bool
}

// lookAt returns what the chain reports about a redeem's transaction. Concurrent redeems share one
// reading, which is then cached. recorded reports whether a settlement of the transaction is
// recorded. Calls of upstreams are limited per network and in total.
func (h *handlers) lookAt(ctx context.Context, r *redeeming, expected []x402.PayerSum,
	recorded bool,
) (settlement.Reading, error) {
	key := cache.NewKey([]byte("redeem look"), []byte(strconv.FormatUint(h.Terms.Chain, 10)), r.tx[:])
	for range looksOfOne {
		before := h.keptLook(ctx, key)
		if before != nil && before.answers(h, expected, recorded) {
			return before.told()
		}
		flight, leads := h.lookers.Join(r.tx)
		if !leads {
			if l, ok := flight.Wait(ctx, operation.Deadline); ok && l.made && l.answers(h, expected, recorded) {
				return l.told()
			} else if ok {
				continue
			}
			return settlement.Reading{}, stillRedeeming(ctx.Err())
		}
		l, err := h.leadLook(ctx, flight, r, key, before, expected, recorded)
		if err != nil {
			return settlement.Reading{}, err
		}
		return l.told()
	}
	return settlement.Reading{}, stillRedeeming(nil)
}

// leadLook reads the transaction, caches the result and shares it.
func (h *handlers) leadLook(
	ctx context.Context, flight *cache.Flight[x402.TxHash, lookResult], r *redeeming, key cache.Key, before *chainLook,
	expected []x402.PayerSum, recorded bool,
) (l chainLook, err error) {
	shared, end := flight.Start(ctx)
	defer end()
	landed := lookResult{}
	defer flight.Finish(func() lookResult { return landed })
	head := h.paidHead()
	if l.Reading, err = h.readFor(shared, r, expected, recorded); err != nil {
		stuck, unreadable := errors.AsType[*settlement.UnreadableError](err)
		if !unreadable {
			return l, err
		}
		l.Stuck = stuck.Why
	}
	l.Until = h.Now().Add(lookKept)
	switch {
	case l.Stuck != "" || l.Reading.Sight == x402.SightWaiting:
		l.Until, l.Head = h.Now().Add(missKept), head
	case l.Reading.Sight == x402.SightNone:
		if before != nil {
			l.Misses = before.Misses
		}
		l.Until, l.Head = h.Now().Add(min(missKept<<min(l.Misses, 5), maxMissKept)), head
		l.Misses++
	}
	h.keepLook(key, &l)
	landed = lookResult{l, true}
	return l, nil
}

// readFor reads the chain and counts the calls against the redeem's network. Without a recorded
// settlement it first asks whether any upstream knows the transaction.
func (h *handlers) readFor(ctx context.Context, r *redeeming, expected []x402.PayerSum,
	recorded bool,
) (settlement.Reading, error) {
	if !recorded {
		if refusal := h.limitCalls(ctx, r, settlement.CallsOfKnown); refusal != nil {
			return settlement.Reading{}, refusal
		}
		if sight, err := h.Payments.Known(ctx, r.tx); err != nil || sight == x402.SightNone {
			return settlement.Reading{Sight: sight}, err
		}
	}
	if refusal := h.limitCalls(ctx, r, settlement.CallsOfRead); refusal != nil {
		return settlement.Reading{}, refusal
	}
	return h.Payments.Read(ctx, r.tx, expected...)
}

// newLooks returns an in-process cache. It uses no Redis, so it cannot fail.
func newLooks(now func() time.Time) *cache.Cache {
	kept, err := cache.New(cache.Options{Bytes: looksBytes, Now: now})
	if err != nil {
		panic(err)
	}
	return kept
}

func (h *handlers) keptLook(ctx context.Context, key cache.Key) *chainLook {
	text, tier := h.looks.Get(ctx, key)
	l := &chainLook{}
	if tier == cache.Nowhere || json.Unmarshal(text, l) != nil {
		return nil
	}
	return l
}

func (h *handlers) keepLook(key cache.Key, l *chainLook) {
	text, err := json.Marshal(l)
	if err != nil {
		h.Logger.Error("cannot encode what was read from the chain", "error", err)
		return
	}
	h.looks.Put(key, text, missRemembered)
}

// paidHead returns the newest block of the chain that payments are made on, or 0 if unknown.
func (h *handlers) paidHead() uint64 {
	if h.Pool == nil {
		return 0
	}
	on, ok := h.Pool.Chain(chain.BaseMainnet)
	if !ok {
		return 0
	}
	head, _ := on.Head()
	return head
}

// limitCalls limits the upstream calls that redeems cause, per network and for all networks
// together.
func (h *handlers) limitCalls(ctx context.Context, r *redeeming, n int) *fault.Error {
	return h.LimitNetworkBy(ctx, r.network, netlimit.RedeemCalls, int64(n))
}

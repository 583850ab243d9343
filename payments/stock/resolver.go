package stock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// OpenRecord stores authorizations whose outcome is open; store.Store implements it.
type OpenRecord interface {
	ClaimAuthorizations(ctx context.Context, again time.Duration, limit int) ([]paymentdb.Authorization, error)
	ConcludeAuthorization(ctx context.Context, of paymentdb.Attempt, state paymentdb.AuthorizationState, reason string,
		tx x402.TxHash) (bool, error)
}

// Chain calls a JSON-RPC method on the chain that payments are made on, and returns its result.
type Chain interface {
	Call(ctx context.Context, method string, params ...any) (json.RawMessage, error)
}

// ResolverOptions are the options of a Resolver. Record, Chain and Watch are required.
type ResolverOptions struct {
	Record OpenRecord
	Chain  Chain
	// Watch starts watching the finality of a settlement and makes it visible to support. It is
	// idempotent. Units that the payer did not get can be redeemed.
	Watch func(ctx context.Context, id x402.ID) error
	// Confirmations is the number of blocks that must follow the block of a transfer.
	Confirmations uint64
	Interval      time.Duration // between sweeps; ten seconds by default
	Logger        *slog.Logger  // slog.Default() by default
}

// Resolver reads the outcome of authorizations from the chain when no answer states it: the
// settlement was refused, its answer was lost, or its process died. It also has the finality of
// settled payments watched. Several Resolvers may run concurrently. Nothing is lost when one is
// killed: an authorization stays open until it is concluded.
type Resolver struct{ ResolverOptions }

// NewResolver returns a Resolver.
func NewResolver(o ResolverOptions) *Resolver {
	if o.Interval <= 0 {
		o.Interval = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Resolver{o}
}

const (
	sweepPage = 10
	maxPages  = 20 // per sweep
	// again is how long an authorization that was read and is still open stays claimed, also when
	// the Resolver that claimed it died. It grows with the age of the authorization
	// (store.ClaimAuthorizations).
	again       = 15 * time.Second
	pageTimeout = 75 * time.Second
	rowTimeout  = 5 * time.Second // per authorization of a page
)

// Run sweeps until ctx ends.
func (s *Resolver) Run(ctx context.Context) {
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		if err := s.ResolveDue(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Warn("could not read the outcome of some payments; will retry", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ResolveDue looks once at each authorization that is due, two hundred at most.
func (s *Resolver) ResolveDue(ctx context.Context) error {
	var failed error
	for range maxPages {
		n, err := s.page(ctx)
		failed = errors.Join(failed, err)
		if n < sweepPage || ctx.Err() != nil {
			break
		}
	}
	return failed
}

// page looks at the authorizations that have waited longest and returns their number, or 0 when the
// chain cannot be read. An error of one does not stop the others.
func (s *Resolver) page(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	claimed, err := s.Record.ClaimAuthorizations(ctx, again, sweepPage)
	if err != nil {
		return 0, err
	}
	var failed error
	open := make([]*paymentdb.Authorization, 0, len(claimed))
	for i := range claimed {
		if a := &claimed[i]; a.State != paymentdb.AuthorizationSettled {
			open = append(open, a)
		} else { // reported by the facilitator
			failed = errors.Join(failed, s.settled(ctx, a, a.Tx))
		}
	}
	if len(open) == 0 {
		return len(claimed), failed
	}
	at, err := s.view(ctx)
	if err != nil {
		return 0, errors.Join(failed, err)
	}
	for _, a := range open {
		failed = errors.Join(failed, s.resolve(ctx, a, at))
	}
	return len(claimed), failed
}

// view is the state of the chain that all authorizations of a page are compared with.
type view struct {
	deep  uint64 // the newest block with enough confirmations; 0 for none
	final block
}

func (s *Resolver) view(ctx context.Context) (view, error) {
	head, err := s.block(ctx, "latest")
	if err != nil {
		return view{}, err
	}
	final, err := s.block(ctx, "finalized")
	return view{head.Number - min(head.Number, s.Confirmations), final}, err
}

// block is the number and the time of a block.
type block struct {
	Number, Time uint64
}

func (s *Resolver) block(ctx context.Context, tag string) (block, error) {
	result, err := s.Chain.Call(ctx, "eth_getBlockByNumber", tag, false)
	if err != nil {
		return block{}, fmt.Errorf("read the %s block: %w", tag, err)
	}
	var said struct {
		Number, Timestamp quantity
	}
	if err := json.Unmarshal(result, &said); err != nil || said.Timestamp == 0 {
		return block{}, fmt.Errorf("the %s block is not one", tag)
	}
	return block{uint64(said.Number), uint64(said.Timestamp)}, nil
}

// resolve concludes an authorization when its outcome on the chain is certain: its transfer has
// enough confirmations, or a final block is later than its end, so that no block to come can
// include it. It searches logs only for authorizations that were used, which costs a stranger
// money.
func (s *Resolver) resolve(ctx context.Context, a *paymentdb.Authorization, at view) error {
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	if at.deep == 0 {
		return nil
	}
	spent, err := s.spent(ctx, a, at.deep)
	if err != nil {
		return err
	}
	//nolint:gosec // a Unix time
	finalAfter := func(end time.Time) bool { return at.final.Number <= at.deep && int64(at.final.Time) >= end.Unix() }
	if !spent {
		if finalAfter(a.ValidBefore) {
			return s.conclude(ctx, a, "it was not used in its time", x402.TxHash{})
		}
		return nil
	}
	used, found, err := s.transfer(ctx, a, at.deep)
	switch {
	case err != nil:
		return err
	case found:
		return s.settled(ctx, a, used.Tx)
	case finalAfter(a.ValidBefore.Add(patience)):
		return s.conclude(ctx, a, "it was cancelled, or used before it came here", x402.TxHash{})
	}
	return nil // cancelled, used before it was presented, or the node returns no logs
}

// patience is how long after its end the transfer of a used authorization is searched for.
const patience = 24 * time.Hour

// settled has the settlement watched before it concludes the authorization. If the process dies in
// between, both are repeated.
func (s *Resolver) settled(ctx context.Context, a *paymentdb.Authorization, tx x402.TxHash) error {
	if err := s.Watch(ctx, x402.ID{Chain: a.Chain, Tx: tx, Payer: a.Payer}); err != nil {
		return fmt.Errorf("have settlement %s watched: %w", tx, err)
	}
	return s.conclude(ctx, a, "", tx)
}

// conclude records an outcome: settled by transaction tx, or, with the zero hash, failed for a
// reason.
func (s *Resolver) conclude(ctx context.Context, a *paymentdb.Authorization, reason string, tx x402.TxHash) error {
	state := paymentdb.AuthorizationFailed
	if !tx.IsZero() {
		state = paymentdb.AuthorizationSettled
	}
	news, err := s.Record.ConcludeAuthorization(ctx, a.Attempt, state, reason, tx)
	if err == nil && news && a.State != state {
		s.Logger.Info("outcome of a payment read from the chain", "was", string(a.State), "is", string(state), "reason",
			reason)
	}
	return err
}

// usedLog is an AuthorizationUsed event of the asset.
type usedLog struct {
	Tx      x402.TxHash `json:"transactionHash"`
	Removed bool        `json:"removed"`
}

const (
	// logRange is the number of blocks per eth_getLogs call. Providers accept that many.
	logRange = 500
	// earlier is how many blocks before the reservation's head the search begins, because nodes
	// differ in their heads.
	earlier = 10
	// maxRanges bounds the eth_getLogs calls per authorization: 5,000 blocks. An authorization
	// lives for an hour at most, which is 1,800 blocks of Base.
	maxRanges = 10
)

// transfer searches for the transfer of an authorization up to block to.
func (s *Resolver) transfer(ctx context.Context, a *paymentdb.Authorization, to uint64) (usedLog, bool, error) {
	topics := x402.UsedTopics(a.Payer, a.Nonce)
	from := a.FromBlock - min(a.FromBlock, earlier)
	for range maxRanges {
		if from > to {
			return usedLog{}, false, nil
		}
		until := min(to, from+logRange-1)
		result, err := s.Chain.Call(ctx, "eth_getLogs", map[string]any{
			"address": a.Asset, "fromBlock": hexadecimal(from), "toBlock": hexadecimal(until),
			"topics": []x402.TxHash{topics[0], topics[1], topics[2]},
		})
		if err != nil {
			return usedLog{}, false, fmt.Errorf("look for a transfer: %w", err)
		}
		var logs []usedLog
		if err := json.Unmarshal(result, &logs); err != nil {
			return usedLog{}, false, errors.New("the logs of a transfer are not logs")
		}
		for _, l := range logs {
			if !l.Removed && !l.Tx.IsZero() {
				return l, true, nil
			}
		}
		from = until + 1
	}
	return usedLog{}, false, nil
}

// spent reports whether an authorization was used or cancelled as of block at (EIP-3009,
// authorizationState).
func (s *Resolver) spent(ctx context.Context, a *paymentdb.Authorization, at uint64) (bool, error) {
	data := fmt.Sprintf("0x%x", x402.AuthorizationState(a.Payer, a.Nonce))
	result, err := s.Chain.Call(ctx, "eth_call", map[string]any{"to": a.Asset, "data": data}, hexadecimal(at))
	if err != nil {
		return false, fmt.Errorf("ask whether an authorization was used: %w", err)
	}
	var word x402.TxHash // 32 bytes as well
	if err := json.Unmarshal(result, &word); err != nil {
		return false, errors.New("whether an authorization was used is no word")
	}
	return !word.IsZero(), nil
}

// quantity is a JSON-RPC quantity: 0x and hexadecimal digits.
type quantity uint64

// UnmarshalText parses 0x and hexadecimal digits.
func (q *quantity) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(text), "0x"), 16, 64)
	if err != nil {
		return errors.New("not a quantity")
	}
	*q = quantity(n)
	return nil
}

func hexadecimal(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

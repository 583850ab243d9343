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
	"github.com/chainaccess/gateway/store"
)

// OpenRecord keeps authorizations whose outcome is open; store.Store does.
type OpenRecord interface {
	ClaimAuthorizations(ctx context.Context, again time.Duration, limit int) ([]store.Authorization, error)
	ConcludeAuthorization(ctx context.Context, of store.Attempt, state store.AuthorizationState, reason string,
		tx x402.TxHash) (bool, error)
}

// Chain reads the chain that is paid on: the result of one JSON-RPC call.
type Chain interface {
	Call(ctx context.Context, method string, params ...any) (json.RawMessage, error)
}

// ResolverOptions of a Resolver. Record, Chain and Watch are required.
type ResolverOptions struct {
	Record OpenRecord
	Chain  Chain
	// Watch has the finality of a settlement watched, and shown to support; again and again does no
	// harm. What its payer did not get may be redeemed.
	Watch func(ctx context.Context, id x402.ID) error
	// Confirmations is how many blocks must stand on a transfer.
	Confirmations uint64
	Interval      time.Duration // between looks; ten seconds
	Logger        *slog.Logger  // slog.Default()
}

// Resolver reads from the chain what came of authorizations that no answer tells of: refused ones,
// those whose answer was lost, and those whose process died. It has the finality of those that
// settled watched. Any number may run beside each other, and nothing is lost when one is killed: an
// authorization is open until it is concluded.
type Resolver struct{ ResolverOptions }

// NewResolver makes a resolver.
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
	maxPages  = 20 // of one sweep
	// again is after how long an authorization that is still open is looked at once more, and left
	// to a resolver that may have died. The older it is, the longer (store.ClaimAuthorizations).
	again       = 15 * time.Second
	pageTimeout = 75 * time.Second
	rowTimeout  = 5 * time.Second // of what one authorization may take of a page
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

// ResolveDue looks once at the authorizations that are due, two hundred at most.
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

// page looks at those that wait longest, and says how many they are: none when the chain cannot be
// read. What one of them meets does not keep it from the others.
func (s *Resolver) page(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	claimed, err := s.Record.ClaimAuthorizations(ctx, again, sweepPage)
	if err != nil {
		return 0, err
	}
	var failed error
	open := make([]*store.Authorization, 0, len(claimed))
	for i := range claimed {
		if a := &claimed[i]; a.State != store.AuthorizationSettled {
			open = append(open, a)
		} else { // a facilitator said so
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

// view is how far the chain is, for all of a page.
type view struct {
	deep  uint64 // the newest block that has enough on it; 0 for none
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

// block is what a node says of one.
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

// resolve concludes an authorization when the chain says what came of it: its transfer is deep
// enough, or it can move nothing any more in any block that is to come, which is known once a final
// block is past its end. Logs are looked through only for one that was used, which strangers cannot
// have for nothing.
func (s *Resolver) resolve(ctx context.Context, a *store.Authorization, at view) error {
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	if at.deep == 0 {
		return nil
	}
	spent, err := s.spent(ctx, a, at.deep)
	if err != nil {
		return err
	}
	//nolint:gosec // a time
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
	return nil // cancelled, used before it came here, or a node that does not tell its logs
}

// patience is how long a used authorization whose transfer is not found is looked for after its
// end.
const patience = 24 * time.Hour

// settled has the transaction watched first: who is killed in between does both again.
func (s *Resolver) settled(ctx context.Context, a *store.Authorization, tx x402.TxHash) error {
	if err := s.Watch(ctx, x402.ID{Chain: a.Chain, Tx: tx, Payer: a.Payer}); err != nil {
		return fmt.Errorf("have settlement %s watched: %w", tx, err)
	}
	return s.conclude(ctx, a, "", tx)
}

// conclude records what came of an authorization: settled by a transaction, or failed for a reason.
func (s *Resolver) conclude(ctx context.Context, a *store.Authorization, reason string, tx x402.TxHash) error {
	state := store.AuthorizationFailed
	if !tx.IsZero() {
		state = store.AuthorizationSettled
	}
	news, err := s.Record.ConcludeAuthorization(ctx, a.Attempt, state, reason, tx)
	if err == nil && news && a.State != state {
		s.Logger.Info("outcome of a payment read from the chain", "was", string(a.State), "is", string(state), "reason",
			reason)
	}
	return err
}

// usedLog is an AuthorizationUsed of the asset.
type usedLog struct {
	Tx      x402.TxHash `json:"transactionHash"`
	Removed bool        `json:"removed"`
}

const (
	// logRange is how many blocks one call looks through; providers take that many.
	logRange = 500
	// earlier is how many blocks before the head at its reservation a transfer is looked for: nodes
	// are not at the same block.
	earlier = 10
	// maxRanges bounds the calls for one look at an authorization: 5,000 blocks, where an hour,
	// which is how long one may live, is 1,800 of Base.
	maxRanges = 10
)

// transfer finds the transfer of an authorization up to a block.
func (s *Resolver) transfer(ctx context.Context, a *store.Authorization, to uint64) (usedLog, bool, error) {
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

// spent reports whether an authorization was used or cancelled by a block (EIP-3009,
// authorizationState).
func (s *Resolver) spent(ctx context.Context, a *store.Authorization, at uint64) (bool, error) {
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

// quantity is a number as nodes write it, 0x and hexadecimal digits.
type quantity uint64

// UnmarshalText reads 0x and digits.
func (q *quantity) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(text), "0x"), 16, 64)
	if err != nil {
		return errors.New("not a quantity")
	}
	*q = quantity(n)
	return nil
}

func hexadecimal(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

package cashier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/x402"
)

// OpenRecord keeps authorizations whose outcome is open; store.Store does.
type OpenRecord interface {
	ClaimAuthorizations(ctx context.Context, again time.Duration, most int) ([]store.Authorization, error)
	ConcludeAuthorization(ctx context.Context, of store.Attempt, state store.AuthorizationState, reason string, tx x402.TxHash) (bool, error)
}

// Chain reads the chain that is paid on: the result of one JSON-RPC call.
type Chain interface {
	Call(ctx context.Context, method string, params ...any) (json.RawMessage, error)
}

// SweepOptions of a Sweeper. Record, Chain and Watch are required.
type SweepOptions struct {
	Record OpenRecord
	Chain  Chain
	// Watch has the finality of a settlement watched, and shown to support; again and again does no harm. What its payer did not get may be
	// redeemed.
	Watch func(ctx context.Context, id x402.ID) error
	// Confirmations is how many blocks must stand on a transfer.
	Confirmations uint64
	Interval      time.Duration // between looks; ten seconds
	Logger        *slog.Logger  // slog.Default()
}

// Sweeper reads from the chain what came of authorizations that no answer tells of: refused ones, those whose answer was lost, and those whose
// process died. It has the finality of those that settled watched. Any number may run beside each other, and nothing is lost when one is killed: an authorization is open until it is concluded.
type Sweeper struct{ SweepOptions }

// NewSweeper makes a sweeper.
func NewSweeper(o SweepOptions) *Sweeper {
	if o.Interval <= 0 {
		o.Interval = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Sweeper{o}
}

const (
	sweepPage = 50
	// again is after how long an authorization that is still open is looked at once more, and left to a sweeper that may have died.
	again        = 15 * time.Second
	sweepTimeout = time.Minute // of one page
)

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Warn("what became of some payments could not be read; they are looked at again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sweep looks once at every authorization that is due.
func (s *Sweeper) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	for {
		open, err := s.Record.ClaimAuthorizations(ctx, again, sweepPage)
		if err != nil || len(open) == 0 {
			return err
		}
		var failed error
		for i := range open {
			if open[i].State == store.AuthorizationSettled { // a facilitator said so
				failed = errors.Join(failed, s.settled(ctx, &open[i], open[i].Tx))
				continue
			}
			failed = errors.Join(failed, s.resolve(ctx, &open[i]))
		}
		if failed != nil || len(open) < sweepPage {
			return failed
		}
	}
}

// block is what a node says of one.
type block struct {
	Number, Time uint64
}

func (s *Sweeper) block(ctx context.Context, tag string) (block, error) {
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

// resolve concludes an authorization when the chain says what came of it: its transfer is deep enough, or it can move nothing any more in any
// block that is to come, which is known once a final block is past its end.
func (s *Sweeper) resolve(ctx context.Context, a *store.Authorization) error {
	head, err := s.block(ctx, "latest")
	if err != nil || head.Number < s.Confirmations {
		return err
	}
	final, err := s.block(ctx, "finalized")
	if err != nil {
		return err
	}
	deep := head.Number - s.Confirmations
	used, found, err := s.transfer(ctx, a, deep)
	switch {
	case err != nil:
		return err
	case found:
		return s.settled(ctx, a, used.Tx)
	}
	if int64(final.Time) < a.ValidBefore.Unix() || final.Number > deep { //nolint:gosec // a time
		return nil
	}
	spent, err := s.spent(ctx, a, final.Number)
	switch {
	case err != nil:
		return err
	case !spent:
		return s.conclude(ctx, a, "it was not used in its time", x402.TxHash{})
	case int64(final.Time) < a.ValidBefore.Add(patience).Unix(): //nolint:gosec // a time
		return nil // cancelled, used before it came here, or a node that does not tell its logs
	}
	return s.conclude(ctx, a, "it was cancelled, or used before it came here", x402.TxHash{})
}

// patience is how long a used authorization whose transfer is not found is looked for after its end.
const patience = 24 * time.Hour

// settled has the transaction watched first: who is killed in between does both again.
func (s *Sweeper) settled(ctx context.Context, a *store.Authorization, tx x402.TxHash) error {
	if err := s.Watch(ctx, x402.ID{Chain: a.Chain, Tx: tx, Payer: a.Payer}); err != nil {
		return fmt.Errorf("have settlement %s watched: %w", tx, err)
	}
	return s.conclude(ctx, a, "", tx)
}

// conclude records what came of an authorization: settled by a transaction, or failed for a reason.
func (s *Sweeper) conclude(ctx context.Context, a *store.Authorization, reason string, tx x402.TxHash) error {
	state := store.AuthorizationFailed
	if !tx.IsZero() {
		state = store.AuthorizationSettled
	}
	news, err := s.Record.ConcludeAuthorization(ctx, a.Attempt, state, reason, tx)
	if err == nil && news && a.State != state {
		s.Logger.Info("the chain says what became of a payment", "was", string(a.State), "is", string(state), "reason", reason)
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
	// earlier is how many blocks before the head at its reservation a transfer is looked for: nodes are not at the same block.
	earlier = 10
	// mostRanges bounds the calls for one authorization; an hour of the fastest chain that the asset is on is less.
	mostRanges = 40
)

// transfer finds the transfer of an authorization up to a block.
func (s *Sweeper) transfer(ctx context.Context, a *store.Authorization, to uint64) (usedLog, bool, error) {
	topics := x402.UsedTopics(a.Payer, a.Nonce)
	from := a.FromBlock - min(a.FromBlock, earlier)
	for range mostRanges {
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

// spent says whether an authorization was used or cancelled by a block (EIP-3009, authorizationState).
func (s *Sweeper) spent(ctx context.Context, a *store.Authorization, at uint64) (bool, error) {
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

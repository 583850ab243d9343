// Package activities contains the side effects of workflows: one struct per domain with its
// dependencies. Inputs, results and errors are stored in workflow histories, so they contain no
// secrets and no URLs of upstreams. The workflows decide when and how often activities run.
package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// Prober measures the upstreams of a chain once, within its own timeouts. Recall first loads what
// earlier rounds found, also those of other workers.
type Prober interface {
	Recall(id chain.ID, posted upstream.Posted)
	Probe(ctx context.Context, id chain.ID) (upstream.Snapshot, error)
}

// Board is where every process reads the latest measurements.
type Board interface {
	Read(ctx context.Context, id chain.ID) (upstream.Posted, error)
	Publish(ctx context.Context, s upstream.Snapshot) error
}

// ProbeResult is what one round measured, without the data that only the next round needs, because
// histories store it.
type ProbeResult = upstream.Snapshot

// Types of the application errors of Chains.
const (
	ErrProbeFailed     = "probe_failed"
	ErrProbeTimeout    = "probe_timeout"
	ErrNotConfigured   = "not_configured" // this worker's upstreams file does not name the chain
	ErrBoardUnreadable = "board_unreadable"
	ErrPublishFailed   = "publish_failed"
	ErrProbePanicked   = "probe_panicked"
	ErrProbeCancelled  = "probe_cancelled"
	probeFailedMessage = "no measurement of the chain; the worker's log names the cause"
)

// Chains measures chains.
type Chains struct {
	Prober Prober
	Board  Board
	Logger *slog.Logger
}

// Probe measures a chain once and publishes the result. Causes of failures stay out of the history,
// because they may contain an upstream's URL; the error has only a type.
func (c *Chains) Probe(ctx context.Context, id chain.ID) (result ProbeResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			cause, stack := p, debug.Stack()
			if from, ok := p.(*parallel.PanicError); ok {
				cause, stack = from.Cause, from.Stack
			}
			c.Logger.Error("probe panicked", "chain", id, "type", fmt.Sprintf("%T", cause), "stack", string(stack))
			result, err = ProbeResult{}, temporal.NewApplicationError(probeFailedMessage, ErrProbePanicked)
		}
	}()
	posted, err := c.Board.Read(ctx, id)
	if err != nil {
		return ProbeResult{}, c.refuse(ctx, id, ErrBoardUnreadable, err)
	}
	c.Prober.Recall(id, posted)
	snapshot, err := c.Prober.Probe(ctx, id)
	if err != nil {
		return ProbeResult{}, c.refuse(ctx, id, failureOf(ctx, err), err)
	}
	if err := c.Board.Publish(ctx, snapshot); err != nil {
		return ProbeResult{}, c.refuse(ctx, id, ErrPublishFailed, err)
	}
	return forHistory(snapshot), nil
}

// forHistory removes what a history should not store: bulk, and the fingerprints, because a hash of
// a URL allows weak credentials in it to be guessed.
func forHistory(s upstream.Snapshot) ProbeResult {
	s.Checkpoints = nil
	s.Upstreams = slices.Clone(s.Upstreams)
	for i := range s.Upstreams {
		s.Upstreams[i].Capabilities, s.Upstreams[i].Fingerprint = nil, ""
	}
	return s
}

func failureOf(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, upstream.ErrNotConfigured):
		return ErrNotConfigured
	case errors.Is(ctx.Err(), context.Canceled):
		return ErrProbeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return ErrProbeTimeout
	}
	return ErrProbeFailed
}

// refuse logs the kind of failure and returns its application error. Package upstream logs the
// errors of upstreams itself, because it knows what to redact.
func (c *Chains) refuse(ctx context.Context, id chain.ID, kind string, cause error) error {
	c.Logger.Warn("chain not measured", "chain", id, "kind", kind, "type", fmt.Sprintf("%T", innermost(cause)),
		"attempt", activity.GetInfo(ctx).Attempt)
	if kind == ErrNotConfigured {
		return temporal.NewNonRetryableApplicationError(probeFailedMessage, kind, nil)
	}
	return temporal.NewApplicationError(probeFailedMessage, kind)
}

func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

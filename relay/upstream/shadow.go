package upstream

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/canonical"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// Bounds of what shadows cost this process: the time of a copied read, and how many are in flight
// on a chain. Answers that stream are not compared.
const (
	copyTimeout = 10 * time.Second
	maxCopies   = 16
)

// copyToShadows sends a copy of a read to each shadow that it falls to, once the client has its
// answer, and compares the answers. What an upstream that is behind answers differently is not
// compared: a null, a pending transaction, and logs up to the newest blocks.
func (c *Chain) copyToShadows(ctx context.Context, r *Request, answer *Answer) {
	if answer.Rest != nil || answer.LastWords || answer.IsNull() || pending(r.Method, answer.Result) ||
		r.Cover > 0 && r.Told-r.Cover < recentBlocks {
		return
	}
	shadows := c.special[shadow]
	now := c.now()
	for _, e := range shadows.eligible() {
		if rand.Float64() >= e.copies || !e.serves(e.state.Load(), now) { //nolint:gosec // a sample
			continue
		}
		method, body, heavy := string(r.Method), r.body(), r.Heavy // the caller's memory ends before
		result, failure := answer.Result, answer.Error
		answer.OnRelease(func() {
			if want, err := digest(c.Family, method, result, failure); err == nil {
				shadows.copyRead(context.WithoutCancel(ctx), e, method, body, heavy, want)
			}
		})
	}
}

// copyRead has a shadow answer a read in the background, unless it or this process has enough to
// do, and counts whether it returns the same answer.
func (c *Chain) copyRead(ctx context.Context, e *Endpoint, method string, body []byte, heavy bool,
	want canonical.Digest,
) {
	if c.copying.Add(1) > maxCopies || !e.limits.Take(c.now()) {
		c.copying.Add(-1)
		return
	}
	c.hedges.racing.Go(func() {
		defer c.copying.Add(-1)
		defer e.limits.Release()
		defer func() {
			if p := recover(); p != nil {
				_ = c.panicked(e, p, heavy) // which logs and counts it
			}
		}()
		started := c.now()
		answer, v, wait, err := e.exchange(ctx, transport.Renumber(body), transport.PeekBytes, started.Add(copyTimeout))
		if charged(v, answer != nil, err) {
			e.spend([]byte(method))
		}
		e.observe(observation{
			verdict: v, took: c.now().Sub(started), retryAfter: wait, heavy: heavy,
			timedOut: answer == nil && errors.Is(err, context.DeadlineExceeded),
		})
		if answer == nil {
			return
		}
		defer answer.Release()
		if answer.Rest != nil || answer.IsNull() || v.meaning != rules.Answer ||
			pending([]byte(method), answer.Result) {
			return
		}
		if got, err := digest(c.Family, method, answer.Result, answer.Error); err == nil {
			e.compared(got == want)
		}
	})
}

// digest returns what two answers that mean the same have in common.
func digest(family chain.Family, method string, result, failure []byte) (canonical.Digest, error) {
	if failure != nil {
		return canonical.Failure(bytes.Clone(failure)), nil
	}
	return canonical.Result(family, method, result)
}

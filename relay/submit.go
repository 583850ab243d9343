package relay

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// How long eth_sendRawTransactionSync waits for a receipt unless its caller says otherwise, as
// go-ethereum does, and the pauses before each look for it. The last look has lastLook of the
// call's timeout. Beyond maxWaiting callers at a time, others are not waited for.
const (
	defaultWait = 20 * time.Second
	firstPause  = 100 * time.Millisecond
	maxPause    = time.Second
	lastLook    = 10 // a tenth
	maxWaiting  = 1024
)

// submit posts a transaction to exactly one upstream. A method that waits is posted as
// eth_sendRawTransaction, and answered with the receipt once there is one.
func (r *Relay) submit(client context.Context, c *call, ask *upstream.Request) (*upstream.Answer, *fault.Error) {
	on := c.on
	if !c.method.Waits {
		answer, failure := on.Submit(r.bounded(client, c), ask)
		return answer, withSubmission(c, ask.Params, failure)
	}
	var wait time.Duration
	ask.Method = []byte("eth_sendRawTransaction")
	ask.Params, wait = chain.SyncParams(ask.Params)
	answer, failure := on.Submit(r.bounded(client, c), ask)
	if failure != nil || answer.Error != nil {
		return answer, withSubmission(c, ask.Params, failure)
	}
	_, hash := on.SubmissionID(ask.Params)
	if hash == "" {
		return answer, nil // the node's hash of a transaction that the gateway cannot read
	}
	answer.Release()
	return r.awaitReceipt(client, c, ask, hash, wait), nil
}

// awaitReceipt looks for the receipt of the transaction that ask submitted, until wait is over, or
// the time of the request, or its client left. Then the answer is EIP-7966's error 4. The looks are
// part of the submission: they are not charged. Each is a read with the deadline of the call, so
// that none is cut short and counts against its upstream.
func (r *Relay) awaitReceipt(client context.Context, c *call, ask *upstream.Request,
	hash string, wait time.Duration,
) *upstream.Answer {
	if wait == 0 {
		wait = defaultWait
	}
	sent := r.Now()
	until := sent.Add(wait)
	if end := c.envelope.begun(c).Add(r.Timeout - r.Timeout/lastLook); end.Before(until) {
		until = end
	}
	look := upstream.Request{
		Method: []byte("eth_getTransactionReceipt"), Params: fmt.Appendf(nil, `["%s"]`, hash),
		Supply: ask.Supply, Tier: ask.Tier, Links: ask.Links, MaxAnswer: ask.MaxAnswer,
	}
	if r.waiting.Add(1) > maxWaiting {
		until = sent
	}
	defer r.waiting.Add(-1)
	for pause := firstPause; ; pause = min(pause*3/2, maxPause) {
		left := until.Sub(r.Now())
		if left <= 0 || !sleep(client, min(pause, left)) {
			break
		}
		answer, failure := c.envelope.Chain.Read(r.bounded(client, c), &look)
		ask.Asked.Cost += look.Asked.Cost
		if failure != nil {
			continue
		}
		if answer.Error == nil && bytes.Contains(answer.Result, []byte(hash)) &&
			r.hold(client, c, look.Asked.Upstream, readProof(&receiptProof, answer.Result).number) {
			return answer
		}
		answer.Release() // null, about something else, or in a block that is not there yet
	}
	return &upstream.Answer{Error: fmt.Appendf(nil, `{"code":4,"message":"The transaction was sent, but was not `+
		`included within %s. It may still be. Look it up by the hash in data before you sign another.","data":"%s"}`,
		r.Now().Sub(sent).Round(time.Millisecond), hash)}
}

// receiptProof reads the number of a receipt's block.
var receiptProof = chain.Proof{Number: "blockNumber"}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// withSubmission adds what the sender needs to look up a submission whose outcome is unknown.
func withSubmission(c *call, params []byte, f *fault.Error) *fault.Error {
	if f == nil || f.Reason != fault.OutcomeUnknown {
		return f
	}
	if c.method.Needs == chain.Bundler {
		told := f.With("rule", "Sending the identical signed user operation again is safe; of two with the same "+
			"nonce, one is included at most.")
		told.Message = "The user operation left for a bundler but no usable answer came back, so it may or may not " +
			"have been accepted. Look it up with eth_getUserOperationByHash before signing again."
		return told
	}
	if field, value := c.on.SubmissionID(params); value != "" {
		f = f.With(field, value)
	}
	return f.With("rule",
		"Look the transaction up before signing again. Re-sending the identical signed bytes is safe; a new "+
			"signature on the same nonce is not.")
}

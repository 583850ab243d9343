package activities_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// canary is the credential in an upstream's URL.
const canary = "canary-4f1b9c"

type proberFunc func(ctx context.Context, id chain.ID) (upstream.Snapshot, error)

// Recall does nothing.
func (f proberFunc) Recall(chain.ID, upstream.Posted) {}

func (f proberFunc) Probe(ctx context.Context, id chain.ID) (upstream.Snapshot, error) {
	return f(ctx, id)
}

type board struct {
	err       error // of Publish
	unread    error // of Read
	posted    upstream.Posted
	published []upstream.Snapshot
}

func (b *board) Read(context.Context, chain.ID) (upstream.Posted, error) { return b.posted, b.unread }

func (b *board) Publish(_ context.Context, s upstream.Snapshot) error {
	if b.err == nil {
		b.published = append(b.published, s)
	}
	return b.err
}

// run executes the activity once and returns what would enter the history, and the log.
func run(t *testing.T, p activities.Prober, b activities.Board) (activities.ProbeResult, string, error) {
	t.Helper()
	var log bytes.Buffer
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	chains := &activities.Chains{Prober: p, Board: b, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	env.RegisterActivity(chains)
	value, err := env.ExecuteActivity(chains.Probe, chain.EthMainnet)
	var result activities.ProbeResult
	if err == nil {
		if err := value.Get(&result); err != nil {
			t.Fatal(err)
		}
	}
	return result, log.String(), err
}

func TestProbe_PublishesWhatItReturns(t *testing.T) {
	t.Parallel()
	measured := upstream.Snapshot{
		Chain: chain.EthMainnet, Head: 7, HeadKnown: true, Upstreams: []upstream.UpstreamState{{Name: "one"}},
	}
	b := &board{}
	prober := proberFunc(func(_ context.Context, id chain.ID) (upstream.Snapshot, error) {
		if id != chain.EthMainnet {
			t.Errorf("asked to measure %s", id)
		}
		return measured, nil
	})
	result, _, err := run(t, prober, b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(result, measured) || !reflect.DeepEqual(b.published, []upstream.Snapshot{measured}) {
		t.Errorf("returned %+v and published %+v, want %+v", result, b.published, measured)
	}
}

func TestProbe_FailuresNameOnlyTheirType(t *testing.T) {
	t.Parallel()
	secret := &url.Error{
		Op: "Post", URL: "https://" + canary + ".example",
		Err: errors.New("lookup " + canary + ".example: no such host"),
	}
	fail := func(err error) activities.Prober {
		return proberFunc(func(context.Context, chain.ID) (upstream.Snapshot, error) {
			return upstream.Snapshot{}, err
		})
	}
	measure := fail(nil)
	tests := []struct {
		name   string
		prober activities.Prober
		board  *board
		want   string
	}{
		{"upstream", fail(secret), &board{}, activities.ErrProbeFailed},
		{"deadline", fail(errors.Join(secret, context.DeadlineExceeded)), &board{}, activities.ErrProbeTimeout},
		{"board", measure, &board{err: secret}, activities.ErrPublishFailed},
		{"board not readable", measure, &board{unread: secret}, activities.ErrBoardUnreadable},
		{
			"not configured", fail(fmt.Errorf("probe: %w", upstream.ErrNotConfigured)), &board{},
			activities.ErrNotConfigured,
		},
		{
			"panic", proberFunc(func(context.Context, chain.ID) (upstream.Snapshot, error) { panic(secret) }), &board{},
			activities.ErrProbePanicked,
		},
		{"panic beside others", proberFunc(func(context.Context, chain.ID) (upstream.Snapshot, error) {
			var asking parallel.Group
			asking.Go(func() error { panic(secret) })
			return upstream.Snapshot{}, asking.Wait()
		}), &board{}, activities.ErrProbePanicked},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, log, err := run(t, test.prober, test.board)
			failed, ok := errors.AsType[*temporal.ApplicationError](err)
			if !ok || failed.Type() != test.want {
				t.Fatalf("failed with %v, want type %s", err, test.want)
			}
			if strings.Contains(err.Error(), canary) || strings.Contains(log, canary) {
				t.Errorf("the upstream's address shows: error %q, log %q", err, log)
			}
			if log == "" {
				t.Error("nothing was logged")
			}
		})
	}
}

// recalling is a prober that keeps what Recall was called with.
type recalling struct{ told upstream.Posted }

func (r *recalling) Recall(_ chain.ID, posted upstream.Posted) { r.told = posted }

func (r *recalling) Probe(_ context.Context, id chain.ID) (upstream.Snapshot, error) {
	next := r.told.Snapshot
	next.Chain, next.Head = id, next.Head+1
	return next, nil
}

func TestProbe_RoundStartsFromTheBoardAndReturnsWhatTheHistoryNeeds(t *testing.T) {
	t.Parallel()
	b := &board{posted: upstream.Posted{
		Known: true, Cordons: map[string]upstream.Cordon{"one": {By: "somebody"}},
		Snapshot: upstream.Snapshot{
			Head: 7, Checkpoints: []upstream.Checkpoint{{Height: 1, Hash: "0x1"}},
			Upstreams: []upstream.UpstreamState{
				{Name: "one", Fingerprint: "f1", Capabilities: map[chain.Capability]upstream.Verdict{
					chain.Debug: {Able: true},
				}},
			},
		},
	}}
	prober := &recalling{}
	result, _, err := run(t, prober, b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(prober.told, b.posted) {
		t.Errorf("the prober was told %+v", prober.told)
	}
	published := b.published[0]
	in := expect.In(t, "all that the next round needs")
	expect.Equal(in, published.Head, 8)
	expect.Len(in, published.Checkpoints, 1)
	expect.True(in, published.Upstreams[0].Capabilities[chain.Debug].Able)
	expect.Equal(in, published.Upstreams[0].Fingerprint, "f1")
	in = expect.In(t, "the history keeps")
	expect.Equal(in, result.Head, 8)
	expect.Nil(in, result.Checkpoints)
	expect.Equal(in, result.Upstreams[0].Name, "one")
	expect.Nil(in, result.Upstreams[0].Capabilities)
	expect.Equal(in, result.Upstreams[0].Fingerprint, "")
}

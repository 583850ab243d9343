package relay

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

const patience = 30 * time.Second

// sharing is a relay that is used only for reads from upstreams.
type sharing struct {
	relay *Relay
	on    *upstream.Chain
	up    *testkit.UpstreamServer
}

func newSharing(t *testing.T, now func() time.Time) *sharing {
	t.Helper()
	s := &sharing{up: testkit.Upstream(t)}
	pool, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{"eth_mainnet": {
		Upstreams: []config.Upstream{{Name: "up", URL: s.up.URL, Supply: "public"}},
	}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s.on, _ = pool.Chain(chain.EthMainnet)
	s.on.Apply(upstream.Snapshot{
		Chain: s.on.ID, MeasuredAt: time.Now(), Head: 1000, HeadKnown: true,
		Upstreams: []upstream.UpstreamState{
			{
				Name: "up", Fingerprint: s.on.Fingerprint("up"), Usable: true, ChainIDOK: true, Head: 1000,
				LatencyMicros: 1000,
			},
		},
	})
	s.relay = &Relay{Options: Options{Timeout: patience, Now: time.Now}, answers: newAnswers(nil, time.Now)}
	return s
}

// read reads a receipt, as route does.
func (s *sharing) read(ctx context.Context, c *call) (*upstream.Answer, *fault.Error) {
	return s.readOf(ctx, c, someHash)
}

func (s *sharing) readOf(ctx context.Context, c *call, hash string) (*upstream.Answer, *fault.Error) {
	params := fmt.Appendf(nil, "[%q]", hash)
	c.envelope, c.on, c.started = &Envelope{Chain: s.on}, s.on, time.Now()
	c.method, _ = s.on.Method([]byte("eth_getTransactionReceipt"))
	l := s.relay.answers.look(s.on, c.method, params)
	return s.relay.read(ctx, c, &upstream.Request{
		Method: []byte(c.method.Name), Params: params, Supply: plan.Public, Tier: plan.Balanced, MaxAnswer: 1 << 20,
	}, &l)
}

func TestShare_LeaderWhoseClientLeftIsGoneThoughItsCallSucceeds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		cause error
		gone  bool
	}{{nil, true}, {ErrStopping, false}} {
		s := newSharing(t, time.Now)
		s.up.NextOf("eth_getTransactionReceipt", testkit.Hang(testkit.Result("0x1")))
		client, leave := context.WithCancelCause(t.Context())
		var led call
		done := make(chan *fault.Error, 2)
		go func() {
			_, failure := s.read(client, &led)
			done <- failure
		}()
		testkit.Eventually(t, patience, func() bool {
			return s.up.Count("eth_getTransactionReceipt") == 1
		}, "the call is under way")
		go func() {
			var followed call
			_, failure := s.read(t.Context(), &followed)
			done <- failure
		}()
		testkit.Eventually(t, patience, func() bool { return s.relay.flights.Followed() == 1 }, "one follows")
		leave(row.cause)
		// enough for a call that ends with its leader to be cancelled
		for left := time.Now(); time.Since(left) < time.Second; {
			var c call
			if answer, failure := s.readOf(t.Context(), &c, otherHash); failure == nil {
				answer.Release()
			} else {
				t.Error(failure)
			}
		}
		s.up.Release()
		for range 2 {
			if failure := <-done; failure != nil {
				t.Errorf("cause %v: a caller got %v", row.cause, failure)
			}
		}
		if led.clientGone != row.gone {
			t.Errorf("cause %v: the leader's client counts as gone: %v", row.cause, led.clientGone)
		}
	}
}

func TestShare_PanicOfTheLeaderFailsItsFollowersOnly(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	followed := make(chan *fault.Error, 1)
	var s *sharing
	s = newSharing(t, func() time.Time { // an upstream reads the clock before its request
		if armed.CompareAndSwap(true, false) {
			go func() {
				var c call
				_, failure := s.read(t.Context(), &c)
				followed <- failure
			}()
			testkit.Eventually(t, patience, func() bool { return s.relay.flights.Followed() == 1 }, "one follows")
			panic("a bug")
		}
		return time.Now()
	})
	armed.Store(true)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		var c call
		_, _ = s.read(t.Context(), &c)
	}()
	if failure := <-followed; failure == nil || failure.Reason != fault.InternalFault {
		t.Errorf("the follower got %v, want an internal fault", failure)
	}
	var c call
	if _, failure := s.read(t.Context(), &c); failure != nil {
		t.Errorf("who comes later gets %v", failure)
	}
}

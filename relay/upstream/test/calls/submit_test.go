package calls

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

func TestSubmit_SendsExactlyOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, reply := range failing(testkit.Upstream(t)) {
		if isWriteAnswer(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := upstreamtest.TwoUpstreams(t)
			first.Default(reply)
			r := upstreamtest.Call("eth_sendRawTransaction")
			_, f := c.Submit(upstreamtest.Context(t), r)
			if f == nil || f.Reason != fault.OutcomeUnknown {
				t.Errorf("got %v, want an unknown outcome", f)
			}
			if first.Total() != 1 || second.Total() != 0 {
				t.Errorf("%d and %d requests were sent", first.Total(), second.Total())
			}
			if r.Asked != (upstream.Asked{Upstream: "up-0", Attempts: 1}) {
				t.Errorf("asked is %+v", r.Asked)
			}
		})
	}
}

// isWriteAnswer reports whether a reply makes a read try another upstream, but is the answer to a
// write, or certainly no attempt at one.
func isWriteAnswer(name string) bool {
	switch name {
	case "429 in band", "billing in band", "denied in band", "absent", "plan", "401", "402", "403", "413", "429",
		"range", "missing data", "execution timeout":
		return true
	}
	return false
}

func TestSubmit_PassesTheNodesOwnErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		code    int
		message string
	}{
		{-32000, "already known"},
		{-32000, "nonce too low"},
		{-32017, "the network did not say"},
		{-32000, "sender is over rate limit"},
		{-32000, "account limit exceeded: pooled 16 txs"},
	} {
		t.Run(row.message, func(t *testing.T) {
			c, first, second := upstreamtest.TwoUpstreams(t)
			first.Default(testkit.Error(row.code, row.message))
			answer, f := c.Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
			if f != nil {
				t.Fatal(f)
			}
			if want := fmt.Sprintf(`{"code":%d,"message":%q}`, row.code, row.message); string(answer.Error) != want {
				t.Errorf("got %s, want %s", answer.Error, want)
			}
			answer.Release()
			if first.Total() != 1 || second.Total() != 0 {
				t.Errorf("%d and %d requests were sent", first.Total(), second.Total())
			}
			if upstreamtest.Blamed(c, 0) > 0 {
				t.Error("the upstream is blamed")
			}
		})
	}
}

// A provider that refuses the key, the plan, the rate or the method has sent nothing on: the caller
// is told so. The rule of one endpoint holds all the same.
func TestSubmit_TellsThatAProviderRefusedBeforeItSentAnything(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testkit.Reply{
		"429": testkit.TooMany(time.Second), "401": testkit.Status(http.StatusUnauthorized),
		"402": testkit.Status(http.StatusPaymentRequired), "403": testkit.Status(http.StatusForbidden),
		"413":            testkit.HTML(http.StatusRequestEntityTooLarge),
		"rate in band":   testkit.Error(-32005, "rate limit reached"),
		"key in band":    testkit.Error(-32000, "invalid api key"),
		"method in band": testkit.Error(-32601, "the method eth_sendRawTransaction does not exist/is not available"),
		"plan in band":   testkit.Error(-32600, "eth_sendRawTransaction is not available on the Free tier"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := upstreamtest.TwoUpstreams(t)
			first.Default(reply)
			_, f := c.Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
			require.NotNil(t, f)
			expect.Equal(t, f.Reason, fault.UpstreamFailed)
			expect.Contains(t, f.Message, "was not sent")
			if first.Total() != 1 || second.Total() != 0 {
				t.Errorf("%d and %d requests were sent", first.Total(), second.Total())
			}
		})
	}
}

// What a node did before it failed by itself is not known.
func TestSubmit_DoesNotKnowWhatAFailingNodeDid(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Error(-32603, "Internal error"))
	_, f := c.Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.OutcomeUnknown)
	expect.Equal(t, first.Total(), 1)
	expect.Equal(t, second.Total(), 0)
}

func TestSubmit_TimeoutIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Hang(nil))
	_, f := c.Submit(upstreamtest.Deadline(t, 200*time.Millisecond), upstreamtest.Call("eth_sendRawTransaction"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.OutcomeUnknown)
	expect.Equal(t, first.Total(), 1)
	expect.Equal(t, second.Total(), 0)
}

func TestSubmit_GoesOnWhenItsClientGoesAway(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Hang(testkit.Result("0xhash")))
	ctx, cancel := context.WithCancel(upstreamtest.Context(t))
	done := make(chan string, 1)
	go func() {
		answer, f := c.Submit(ctx, upstreamtest.Call("eth_sendRawTransaction"))
		if f != nil {
			done <- f.Error()
			return
		}
		defer answer.Release()
		done <- string(answer.Result)
	}()
	testkit.Eventually(t, upstreamtest.Timeout, func() bool { return first.Total() == 1 }, "the submission arrives")
	cancel()
	first.Release()
	if got := <-done; got != `"0xhash"` || second.Total() != 0 {
		t.Errorf("got %s, and %d requests at the other upstream", got, second.Total())
	}
}

func TestSubmit_RefusedConnectionLeavesItToTheNext(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Close()
	second.Default(testkit.Result("0xhash"))
	r := upstreamtest.Call("eth_sendRawTransaction")
	answer, f := c.Submit(upstreamtest.Context(t), r)
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	if second.Total() != 1 || r.Asked != (upstream.Asked{Upstream: "up-1", Attempts: 2}) {
		t.Errorf("%d requests, asked %+v", second.Total(), r.Asked)
	}
	second.Close()
	if _, f := c.Submit(upstreamtest.Context(t), r); f == nil || f.Reason != fault.UpstreamFailed {
		t.Errorf("with everyone down: %v", f)
	}
}

func TestSubmit_ConnectionResetOnAcceptSendsAtMostOnce(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.ResetConnections(100)
	answer, f := c.Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
	switch {
	case f == nil: // the reset was seen while connecting: nothing was sent, and the other upstream was used
		answer.Release()
		if second.Total() != 1 {
			t.Errorf("%d requests at the other upstream", second.Total())
		}
	case f.Reason != fault.OutcomeUnknown || second.Total() != 0:
		t.Errorf("got %v, and %d requests at the other upstream", f, second.Total())
	}
	if first.Connections() != 1 || first.Total() != 0 {
		t.Errorf("%d connections and %d requests", first.Connections(), first.Total())
	}
}

func TestSubmit_DeadKeptConnectionsDoNotRepeatIt(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	for i := range 5 {
		answer, f := c.Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
		first.DropConnections()
		second.DropConnections()
		// A slow machine may make the other one the favourite in the meantime.
		if n, m := first.Total()+second.Total(), first.Connections()+second.Connections(); n != i+1 || m != i+1 {
			t.Fatalf("after %d submissions: %d requests over %d connections", i+1, n, m)
		}
	}
}

func TestSubmit_NeedsAProvenUpstream(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	_, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, upstreamtest.Providers(u))
	_, f := c.Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.NoUpstream)
	expect.NotEqual(t, f.RetryAfter, 0)
	expect.Equal(t, u.Total(), 0)
}

func TestLimits_RoomComesBackWhateverAnUpstreamDoes(t *testing.T) {
	t.Parallel()
	for name, reply := range failing(testkit.Upstream(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testkit.Upstream(t)
			list := upstreamtest.Providers(server)
			list[0].MaxConcurrent = 1
			_, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, list)
			c.Apply(upstreamtest.Healthy(c, time.Now()))
			server.Default(reply)
			for _, ask := range []func(context.Context, *upstream.Request) (*upstream.Answer, *fault.Error){
				c.Read,
				c.Submit,
			} {
				if answer, f := ask(upstreamtest.Context(t), upstreamtest.Call("eth_call")); f == nil {
					answer.Release()
				}
			}
			server.Default(testkit.Result("0x1"))
			answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_chainId"))
			require.Nil(t, f) // it would find no room
			answer.Release()
		})
	}
}

package calls

import (
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

const code = "eth_getCode"

// shadowed is a chain with a node, and a shadow that gets a copy of every read.
type shadowed struct {
	*upstream.Chain

	t            *testing.T
	node, shadow *testkit.UpstreamServer
}

func newShadowed(t *testing.T) *shadowed {
	t.Helper()
	s := &shadowed{t: t, node: testkit.Upstream(t), shadow: testkit.Upstream(t)}
	list := append(upstreamtest.Providers(s.node), config.Upstream{
		Name: "shadow", URL: s.shadow.URL, Supply: string(plan.Public), Shadow: "100%",
	})
	_, s.Chain = upstreamtest.NewChain(t, chain.EthMainnet, time.Now, list)
	s.Apply(upstreamtest.Healthy(s.Chain, time.Now()))
	return s
}

// ask makes a read that may be compared.
func (s *shadowed) ask() *upstream.Answer {
	s.t.Helper()
	ask := upstreamtest.Call(code)
	ask.Comparable = true
	answer, failure := s.Read(upstreamtest.Context(s.t), ask)
	require.True(s.t, failure == nil)
	return answer
}

// read makes a read and returns its result after the answer has left.
func (s *shadowed) read() string {
	s.t.Helper()
	answer := s.ask()
	defer answer.Release()
	return string(answer.Result)
}

func (s *shadowed) figures() upstream.Figures {
	for _, f := range s.Figures() {
		if f.Upstream == "shadow" {
			return f
		}
	}
	return upstream.Figures{}
}

func (s *shadowed) awaitCompared(n int64) {
	s.t.Helper()
	testkit.Eventually(s.t, upstreamtest.Timeout, func() bool { return s.figures().Compared == n }, "they are compared")
}

func TestShadow_AnswersAreComparedOnceTheClientHasItsOwn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		node, shadow testkit.Reply
		disagreed    int64
	}{
		"the same": {testkit.Result("0xAB"), testkit.Result("0xab"), 0},
		"another":  {testkit.Result("0x1234"), testkit.Result("0x12"), 1},
		"a revert": {
			testkit.ErrorWithData(3, "execution reverted", "0x01"),
			testkit.ErrorWithData(3, "VM Exception: execution reverted", "0x01"), 0,
		},
		"an error": {testkit.Result("0x12"), testkit.ErrorWithData(3, "execution reverted", "0x01"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShadowed(t)
			s.node.On(code, tc.node)
			s.shadow.On(code, tc.shadow)
			answer := s.ask()
			expect.Equal(t, s.shadow.Count(code), 0, "copies before the answer left")
			answer.Release()
			s.awaitCompared(1)
			expect.Equal(t, s.figures().Disagreed, tc.disagreed)
		})
	}
}

// What only shows that the shadow is behind, or down, is no other answer.
func TestShadow_FailuresAndNullsAreNotCompared(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testkit.Reply{
		"null":   testkit.Result(nil),
		"down":   testkit.Status(http.StatusBadGateway),
		"behind": testkit.Error(-32000, "header not found"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShadowed(t)
			s.node.On(code, testkit.Result("0x12"))
			s.shadow.On(code, reply)
			expect.Equal(t, s.read(), `"0x12"`)
			testkit.Eventually(t, upstreamtest.Timeout, func() bool { return s.figures().Calls == 1 }, "it is counted")
			expect.Equal(t, s.figures().Compared, 0)
		})
	}
}

func TestShadow_AnswersNoClientAndSubmitsNothing(t *testing.T) {
	t.Parallel()
	s := newShadowed(t)
	s.node.Default(testkit.Status(http.StatusBadGateway))
	ask := upstreamtest.Call(code)
	ask.Comparable = true
	_, failure := s.Read(upstreamtest.Context(t), ask)
	require.True(t, failure != nil)
	_, failure = s.Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
	require.True(t, failure != nil)
	expect.Equal(t, s.shadow.Total(), 0, "requests to the shadow")
}

// One that hangs delays nobody, and holds a bounded number of copies.
func TestShadow_OneThatHangsDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newShadowed(t)
	s.node.On(code, testkit.Result("0x12"))
	s.shadow.On(code, testkit.Hang(testkit.Result("0x12")))
	for range 40 {
		expect.Equal(t, s.read(), `"0x12"`)
	}
	testkit.Eventually(t, upstreamtest.Timeout, func() bool { return s.shadow.Count(code) == 16 }, "copies arrive")
	s.shadow.Release()
	s.awaitCompared(16)
	expect.Equal(t, s.shadow.Count(code), 16, "copies")
}

func TestShadow_OnlyReadsThatAllAnswerAlikeAreCopied(t *testing.T) {
	t.Parallel()
	s := newShadowed(t)
	s.node.On("eth_gasPrice", testkit.Result("0x1"))
	answer, failure := s.Read(upstreamtest.Context(t), upstreamtest.Call("eth_gasPrice"))
	require.True(t, failure == nil)
	answer.Release()
	s.node.On(code, testkit.Result("0x12"))
	s.shadow.On(code, testkit.Result("0x12"))
	s.read()
	s.awaitCompared(1)
	expect.Equal(t, s.shadow.Total(), 1, "copies")
}

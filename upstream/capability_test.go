package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/internal/testkit"
)

func TestMethodGoesToAnUpstreamThatIsCapableOfIt(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	s := healthy(c, time.Now())
	s.Upstreams[0].Capabilities = map[string]bool{"debug": false, "trace": true}
	s.Upstreams[1].Capabilities = map[string]bool{"debug": true, "trace": false}
	c.Apply(s)
	read := func(method string, needs chain.Capability) {
		t.Helper()
		r := request(method)
		r.Needs = needs
		answer, f := c.Read(deadline(t, testTimeout), r)
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	for range 3 {
		read("debug_traceCall", chain.Debug)
		read("trace_block", chain.Trace)
		read("eth_call", chain.Plain)
		read("arbtrace_block", chain.ArbTrace) // nobody was measured for it
	}
	for _, want := range []struct {
		upstreams []*testkit.UpstreamServer
		method    string
		calls     int
	}{
		{[]*testkit.UpstreamServer{first}, "debug_traceCall", 0},
		{[]*testkit.UpstreamServer{second}, "debug_traceCall", 3},
		{[]*testkit.UpstreamServer{first}, "trace_block", 3},
		{[]*testkit.UpstreamServer{first, second}, "eth_call", 3},
		{[]*testkit.UpstreamServer{first, second}, "arbtrace_block", 3},
	} {
		n := 0
		for _, u := range want.upstreams {
			n += u.Count(want.method)
		}
		if n != want.calls {
			t.Errorf("%s: %d calls, want %d", want.method, n, want.calls)
		}
	}
	// When nobody is known to be able, somebody is asked all the same: the probe may be out of date.
	s.Upstreams[1].Capabilities = map[string]bool{"debug": false}
	c.Apply(s)
	read("debug_traceCall", chain.Debug)
}

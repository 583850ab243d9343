package rpc_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

// The conformance run sends every method of the catalog through the gateway and to the node behind
// it, and compares the answers byte for byte. It fails for a method of the catalog that it does not
// know.

// sample is a call whose answers are compared.
type sample struct {
	method, params string
	// moving reports that the answer changes continuously and may be cached: it is read until all
	// agree.
	moving bool
	// fails reports that the node answers with an error, data that the error has data.
	fails, data bool
}

// catalogSamples are the samples of a chain, and the catalog's methods that its node does not have.
type catalogSamples struct {
	samples []sample
	absent  string
}

// conformance is a chain behind its own gateway.
type conformance struct {
	*apitest.Gateway
	box  *sandbox.Sandbox
	on   *chain.Chain
	node string // the node's URL
	key  string
	ids  int
}

func TestCatalog_EveryMethodAnswersAsTheNodeDoes(t *testing.T) {
	t.Parallel()
	for _, on := range chain.BuiltIn().All() {
		t.Run(string(on.ID), func(t *testing.T) {
			t.Parallel()
			c := conform(t, on)
			var known catalogSamples
			if on.Family == chain.Solana {
				known = c.solanaSamples()
			} else {
				known = c.evmSamples()
			}
			absent := strings.Fields(known.absent)
			c.coverCatalog(known.samples, absent)
			c.compareAlone(known.samples)
			c.compareBatch(known.samples)
			for _, method := range absent {
				c.refusedAndRefunded(method)
			}
		})
	}
}

// conform starts a sandbox chain and a gateway in front of its upstreams.
func conform(t *testing.T, on *chain.Chain) *conformance {
	t.Helper()
	box, err := sandbox.Start(t.Context(), sandbox.Options{
		Chains: []chain.ID{on.ID}, BlockTime: time.Second, SlotTime: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	var listed []config.Upstream
	for _, u := range box.Upstreams() {
		listed = append(listed, config.Upstream{Name: u.Name, URL: u.URL, Supply: "public"})
	}
	file := config.Upstreams{Chains: map[string]config.ChainUpstreams{string(on.ID): {Upstreams: listed}}}
	g := apitest.Setup(t, func(o *apitest.Options) { o.Providers, o.Timeout = &file, apitest.Timeout })
	c := &conformance{Gateway: g, box: box, on: on, node: listed[0].URL, key: g.Unlimited()}
	c.measure()
	return c
}

// measure measures the upstreams and the chain's head for the gateway, as the worker's probes do.
func (c *conformance) measure() {
	c.T.Helper()
	s, err := c.Pool.Probe(c.T.Context(), c.on.ID)
	c.Must(err)
	on, _ := c.Pool.Chain(c.on.ID)
	on.Apply(s)
}

// outcome is the member of a JSON-RPC response that holds the result or the error, with its bytes.
type outcome struct{ member, bytes string }

func (o outcome) String() string { return fmt.Sprintf("%s %.400s", o.member, o.bytes) }

// askNode calls the node itself.
func (c *conformance) askNode(method, params string) outcome {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.node,
		strings.NewReader(apitest.Call(method, params)))
	c.Must(err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	c.Must(err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	c.Must(err)
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil || resp.StatusCode != http.StatusOK {
		c.T.Fatalf("%s: the node answers %s with HTTP %d %.300s", c.on.ID, method, resp.StatusCode, body)
	}
	if answer.Error != nil {
		return outcome{"error", string(answer.Error)}
	}
	return outcome{"result", string(answer.Result)}
}

// read calls the node for a value that the samples use.
func (c *conformance) read(into any, method string, params ...any) {
	c.T.Helper()
	o := c.askNode(method, list(params...))
	if err := json.Unmarshal([]byte(o.bytes), into); err != nil || o.member != "result" {
		c.T.Fatalf("%s: %s gives %s: %v", c.on.ID, method, o, err)
	}
}

// list returns a parameter list as JSON.
func list(params ...any) string {
	if params == nil {
		return "[]"
	}
	b, err := json.Marshal(params)
	if err != nil {
		return err.Error() // no sample uses invalid JSON
	}
	return string(b)
}

// id returns ids of every kind in turn. They must be returned byte for byte.
func (c *conformance) id() string {
	kinds := [...]string{`1`, `"a\u0041 b"`, `123456789012345678901234567890`, `null`, `-1.50e2`, `""`}
	c.ids++
	return kinds[c.ids%len(kinds)]
}

func request(id string, s sample) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, s.method, s.params)
}

func response(id string, o outcome) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, id, o.member, o.bytes)
}

// coverCatalog fails for methods without a sample, and for samples that show nothing.
func (c *conformance) coverCatalog(samples []sample, absent []string) {
	c.T.Helper()
	covered := make(map[string]int)
	for _, s := range samples {
		if !s.fails {
			covered[s.method]++
		}
	}
	for _, name := range absent {
		if covered[name] > 0 {
			c.T.Errorf("%s: %s has samples, and is listed as absent from the node", c.on.ID, name)
		}
		covered[name]++
	}
	for _, m := range c.on.Methods() {
		if covered[m.Name] == 0 && !m.Write { // submissions have samples from sending
			c.T.Errorf("%s: the conformance run does not cover %s: add a sample, or list it as absent from the node",
				c.on.ID, m.Name)
		}
		delete(covered, m.Name)
	}
	for name := range covered {
		c.T.Errorf("%s: the conformance run has %s, which is not in the catalog", c.on.ID, name)
	}
}

// compareAlone sends each sample as a single request.
func (c *conformance) compareAlone(samples []sample) {
	c.T.Helper()
	for _, s := range samples {
		deadline := time.Now().Add(apitest.Timeout)
		for {
			id := c.id()
			before := c.askNode(s.method, s.params)
			a := c.RPC(c.key, c.on.ID, request(id, s))
			after := c.askNode(s.method, s.params)
			want := response(id, before)
			same := a.Status == http.StatusOK && a.Body == want
			if moved := before != after; (moved || s.moving && !same) && time.Now().Before(deadline) {
				c.measure()
				continue
			}
			if !same {
				c.T.Errorf("%s: %s %s is\n%d %.600s\nand the node says\n%.600s", c.on.ID, s.method, s.params, a.Status,
					a.Body, want)
			}
			c.checkSample(s, before)
			break
		}
	}
}

// checkSample checks that the sample shows what it is meant to show.
func (c *conformance) checkSample(s sample, o outcome) {
	c.T.Helper()
	if s.fails != (o.member == "error") {
		c.T.Errorf("%s: the node answers %s %s with %s, want an error: %v", c.on.ID, s.method, s.params, o, s.fails)
	}
	if s.data && !strings.Contains(o.bytes, `"data":`) {
		c.T.Errorf("%s: the error of %s %s carries no data: %s", c.on.ID, s.method, s.params, o)
	}
}

// compareBatch repeats the samples that do not move, in batches. Some answers now come from the
// cache.
func (c *conformance) compareBatch(samples []sample) {
	c.T.Helper()
	var still []sample
	for _, s := range samples {
		if !s.moving {
			still = append(still, s)
		}
	}
	const most = 60
	for len(still) > 0 {
		n := min(most, len(still))
		var ids, sent, want []string
		sampled := still[:n]
		for _, s := range sampled {
			id := c.id()
			ids = append(ids, id)
			sent = append(sent, request(id, s))
			want = append(want, response(id, c.askNode(s.method, s.params)))
		}
		still = still[n:]
		a := c.RPC(c.key, c.on.ID, "["+strings.Join(sent, ",")+"]")
		var got []json.RawMessage
		err := json.Unmarshal([]byte(a.Body), &got)
		in := expect.In(c.T, "%s: a batch", c.on.ID)
		require.NoError(in, err)
		require.Equal(in, a.Status, http.StatusOK)
		require.Len(in, got, len(want))
		for i := range want {
			if string(got[i]) != want[i] &&
				response(ids[i], c.askNode(sampled[i].method, sampled[i].params)) == want[i] {
				c.T.Errorf("%s: in a batch, %s is\n%.600s\nand the node says\n%.600s", c.on.ID, sent[i], got[i],
					want[i])
			}
		}
	}
}

// refusedAndRefunded checks that a method that the node does not have is refused with the gateway's
// own error, and refunded.
func (c *conformance) refusedAndRefunded(method string) {
	c.T.Helper()
	if o := c.askNode(method, "[]"); o.member != "error" || !strings.Contains(o.bytes, "-32601") {
		c.T.Errorf("%s: %s is listed as absent, and the node answers %s", c.on.ID, method, o)
	}
	_, before := c.Counted(c.key)
	a := c.RPC(c.key, c.on.ID, apitest.Call(method, "[]"))
	data := a.Refused(http.StatusNotFound, -32601)
	if data["contact"] != apitest.Links.Contact || data["docs"] != apitest.Links.Docs {
		c.T.Errorf("%s: the refusal of %s lacks its links: %s", c.on.ID, method, a.Body)
	}
	if strings.Contains(a.Body, "does not exist/is not available") {
		c.T.Errorf("%s: the refusal of %s is the node's: %s", c.on.ID, method, a.Body)
	}
	if _, after := c.Counted(c.key); after != before {
		c.T.Errorf("%s: %s is not served and cost %d", c.on.ID, method, after-before)
	}
}

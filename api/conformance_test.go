package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox"
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
	*gateway
	box  *sandbox.Sandbox
	on   *chain.Chain
	node string // the node's URL
	key  string
	ids  int
}

func TestCatalog_EveryMethodAnswersAsTheNodeDoes(t *testing.T) {
	t.Parallel()
	for _, on := range chain.All() {
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
	g := setup(t, func(o *options) { o.providers, o.timeout = &file, testTimeout })
	c := &conformance{gateway: g, box: box, on: on, node: listed[0].URL, key: g.unlimited()}
	c.measure()
	return c
}

// measure measures the upstreams and the chain's head for the gateway, as the worker's probes do.
func (c *conformance) measure() {
	c.t.Helper()
	s, err := c.pool.Probe(c.t.Context(), c.on.ID)
	c.must(err)
	on, _ := c.pool.Chain(c.on.ID)
	on.Apply(s)
}

// outcome is the member of a JSON-RPC response that holds the result or the error, with its bytes.
type outcome struct{ member, bytes string }

func (o outcome) String() string { return fmt.Sprintf("%s %.400s", o.member, o.bytes) }

// askNode calls the node itself.
func (c *conformance) askNode(method, params string) outcome {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.node,
		strings.NewReader(call(method, params)))
	c.must(err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	c.must(err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	c.must(err)
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: the node answers %s with HTTP %d %.300s", c.on.ID, method, resp.StatusCode, body)
	}
	if answer.Error != nil {
		return outcome{"error", string(answer.Error)}
	}
	return outcome{"result", string(answer.Result)}
}

// read calls the node for a value that the samples use.
func (c *conformance) read(into any, method string, params ...any) {
	c.t.Helper()
	o := c.askNode(method, list(params...))
	if err := json.Unmarshal([]byte(o.bytes), into); err != nil || o.member != "result" {
		c.t.Fatalf("%s: %s gives %s: %v", c.on.ID, method, o, err)
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
	c.t.Helper()
	covered := make(map[string]int)
	for _, s := range samples {
		if !s.fails {
			covered[s.method]++
		}
	}
	for _, name := range absent {
		if covered[name] > 0 {
			c.t.Errorf("%s: %s has samples, and is listed as absent from the node", c.on.ID, name)
		}
		covered[name]++
	}
	for _, m := range c.on.Methods() {
		if covered[m.Name] == 0 && !m.Write { // submissions have samples from sending
			c.t.Errorf("%s: the conformance run does not cover %s: add a sample, or list it as absent from the node",
				c.on.ID, m.Name)
		}
		delete(covered, m.Name)
	}
	for name := range covered {
		c.t.Errorf("%s: the conformance run has %s, which is not in the catalog", c.on.ID, name)
	}
}

// compareAlone sends each sample as a single request.
func (c *conformance) compareAlone(samples []sample) {
	c.t.Helper()
	for _, s := range samples {
		deadline := time.Now().Add(testTimeout)
		for {
			id := c.id()
			before := c.askNode(s.method, s.params)
			a := c.rpc(c.key, c.on.ID, request(id, s))
			after := c.askNode(s.method, s.params)
			want := response(id, before)
			same := a.status == http.StatusOK && a.body == want
			if moved := before != after; (moved || s.moving && !same) && time.Now().Before(deadline) {
				c.measure()
				continue
			}
			if !same {
				c.t.Errorf("%s: %s %s is\n%d %.600s\nand the node says\n%.600s", c.on.ID, s.method, s.params, a.status,
					a.body, want)
			}
			c.checkSample(s, before)
			break
		}
	}
}

// checkSample checks that the sample shows what it is meant to show.
func (c *conformance) checkSample(s sample, o outcome) {
	c.t.Helper()
	if s.fails != (o.member == "error") {
		c.t.Errorf("%s: the node answers %s %s with %s, want an error: %v", c.on.ID, s.method, s.params, o, s.fails)
	}
	if s.data && !strings.Contains(o.bytes, `"data":`) {
		c.t.Errorf("%s: the error of %s %s carries no data: %s", c.on.ID, s.method, s.params, o)
	}
}

// compareBatch repeats the samples that do not move, in batches. Some answers now come from the
// cache.
func (c *conformance) compareBatch(samples []sample) {
	c.t.Helper()
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
		a := c.rpc(c.key, c.on.ID, "["+strings.Join(sent, ",")+"]")
		var got []json.RawMessage
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != http.StatusOK ||
			len(got) != len(want) {
			c.t.Fatalf("%s: a batch of %d gives HTTP %d %.300s", c.on.ID, len(want), a.status, a.body)
		}
		for i := range want {
			if string(got[i]) != want[i] &&
				response(ids[i], c.askNode(sampled[i].method, sampled[i].params)) == want[i] {
				c.t.Errorf("%s: in a batch, %s is\n%.600s\nand the node says\n%.600s", c.on.ID, sent[i], got[i],
					want[i])
			}
		}
	}
}

// refusedAndRefunded checks that a method that the node does not have is refused with the gateway's
// own error, and refunded.
func (c *conformance) refusedAndRefunded(method string) {
	c.t.Helper()
	if o := c.askNode(method, "[]"); o.member != "error" || !strings.Contains(o.bytes, "-32601") {
		c.t.Errorf("%s: %s is listed as absent, and the node answers %s", c.on.ID, method, o)
	}
	_, before := c.counted(c.key)
	a := c.rpc(c.key, c.on.ID, call(method, "[]"))
	data := a.refused(http.StatusNotFound, -32601)
	if data["contact"] != links.Contact || data["docs"] != links.Docs {
		c.t.Errorf("%s: the refusal of %s lacks its links: %s", c.on.ID, method, a.body)
	}
	if strings.Contains(a.body, "does not exist/is not available") {
		c.t.Errorf("%s: the refusal of %s is the node's: %s", c.on.ID, method, a.body)
	}
	if _, after := c.counted(c.key); after != before {
		c.t.Errorf("%s: %s is not served and cost %d", c.on.ID, method, after-before)
	}
}

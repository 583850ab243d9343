package tools_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/usagedb"
)

// pair is an HTTP request and the tool call that does the same.
type pair struct {
	name string
	// key creates the caller; nil is the holder of a key without an allowance, anonymous has no
	// key.
	key    func(*apitest.Gateway) string
	before func(g *apitest.Gateway, key string)
	// The HTTP side. A body makes it a POST.
	method, path, body string
	headers            []string
	// The tool side.
	tool, args string
	// renamed are fields that the tool names differently, as pairs of the HTTP name and the tool's.
	renamed []string
	code    int // of the refusal; 0 for success
	hit     bool
}

// twins are two gateways in the same state: one gets the HTTP requests, the other the tool calls.
type twins struct {
	t     *testing.T
	http  *apitest.Gateway
	tools *apitest.Gateway
	asked [][2]apitest.Answer // by row
}

// run runs every row on both sides and compares them: the results, the units charged, what the
// upstreams received, and what was recorded.
func (w *twins) run(rows []pair) {
	w.t.Helper()
	for i := range rows {
		p := &rows[i]
		keys := [2]string{w.keyOf(w.http, p), w.keyOf(w.tools, p)}
		a := w.http.Ask(p.verb(), p.path, keys[0], p.body, p.headers...)
		b := tell(w.tools, keys[1], toolCall(p.tool, p.args))
		w.asked = append(w.asked, [2]apitest.Answer{a, b})
		one, other := w.ofHTTP(p, a), givenIn(b)
		other.fits(w.t, p.tool)
		got, want := reduced(w.t, other), reduced(w.t, one)
		if got != want {
			w.t.Errorf("%s: the tool gives\n%s\nHTTP gives\n%s", p.name, got, want)
		}
		code := other.code(w.t)
		expect.Equal(w.t, code, p.code, b.Body)
		expect.Equal(w.t, other.hit, p.hit, b.Body)
		expect.Equal(w.t, one.hit, p.hit, b.Body)
		w.sameUsage(p, keys)
		if h, m := upstreamsSaw(w.http), upstreamsSaw(w.tools); !maps.Equal(h, m) {
			w.t.Errorf("%s: upstreams saw %v from the tool and %v from HTTP", p.name, m, h)
		}
	}
	w.sameRecords(rows)
}

func (w *twins) keyOf(g *apitest.Gateway, p *pair) string {
	key := (*apitest.Gateway).Unlimited
	if p.key != nil {
		key = p.key
	}
	k := key(g)
	if p.before != nil {
		p.before(g, k)
	}
	return k
}

func (p pair) verb() string {
	switch {
	case p.method != "":
		return p.method
	case p.body != "":
		return http.MethodPost
	}
	return http.MethodGet
}

// ofHTTP reads an HTTP answer under the tool's names.
func (w *twins) ofHTTP(p *pair, a apitest.Answer) given {
	w.t.Helper()
	if a.Status < 300 {
		return given{object: json.RawMessage(a.Body), hit: a.Hit()}
	}
	var e struct{ Error json.RawMessage }
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || e.Error == nil {
		w.t.Fatalf("%s: HTTP %d is no envelope: %.300s", p.name, a.Status, a.Body)
	}
	text := string(e.Error)
	for i := 0; i < len(p.renamed); i += 2 {
		for _, form := range []string{`"field":"%s"`, `again. %s:`, `; %s:`} {
			text = strings.ReplaceAll(text, fmt.Sprintf(form, p.renamed[i]), fmt.Sprintf(form, p.renamed[i+1]))
		}
	}
	return given{refusal: json.RawMessage(text)}
}

// changing matches what differs between requests or depends on the time.
var changing = []struct {
	pattern     *regexp.Regexp
	placeholder string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`cagc?_[0-9A-Za-z]{49}`), "<secret>"},
	{regexp.MustCompile(`cag_[0-9A-Za-z]{8}`), "<prefix>"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`("retry_after": |[Ww]ait )\d+`), "${1}<seconds>"},
	{regexp.MustCompile(` The tool for it is [a-z_]+\."`), `"`}, // agents get the next step's tool in addition
	{regexp.MustCompile(`"tool": "[a-z_]+",\s+("where")`), "${1}"},
}

// reduced returns a result as canonical JSON without what changes.
func reduced(t *testing.T, n given) string {
	t.Helper()
	text := n.object
	if n.refusal != nil {
		text = n.refusal
	}
	decoder := json.NewDecoder(bytes.NewReader(text)) // sorted names, numbers digit by digit
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	form, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	told := string(form)
	for _, c := range changing {
		told = c.pattern.ReplaceAllString(told, c.placeholder)
	}
	return told
}

// upstreamsSaw counts the requests that all upstreams received, by method.
func upstreamsSaw(g *apitest.Gateway) map[string]int {
	seen := map[string]int{}
	for _, u := range g.Ups {
		for _, r := range u.Requests() {
			seen[r.Method]++
		}
	}
	return seen
}

// sameUsage compares the usage lines and counters of the two keys.
func (w *twins) sameUsage(p *pair, keys [2]string) {
	w.t.Helper()
	if _, ok := account.ParseKey(keys[0]); !ok {
		return
	}
	one, other := used(w.http, keys[0]), used(w.tools, keys[1])
	if !maps.Equal(one, other) {
		w.t.Errorf("%s: the tool's usage is %v, HTTP's %v", p.name, other, one)
	}
	if h, m := holding(w.http, keys[0]), holding(w.tools, keys[1]); h != m {
		w.t.Errorf("%s: the tool's counters are %v, HTTP's %v", p.name, m, h)
	}
}

// holding returns the counters of the key's day and of its account's period.
func holding(g *apitest.Gateway, key string) (units [2]plan.Units) {
	g.T.Helper()
	id, ctx := g.Identity(key), g.T.Context()
	for i, pattern := range []string{"*:day:" + id.Key.String() + ":*", "*:ap:" + id.Account.String() + ":*"} {
		names, err := g.Meter.Client().Keys(ctx, pattern).Result()
		g.Must(err)
		for _, name := range names {
			var n int64
			if i == 0 {
				n, err = g.Meter.Client().Get(ctx, name).Int64()
			} else {
				n, err = g.Meter.Client().HGet(ctx, name, "u").Int64()
			}
			if !errors.Is(err, redis.Nil) { // a counter that was never used does not exist
				g.Must(err)
			}
			units[i] += plan.Units(n)
		}
	}
	return units
}

// used returns the usage lines of a key's account without their owner.
func used(g *apitest.Gateway, key string) map[account.UsageLine]apitest.Figures {
	sums := map[account.UsageLine]apitest.Figures{}
	for _, line := range g.Lines(key) {
		of := line
		of.Key, of.Requests, of.Units = account.KeyID{}, 0, 0
		f := sums[of]
		sums[of] = apitest.Figures{Requests: f.Requests + line.Requests, Units: f.Units + line.Units}
	}
	return sums
}

// sameRecords compares the call records of all rows. Nothing can be recorded after it.
func (w *twins) sameRecords(rows []pair) {
	w.t.Helper()
	for i, asked := range w.asked {
		one, other := recorded(w.http.Calls(asked[0])), recorded(w.tools.Calls(asked[1]))
		if !slices.Equal(one, other) {
			w.t.Errorf("%s: the tool is recorded as %+v, HTTP as %+v", rows[i].name, other, one)
		}
	}
}

// recorded returns call records without the fields that are specific to a request.
func recorded(calls []usagedb.Call) []usagedb.Call {
	for i, c := range calls {
		calls[i] = usagedb.Call{
			Index: c.Index, Chain: c.Chain, Service: c.Service, Method: c.Method, Class: c.Class, Tier: c.Tier,
			Outcome: c.Outcome, HTTPStatus: c.HTTPStatus, Units: c.Units, Attempts: c.Attempts,
		}
	}
	return calls
}

// exhaust sets all counters of a kind for the key and its account to used up.
func exhaust(kind string) func(g *apitest.Gateway, key string) {
	return func(g *apitest.Gateway, key string) {
		g.T.Helper()
		g.Eth(key, "eth_getCode").Result() // creates the counter
		id := g.Identity(key)
		for _, of := range []string{id.Key.String(), id.Account.String()} {
			names, err := g.Meter.Client().Keys(g.T.Context(), "*"+kind+":"+of+":*").Result()
			g.Must(err)
			for _, name := range names {
				if kind == "day" {
					g.Must(g.Meter.Client().Set(g.T.Context(), name, int64(1_000_000*plan.Unit), redis.KeepTTL).Err())
				} else {
					g.Must(g.Meter.Client().HSet(g.T.Context(), name, "u", int64(1_000_000*plan.Unit)).Err())
				}
			}
		}
	}
}

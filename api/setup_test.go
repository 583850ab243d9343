package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/http1"
	"github.com/chainaccess/gateway/api/mcp"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/geo"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

const (
	testTimeout = 30 * time.Second
	// standing is the timeout of calls on a stopped clock: their connections have deadlines by the
	// machine's clock, which continues.
	standing = 10 * time.Minute
	testHead = 1_000_000
	canary   = "canary" // part of every upstream credential: nothing that leaves the gateway may contain it
)

var links = chain.Links{Contact: "contact@example.org", Docs: "https://docs.example.org/methods"}

// gateway is the HTTP interface over real servers and scripted upstreams.
type gateway struct {
	t          testing.TB
	url        string
	client     *http.Client
	handler    http.Handler
	ups        []*testkit.UpstreamServer // of every chain; the first is the fastest
	pool       *upstream.Pool
	board      *upstream.Board
	tools      []api.AgentTool // of the MCP server
	store      *store.Store
	database   string
	redis      *testkit.RedisServer
	meter      *meter.Meter
	limits     *limits.Limits
	relay      *relay.Relay
	operations *service.Registry
	hasher     *account.Hasher
	recorder   *usagedb.Recorder
	logs       *logBuffer
	metrics    *telemetry.Metrics

	sells         bool          // to stock x402 clients
	recordTime    time.Duration // for the recorder to write what it holds
	closeRecorder sync.Once
	mu            sync.Mutex // guards keys
	keys          []string
}

// options are the settings that a test changes.
type options struct {
	chains    []chain.ID
	upstreams int
	providers *config.Upstreams // instead of scripted upstreams
	supply    plan.Supply
	perSecond float64 // rate limit of each upstream
	timeout   time.Duration
	maxAnswer int64
	batches   int64 // bytes of memory for the answers of all batches
	maxBody   int64
	hosts     []string // further host names of the MCP endpoint
	proxies   int
	now       func() time.Time
	random    io.Reader
	tracer    *telemetry.Tracer
	apply     bool // a snapshot with only healthy upstreams
	stall     time.Duration
	server    func(*http.Server)
	listener  net.Listener
	cacheURL  string // of the cache's second tier; empty for none
	pages     api.Pages
	toolbox   func(*service.Toolbox) // changes the sources of metered operations
	terms     x402.Terms             // of paying per call; disabled when zero
	stock     bool                   // stock x402 clients can pay
	locator   *geo.Locator
	stripe    *billing.Stripe                           // sells plans; nil for none
	secret    string                                    // of Stripe's webhooks
	cashier   func(*gateway, *options) *stock.Processor // for payments of stock x402 clients; nil for none
}

func setup(t testing.TB, change ...func(*options)) *gateway {
	t.Helper()
	testkit.RoomIn(t, time.Hour, time.Minute)
	o := options{
		chains: []chain.ID{chain.EthMainnet, chain.SolanaMainnet}, upstreams: 2, supply: plan.Public,
		timeout: testTimeout, maxAnswer: 512 << 20, maxBody: 1 << 20, now: time.Now, random: rand.Reader, apply: true,
		stall: testTimeout,
	}
	for _, f := range change {
		f(&o)
	}
	g := &gateway{
		t: t, recordTime: testTimeout, logs: &logBuffer{}, metrics: telemetry.NewMetrics(),
		database: testkit.Postgres(t), redis: testkit.Redis(t),
	}
	log := slog.New(slog.NewJSONHandler(g.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	g.store, err = store.Open(t.Context(), g.database)
	g.must(err)
	t.Cleanup(g.store.Close)
	g.meter, err = meter.Open(t.Context(), g.redis.URL)
	g.must(err)
	t.Cleanup(func() { _ = g.meter.Close() }) // Redis may be gone by then
	g.hasher, err = account.NewHasher([]byte(strings.Repeat("pepper", 8)))
	g.must(err)
	g.pool = g.newPool(o)
	g.pool.Instrument(g.metrics.Upstreams, o.tracer, log)
	g.board = upstream.NewBoard(g.meter.Client())
	g.limits = limits.New(g.store, g.meter, g.hasher, o.now)
	g.recorder = usagedb.NewRecorder(g.store, usagedb.RecorderOptions{MaxDelay: 10 * time.Millisecond, Logger: log})
	t.Cleanup(g.flushRecords)
	answers := g.newCache(o)
	calls := relay.New(relay.Options{
		Pool: g.pool, Limits: g.limits, Meter: g.meter, Recorder: g.recorder, Cache: answers, Links: links,
		Timeout: o.timeout, MaxAnswer: o.maxAnswer, BatchMemory: o.batches, Now: o.now, Logger: log,
		Metrics: g.metrics.Calls, Tracer: o.tracer,
	})
	g.relay = calls
	g.metrics.WatchCache(calls.CacheFigures)
	g.operations = service.New(service.Options{
		Store: g.store, Limits: g.limits, Meter: g.meter, Hasher: g.hasher, Recorder: g.recorder,
		PublicURL: "https://gateway.example", Pool: g.pool, Links: links, Now: o.now, Random: o.random, Logger: log,
		Metrics: g.metrics.Operations, Toolbox: newToolbox(g.pool, &o), Answers: answers, Refunds: g.metrics.Calls,
		Tracer: o.tracer, Stripe: o.stripe, WebhookSecret: o.secret, Contact: "support@gateway.example",
		Terms: o.terms, StockClients: o.stock, Payments: settlement.New(g.pool, chain.BaseMainnet, o.terms),
	})
	var sells *stock.Processor
	if o.cashier != nil {
		sells, g.sells = o.cashier(g, &o), true
	}
	agents := mcp.New(mcp.Options{
		Capabilities: g.operations, Relay: calls, Limits: g.limits, Pool: g.pool, Links: links,
		PublicURL: "https://gateway.example", Hosts: o.hosts, MaxBodyBytes: o.maxBody, Now: o.now, Logger: log,
	})
	for _, t := range agents.Tools() {
		g.tools = append(g.tools, api.AgentTool(t))
	}
	std := api.NewServer(api.Handler(api.Options{
		Relay: calls, Capabilities: g.operations,
		Limits: g.limits, Meter: g.meter, Store: g.store, Pool: g.pool, Links: links,
		PublicURL: "https://gateway.example", MaxBodyBytes: o.maxBody, TrustedProxies: o.proxies, Locator: o.locator,
		Stock: sells, Now: o.now, Logger: log, Draining: make(chan struct{}), Metrics: g.metrics.Calls,
		Tracer: o.tracer, ClientStall: o.stall, Pages: o.pages, Agents: agents, AgentTools: g.tools,
	}), o.timeout, log)
	if o.server != nil {
		o.server(std)
	}
	g.handler = std.Handler
	stop := g.serve(std, o.listener)
	t.Cleanup(func() {
		stop()
		g.noSecretsIn("the log", g.logs.String())
		g.noSecretsIn("the metrics", g.scrape())
	})
	return g
}

// newCache creates a cache whose second tier has a timeout for loaded machines.
func (g *gateway) newCache(o options) *cache.Cache {
	g.t.Helper()
	c, err := cache.New(cache.Options{
		Bytes: 8 << 20, RedisURL: o.cacheURL, Secret: []byte(strings.Repeat("pepper", 8)),
		LookupTimeout: 10 * time.Second, Now: o.now, Logger: slog.New(slog.NewJSONHandler(g.logs, nil)),
	})
	g.must(err)
	g.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		_ = c.Close(ctx) // Redis may be gone by then
	})
	return c
}

// serve runs the server as the program does. It opens a listener when l is nil.
func (g *gateway) serve(std *http.Server, l net.Listener) (stop func()) {
	g.t.Helper()
	var err error
	if l == nil {
		l, err = (&net.ListenConfig{}).Listen(g.t.Context(), "tcp", "127.0.0.1:0")
		g.must(err)
	}
	server := http1.New(std, time.Now, api.BusyPaths()...)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	g.client, g.url = &http.Client{Transport: g.judged(transport)}, "http://"+l.Addr().String()
	return func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			g.t.Errorf("serving ended with %v", err)
		}
	}
}

// newPool creates upstreams with credentials in every part of their URLs and headers.
func (g *gateway) newPool(o options) *upstream.Pool {
	g.t.Helper()
	if o.providers != nil {
		pool, err := upstream.NewPool(*o.providers, o.now)
		g.must(err)
		g.t.Cleanup(pool.Close)
		return pool
	}
	for range o.upstreams {
		g.ups = append(g.ups, testkit.Upstream(g.t))
	}
	file := config.Upstreams{Chains: make(map[string]config.ChainUpstreams)}
	for _, id := range o.chains {
		var list []config.Upstream
		for i, u := range g.ups {
			host := strings.TrimPrefix(u.URL, "http://")
			list = append(list, config.Upstream{
				Name: fmt.Sprintf("up-%d", i), Supply: string(o.supply), MaxPerSecond: o.perSecond,
				URL: "http://canaryuser:canarypass@" + host + "/v2/canary-path-" + string(id) +
					"?apikey=canary-query%2B1",
				Headers: map[string]string{"X-Api-Key": "canary-header-1234"},
			})
		}
		file.Chains[string(id)] = config.ChainUpstreams{Upstreams: list}
	}
	pool, err := upstream.NewPool(file, o.now)
	g.must(err)
	g.t.Cleanup(pool.Close)
	if o.apply {
		for _, id := range o.chains {
			applyHealthy(pool, id, o.now(), len(g.ups))
		}
	}
	return pool
}

func applyHealthy(pool *upstream.Pool, id chain.ID, at time.Time, n int) {
	on, _ := pool.Chain(id)
	s := upstream.Snapshot{Chain: id, MeasuredAt: at, Head: testHead, HeadKnown: true}
	for i := range n {
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Fingerprint: on.Fingerprint(fmt.Sprintf("up-%d", i)),
			Name:        fmt.Sprintf("up-%d", i), Usable: true, ChainIDOK: true, Head: testHead,
			LatencyMicros: int64(1000 << (6 * i)),
		})
	}
	on.Apply(s)
}

func (g *gateway) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// flushRecords writes what the recorder holds. Nothing can be recorded after it.
func (g *gateway) flushRecords() {
	g.closeRecorder.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), g.recordTime)
		defer cancel()
		_ = g.recorder.Close(ctx) // PostgreSQL may be gone by then
	})
}

// doorKey creates an anonymous key, bypassing the limit of its address.
func (g *gateway) doorKey() string {
	g.t.Helper()
	key, err := g.limits.NewDoorKey(g.t.Context(), rand.Reader)
	g.must(err)
	return g.remember(key)
}

// accountKey creates a key of an account on a plan, without a daily allowance.
func (g *gateway) accountKey(planKey string) string {
	g.t.Helper()
	a := accountdb.NewAccount{ID: account.NewID(), Kind: accountdb.KindOwner, Plan: planKey}
	_, err := g.store.CreateAccount(g.t.Context(), a)
	g.must(err)
	key, err := account.MintKey(rand.Reader)
	g.must(err)
	digest := key.Digest(g.hasher)
	_, err = g.store.CreateKey(g.t.Context(), accountdb.NewKey{
		ID: account.NewKeyID(), Account: a.ID, Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorAccount,
		Daily: account.Unlimited,
	})
	g.must(err)
	return g.remember(key)
}

// unlimited creates a key without an allowance and with a wide rate window.
func (g *gateway) unlimited() string { g.t.Helper(); return g.accountKey(plan.Enterprise) }

func (g *gateway) remember(key account.Key) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys = append(g.keys, key.Reveal())
	return key.Reveal()
}

func (g *gateway) identity(key string) account.Identity {
	g.t.Helper()
	parsed, ok := account.ParseKey(key)
	if !ok {
		g.t.Fatal("not a key")
	}
	digest := parsed.Digest(g.hasher)
	id, err := g.store.FindIdentity(g.t.Context(), digest[:])
	g.must(err)
	return id
}

// suspend suspends the key's account, effective at once.
func (g *gateway) suspend(key string) {
	g.t.Helper()
	_, err := g.limits.SetStatus(g.t.Context(), g.identity(key).Account, account.Suspended,
		accountdb.Author{Actor: "test", Origin: "test"})
	g.must(err)
}

// revoke revokes the key, effective at once.
func (g *gateway) revoke(key string) {
	g.t.Helper()
	_, err := g.limits.RevokeKey(g.t.Context(), g.identity(key).Key, accountdb.Author{Actor: "test", Origin: "test"})
	g.must(err)
}

// figures are the requests and units of usage lines.
type figures struct {
	requests int64
	units    plan.Units
}

// lines returns the usage lines of the key's account.
func (g *gateway) lines(key string) []account.UsageLine {
	g.t.Helper()
	return g.linesOf(g.identity(key).Account)
}

// linesOf returns the usage lines of an account, each summed over its ten-second buckets.
func (g *gateway) linesOf(id account.ID) []account.UsageLine {
	g.t.Helper()
	buckets, _, err := g.meter.SealedBuckets(g.t.Context(), account.Shard(id), true, 10_000)
	g.must(err)
	var lines []account.UsageLine
	at := map[account.UsageLine]int{}
	for _, b := range buckets {
		if b.Account != id {
			continue
		}
		for _, line := range b.Lines {
			words := line
			words.Requests, words.Units = 0, 0
			i, known := at[words]
			if !known {
				i = len(lines)
				at[words], lines = i, append(lines, words)
			}
			lines[i].Requests += line.Requests
			lines[i].Units += line.Units
		}
	}
	return lines
}

// usage sums the usage lines of the key's account by outcome.
func (g *gateway) usage(key string) map[string]figures {
	g.t.Helper()
	sums := make(map[string]figures)
	for _, line := range g.lines(key) {
		f := sums[line.Outcome]
		sums[line.Outcome] = figures{f.requests + line.Requests, f.units + line.Units}
	}
	return sums
}

// counted returns the counter of the key's day and that of its account's period.
func (g *gateway) counted(key string) (day, period plan.Units) {
	g.t.Helper()
	id := g.identity(key)
	read := func(pattern string) plan.Units {
		names, err := g.meter.Client().Keys(g.t.Context(), pattern).Result()
		g.must(err)
		var sum plan.Units
		for _, name := range names {
			n, err := g.meter.Client().Get(g.t.Context(), name).Int64()
			if err != nil { // a hash
				n, err = g.meter.Client().HGet(g.t.Context(), name, "u").Int64()
			}
			g.must(err)
			sum += plan.Units(n)
		}
		return sum
	}
	return read("*day:" + id.Key.String() + ":*"), read("*ap:" + id.Account.String() + ":*")
}

// sent counts the requests for a method at all upstreams.
func (g *gateway) sent(method string) int {
	n := 0
	for _, u := range g.ups {
		n += u.Count(method)
	}
	return n
}

// all sets the reply of every upstream.
func (g *gateway) all(reply testkit.Reply) {
	for _, u := range g.ups {
		u.Default(reply)
	}
}

// answer is an HTTP answer.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// envelope is a JSON-RPC response, or the error envelope of another route.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

// ask sends a request as a client would, and checks what is true of every answer: it has a request
// id, and it contains no secret.
func (g *gateway) ask(method, path, key, body string, headers ...string) answer {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(body))
	g.must(err)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return g.send(req)
}

func (g *gateway) send(req *http.Request) answer {
	g.t.Helper()
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatalf("%s %s: the answer broke off after %d bytes: %v", req.Method, req.URL.Path, len(body), err)
	}
	a := answer{t: g.t, status: resp.StatusCode, header: resp.Header, body: string(body)}
	g.checkRequestID(a)
	g.noSecretsIn("the body", a.body)
	g.noSecretsIn("the headers", fmt.Sprint(a.header))
	return a
}

// begin sends a request without Accept-Encoding, and reads only the head of the answer.
func (g *gateway) begin(key, body string) (answer, io.Reader) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+"/rpc/eth_mainnet",
		strings.NewReader(body))
	g.must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := g.client.Do(req)
	g.must(err)
	g.t.Cleanup(func() { _ = resp.Body.Close() })
	return answer{t: g.t, status: resp.StatusCode, header: resp.Header}, resp.Body
}

// rpc posts a body to a chain.
func (g *gateway) rpc(key string, id chain.ID, body string, headers ...string) answer {
	g.t.Helper()
	return g.ask(http.MethodPost, "/rpc/"+string(id), key, body, headers...)
}

// eth posts a call without parameters to Ethereum.
func (g *gateway) eth(key, method string, headers ...string) answer {
	g.t.Helper()
	return g.rpc(key, chain.EthMainnet, call(method, "[]"), headers...)
}

func call(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

func (g *gateway) checkRequestID(a answer) {
	g.t.Helper()
	id, err := uuid.Parse(a.header.Get("X-Request-Id"))
	if err != nil || id.Version() != 7 {
		g.t.Errorf("X-Request-Id is %q, want a UUIDv7 (HTTP %d)", a.header.Get("X-Request-Id"), a.status)
	}
	var e envelope
	if json.Unmarshal([]byte(a.body), &e) != nil || e.Error == nil || e.Error.Data["support"] == nil {
		return
	}
	if e.Error.Data["request_id"] != id.String() || e.Error.Data["support"] != "/support/new?request_id="+id.String() {
		g.t.Errorf("data names the request %v, the header %s", e.Error.Data["request_id"], id)
	}
}

func (g *gateway) noSecretsIn(what, text string) {
	g.t.Helper()
	if i := strings.Index(strings.ToLower(text), canary); i >= 0 {
		g.t.Errorf("%s shows a credential of an upstream: …%s…", what, text[max(0, i-80):min(len(text), i+80)])
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range g.keys {
		if strings.Contains(text, key) {
			g.t.Errorf("%s shows a key", what)
		}
	}
}

func (a answer) envelope() envelope {
	a.t.Helper()
	var e envelope
	if err := json.Unmarshal([]byte(a.body), &e); err != nil {
		a.t.Fatalf("HTTP %d is no envelope: %.300s", a.status, a.body)
	}
	return e
}

// refused checks the status and code of a refusal, and returns its data.
func (a answer) refused(status, code int) map[string]any {
	a.t.Helper()
	e := a.envelope()
	if e.Error == nil || a.status != status || e.Error.Code != code {
		a.t.Fatalf("got HTTP %d %.300s, want HTTP %d and %d", a.status, a.body, status, code)
	}
	if ct := a.header.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") {
		a.t.Errorf("a refusal comes as %q", ct)
	}
	if e.Error.Message == "" || e.Error.Data["request_id"] == nil || e.Error.Data["support"] == nil {
		a.t.Errorf("the refusal lacks a member of the envelope: %s", a.body)
	}
	if status == http.StatusTooManyRequests {
		for _, name := range []string{"Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			if a.header.Get(name) == "" {
				a.t.Errorf("a 429 comes without %s", name)
			}
		}
	}
	return e.Error.Data
}

// result checks that the call succeeded, and returns its result.
func (a answer) result() string {
	a.t.Helper()
	e := a.envelope()
	if a.status != http.StatusOK || e.Error != nil || e.Result == nil || e.JSONRPC != "2.0" {
		a.t.Fatalf("got HTTP %d %.300s, want a result", a.status, a.body)
	}
	return string(e.Result)
}

func (a answer) hit() bool { return a.header.Get("X-Service-Cache") == "hit" }

func (a answer) requestID() uuid.UUID { return uuid.MustParse(a.header.Get("X-Request-Id")) }

// calls returns the records of an answer's request. Nothing can be recorded after it.
func (g *gateway) calls(a answer) []usagedb.Call {
	g.t.Helper()
	g.flushRecords()
	calls, err := g.store.FindCalls(g.t.Context(), a.requestID())
	g.must(err)
	return calls
}

// logBuffer keeps the log.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// abandon sends a request. leave disconnects its client and waits until the client is gone.
func (g *gateway) abandon(key string, id chain.ID, body string) (leave func()) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/rpc/"+string(id), strings.NewReader(body))
	g.must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		resp, err := g.client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	return func() {
		cancel()
		<-gone
	}
}

// applyAt applies a snapshot of Ethereum with another head.
func applyAt(g *gateway, head uint64, at time.Time) {
	on, _ := g.pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{Chain: chain.EthMainnet, MeasuredAt: at, Head: head, HeadKnown: true}
	on.Apply(s)
}

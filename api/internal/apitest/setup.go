// Package apitest sets up the HTTP interface for tests, over real servers and scripted upstreams.
// The tests of api and of api/test send their requests and check answers and usage with it.
package apitest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

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
	"github.com/chainaccess/gateway/service/tools"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
)

const (
	// Timeout is the timeout of calls and of waits.
	Timeout = 30 * time.Second
	// StoppedClockTimeout is the timeout of calls on a stopped clock: their connections have
	// deadlines by the machine's clock, which continues.
	StoppedClockTimeout = 10 * time.Minute
	// Head is the head of every chain.
	Head = 1_000_000
	// Canary is part of every upstream credential: nothing that leaves the gateway may contain it.
	Canary = "canary"
)

// Links are the operator's links in errors.
var Links = chain.Links{Contact: "contact@example.org", Docs: "https://docs.example.org/methods"}

// Gateway is the HTTP interface over real servers and scripted upstreams.
type Gateway struct {
	T          testing.TB
	URL        string
	Client     *http.Client
	Handler    http.Handler
	Ups        []*testkit.UpstreamServer // of every chain; the first is the fastest
	Pool       *upstream.Pool
	Board      *upstream.Board
	Tools      []api.AgentTool // of the MCP server
	Store      *store.Store
	Database   string
	Redis      *testkit.RedisServer
	Meter      *meter.Meter
	Limits     *limits.Limits
	Relay      *relay.Relay
	Operations *service.Registry
	Hasher     *account.Hasher
	Recorder   *usagedb.Recorder
	Logs       *LogBuffer
	Metrics    *telemetry.Metrics

	sellsToStock  bool          // to stock x402 clients
	recordTime    time.Duration // for the recorder to write what it holds
	closeRecorder sync.Once
	mu            sync.Mutex // guards secrets
	secrets       []string   // that must appear in no log, metric or answer
}

// Options are the settings that a test changes.
type Options struct {
	Chains         []chain.ID
	Known          *chain.Set // the chains; nil for the built-in ones
	Upstreams      int
	Providers      *config.Upstreams // instead of scripted upstreams
	Supply         plan.Supply
	PerSecond      float64        // rate limit of each upstream
	Verify         map[string]int // how many upstreams must agree on a method
	Timeout        time.Duration
	MaxAnswer      int64
	Batches        int64             // bytes of memory for the answers of all batches
	LogBlocks      map[string]uint64 // larger caps on log ranges, by plan
	MaxBody        int64
	Hosts          []string // further host names of the MCP endpoint
	Proxies        int
	Now            func() time.Time
	Random         io.Reader
	Tracer         *telemetry.Tracer
	Apply          bool // a snapshot with only healthy upstreams
	Stall          time.Duration
	Server         func(*http.Server)
	Listener       net.Listener
	CacheURL       string // of the cache's second tier; empty for none
	Pages          api.Pages
	Toolbox        func(*tools.Toolbox) // changes the sources of metered operations
	Terms          x402.Terms           // of paying per call; disabled when zero
	Stock          bool                 // stock x402 clients can pay
	Locator        *geo.Locator
	Stripe         *billing.Stripe                           // sells plans; nil for none
	Secret         string                                    // of Stripe's webhooks
	StockProcessor func(*Gateway, *Options) *stock.Processor // for payments of stock x402 clients; nil for none
}

// Setup starts a gateway with its own database, Redis and upstreams.
func Setup(t testing.TB, change ...func(*Options)) *Gateway {
	t.Helper()
	testkit.RoomIn(t, time.Hour, time.Minute)
	o := Options{
		Chains: []chain.ID{chain.EthMainnet, chain.SolanaMainnet}, Upstreams: 2, Supply: plan.Public,
		Timeout: Timeout, MaxAnswer: 512 << 20, MaxBody: 1 << 20, Now: time.Now, Random: rand.Reader, Apply: true,
		Stall: Timeout,
	}
	for _, f := range change {
		f(&o)
	}
	g := &Gateway{
		T: t, recordTime: Timeout, Logs: &LogBuffer{}, Metrics: telemetry.NewMetrics(o.Known),
		Database: testkit.Postgres(t), Redis: testkit.Redis(t),
	}
	log := slog.New(slog.NewJSONHandler(g.Logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	g.Store, err = store.Open(t.Context(), g.Database)
	g.Must(err)
	t.Cleanup(g.Store.Close)
	g.Meter, err = meter.Open(t.Context(), g.Redis.URL)
	g.Must(err)
	t.Cleanup(func() { _ = g.Meter.Close() }) // Redis may be gone by then
	g.Hasher, err = account.NewHasher([]byte(strings.Repeat("pepper", 8)))
	g.Must(err)
	g.Pool = g.newPool(o)
	g.Pool.Instrument(g.Metrics.Upstreams, o.Tracer, log)
	g.Board = upstream.NewBoard(g.Meter.Client())
	g.Limits = limits.New(g.Store, g.Meter, g.Hasher, o.Now)
	g.Recorder = usagedb.NewRecorder(g.Store, usagedb.RecorderOptions{MaxDelay: 10 * time.Millisecond, Logger: log})
	t.Cleanup(g.FlushRecords)
	answers := g.NewCache(o)
	calls := relay.New(relay.Options{
		Pool: g.Pool, Limits: g.Limits, Meter: g.Meter, Recorder: g.Recorder, Cache: answers, Links: Links,
		Timeout: o.Timeout, MaxAnswer: o.MaxAnswer, BatchMemory: o.Batches, Now: o.Now, Logger: log,
		LogBlocks: o.LogBlocks, Metrics: g.Metrics.Calls, Tracer: o.Tracer,
	})
	g.Relay = calls
	g.Metrics.WatchCache(calls.CacheFigures)
	g.Operations = service.New(service.Options{
		Store: g.Store, Limits: g.Limits, Meter: g.Meter, Hasher: g.Hasher, Recorder: g.Recorder,
		PublicURL: "https://gateway.example", Pool: g.Pool, Links: Links, Now: o.Now, Random: o.Random, Logger: log,
		Metrics: g.Metrics.Operations, Toolbox: newToolbox(g.Pool, &o), Answers: answers, Refunds: g.Metrics.Calls,
		Tracer: o.Tracer, Stripe: o.Stripe, WebhookSecret: o.Secret, Contact: "support@gateway.example",
		Terms: o.Terms, StockClients: o.Stock, Payments: settlement.New(g.Pool, chain.BaseMainnet, o.Terms),
	})
	var sells *stock.Processor
	if o.StockProcessor != nil {
		sells, g.sellsToStock = o.StockProcessor(g, &o), true
	}
	agents := mcp.New(mcp.Options{
		Capabilities: g.Operations, Relay: calls, Limits: g.Limits, Pool: g.Pool, Links: Links,
		PublicURL: "https://gateway.example", Hosts: o.Hosts, MaxBodyBytes: o.MaxBody, Now: o.Now, Logger: log,
	})
	for _, t := range agents.Tools() {
		g.Tools = append(g.Tools, api.AgentTool(t))
	}
	std := api.NewServer(api.Handler(api.Options{
		Relay: calls, Capabilities: g.Operations,
		Limits: g.Limits, Meter: g.Meter, Store: g.Store, Pool: g.Pool, Links: Links,
		PublicURL: "https://gateway.example", MaxBodyBytes: o.MaxBody, MaxMessageBytes: o.MaxBody,
		TrustedProxies: o.Proxies, Locator: o.Locator,
		Stock: sells, Now: o.Now, Logger: log, Draining: make(chan struct{}), Metrics: g.Metrics.Calls,
		Tracer: o.Tracer, ClientStall: o.Stall, Pages: o.Pages, Agents: agents, AgentTools: g.Tools,
	}), o.Timeout, log)
	if o.Server != nil {
		o.Server(std)
	}
	g.Handler = std.Handler
	stop := g.serve(std, o.Listener)
	t.Cleanup(func() {
		stop()
		g.NoSecretsIn("the log", g.Logs.String())
		g.NoSecretsIn("the metrics", g.Scrape())
	})
	return g
}

// NewCache creates a cache whose second tier has a timeout for loaded machines.
func (g *Gateway) NewCache(o Options) *cache.Cache {
	g.T.Helper()
	c, err := cache.New(cache.Options{
		Bytes: 8 << 20, RedisURL: o.CacheURL, Secret: []byte(strings.Repeat("pepper", 8)),
		LookupTimeout: 10 * time.Second, Now: o.Now, Logger: slog.New(slog.NewJSONHandler(g.Logs, nil)),
	})
	g.Must(err)
	g.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		_ = c.Close(ctx) // Redis may be gone by then
	})
	return c
}

// serve runs the server as the program does. It opens a listener when l is nil.
func (g *Gateway) serve(std *http.Server, l net.Listener) (stop func()) {
	g.T.Helper()
	var err error
	if l == nil {
		l, err = (&net.ListenConfig{}).Listen(g.T.Context(), "tcp", "127.0.0.1:0")
		g.Must(err)
	}
	server := http1.New(std, time.Now, api.BusyPaths()...)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	g.Client, g.URL = &http.Client{Transport: g.Judged(transport)}, "http://"+l.Addr().String()
	return func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			g.T.Errorf("serving ended with %v", err)
		}
	}
}

// Must fails the test on an error.
func (g *Gateway) Must(err error) {
	g.T.Helper()
	if err != nil {
		g.T.Fatal(err)
	}
}

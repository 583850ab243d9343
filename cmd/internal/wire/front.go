package wire

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/mcp"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/geo"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/usagedb"
	"github.com/chainaccess/gateway/workflows"
)

// front handles requests, and has what must be closed after the last one.
// maxToolBody bounds a message to the MCP server in bytes: it is read before its key is.
const maxToolBody = 1 << 20

type front struct {
	handler   http.Handler
	relay     *relay.Relay
	limits    *limits.Limits
	recorder  *usagedb.Recorder
	latencies *meter.Latencies
	answers   *cache.Cache
	locator   *geo.Locator
	draining  chan struct{} // closed when the process begins to drain
}

// newFront builds the relay, the operations and their transports over a base. Serve closes what it
// starts.
//
//nolint:gocritic // read once at the start
func newFront(cfg config.Config, b *base, hasher *account.Hasher, flows *workflows.Client, tracer *telemetry.Tracer,
	routes []Route, log *slog.Logger,
) (*front, error) {
	f := &front{draining: make(chan struct{})}
	f.recorder = usagedb.NewRecorder(b.store, usagedb.RecorderOptions{
		Buffer: cfg.CallRecordsBuffer, MaxDelay: cfg.CallRecordsDelay,
		Logger:  log,
		OnDrop:  func(n int) { b.metrics.CallRecordsDropped.Add(float64(n)) },
		OnWrite: func(n int) { b.metrics.CallRecordsWritten.Add(float64(n)) },
	})
	var err error
	f.answers, err = cache.New(cache.Options{
		Bytes: cfg.CacheBytes, RedisURL: cfg.CacheRedisURL, Secret: []byte(cfg.KeyPepper), Now: time.Now, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	f.locator, err = geo.New(geo.Options{
		Header: cfg.CountryHeader, TrustedProxies: cfg.TrustedProxies, Database: cfg.GeoIPDatabase,
	})
	if err != nil {
		return nil, fmt.Errorf("GEOIP_DATABASE: %w", err)
	}
	links := chain.Links{Contact: cfg.Contact, Docs: cfg.PublicURL + "/docs/methods"}
	f.limits = limits.New(b.store, b.meter, hasher, time.Now)
	f.latencies = meter.NewLatencies(b.meter, meter.LatencyOptions{Logger: log})
	logBlocks, err := cfg.LogBlocksByPlan()
	if err != nil {
		return nil, err
	}
	f.relay = relay.New(relay.Options{
		Pool: b.pool, Limits: f.limits, Meter: b.meter, Recorder: f.recorder, Latencies: f.latencies, Cache: f.answers,
		Links: links, Timeout: cfg.CallTimeout, MaxAnswer: cfg.MaxAnswerBytes, BatchMemory: cfg.BatchMemoryBytes,
		LogBlocks: logBlocks, Now: time.Now, Logger: log, Metrics: b.metrics.Calls, Tracer: tracer, Costs: b.costs,
	})
	operations, pages, err := newDoors(cfg, b, routes, service.Options{
		Limits: f.limits, Hasher: hasher, Recorder: f.recorder, Links: links, Flows: flows, Logger: log,
		Answers: f.answers, Latencies: f.latencies, Tracer: tracer,
	})
	if err != nil {
		return nil, err
	}
	sells, err := newProcessor(cfg, b, f.limits, hasher, log)
	if err != nil {
		return nil, err
	}
	maxMessage := min(cfg.MaxBodyBytes, maxToolBody)
	agents := mcp.New(mcp.Options{
		Capabilities: operations, Relay: f.relay, Limits: f.limits, Pool: b.pool, Links: links,
		PublicURL: cfg.PublicURL, Hosts: cfg.AgentHosts(), MaxBodyBytes: maxMessage, Now: time.Now, Logger: log,
	})
	var tools []api.AgentTool
	for _, t := range agents.Tools() {
		tools = append(tools, api.AgentTool(t))
	}
	f.handler = api.Handler(api.Options{
		Relay: f.relay, Capabilities: operations, Limits: f.limits, Meter: b.meter, Store: b.store, Pool: b.pool,
		Links: links, PublicURL: cfg.PublicURL, MaxBodyBytes: cfg.MaxBodyBytes, MaxMessageBytes: maxMessage,
		KeepCallDays: cfg.CallRecordsDays, TrustedProxies: cfg.TrustedProxies,
		Locator: f.locator, Stock: sells, Agents: agents, AgentTools: tools,
		Pages: pages, Now: time.Now, Logger: log, Draining: f.draining, ClientStall: api.ClientStall(cfg.CallTimeout),
		Metrics: b.metrics.Calls, Tracer: tracer,
	})
	return f, nil
}

// relocate reloads the database of countries. If that fails, the current one stays in use.
func (f *front) relocate(log *slog.Logger) {
	if err := f.locator.Reload(); err != nil {
		log.Error("countries not reloaded, the ones before stay in force: GEOIP_DATABASE", "error", err)
	}
}

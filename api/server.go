// Package api serves HTTP: routes, middleware and the error envelope. It holds no business rules:
// the packages behind it decide what a call may do and what it costs.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/chainaccess/gateway/api/internal/pages"
	"github.com/chainaccess/gateway/identity/geo"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store"
)

// Options are the dependencies of the routes. The package owns none of them.
type Options struct {
	Relay        *relay.Relay
	Capabilities *service.Registry
	Limits       *limits.Limits
	Meter        *meter.Meter
	Store        *store.Store
	Pool         *upstream.Pool
	Links        chain.Links
	PublicURL    string
	MaxBodyBytes int64
	// MaxMessageBytes bounds a message to the MCP server, as its pages state it.
	MaxMessageBytes int64
	KeepCallDays    int // for call records, as the terms state it; 0 means 30
	TrustedProxies  int
	Locator         *geo.Locator // nil locates nobody
	// ClientStall is how long a client may take for one piece of a long answer.
	ClientStall time.Duration
	Now         func() time.Time
	Logger      *slog.Logger
	Metrics     *telemetry.Calls  // nil: refusals are not counted
	Tracer      *telemetry.Tracer // nil: requests are not traced
	// Stock sells bundles of calls to stock x402 clients; nil sells none.
	Stock *stock.Processor
	// Agents serves the agents' routes; nil serves none.
	Agents Agents
	// Pages are the pages for browsers; nil serves none.
	Pages Pages
	// AgentTools are the tools of the MCP server, for the documents.
	AgentTools []AgentTool
	// Draining is closed when the process is about to stop, which /readyz reports.
	Draining <-chan struct{}
}

// AgentTool is a tool of the MCP server as the documents list it.
type AgentTool = pages.AgentTool

type server struct {
	Options

	complaints  *telemetry.LogLimit[fault.Reason]
	documents   *documents
	largeBodies *largeBodies
}

// Library settings that may change only before first use.
func init() {
	gin.SetMode(gin.ReleaseMode)
	uuid.EnableRandPool() // every request has an id: read randomness in blocks
}

// Handler returns the routes.
func Handler(o Options) http.Handler {
	s := &server{
		Options: o, documents: &documents{},
		largeBodies: newLargeBodies(o.MaxBodyBytes),
		complaints:  telemetry.NewLogLimit[fault.Reason](telemetry.LinesPerKind, telemetry.LogInterval, o.Now),
	}
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // its redirects have no envelope and make clients send the body again
	engine.ForwardedByClientIP = false   // clientNetwork finds the client's address
	_ = engine.SetTrustedProxies(nil)    // nil never fails
	engine.Use(s.identifyRequest)
	if o.Tracer != nil {
		engine.Use(s.trace)
	}
	engine.Use(s.shareRPC, s.recoverPanic, s.boundHeaders)
	engine.NoRoute(s.noRoute)
	engine.NoMethod(s.noMethod)

	s.routeRPC(engine)
	s.routeAgents(engine)
	s.routeOperations(engine)
	plain := s.plainRoutes()
	routePlain(engine, plain)
	engine.GET(pages.AssetsPath+":name", s.asset)
	engine.HEAD(pages.AssetsPath+":name", s.asset)
	s.writeDocuments(append(plain, s.agentsRoute()...))
	return engine
}

const requestIDHeader = "X-Request-Id"

// identifyRequest sets a request id on every response; errors name it. An id that the client sends
// is ignored.
func (s *server) identifyRequest(c *gin.Context) {
	id, err := uuid.NewV7()
	if err != nil {
		c.AbortWithStatus(http.StatusInternalServerError) // the system has no randomness
		return
	}
	c.Writer.Header()[requestIDHeader] = []string{id.String()}
}

const spanKey = "span"

// trace starts a span for the request, except for the probes of load balancers.
func (s *server) trace(c *gin.Context) {
	if c.FullPath() == "/healthz" || c.FullPath() == "/readyz" {
		return
	}
	ctx, span := s.Tracer.Request(c.Request, c.FullPath(), c.Writer.Header().Get(requestIDHeader))
	defer span.End()
	c.Request = c.Request.WithContext(ctx)
	c.Set(spanKey, span)
	c.Next()
	span.SetInt("http.response.status_code", c.Writer.Status())
}

func requestID(c *gin.Context) uuid.UUID {
	id, _ := uuid.Parse(c.Writer.Header().Get(requestIDHeader)) // set by identifyRequest
	return id
}

// recoverPanic turns a panic into the constant internal fault and logs its cause.
func (s *server) recoverPanic(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it in the same way
			panic(cause) // aborts the connection, so that the client sees that the answer is incomplete
		}
		s.Logger.Error("panic", "request_id", c.Writer.Header().Get(requestIDHeader), "path", c.FullPath(), "cause",
			cause, "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		s.refuse(c, fault.New(fault.InternalFault, ""))
	}()
	c.Next()
}

// Bounds of headers. net/http refuses headers above its own limit of a megabyte before this code
// runs.
const (
	maxHeaderBytes = 32 << 10
	maxHeaders     = 100
)

func (s *server) boundHeaders(c *gin.Context) {
	n, bytes := 0, len(c.Request.RequestURI)
	for name, values := range c.Request.Header {
		for _, v := range values {
			n++
			bytes += len(name) + len(v)
		}
	}
	if n > maxHeaders || bytes > maxHeaderBytes {
		s.refuse(c, fault.New(fault.HeadersTooLarge, ""))
		c.Abort()
	}
}

// health is the answer of /healthz.
type health struct {
	Status string `json:"status" enum:"ok"`
}

func (s *server) healthz(c *gin.Context) { c.JSON(http.StatusOK, health{"ok"}) }

// readiness is the answer of /readyz.
type readiness struct {
	Status string            `json:"status" enum:"ready,not ready"`
	Checks map[string]string `json:"checks" doc:"what was looked at, and how it is; ok where it is well"`
}

const readyTimeout = 2 * time.Second

// readyz reports whether this process can serve calls: its dependencies answer and the heads of the
// chains are known.
func (s *server) readyz(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	checks := map[string]string{"meter": state(s.Meter.Ping(ctx) == nil), "record": state(s.Store.Ping(ctx) == nil)}
	select {
	case <-s.Draining:
		checks["process"] = "draining"
	default:
		checks["process"] = state(true)
	}
	status, ready := http.StatusOK, "ready"
	for _, check := range checks {
		if check != "ok" {
			status, ready = http.StatusServiceUnavailable, "not ready"
		}
	}
	for _, id := range s.Pool.Chains() {
		on, _ := s.Pool.Chain(id)
		standing, known := on.Heads()
		if !known && on.Joined() { // a chain added by a reload must not take the others out of service
			continue
		}
		checks["chain "+string(id)] = standing
		if !known { // a stale head stays ready: taking every process out of service would help nobody
			status, ready = http.StatusServiceUnavailable, "not ready"
		}
	}
	c.JSON(status, readiness{ready, checks})
}

func state(ok bool) string {
	if ok {
		return "ok"
	}
	return "unreachable"
}

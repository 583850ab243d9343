package apitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/common/expfmt"
)

// Batch checks that the answer is a batch of n and returns its items.
func (a Answer) Batch(n int) []Envelope {
	a.T.Helper()
	var items []Envelope
	if err := json.Unmarshal([]byte(a.Body), &items); err != nil || a.Status != http.StatusOK || len(items) != n {
		a.T.Fatalf("got HTTP %d %.300s (%v), want a batch of %d", a.Status, a.Body, err, n)
	}
	return items
}

// Scrape returns the gateway's metrics in the exposition format.
func (g *Gateway) Scrape() string {
	g.T.Helper()
	families, err := g.Metrics.Registry.Gather()
	g.Must(err)
	var out bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&out, f)
		g.Must(err)
	}
	return out.String()
}

// Answer is an HTTP answer.
type Answer struct {
	T      testing.TB
	Status int
	Header http.Header
	Body   string
}

// Envelope is a JSON-RPC response, or the error envelope of another route.
type Envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func (g *Gateway) checkRequestID(a Answer) {
	g.T.Helper()
	id, err := uuid.Parse(a.Header.Get("X-Request-Id"))
	if err != nil || id.Version() != 7 {
		g.T.Errorf("X-Request-Id is %q, want a UUIDv7 (HTTP %d)", a.Header.Get("X-Request-Id"), a.Status)
	}
	var e Envelope
	if json.Unmarshal([]byte(a.Body), &e) != nil || e.Error == nil || e.Error.Data["support"] == nil {
		return
	}
	if e.Error.Data["request_id"] != id.String() || e.Error.Data["support"] != "/support/new?request_id="+id.String() {
		g.T.Errorf("data names the request %v, the header %s", e.Error.Data["request_id"], id)
	}
}

// NoSecretsIn fails the test when a text holds a key or a credential of an upstream.
func (g *Gateway) NoSecretsIn(what, text string) {
	g.T.Helper()
	if i := strings.Index(strings.ToLower(text), Canary); i >= 0 {
		g.T.Errorf("%s shows a credential of an upstream: …%s…", what, text[max(0, i-80):min(len(text), i+80)])
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, secret := range g.secrets {
		if strings.Contains(text, secret) {
			g.T.Errorf("%s shows a key", what)
		}
	}
}

// Envelope reads the body as a JSON-RPC response or an error envelope.
func (a Answer) Envelope() Envelope {
	a.T.Helper()
	var e Envelope
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil {
		a.T.Fatalf("HTTP %d is no envelope: %.300s", a.Status, a.Body)
	}
	return e
}

// Refused checks the status and code of a refusal, and returns its data.
func (a Answer) Refused(status, code int) map[string]any {
	a.T.Helper()
	e := a.Envelope()
	if e.Error == nil || a.Status != status || e.Error.Code != code {
		a.T.Fatalf("got HTTP %d %.300s, want HTTP %d and %d", a.Status, a.Body, status, code)
	}
	if ct := a.Header.Get("Content-Type"); !strings.HasPrefix(ct, "application/json") {
		a.T.Errorf("a refusal comes as %q", ct)
	}
	if e.Error.Message == "" || e.Error.Data["request_id"] == nil || e.Error.Data["support"] == nil {
		a.T.Errorf("the refusal lacks a member of the envelope: %s", a.Body)
	}
	if status == http.StatusTooManyRequests {
		for _, name := range []string{"Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			if a.Header.Get(name) == "" {
				a.T.Errorf("a 429 comes without %s", name)
			}
		}
	}
	return e.Error.Data
}

// Result checks that the call succeeded, and returns its result.
func (a Answer) Result() string {
	a.T.Helper()
	e := a.Envelope()
	if a.Status != http.StatusOK || e.Error != nil || e.Result == nil || e.JSONRPC != "2.0" {
		a.T.Fatalf("got HTTP %d %.300s, want a result", a.Status, a.Body)
	}
	return string(e.Result)
}

// Hit reports whether the answer came from the cache.
func (a Answer) Hit() bool { return a.Header.Get("X-Service-Cache") == "hit" }

// RequestID returns the request id in the answer's header.
func (a Answer) RequestID() uuid.UUID { return uuid.MustParse(a.Header.Get("X-Request-Id")) }

// LogBuffer holds a log. It is safe for concurrent use.
type LogBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the log so far.
func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Window returns the rate window in the headers of an answer.
func (a Answer) Window() (limit, remaining, reset int) {
	a.T.Helper()
	for name, to := range map[string]*int{
		"RateLimit-Limit": &limit, "RateLimit-Remaining": &remaining, "RateLimit-Reset": &reset,
	} {
		if len(a.Header.Values(name)) > 1 {
			a.T.Errorf("%s is there %d times", name, len(a.Header.Values(name)))
		}
		n, err := strconv.Atoi(a.Header.Get(name))
		if err != nil {
			a.T.Fatalf("HTTP %d has %s %q", a.Status, name, a.Header.Get(name))
		}
		*to = n
	}
	return limit, remaining, reset
}

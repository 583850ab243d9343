package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream/internal/heads"
	"github.com/chainaccess/gateway/relay/upstream/internal/ratelimit"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/scrub"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// Endpoint is one upstream of one chain.
type Endpoint struct {
	Name   string
	Supply plan.Supply

	family      chain.Family
	kind        kind
	copies      float64         // share of reads that a shadow gets a copy of
	canary      float64         // share of reads that a canary is asked first; 0 for others
	rank        int             // of the supply, the cheapest is 0
	configured  config.Upstream // as in the upstreams file
	fingerprint string          // of address and chain id
	template    *http.Request
	reads       transport.Reader
	writes      *http.Transport
	scrub       scrub.Scrubber
	health      health
	limits      *ratelimit.Limits
	lacking     unsupported
	lateIDs     transport.LateIDs
	logLimit    logLimit
	errors      atomic.Pointer[rules.Table] // of the upstreams file in force
	unknown     rules.UnknownErrors
	state       atomic.Pointer[UpstreamState] // the board's newest verdict; nil before the first
	cordoned    atomic.Bool                   // taken out of rotation by an operator
	reported    heads.Seen                    // heads
	metrics     *telemetry.Upstream           // set before the first call; nil counts nothing
	tariff      *price.Tariff                 // nil for an upstream whose costs are not counted
	spending    spending                      // set before the first call
}

func newEndpoint(family chain.Family, u config.Upstream, now func() time.Time) (*Endpoint, error) {
	address, err := url.Parse(u.URL)
	if err != nil {
		return nil, fmt.Errorf("upstream %s: the url cannot be parsed", u.Name)
	}
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"chain-access-gateway"},
	}
	for name, value := range u.Headers {
		header.Set(name, value)
	}
	if address.User != nil {
		password, _ := address.User.Password()
		probe := http.Request{Header: header}
		probe.SetBasicAuth(address.User.Username(), password)
	}
	template := &http.Request{
		Method: http.MethodPost, URL: address, Host: address.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	e := &Endpoint{
		Name:   u.Name,
		Supply: plan.Supply(u.Supply),
		family: family, kind: kindOf(&u), rank: supplyRank(plan.Supply(u.Supply)),
		template: template, limits: ratelimit.New(u),
		writes: transport.NewWriter(),
		scrub:  scrub.New(address, u.Headers),
		health: health{now: now}, lacking: unsupported{now: now},
		logLimit: logLimit{declared: u.MaxLogBlocks}, copies: u.ShadowShare(),
		canary: u.CanaryShare(),
	}
	switch {
	case u.Price != nil:
		e.tariff = u.Price.Tariff(family == chain.Solana)
	case u.Budget != nil:
		e.tariff = new(price.Setting).Tariff(family == chain.Solana) // counts requests
	}
	if e.kind != node {
		// until a probe says otherwise
		e.state.Store(&UpstreamState{Name: u.Name, Usable: true, ChainIDOK: true})
	}
	e.reads = transport.NewReader(template, u.HTTP2, now, e.spokeUnasked)
	return e, nil
}

// spokeUnasked counts bytes that arrived without a request as a failure of the upstream.
func (e *Endpoint) spokeUnasked() {
	e.observe(observation{verdict: verdicts[rules.Broken], unasked: true})
}

// retire is for an endpoint that gets no new calls: its connections close when the calls that hold
// them end.
func (e *Endpoint) retire() {
	e.reads.Retire()
	e.writes.CloseIdleConnections()
}

func (e *Endpoint) close() {
	e.reads.CloseIdleConnections()
	e.writes.CloseIdleConnections()
}

// post sends a submission once. GetBody is not set, so net/http cannot send it again.
func (e *Endpoint) post(ctx context.Context, t http.RoundTripper, body []byte) (*http.Response, error) {
	req := e.template.WithContext(ctx)
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, e.safe(err)
	}
	return resp, nil
}

// safe returns an error without the endpoint's address or credential. It keeps the identity of a
// deadline or a cancellation, and of other errors only the text.
func (e *Endpoint) safe(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("upstream %s: %w", e.Name, context.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("upstream %s: %w", e.Name, context.Canceled)
	}
	return fmt.Errorf("upstream %s: %s", e.Name, e.scrub.Text(scrub.WithoutAddress(err, e.template.URL.Hostname())))
}

// retryAfter parses the Retry-After of a throttling upstream, in seconds. Providers do not use
// dates.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

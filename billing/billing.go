// Package billing is the client of Stripe: customers, checkouts, subscriptions, invoices, refunds,
// the customer portal, and the signatures of webhooks. It returns Stripe's state in the types of
// package subscription and decides nothing: its callers derive what follows for an account. It
// stores nothing. None of its errors and log lines contains a key, the address of a page, or what a
// customer typed.
package billing

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// APIVersion is the version of Stripe's API that every request asks for. Webhook endpoints must use
// the same.
const APIVersion = stripe.APIVersion

// Options of New. Only SecretKey and Now are required.
type Options struct {
	SecretKey string        // sk_…, or preferably a restricted key, rk_…
	APIURL    string        // Stripe's own when empty
	Timeout   time.Duration // per request; ten seconds when 0
	Now       func() time.Time
}

const (
	defaultTimeout = 10 * time.Second
	dialTimeout    = 5 * time.Second
	// maxConnections is more than the concurrent requests (sixteen activities, and people on
	// pages), because the timeout of a request includes its wait for a connection.
	maxConnections = 32
	maxAnswer      = 16 << 20 // a page of a hundred invoices is about one MiB
	// retries is how often a request that may not have arrived is retried. Each retry carries the
	// same idempotency key, so it takes effect once.
	retries = 1
)

// Stripe is a client of Stripe's API. It is safe for concurrent use.
type Stripe struct {
	backend stripe.Backend
	key     string
	now     func() time.Time
}

// New returns a client, or an error that says what is wrong with an option without repeating its
// value. It sends no request.
func New(o Options) (*Stripe, error) {
	if o.SecretKey == "" || strings.ContainsAny(o.SecretKey, " \r\n") {
		return nil, errors.New("takes a secret key of Stripe")
	}
	if o.Now == nil {
		return nil, errors.New("takes a clock")
	}
	if o.APIURL == "" {
		o.APIURL = stripe.APIURL
	}
	base, err := url.Parse(strings.TrimRight(o.APIURL, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http") || base.User != nil ||
		base.RawQuery != "" {
		return nil, errors.New("takes an http or https address of Stripe's API, without a query")
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	config := &stripe.BackendConfig{
		EnableTelemetry: new(false), HTTPClient: client(o.Timeout), MaxNetworkRetries: stripe.Int64(retries),
		// the library's log lines repeat what was sent
		URL: new(base.String()), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	}
	return &Stripe{backend: stripe.GetBackendWithConfig(stripe.APIBackend, config), key: o.SecretKey, now: o.Now}, nil
}

// client returns an HTTP client that follows no redirects, because a request carries the key.
func client(timeout time.Duration) *http.Client {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ForceAttemptHTTP2:     true,
		MaxConnsPerHost:       maxConnections,
		MaxIdleConnsPerHost:   maxConnections,
		IdleConnTimeout:       time.Minute,
		ResponseHeaderTimeout: timeout,
	}
	return &http.Client{
		Transport: bounded{transport}, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded limits responses to maxAnswer bytes.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// at converts a time of Stripe's in seconds; 0 is the zero time.
func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Package billing is the way to Stripe: customers, checkouts, subscriptions, invoices, refunds, the
// customer portal, and the signatures of its webhooks. It says what Stripe says, in the words of
// package subscription, and decides nothing: what follows for an account is the business of whoever
// asks. It keeps nothing, and no error or log line of it holds a key, an address of a page, or what
// a customer typed.
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

// APIVersion is the version of Stripe's API that this program speaks and asks for in every request.
// Webhook endpoints are made with the same.
const APIVersion = stripe.APIVersion

// Options of New. Only SecretKey and Now are required.
type Options struct {
	SecretKey string        // sk_… or, better, rk_…
	APIURL    string        // Stripe's own when empty
	Timeout   time.Duration // of one request; ten seconds when 0
	Now       func() time.Time
}

const (
	defaultTimeout = 10 * time.Second
	dialTimeout    = 5 * time.Second
	// maxConnections is more than ask at once, since a request's time runs while it waits for one:
	// sixteen activities, and people on pages.
	maxConnections = 32
	maxAnswer      = 16 << 20 // a page of a hundred invoices is about one MiB
	// retries of a request that may not have arrived. Each carries the same idempotency key, so it
	// is done once.
	retries = 1
)

// Stripe is safe for concurrent use.
type Stripe struct {
	backend stripe.Backend
	key     string
	now     func() time.Time
}

// New makes the way to Stripe, or says what is wrong with an option without repeating it. It asks
// nothing yet.
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
		// its lines repeat what was sent
		URL: new(base.String()), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	}
	return &Stripe{backend: stripe.GetBackendWithConfig(stripe.APIBackend, config), key: o.SecretKey, now: o.Now}, nil
}

// client follows no redirects, since a request carries the key.
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

// bounded cuts answers that are longer than any of Stripe's.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// at is an instant that Stripe gives in seconds; 0 is none.
func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

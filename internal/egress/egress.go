// Package egress sends requests to addresses that strangers chose, such as the gateways that a
// name's owner wrote on a chain (EIP-3668), without lending them the gateway's place in its
// network. It speaks HTTPS to port 443 of public addresses, and looks at the address once the name
// is resolved, at the moment of connecting, so that no name leads elsewhere by resolving
// differently the second time. It follows no redirect, takes no proxy from the environment, sends
// no credential, and bounds time, size and number of what is under way. What an answer means is not
// its business.
package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// What one request may take. MaxURL is of a request's URL, MaxAnswer of an answer's body, both in
// bytes.
const (
	MaxURL    = 16 << 10
	MaxAnswer = 128 << 10

	timeout    = 4 * time.Second
	maxHeaders = 16 << 10 // of the answer, in bytes
	// requests of this process; more wait for a place as long as their context lasts, and perSite
	// of one site
	maxUnderWay = 64
	maxIdle     = 32 // connections that are kept
	idleTime    = 30 * time.Second
	port        = "443"
	agent       = "chain-access-gateway (CCIP-Read)"
)

// What a request may fail with, beside the errors of the network.
var (
	// ErrRefused is that of an address that is not called.
	ErrRefused = errors.New("not a public https address")
	// ErrTooLarge is that of an answer that is longer than MaxAnswer.
	ErrTooLarge = fmt.Errorf("the answer has more than %d bytes", MaxAnswer)
)

// Options are what a client is made of. All but the clock may be left out in production.
type Options struct {
	// Now is the clock by which hosts are left alone.
	Now func() time.Time
	// Trusted are hosts with their ports, "127.0.0.1:8545", which may be at any address and may
	// speak plain HTTP: stand-ins that run on this machine. Nothing but sandboxes and tests names
	// one.
	Trusted []string
	// Resolver resolves names. Default: the system's.
	Resolver *net.Resolver
	// Roots are the authorities that certificates are checked against. Default: the system's.
	Roots *x509.CertPool
	// Timeout bounds a request from its first step to the last byte of its answer. Default: 4 s.
	Timeout time.Duration
}

// Client sends guarded requests. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	trusted []string
	timeout time.Duration
	hosts   *hosts
}

// Request is what to send: a GET, or a POST of JSON when there is a body.
type Request struct {
	URL  string
	Body []byte
}

// Answer is what came back, whatever its status. Of a redirect the body is empty.
type Answer struct {
	Status int
	Body   []byte
}

// New makes a client.
func New(o Options) *Client {
	trusted := make([]string, 0, len(o.Trusted))
	for _, host := range o.Trusted {
		trusted = append(trusted, strings.ToLower(host))
	}
	if o.Timeout == 0 {
		o.Timeout = timeout
	}
	open := &net.Dialer{Resolver: o.Resolver}
	guarded := &net.Dialer{Resolver: o.Resolver, ControlContext: control}
	transport := &http.Transport{
		Proxy: nil, // a proxy would connect where the guard cannot look
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if slices.Contains(trusted, strings.ToLower(address)) {
				return open.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Timeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // what is read is what was sent, so the bound is one on the work too
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeaders,
	}
	return &Client{
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		trusted: trusted,
		timeout: o.Timeout,
		hosts:   newHosts(o.Now),
	}
}

// control sees the address that is about to be connected to, after the name was resolved.
func control(_ context.Context, _, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !public(at.Addr()) {
		return ErrRefused
	}
	return nil
}

// Do sends a request once and reads the whole answer, in at most the client's Timeout once it has a
// place. A host that exceeds it is ErrAway for a while.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	at, err := c.allows(r.URL)
	if err != nil {
		return Answer{}, err
	}
	host := strings.ToLower(at.Hostname())
	leave, err := c.hosts.enter(ctx, host)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.send(limited, r)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		c.hosts.timedOut(host)
	}
	return answer, err
}

func (c *Client) send(ctx context.Context, r Request) (Answer, error) {
	request, err := newRequest(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	//nolint:gosec // G704: calling where strangers point is what this package guards
	response, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, which says what was asked
		}
		return Answer{}, failed("ask", request.URL.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return Answer{Status: response.StatusCode}, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	if err != nil {
		return Answer{}, failed("read the answer of", request.URL.Host, err)
	}
	if len(body) > MaxAnswer {
		return Answer{}, ErrTooLarge
	}
	return Answer{Status: response.StatusCode, Body: body}, nil
}

// allows looks at what a URL says by itself. What its host resolves to is looked at when it is
// connected to.
func (c *Client) allows(text string) (*url.URL, error) {
	if len(text) > MaxURL {
		return nil, fmt.Errorf("%w: its URL has more than %d bytes", ErrRefused, MaxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || len(u.Hostname()) > maxHost || u.User != nil || u.Opaque != "" {
		return nil, ErrRefused
	}
	at := u.Port()
	if at == "" {
		at = map[string]string{"https": port, "http": "80"}[u.Scheme]
	}
	if slices.Contains(c.trusted, strings.ToLower(net.JoinHostPort(u.Hostname(), at))) &&
		(u.Scheme == "https" || u.Scheme == "http") {
		return u, nil
	}
	if u.Scheme != "https" || at != port {
		return nil, ErrRefused
	}
	return u, nil
}

func newRequest(ctx context.Context, r Request) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.Body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", agent)
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

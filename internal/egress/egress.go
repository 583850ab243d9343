// Package egress sends requests to addresses chosen by third parties, such as off-chain name
// gateways (EIP-3668), and protects the gateway's own network from server-side request forgery
// (SSRF). It connects only to public addresses on port 443 over HTTPS, and checks the address after
// resolution, when it connects, which defeats DNS rebinding. It follows no redirects, uses no proxy
// from the environment, sends no credentials, and bounds time, size and concurrency. It does not
// interpret answers.
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

// Limits of one request. MaxURL is the length of its URL and MaxAnswer the size of its answer's
// body, in bytes.
const (
	MaxURL    = 16 << 10
	MaxAnswer = 128 << 10

	timeout    = 4 * time.Second
	maxHeaders = 16 << 10 // of the answer, in bytes
	// requests of this process in flight; more wait until their context ends. perSite bounds one
	// site
	maxUnderWay = 64
	maxIdle     = 32 // idle connections
	idleTime    = 30 * time.Second
	port        = "443"
	agent       = "chain-access-gateway (CCIP-Read)"
)

// Errors of a request, in addition to those of the network.
var (
	// ErrRefused is returned for an address that is not allowed.
	ErrRefused = errors.New("not a public https address")
	// ErrTooLarge is returned for an answer that is longer than MaxAnswer.
	ErrTooLarge = fmt.Errorf("the answer has more than %d bytes", MaxAnswer)
)

// Options configure a client. Only Now is required.
type Options struct {
	// Now is the clock; it times how long hosts are avoided after a timeout.
	Now func() time.Time
	// Trusted are hosts with their ports, such as "127.0.0.1:8545", that may have any address and
	// may speak plain HTTP: stand-ins on this machine. Only sandboxes and tests set it.
	Trusted []string
	// Resolver resolves names. The default is the system's.
	Resolver *net.Resolver
	// Roots are the certificate authorities that are trusted. The default is the system's.
	Roots *x509.CertPool
	// Timeout bounds a request, including reading its answer. The default is 4 s.
	Timeout time.Duration
}

// Client sends guarded requests. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	trusted []string
	timeout time.Duration
	hosts   *hosts
}

// Request is a request to send: a POST of JSON when it has a body, else a GET.
type Request struct {
	URL  string
	Body []byte
}

// Answer is a response with any status. The body of a redirect is empty.
type Answer struct {
	Status int
	Body   []byte
}

// New returns a client.
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
		Proxy: nil, // a proxy would connect where control cannot see the address
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if slices.Contains(trusted, strings.ToLower(address)) {
				return open.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    o.Timeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // so that MaxAnswer bounds the work too
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

// control checks the resolved address right before the connection is made.
func control(_ context.Context, _, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !public(at.Addr()) {
		return ErrRefused
	}
	return nil
}

// Do sends a request once and reads the whole answer, within the client's Timeout once it has a
// place. After a host exceeds the Timeout, Do returns ErrAway for it for 30 s.
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
	//nolint:gosec // G704: this package guards requests to third-party addresses
	response, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, which holds what was asked
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

// allows checks what can be checked of a URL before its host is resolved; control checks the
// address.
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

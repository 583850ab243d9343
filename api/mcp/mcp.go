// Package mcp serves the Model Context Protocol: every operation is a tool, on one endpoint that
// keeps no session and answers each message with one JSON document. It holds no business rules: the
// operations behind it decide, for MCP and HTTP alike, who may do what and what it costs. The
// official SDK does the handshake. This package runs the tools itself, because an SDK session per
// request costs several times as much as a relayed call (docs/decisions/0062).
package mcp

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/operation"
)

// Path is the endpoint.
const Path = "/mcp"

// ClosedPaths returns the paths of the retired HTTP+SSE transport, which answer 410
// (docs/interface.md, 2.9).
func ClosedPaths() []string { return []string{"/mcp/sse", "/mcp/messages"} }

// Options are the dependencies of the server. The package owns none of them.
type Options struct {
	Capabilities *service.Registry
	Relay        *relay.Relay
	Limits       *limits.Limits
	Pool         *upstream.Pool
	Links        chain.Links
	PublicURL    string
	// Hosts are host names in addition to the public one that are accepted on a loopback address;
	// "*" accepts any.
	Hosts        []string
	MaxBodyBytes int64
	Now          func() time.Time
	Logger       *slog.Logger
}

// Door is the MCP server. It is safe for concurrent use.
type Door struct {
	Options
	tools     map[string]*tool
	listed    []Tool
	list      *deflated // the result of tools/list
	greetings *greetings
	at        map[string]string // tools by the method and path of their HTTP route
	handshake http.Handler
	hosts     []string
}

// New returns a server. It panics when a tool is declared incorrectly.
func New(o Options) *Door {
	d := &Door{
		Options: o, tools: map[string]*tool{}, hosts: hostsOf(o.PublicURL, o.Hosts),
		greetings: newGreetings(o.Now),
	}
	tools := d.allTools()
	for _, t := range tools {
		if d.tools[t.name] != nil {
			panic("mcp: two tools are called " + t.name)
		}
		d.tools[t.name] = t
	}
	d.at = routesOf(tools)
	list, listed := listOf(o.Capabilities.Schemas(), o.Pool.Known(), tools)
	d.list, d.listed = newDeflated(list), listed
	d.handshake = newHandshake(o.PublicURL)
	return d
}

// Tools returns the tools in the order of tools/list, for documents.
func (d *Door) Tools() []Tool { return slices.Clone(d.listed) }

// Serve answers a request of the endpoint or of a closed path. The request id must already be set
// in the response headers. Serve calls note for refusals that no call record covers, for the log
// and the metrics.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request, caller *operation.Caller, note func(*fault.Error)) {
	x := &exchange{w: w, r: r, caller: caller, note: note}
	body, refusal := d.accept(w, r)
	if refusal != nil {
		x.refuse(refusal)
		return
	}
	message, err := jsonrpc.SplitMessage(body)
	x.id = message.ID
	if err != nil {
		x.refuse(unreadable(body, err))
		return
	}
	if refusal := knownVersion(r); refusal != nil && string(message.Method) != "initialize" {
		x.refuse(refusal)
		return
	}
	d.dispatch(x, &message)
}

// accept validates the request around the message, and reads the message. It ignores Accept,
// because every answer is JSON.
func (d *Door) accept(w http.ResponseWriter, r *http.Request) ([]byte, *fault.Error) {
	if refusal := d.admitHost(r); refusal != nil {
		return nil, refusal
	}
	if slices.Contains(ClosedPaths(), r.URL.Path) {
		return nil, fault.New(fault.PathClosed,
			"This door closed on 2026-09-26. Speak Streamable HTTP with POST %s%s instead; its tools have new names.",
			d.PublicURL, Path).
			With("use", d.PublicURL+Path)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST, OPTIONS")
		return nil, fault.New(fault.MethodNotAllowed,
			"This endpoint takes POST: each message of the Model Context Protocol is one, and its answer comes with "+
				"it. There is no stream to listen to and no session to end.")
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	coding := r.Header.Get("Content-Encoding")
	if err != nil || kind != "application/json" || (coding != "" && !strings.EqualFold(coding, "identity")) {
		return nil, fault.New(fault.MediaTypeRefused, "")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, d.MaxBodyBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, fault.New(fault.BodyTooLarge, "The message is larger than %d bytes. Ask for less in one call.",
			d.MaxBodyBytes)
	}
	if err != nil {
		return nil, fault.New(fault.NotARequest, "The message did not arrive in whole. Send it again.").Wrap(err)
	}
	return body, nil
}

// unreadable returns the refusal for a body that is not a message.
func unreadable(body []byte, err error) *fault.Error {
	switch {
	case jsonrpc.IsBatch(body) && jsonrpc.Valid(body):
		return fault.New(fault.NotARequest,
			"Batches left the Model Context Protocol with its version 2025-06-18. Send one message in each request.")
	case errors.Is(err, jsonrpc.ErrTooDeep):
		return fault.New(fault.NotARequest, "The message is nested deeper than %d levels. Send flatter arguments.",
			jsonrpc.MaxRequestDepth)
	case errors.Is(err, jsonrpc.ErrNotRequest):
		return fault.New(fault.NotARequest,
			`The body is %s. Send {"jsonrpc":"2.0","id":1,"method":"…","params":{…}}.`, err)
	}
	return fault.New(fault.NotJSON, "The body is not JSON: %s. Send one JSON object.", err)
}

// hostsOf returns the host names that are accepted on a loopback address: the public one and those
// of the operator.
func hostsOf(publicURL string, further []string) []string {
	_, rest, _ := strings.Cut(publicURL, "://")
	authority, _, _ := strings.Cut(rest, "/")
	hosts := []string{hostname(authority)}
	for _, h := range further {
		hosts = append(hosts, strings.ToLower(h))
	}
	return hosts
}

// admitHost prevents DNS rebinding, by which a page reaches a gateway on its visitor's own machine
// under the page's host name (see the protocol's security best practices). On other addresses there
// is no check, because a page could send the same request itself.
func (d *Door) admitHost(r *http.Request) *fault.Error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return nil
	}
	host := hostname(r.Host)
	if !loopback(local.String()) || host == "localhost" || loopback(net.JoinHostPort(host, "0")) {
		return nil
	}
	if slices.Contains(d.hosts, host) || slices.Contains(d.hosts, "*") {
		return nil
	}
	return fault.New(fault.HostRefused, "")
}

// loopback reports whether an address with a port is a loopback address.
func loopback(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// hostname returns the host of an authority in lower case, without port and brackets.
func hostname(authority string) string {
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = authority
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

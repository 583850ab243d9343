package api

import (
	"log/slog"
	"net/http"
	"time"
)

// Timeouts and bounds of the HTTP server. A request must arrive within readTimeout. A client must
// accept a short answer, and each piece of a long one, within the call timeout plus clientGrace.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	clientGrace   = time.Minute
	headerBytes   = 1 << 20
	streams       = 250 // per HTTP/2 connection
	// silence on an HTTP/2 connection before it is pinged, to detect dead peers
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// ClientStall returns how long a client may take for one piece of a long answer when a call may
// take callTimeout.
func ClientStall(callTimeout time.Duration) time.Duration { return callTimeout + clientGrace }

// BusyPaths returns the path prefixes with the most traffic: calls, tools, data and agents. Their
// handlers retain nothing of a request except its strings, so the server's own fast path
// (api/http1) may serve them.
func BusyPaths() []string { return []string{rpcPrefix, "/toolbox/", "/data/", agentsPrefix} }

// NewServer returns the HTTP server for handler, whose calls may take callTimeout. It serves
// HTTP/1.1, and HTTP/2 without TLS behind proxies that use it.
func NewServer(handler http.Handler, callTimeout time.Duration, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      ClientStall(callTimeout),
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			WriteByteTimeout: ClientStall(callTimeout),
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // client errors on the wire
	}
}

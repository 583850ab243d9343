package api

import (
	"log/slog"
	"net/http"
	"time"
)

// Time-outs and bounds of the HTTP server. A request arrives within readTimeout. A short answer is
// taken within the call's time and clientGrace, of a long one each piece is.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	clientGrace   = time.Minute
	headerBytes   = 1 << 20
	streams       = 250 // of one HTTP/2 connection
	// of silence on one: proxies and clients that are gone without a word are found out
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// ClientStall is how long a client may take for a piece of a long answer when a call may take
// callTimeout.
func ClientStall(callTimeout time.Duration) time.Duration { return callTimeout + clientGrace }

// BusyPaths are what the paths begin with that are asked for again and again, all day: calls,
// tools, data and agents. Their handlers keep nothing of a request but its strings, so that the
// server's own lane (http1) may serve them.
func BusyPaths() []string { return []string{rpcPrefix, "/toolbox/", "/data/", agentsPrefix} }

// NewServer returns the HTTP server of a door whose calls may take callTimeout: HTTP/1.1, and
// HTTP/2 without TLS behind proxies that speak it.
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
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), // what clients do wrong on the wire
	}
}

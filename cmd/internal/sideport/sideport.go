// Package sideport serves the port next to the API's: metrics, profiles, and the readiness of the
// worker.
package sideport

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chainaccess/gateway/internal/telemetry"
)

// Bounds of the metrics server. A profile may take up to profileTime.
const (
	metricsHeaderTimeout = 10 * time.Second
	profileTime          = 2 * time.Minute
	scrapeTimeout        = 10 * time.Second
	scrapesAtOnce        = 4
)

// Port is the side port of one role.
type Port struct {
	Address      string
	ProfileToken string
	Metrics      *telemetry.Metrics
	Ready        http.Handler // of /readyz; nil for none
}

// Serve serves the port until ctx ends. If the port is not available, that is logged and does not
// stop the role.
func (p Port) Serve(ctx context.Context, log *slog.Logger) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.Address)
	if err != nil {
		log.Error("metrics are not served: set METRICS_ADDRESS to a free port", "error", err)
		return
	}
	server := &http.Server{
		Handler:           p.handler(isLoopback(listener.Addr().String())),
		ReadHeaderTimeout: metricsHeaderTimeout, ReadTimeout: metricsHeaderTimeout, WriteTimeout: profileTime,
		IdleTimeout: profileTime, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	log.Info("metrics", "address", listener.Addr().String())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Error("metrics are no longer served", "error", err)
	}
}

// handler returns the routes. On loopback a request must also name a loopback host, against DNS
// rebinding: a web page that an operator opens can resolve its own name to 127.0.0.1 and would
// otherwise read what is served here. On other addresses profiles need the token, because they show
// memory.
func (p Port) handler(loopback bool) http.Handler {
	profiles := http.NewServeMux()
	profiles.HandleFunc("GET /debug/pprof/", pprof.Index)
	profiles.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux := http.NewServeMux()
	mux.Handle("GET /debug/pprof/", p.guarded(profiles, loopback))
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.Metrics.Registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTimeout, ProcessStartTime: time.Now(),
	}))
	if p.Ready != nil {
		mux.Handle("GET /readyz", p.Ready)
	}
	if !loopback {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "this port is for local use: request it as 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// guarded requires the token; on loopback it allows everybody if no token is set.
func (p Port) guarded(next http.Handler, loopback bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case p.ProfileToken == "" && loopback, p.ProfileToken != "" && subtle.ConstantTimeCompare([]byte(shown),
			[]byte(p.ProfileToken)) == 1:
			next.ServeHTTP(w, r)
		case p.ProfileToken == "":
			http.Error(w, "profiles are off on this address: set PROFILE_TOKEN, or METRICS_ADDRESS to one of 127.0.0.1",
				http.StatusForbidden)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "profiles need the token of PROFILE_TOKEN: send it as Authorization: Bearer",
				http.StatusUnauthorized)
		}
	})
}

// isLoopback reports whether a host, with or without a port, is a loopback address or localhost,
// without DNS.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().IsLoopback()
}

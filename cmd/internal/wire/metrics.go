package wire

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chainaccess/gateway/telemetry"
)

// Bounds of the metrics' server. A profile may take as long as profileTime.
const (
	metricsHeaderTimeout = 10 * time.Second
	profileTime          = 2 * time.Minute
	scrapeTimeout        = 10 * time.Second
	scrapesAtOnce        = 4
)

// serveMetrics answers /metrics and profiles (/debug/pprof/) on a port of its own until ctx ends. A port that cannot be had is told and
// does not stop the role.
func serveMetrics(ctx context.Context, address string, m *telemetry.Metrics, log *slog.Logger) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		log.Error("metrics are not served: set METRICS_ADDRESS to a free port", "error", err)
		return
	}
	server := &http.Server{
		Handler:           metricsHandler(m, isLoopback(listener.Addr().String())),
		ReadHeaderTimeout: metricsHeaderTimeout, ReadTimeout: metricsHeaderTimeout, WriteTimeout: profileTime, IdleTimeout: profileTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	log.Info("metrics", "address", listener.Addr().String())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := ignoreClosed(server.Serve(listener)); err != nil {
		log.Error("metrics are not served any more", "error", err)
	}
}

// metricsHandler gives the routes. On loopback a request must also name a loopback host: a web page that an operator looks at can have
// its own name resolve to 127.0.0.1 and would otherwise read what is served here.
func metricsHandler(m *telemetry.Metrics, loopback bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTimeout, ProcessStartTime: time.Now(),
	}))
	if !loopback {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "this port is for this machine: ask for it as 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isLoopback is whether a host, with or without a port, is this machine whatever a name server says.
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

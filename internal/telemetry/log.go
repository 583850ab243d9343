// Package telemetry owns how the gateway is watched: logs and metrics. Neither ever holds a key, a
// credential, an upstream's address or a body.
package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger writes structured logs to w, as json or text.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}

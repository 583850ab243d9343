// Package telemetry owns logs, metrics and traces. None of them ever holds a key, a credential, an
// upstream's address or a body.
package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes to w; format is json or text.
func NewLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}

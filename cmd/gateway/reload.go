package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/chainaccess/gateway/cmd/internal/wire"
	"github.com/chainaccess/gateway/internal/config"
)

// reloadOnHangup reloads the upstreams file on every SIGHUP until ctx ends. A file with mistakes is
// logged, line by line, and changes nothing. Later signals are caught and ignored, because by
// default one would kill a process that is draining.
func reloadOnHangup(ctx context.Context, cfg config.Config, log *slog.Logger) wire.Reloads {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	files := make(chan config.Upstreams)
	go func() { // runs until the process exits
		for range hangups {
			if ctx.Err() != nil {
				continue
			}
			file, err := config.LoadUpstreams(cfg.UpstreamsFile)
			if err != nil {
				log.Error("upstreams not reloaded, the ones before stay in force: UPSTREAMS_FILE has mistakes",
					"error", err)
				continue
			}
			select {
			case files <- file:
			case <-ctx.Done():
			}
		}
	}()
	return files
}

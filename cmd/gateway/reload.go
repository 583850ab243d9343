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

// reloadOnHangup reads the upstreams file again on every SIGHUP until ctx ends. A file with
// mistakes is told in the log, line by line, and changes nothing. Later signals are taken and
// passed over: left to the system, one would end a process that is finishing its calls.
func reloadOnHangup(ctx context.Context, cfg config.Config, log *slog.Logger) wire.Reloads {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	files := make(chan config.Upstreams)
	go func() { // for as long as the process lives
		for range hangups {
			if ctx.Err() != nil {
				continue
			}
			file, err := config.LoadUpstreams(cfg.UpstreamsFile, wire.ChainNames())
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

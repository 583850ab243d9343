package wire

import (
	"context"
	"log/slog"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/upstream"
)

// Reloads delivers validated upstreams files to a running role; nil when none will come.
type Reloads <-chan config.Upstreams

// follow applies each upstreams file until ctx ends, and calls then after each.
func (r Reloads) follow(ctx context.Context, pool *upstream.Pool, log *slog.Logger, then func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case file := <-r:
			done, err := pool.Reload(file)
			if err != nil {
				log.Error("upstreams not reloaded, the ones before stay in force", "error", err)
				continue
			}
			log.Info("upstreams reloaded", "chains", done.Chains, "kept", done.Kept, "added", done.Added, "removed",
				done.Removed)
			then()
		}
	}
}

package wire

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/connect"
)

// deploymentInterval is how often a running role checks whether a server that lost its data was
// marked by another deployment since, and whether PostgreSQL is now another one, which begins an
// epoch.
const deploymentInterval = 10 * time.Second

// checkTimeout is the timeout of a check. Once per epoch it scans Redis, which takes a while if
// that is large.
const checkTimeout = time.Minute

// watchDeployment checks PostgreSQL, Redis and Temporal until ctx ends. It calls end if one of them
// is another deployment's.
func (b *base) watchDeployment(ctx context.Context, gate *connect.NamespaceGate, end context.CancelCauseFunc,
	log *slog.Logger,
) {
	tick := time.NewTicker(deploymentInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		checking, cancel := context.WithTimeout(ctx, checkTimeout)
		r, err := connect.ApplyEpoch(checking, b.store, b.meter)
		b.reportEpoch(r, err, log)
		err = errors.Join(connect.Foreign(err), connect.Foreign(gate.Check(checking)))
		cancel()
		if err != nil {
			end(err)
			return
		}
	}
}

// reportEpoch logs an epoch that began, and a PostgreSQL that is too old. Failures to connect are
// reported elsewhere.
func (b *base) reportEpoch(r connect.Epoch, err error, log *slog.Logger) {
	switch {
	case errors.Is(err, connect.ErrOlderPostgres):
		log.Error("changes of fences are not in force", "error", err)
	case r.Begun || r.Forgotten > 0:
		log.Warn("PostgreSQL was restored or replaced: its data in Redis was dropped and is reloaded", "epoch", r.Epoch,
			"forgotten", r.Forgotten)
	}
}

package operator

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// ForgetBoard deletes every chain's last snapshot from the board, for a start that must not trust
// the previous run.
func ForgetBoard(ctx context.Context, cfg config.Config, file config.Upstreams) error {
	var chains []*chain.Chain
	for _, c := range file.Known.All() {
		if id := file.Chains[string(c.ID)].ChainID; id != 0 {
			c = c.WithChainID(id)
		}
		chains = append(chains, c)
	}
	return withBoard(ctx, cfg, func(ctx context.Context, b *upstream.Board) error { return b.Forget(ctx, chains...) })
}

// boardTimeout is the timeout of all that one command does with the board.
const boardTimeout = 10 * time.Second

// withBoard opens a board for one command. Its errors name the variable to check.
func withBoard(ctx context.Context, cfg config.Config, use func(context.Context, *upstream.Board) error) error {
	where, err := redisconn.Parse(cfg.RedisURL)
	if err != nil {
		return connect.Unreachable("REDIS_URL", "Redis", err)
	}
	rdb, err := redisconn.Open(where, cfg.RedisCertificates())
	if err != nil {
		return connect.Unreachable("REDIS_URL", "Redis", err)
	}
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	if err := use(ctx, upstream.NewBoard(rdb)); err != nil {
		return connect.Unreachable("REDIS_URL", "Redis", err)
	}
	return nil
}

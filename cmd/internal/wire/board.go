package wire

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/upstream"
)

// ForgetBoard takes every chain's last snapshot off the board, for a start that must not believe the one before.
func ForgetBoard(ctx context.Context, cfg config.Config) error {
	opts, err := redis.ParseURL(cfg.RedisURL)
	if err != nil {
		return unreachable("REDIS_URL", "Redis", err)
	}
	rdb := redis.NewClient(opts)
	defer func() { _ = rdb.Close() }()
	var ids []chain.ID
	for _, c := range chain.All() {
		ids = append(ids, c.ID)
	}
	if err := upstream.NewBoard(rdb).Forget(ctx, ids...); err != nil {
		return unreachable("REDIS_URL", "Redis", err)
	}
	return nil
}

package wire

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogRedis makes the Redis client write to the log instead of stderr. Call it once, before any
// connection is opened.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

// Printf logs a line of the client.
func (r redisLog) Printf(ctx context.Context, format string, args ...any) {
	r.log.WarnContext(ctx, "redis client", "said", fmt.Sprintf(format, args...))
}

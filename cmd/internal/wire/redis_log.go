package wire

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogRedis has the Redis client write into the log what it would print beside it. Call it once,
// before anything connects.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

// Printf takes a line of the client's.
func (r redisLog) Printf(ctx context.Context, format string, args ...any) {
	r.log.WarnContext(ctx, "redis client", "said", fmt.Sprintf(format, args...))
}

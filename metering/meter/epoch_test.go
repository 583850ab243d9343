package meter_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
)

// dropping ends a shard's epoch as soon as it begins, as another process's DropBuckets may.
type dropping struct {
	redis.Hook

	rdb   redis.UniversalClient
	epoch string
	drops int // still to come
}

func (d *dropping) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *dropping) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *dropping) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); (name == "setnx" || name == "set") && d.drops > 0 {
			d.drops--
			d.rdb.Del(ctx, d.epoch)
		}
		return err
	}
}

func TestEpoch_IsReadAlsoWhenADropEndsItAtOnce(t *testing.T) {
	t.Parallel()
	b := connect(t, testkit.Redis(t).URL)
	id := account.NewID()
	epoch := fmt.Sprintf("{u%04d}:epoch", account.Shard(id))
	b.meter.Client().AddHook(&dropping{rdb: b.rdb, epoch: epoch, drops: 1})
	first, err := b.meter.Epoch(b.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.meter.Epoch(b.ctx, id)
	if err != nil || second == first {
		t.Errorf("after a drop the epoch is %d (%v), as it was before", second, err)
	}
	if third, err := b.meter.Epoch(b.ctx, id); err != nil || third != second {
		t.Errorf("without a drop the epoch went from %d to %d (%v)", second, third, err)
	}
}

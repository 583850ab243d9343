package meter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/plan"
)

// PushAccount puts an account's fences in force for every process, unless a higher version is there already, or the same one
// with periods that end as late. A negative rate limit means that there is none.
func (m *Meter) PushAccount(ctx context.Context, f account.AccountFences) error {
	if f.Rate.Limit >= 0 && f.Rate.Per < time.Millisecond {
		return fmt.Errorf("push the fences of account %s: a rate window of %s is too short", f.Account, f.Rate.Per)
	}
	end := f.Current.End.UnixMilli()
	err := m.run(ctx, m.push, []string{accountTag(f.Account) + "cfg:" + f.Account.String()}, f.Version, end,
		"st", string(f.Status), "rl", f.Rate.Limit, "rw", f.Rate.Per.Milliseconds(),
		"p", f.Current.Start.Format(time.DateOnly), "pe", end, "q", int64(f.Current.Quota),
		"np", f.Next.Start.Format(time.DateOnly), "ne", f.Next.End.UnixMilli(), "nq", int64(f.Next.Quota),
	).Err()
	if err != nil {
		return fmt.Errorf("push the fences of account %s: %w", f.Account, err)
	}
	return nil
}

// PushKey puts a key's fences in force for every process, unless a higher version is there already.
func (m *Meter) PushKey(ctx context.Context, f account.KeyFences) error {
	err := m.run(ctx, m.push, []string{accountTag(f.Account) + "key:" + f.Key.String()}, f.Version, 0,
		"st", string(f.Status), "dy", int64(f.Daily),
	).Err()
	if err != nil {
		return fmt.Errorf("push the fences of key %s: %w", f.Key, err)
	}
	return nil
}

// Epoch counts the flushes that dropped buckets of the account's shard. Read it before the figures for Seed are.
func (m *Meter) Epoch(ctx context.Context, id account.ID) (int64, error) {
	n, err := m.rdb.Get(ctx, accountTag(id)+"epoch").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("read the flush epoch: %w", err)
	}
	return n, nil
}

// Figure is what PostgreSQL knows of a counter: a sum, and the flushed buckets which the sum holds already.
type Figure struct {
	Units   plan.Units
	Buckets []string // <slot>:<account>:<generation>
}

// BucketName is how Figure.Buckets names a bucket.
func BucketName(slot time.Time, id account.ID, generation string) string {
	return strconv.FormatInt(slot.Unix(), 10) + ":" + id.String() + ":" + generation
}

// SeedDay gives a key's counter of the UTC day its value when it is missing. It reports false when a flush came in between: read
// the epoch and the figure again.
func (m *Meter) SeedDay(ctx context.Context, id account.ID, key account.KeyID, day time.Time, epoch int64, f Figure) (bool, error) {
	days := strconv.FormatInt(day.Unix()/86400, 10)
	counter := accountTag(id) + "day:" + key.String() + ":" + days
	return m.seedCounter(ctx, counter, id, epoch, f, "day", key.String(), days, 48*time.Hour)
}

// SeedPeriod gives an account's counter of a period its value when it is missing. It reports false as SeedDay does.
func (m *Meter) SeedPeriod(ctx context.Context, id account.ID, period string, keep time.Duration, epoch int64, f Figure) (bool, error) {
	counter := accountTag(id) + "per:" + id.String() + ":" + period
	return m.seedCounter(ctx, counter, id, epoch, f, "period", "", period, keep)
}

func (m *Meter) seedCounter(ctx context.Context, counter string, id account.ID, epoch int64, f Figure,
	kind, key, match string, keep time.Duration,
) (bool, error) {
	t := accountTag(id)
	args := []any{epoch, int64(f.Units), id.String(), kind, key, match, keep.Milliseconds()}
	for _, b := range f.Buckets {
		args = append(args, b)
	}
	n, err := m.run(ctx, m.seed, []string{counter, t + "dirty", t + "sealed", t + "epoch"}, args...).Int()
	if err != nil {
		return false, fmt.Errorf("seed the counter of account %s: %w", id, err)
	}
	return n >= 0, nil
}

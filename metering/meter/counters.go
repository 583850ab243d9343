package meter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// The names of counters; admit.lua says what they count.

func perName(id account.ID, period string) string {
	return accountTag(id) + "ap:" + id.String() + ":" + period
}

func kpName(id account.ID, key account.KeyID, period string) string {
	return accountTag(id) + "kp:" + key.String() + ":" + period
}

func dayName(id account.ID, key account.KeyID, day time.Time) string {
	return accountTag(id) + "day:" + key.String() + ":" + daysSince1970(day)
}

func packsName(id account.ID) string { return accountTag(id) + "pk:" + id.String() }

func daysSince1970(t time.Time) string { return strconv.FormatInt(t.Unix()/86400, 10) }

// place is where a counter is kept: a field of a hash, or a string of its own.
func place(id account.ID, c *account.Counter) (name, field string) {
	pack, drawn := account.PackOf(c.Source)
	switch {
	case !c.Day.IsZero():
		return dayName(id, c.Key, c.Day), ""
	case drawn:
		return packsName(id), pack.String()
	case c.Key.IsZero():
		name = perName(id, c.Period)
	default:
		name = kpName(id, c.Key, c.Period)
	}
	if c.Service != "" {
		return name, serviceField(c.Service)
	}
	return name, "u"
}

// Epoch tells one state of the account's shard from another: it changes with each flush that drops
// buckets, and when Redis lost everything. Read it before the figures for Seed are.
func (m *Meter) Epoch(ctx context.Context, id account.ID) (int64, error) {
	name := accountTag(id) + "epoch"
	for range epochTries {
		n, err := m.rdb.Get(ctx, name).Int64()
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, redis.Nil) {
			return 0, fmt.Errorf("read the flush epoch: %w", err)
		}
		// A shard begins anywhere: were the first epoch the same after every loss, what was read
		// before one could be taken for news.
		first := firstEpoch()
		begun, err := m.rdb.SetNX(ctx, name, first, 0).Result()
		if err != nil {
			return 0, fmt.Errorf("begin the flush epoch: %w", err)
		}
		if begun {
			return first, nil // also when a drop has ended it by now: whoever comes with it reads again
		}
	}
	return 0, errEpochGone
}

// epochTries is how often somebody else may begin an epoch, and a drop end it, before it is read.
const epochTries = 5

var errEpochGone = errors.New("read the flush epoch: drops of flushed usage end it faster than it is read")

// Figure is what a counter is to begin with.
type Figure struct {
	account.Counter
	Units plan.Units    // what the record knows
	Keep  time.Duration // from now
}

// Snapshot is a state of the record, and under which circumstances it was read.
type Snapshot struct {
	Epoch   int64    // read before
	Flushed []string // the account's buckets that the figures hold already, as BucketName gives them
	// AccountVersion and KeyVersion are of the projections in force when the counters were chosen;
	// 0 for any.
	AccountVersion, KeyVersion int64
}

// BucketName is how Snapshot.Flushed names a bucket.
func BucketName(slot time.Time, id account.ID, generation string) string {
	return strconv.FormatInt(slot.Unix(), 10) + ":" + id.String() + ":" + generation
}

// Seed sets counters that are missing: the record's plus what is not flushed yet. It reports false
// when a flush, a change of a fence or a loss came in between: read everything again. key is the
// one by whose call they were missing.
func (m *Meter) Seed(ctx context.Context, id account.ID, key account.KeyID, figures []Figure,
	s Snapshot,
) (bool, error) {
	reply, err := m.seedScript(ctx, id, key, figures, s, false)
	return len(reply) > 0 && reply[0] == 1, err
}

// CounterState is what a counter is and what it should be.
type CounterState struct {
	Kept         bool       // whether the meter keeps it at present; Is says nothing when not
	Is, ShouldBe plan.Units // ShouldBe is never negative; Is is where a hand other than the meter's made it so
}

// Differs reports whether the counter is kept and is not what it should be.
func (s CounterState) Differs() bool { return s.Kept && s.Is != s.ShouldBe }

// Kept says of each counter whether the meter keeps it. One that is not kept is seeded with the
// next call that needs it.
func (m *Meter) Kept(ctx context.Context, id account.ID, counters []account.Counter) ([]bool, error) {
	pipe := m.rdb.Pipeline()
	asked := make([]func() bool, len(counters))
	for i := range counters {
		if name, field := place(id, &counters[i]); field == "" {
			there := pipe.Exists(ctx, name)
			asked[i] = func() bool { return there.Val() == 1 }
		} else {
			asked[i] = pipe.HExists(ctx, name, field).Val
		}
	}
	if len(counters) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, fmt.Errorf("look for counters of account %s: %w", id, err)
		}
	}
	kept := make([]bool, len(counters))
	for i, there := range asked {
		kept[i] = there()
	}
	return kept, nil
}

// Compare says of each counter what it is and what it should be, and changes nothing. It reports
// false as Seed does.
func (m *Meter) Compare(ctx context.Context, id account.ID, figures []Figure,
	s Snapshot,
) ([]CounterState, bool, error) {
	reply, err := m.seedScript(ctx, id, account.KeyID{}, figures, s, true)
	if err != nil || len(reply) == 0 || reply[0] != 1 {
		return nil, false, err
	}
	const parts = 3
	if len(reply) != 1+parts*len(figures) {
		return nil, false, fmt.Errorf("compare counters of account %s: unexpected reply of %d parts", id, len(reply))
	}
	all := make([]CounterState, len(figures))
	for i := range all {
		part := reply[1+parts*i:]
		all[i] = CounterState{Kept: part[0] == 1, Is: plan.Units(part[1]), ShouldBe: plan.Units(part[2])}
	}
	return all, true, nil
}

func (m *Meter) seedScript(ctx context.Context, id account.ID, key account.KeyID, figures []Figure, s Snapshot,
	audit bool,
) ([]int64, error) {
	t := accountTag(id)
	keys := []string{t + "cfg:" + id.String(), t + "key:" + key.String(), t + "dirty", t + "sealed", t + "epoch"}
	args := []any{s.Epoch, id.String(), orEmpty(s.AccountVersion), orEmpty(s.KeyVersion), audit, len(figures)}
	for i := range figures {
		f := &figures[i]
		name, field := place(id, &f.Counter)
		keys = append(keys, name)
		only := ""
		if !f.Key.IsZero() {
			only = f.Key.String()
		}
		day := ""
		if !f.Day.IsZero() {
			day = daysSince1970(f.Day)
		}
		args = append(args, field, int64(f.Units), f.Keep.Milliseconds(), day, f.Period, f.Source, only, f.Service)
	}
	for _, name := range s.Flushed {
		args = append(args, name)
	}
	reply, err := m.run(ctx, m.seed, keys, args...).Int64Slice()
	if err != nil {
		return nil, fmt.Errorf("seed counters of account %s: %w", id, err)
	}
	return reply, nil
}

// orEmpty is a version as seed.lua takes it: nothing for any.
func orEmpty(version int64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatInt(version, 10)
}

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

// place returns where a counter is kept: a field of a hash, or a string when field is empty.
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

// FlushToken returns the flush token of the account's shard. It changes with each flush that drops
// buckets, and when Redis lost everything. Read it before the figures for Seed.
func (m *Meter) FlushToken(ctx context.Context, id account.ID) (int64, error) {
	name := accountTag(id) + "epoch"
	for range tokenTries {
		n, err := m.rdb.Get(ctx, name).Int64()
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, redis.Nil) {
			return 0, fmt.Errorf("read the flush token: %w", err)
		}
		// The first token is random: were it the same after every loss, figures read before a loss
		// would pass as current.
		first := firstToken()
		begun, err := m.rdb.SetNX(ctx, name, first, 0).Result()
		if err != nil {
			return 0, fmt.Errorf("begin the flush token: %w", err)
		}
		if begun {
			return first, nil // a drop may have ended it by now; its Seed then starts again
		}
	}
	return 0, errTokenGone
}

// tokenTries bounds the retries when others begin and end a token at the same time.
const tokenTries = 5

var errTokenGone = errors.New("read the flush token: drops of flushed usage end it faster than it is read")

// Figure is the value with which a counter is seeded.
type Figure struct {
	account.Counter
	Units plan.Units    // what PostgreSQL knows
	Keep  time.Duration // its TTL
}

// Snapshot is the state in which figures were read from PostgreSQL.
type Snapshot struct {
	FlushToken int64    // read before the figures
	Flushed    []string // the account's buckets that the figures include, as BucketName names them
	// AccountVersion and KeyVersion are the versions of the projections for which the counters were
	// chosen; 0 for any.
	AccountVersion, KeyVersion int64
}

// BucketName returns the name of a bucket in Snapshot.Flushed.
func BucketName(slot time.Time, id account.ID, generation string) string {
	return strconv.FormatInt(slot.Unix(), 10) + ":" + id.String() + ":" + generation
}

// Seed sets missing counters to PostgreSQL's figures plus what is not flushed yet. It reports false
// when a flush, a change of a limit or a loss came in between: read everything again. key is the
// key whose call missed them.
func (m *Meter) Seed(ctx context.Context, id account.ID, key account.KeyID, figures []Figure,
	s Snapshot,
) (bool, error) {
	reply, err := m.seedScript(ctx, id, key, figures, s, false)
	return len(reply) > 0 && reply[0] == 1, err
}

// CounterState is a counter's value and what it should be.
type CounterState struct {
	Kept         bool       // whether the counter exists in Redis; Is means nothing when not
	Is, ShouldBe plan.Units // thousandths; ShouldBe is never negative
}

// Differs reports whether the counter is kept and is not what it should be.
func (s CounterState) Differs() bool { return s.Kept && s.Is != s.ShouldBe }

// Kept reports for each counter whether it exists in Redis. The next call that needs a missing one
// seeds it.
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

// Compare returns the state of each counter and changes nothing. It reports false as Seed does.
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
	args := []any{s.FlushToken, id.String(), orEmpty(s.AccountVersion), orEmpty(s.KeyVersion), audit, len(figures)}
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

// orEmpty formats a version for seed.lua, where empty means any.
func orEmpty(version int64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatInt(version, 10)
}

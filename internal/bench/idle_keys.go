package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/devstack"
)

const (
	idleKeysName    = "idle_keys"
	bytesKey        = "bytes_per_key"
	withCountersKey = "with_counters_bytes_per_key"

	// The sizes to which the bars apply.
	wholeAccounts = 100_000
	wholeKeys     = 1_000_000
	wholeBuckets  = 100_000

	chunkOfKeys   = 50_000
	memorySamples = 500 // of each kind of Redis key
)

var idleKeysBar = bar{below, 600, 0}

// measureIdleKeys loads and seeds accounts and keys of every kind, and measures their memory in
// Redis.
func measureIdleKeys(ctx context.Context, r *rig, o options, report *report) (err error) {
	l, err := r.ledger(ctx, devstack.Redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	// The append-only file does not count as memory, and writing its gigabyte would take time.
	if err := l.rdb.ConfigSet(ctx, "appendonly", "no").Err(); err != nil {
		return err
	}
	holders := l.newHolders(o.accounts, o.keys)
	wanted := bar{}
	if o.accounts >= wholeAccounts && o.keys >= wholeKeys {
		wanted = idleKeysBar
	}
	before, err := l.memory(ctx)
	if err != nil {
		return err
	}
	for _, phase := range []struct {
		key  string
		seed func(context.Context, []holder) error
	}{{bytesKey, l.loadIdle}, {withCountersKey, l.seedIdle}} {
		if err := phase.seed(ctx, holders); err != nil {
			return err
		}
		after, err := l.memory(ctx)
		if err != nil {
			return err
		}
		report.sayf("%s: Redis took %.0f MB", idleKeysName, (after-before)/1e6)
		report.add(result{idleKeysName, phase.key, (after - before) / float64(o.keys), 0, wanted})
	}
	return l.tellMemory(ctx, holders, report)
}

// newHolders returns the same number of keys for every account. The keys of an account are
// adjacent. Accounts are of each kind in turn.
func (l *ledger) newHolders(accounts, keys int) []holder {
	holders := make([]holder, keys)
	var first *holder
	for i := range holders {
		n := i * accounts / keys
		h := newHolder(kinds[n%len(kinds)], l.begun)
		if i > 0 && n == (i-1)*accounts/keys {
			h.account, h.packs = first.account, first.packs
		}
		holders[i] = h
		if i == 0 || h.account != first.account {
			first = &holders[i]
		}
	}
	return holders
}

// loadIdle loads the limits. It deletes the load tokens, which would live for a minute, because
// idle keys have none.
func (l *ledger) loadIdle(ctx context.Context, holders []holder) error {
	for at := 0; at < len(holders); at += chunkOfKeys {
		chunk := holders[at:min(at+chunkOfKeys, len(holders))]
		if err := l.each(ctx, "loading keys", len(chunk), func(ctx context.Context, i int) error {
			h := &chunk[i]
			if at+i == 0 || holders[at+i-1].account != h.account {
				if err := h.pushAccount(ctx, l); err != nil {
					return err
				}
			}
			return h.pushKey(ctx, l)
		}); err != nil {
			return err
		}
		pipe := l.rdb.Pipeline()
		for i := range chunk {
			h := &chunk[i]
			pipe.Del(ctx, h.name("ld:"+h.account.String()))
			pipe.Del(ctx, h.name("ld:"+h.key.String()))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("forget the tokens of loads: %w", err)
		}
		if done := at + len(chunk); done%(4*chunkOfKeys) == 0 || done == len(holders) {
			l.rig.sayf("%s: %s of %s keys", idleKeysName, thousands(float64(done)), thousands(float64(len(holders))))
		}
	}
	return nil
}

// seedIdle sets the counters of the present period and day, as after a first call.
func (l *ledger) seedIdle(ctx context.Context, holders []holder) error {
	return l.each(ctx, "seeding counters", len(holders), func(ctx context.Context, i int) error {
		return holders[i].seed(ctx, l)
	})
}

func (l *ledger) memory(ctx context.Context) (float64, error) {
	i, err := l.info(ctx, "memory")
	if err != nil {
		return 0, err
	}
	return i.number("used_memory")
}

// name returns the meter's Redis key for something of the holder's account.
func (h *holder) name(rest string) string {
	return fmt.Sprintf("{u%04d}:%s", account.Shard(h.account), rest)
}

// named is a kind of Redis key, with the function that returns a holder's.
type named struct {
	what string
	of   func(h *holder, period, day string) string
}

var idleNames = []named{
	{"account", func(h *holder, _, _ string) string { return "cfg:" + h.account.String() }},
	{"key", func(h *holder, _, _ string) string { return "key:" + h.key.String() }},
	{"account's period", func(h *holder, period, _ string) string { return "ap:" + h.account.String() + ":" + period }},
	{"key's period", func(h *holder, period, _ string) string { return "kp:" + h.key.String() + ":" + period }},
	{"key's day", func(h *holder, _, day string) string { return "day:" + h.key.String() + ":" + day }},
	{"account's packs", func(h *holder, _, _ string) string { return "pk:" + h.account.String() }},
}

// tellMemory reports the memory of each kind of Redis key, without its share of Redis' hash tables.
func (l *ledger) tellMemory(ctx context.Context, holders []holder, report *report) error {
	found := map[string]bool{}
	for _, k := range kinds {
		var some []*holder
		for i := range holders {
			if holders[i].kind == k && len(some) < memorySamples {
				some = append(some, &holders[i])
			}
		}
		for _, n := range idleNames {
			bytes, err := l.memoryOf(ctx, some, n)
			if err != nil {
				return err
			}
			if bytes > 0 {
				found[n.what] = true
				report.sayf("%-22s %-18s %4d bytes", k.name, n.what, bytes)
			}
		}
	}
	for _, n := range idleNames {
		if !found[n.what] && len(holders) >= len(kinds) {
			return fmt.Errorf("no %s was found: the meter names it otherwise", n.what)
		}
	}
	return nil
}

// memoryOf returns the median memory in bytes of those keys that exist; zero when none does.
func (l *ledger) memoryOf(ctx context.Context, holders []*holder, n named) (int64, error) {
	day := fmt.Sprint(l.begun.Unix() / 86400)
	pipe := l.rdb.Pipeline()
	asked := make([]*redis.IntCmd, len(holders))
	for i, h := range holders {
		f := h.accountLimits(l.begun)
		asked[i] = pipe.MemoryUsage(ctx, h.name(n.of(h, f.Current.Key(), day)), 0)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("ask for the memory of names: %w", err)
	}
	var sizes []int64
	for _, a := range asked {
		if a.Err() == nil {
			sizes = append(sizes, a.Val())
		}
	}
	if len(sizes) == 0 {
		return 0, nil
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2], nil
}

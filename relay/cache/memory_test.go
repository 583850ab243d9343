package cache_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/cache"
)

func TestMemory_ValuesComeBackUntilTheyExpire(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	c := open(t, func(o *cache.Options) { o.Now = clock.Now })
	given := []byte(`"first"`)
	kept := c.Put(key(1), given, time.Minute)
	c.Put(key(2), []byte(`"second"`), time.Hour)
	copy(given, `"spoil"`) // it belongs to a reused answer
	wantEntry(t, c, key(1), `"first"`, cache.Memory)
	if string(kept) != `"first"` {
		t.Errorf("Put gave %s", kept)
	}
	clock.Advance(time.Minute)
	wantEntry(t, c, key(1), "", cache.Nowhere)
	wantEntry(t, c, key(2), `"second"`, cache.Memory)
	c.Put(key(2), []byte(`"newer"`), time.Minute)
	wantEntry(t, c, key(2), `"newer"`, cache.Memory)
	s := c.Stats()
	expect.Equal(t, s.MemoryHits, 3)
	expect.Equal(t, s.Misses, 1)
	expect.Equal(t, s.Stores, 3)
}

func TestMemory_MarksAreRememberedUntilTheyExpire(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	c := open(t, func(o *cache.Options) { o.Now = clock.Now })
	if c.Marked(key(1)) {
		t.Error("it remembers what it was not told")
	}
	c.Mark(key(1), time.Minute)
	if !c.Marked(key(1)) || c.Marked(key(2)) {
		t.Error("it does not remember what it was told, or more")
	}
	clock.Advance(time.Minute)
	if c.Marked(key(1)) {
		t.Error("a mark outlived its time")
	}
}

func TestMemory_StaysWithinItsBytesUnderManyLargeValues(t *testing.T) {
	t.Parallel()
	const most, size, each, writers = 4 << 20, 100 << 10, 200, 4
	c := open(t, func(o *cache.Options) { o.Bytes = most })
	value := []byte(`"` + strings.Repeat("x", size) + `"`)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				c.Put(key(w*each+i), value, week)
				c.Get(t.Context(), key(w*each))
			}
		})
	}
	wg.Wait()
	held := 0
	testkit.Eventually(t, patience, func() bool { // eviction runs concurrently, soon after the writes
		held = 0
		for i := range writers * each {
			got, _ := c.Get(t.Context(), key(i))
			held += len(got)
		}
		return held <= most && c.Stats().Bytes <= most
	}, "it is within its bytes again")
	s := c.Stats()
	expect.NotEqual(t, held, 0)
	expect.NotEqual(t, s.Entries, 0)
	expect.AtLeast(t, s.Evictions, writers*each-most/size)
}

func TestMemory_ValuesThatAreTooLargeAreNotKept(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		bytes int64
		size  int
		kept  bool
	}{
		{64 << 20, cache.MaxEntryBytes, true},
		{64 << 20, cache.MaxEntryBytes + 1, false},
		{1 << 20, 1<<17 + 1, false}, // more than an eighth of the limit
		{1 << 20, 1 << 17, true},
		{0, 10, false},
	} {
		t.Run(fmt.Sprint(row.bytes), func(t *testing.T) {
			c := open(t, func(o *cache.Options) { o.Bytes = row.bytes })
			value := []byte(`"` + strings.Repeat("x", row.size-2) + `"`)
			if got := c.Put(key(1), value, week); !bytes.Equal(got, value) || &got[0] == &value[0] {
				t.Errorf("of %d bytes Put gave %d, or the very same", len(value), len(got))
			}
			if _, tier := c.Get(t.Context(), key(1)); (tier == cache.Memory) != row.kept {
				t.Errorf("%d bytes of %d: tier %d, want kept %v", row.size, row.bytes, tier, row.kept)
			}
			if refused := c.Stats().Refused; (refused == 1) != (row.size > cache.MaxEntryBytes) {
				t.Errorf("%d bytes: %d counted as refused", row.size, refused)
			}
		})
	}
}

func TestMemory_NilCacheKeepsNothing(t *testing.T) {
	t.Parallel()
	var c *cache.Cache
	if got := c.Put(key(1), []byte(`1`), week); string(got) != "1" {
		t.Errorf("Put gave %s", got)
	}
	c.Mark(key(1), week)
	wantEntry(t, c, key(1), "", cache.Nowhere)
	in := expect.In(t, "a cache that is none did something")
	expect.False(in, c.Marked(key(1)))
	expect.Equal(in, c.Stats(), cache.Stats{})
	expect.NoError(in, c.Close(t.Context()))
}

func TestKey_DiffersWhereverItsPartsDo(t *testing.T) {
	t.Parallel()
	seen := make(map[cache.Key]int)
	for i, parts := range [][]string{
		{},
		{""},
		{"", ""},
		{"ab"},
		{"a", "b"},
		{"ab", ""},
		{"", "ab"},
		{"b", "a"},
		{"a\x01b"},
		{strings.Repeat("a", 600)},
		{strings.Repeat("a", 601)},
	} {
		var all [][]byte
		for _, p := range parts {
			all = append(all, []byte(p))
		}
		k := cache.NewKey(all...)
		if before, same := seen[k]; same {
			t.Errorf("case %d has the key of case %d", i, before)
		}
		if k != cache.NewKey(all...) {
			t.Errorf("case %d has two keys", i)
		}
		seen[k] = i
	}
}

func BenchmarkGet(b *testing.B) {
	c := open(b)
	c.Put(key(1), []byte(`"`+strings.Repeat("x", 2000)+`"`), week)
	k, ctx := key(1), b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, tier := c.Get(ctx, k); tier != cache.Memory {
				b.Error("a miss")
			}
		}
	})
}

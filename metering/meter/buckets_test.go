package meter_test

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
)

func time64(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func TestBuckets_SealedNeverChangeAndComeAgainUntilDropped(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, nil)
		b.mustAdmit(t, c, charge(1000))
		first := b.buckets(t, c)
		require.Len(t, first, 1)
		require.Equal(t, first[0].Shard, account.Shard(c.Account))
		require.NotEqual(t, first[0].Generation, "")
		require.Equal(t, first[0].Slot.Truncate(meter.SlotLength), first[0].Slot)
		b.mustAdmit(t, c, charge(200)) // most likely the same slot
		b.mustAdmit(t, c, charge(30))
		again := b.buckets(t, c)
		i := slices.IndexFunc(again, func(bucket account.UsageBucket) bool {
			return bucket.Generation == first[0].Generation
		})
		if i < 0 || !reflect.DeepEqual(again[i], first[0]) {
			t.Fatalf("the sealed bucket is %+v now, was %+v", again, first[0])
		}
		if len(again) < 2 {
			t.Fatalf("%d buckets, want another generation for what came later", len(again))
		}
		if err := b.meter.DropBuckets(b.ctx, first); err != nil {
			t.Fatal(err)
		}
		if err := b.meter.DropBuckets(b.ctx, first); err != nil {
			t.Errorf("dropping what is gone: %v", err)
		}
		b.wantUsage(t, c, usage{"ok": {2, 230}})
		if err := b.meter.DropBuckets(b.ctx, b.buckets(t, c)); err != nil {
			t.Fatal(err)
		}
		b.wantUsage(t, c, usage{})
		if left := b.rdb.Keys(b.ctx, tagOf(c)+"[bs]:*").Val(); len(left) != 0 {
			t.Errorf("dropped buckets left %v", left)
		}
		if err := b.meter.DropBuckets(b.ctx, nil); err != nil {
			t.Errorf("dropping nothing: %v", err)
		}
	})
}

func TestBuckets_AreSealedWhenTheirSlotIsOver(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	shards := func(id account.ID) ([]account.UsageBucket, time.Time) {
		sealed, oldest, err := b.meter.SealedBuckets(b.ctx, account.Shard(id), false, everything)
		if err != nil {
			t.Fatal(err)
		}
		return sealed, oldest
	}
	c := b.client(t, nil)
	if sealed, oldest := shards(c.Account); len(sealed) != 0 || !oldest.IsZero() {
		t.Errorf("a meter without usage has %v, open since %s", sealed, oldest)
	}
	b.mustAdmit(t, c, charge(1))
	// A Redis that takes over, with a clock behind by less than the delay, would still write into
	// the bucket.
	for _, early := range []time.Duration{
		meter.SlotLength - time.Second, meter.SlotLength + meter.SealDelay - time.Second,
	} {
		b.mini.SetTime(noon.Add(early))
		if sealed, oldest := shards(c.Account); len(sealed) != 0 || !oldest.Equal(noon) {
			t.Errorf("%d buckets sealed %s after their slot began, the oldest open one is said to be of %s",
				len(sealed), early, oldest)
		}
	}
	b.mini.SetTime(noon.Add(meter.SlotLength + meter.SealDelay))
	b.mustAdmit(t, c, charge(1))
	sealed, oldest := shards(c.Account)
	require.Len(t, sealed, 1)
	expect.True(t, sealed[0].Slot.Equal(noon), sealed[0].Slot)
	expect.True(t, oldest.Equal(noon.Add(meter.SlotLength)), oldest)
	// A clock that steps back opens the slot again, under another generation.
	b.mini.SetTime(noon.Add(time.Second))
	b.mustAdmit(t, c, charge(1))
	if sealed, oldest := shards(c.Account); len(sealed) != 1 || !oldest.Equal(noon) {
		t.Errorf("sealed %+v, the oldest open one is said to be of %s, want %s", sealed, oldest, noon)
	}
	b.mini.SetTime(noon.Add(3 * meter.SlotLength))
	sealed, oldest = shards(c.Account)
	if len(sealed) != 3 || !oldest.IsZero() {
		t.Fatalf("sealed %+v, the oldest open one is said to be of %s", sealed, oldest)
	}
	in := expect.In(t, "the slot that came again")
	expect.True(in, sealed[0].Slot.Equal(noon), sealed[0].Slot)
	expect.True(in, sealed[1].Slot.Equal(noon), sealed[1].Slot)
	expect.NotEqual(in, sealed[0].Generation, sealed[1].Generation)
}

func TestBuckets_SealedComeInPagesOldestFirst(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, nil)
	const buckets = 7
	for i := range buckets {
		b.mini.SetTime(noon.Add(time.Duration(i) * meter.SlotLength))
		b.mustAdmit(t, c, charge(1))
	}
	b.mini.SetTime(noon.Add(buckets*meter.SlotLength + meter.SealDelay))
	shard := account.Shard(c.Account)
	seen := 0
	for page := 1; ; page++ {
		sealed, oldest, err := b.meter.SealedBuckets(b.ctx, shard, false, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(sealed) == 0 {
			break
		}
		for _, bucket := range sealed {
			if want := noon.Add(time.Duration(seen) * meter.SlotLength); !bucket.Slot.Equal(want) {
				t.Errorf("bucket %d is of slot %s, want %s", seen, bucket.Slot, want)
			}
			if !oldest.IsZero() && !oldest.After(bucket.Slot) {
				t.Errorf("the oldest open slot is said to be %s while %s is sealed", oldest, bucket.Slot)
			}
			seen++
		}
		if page < 3 && oldest.IsZero() {
			t.Errorf("page %d says that nothing is open, %d buckets are to come", page, buckets-seen)
		}
		if err := b.meter.DropBuckets(b.ctx, sealed); err != nil {
			t.Fatal(err)
		}
	}
	if seen != buckets {
		t.Errorf("%d buckets given, want %d", seen, buckets)
	}
}

func TestDirtyShards_AreThoseWithUsageNotDropped(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		dirty := func(from, to int) []int {
			shards, err := b.meter.DirtyShards(b.ctx, from, to)
			if err != nil {
				t.Fatal(err)
			}
			return shards
		}
		if got := dirty(0, account.Shards); len(got) != 0 {
			t.Errorf("shards %v have usage before any call", got)
		}
		one, two := b.client(t, nil), b.client(t, nil)
		for account.Shard(one.Account) == account.Shard(two.Account) {
			two = b.client(t, nil)
		}
		b.mustAdmit(t, one, charge(1))
		b.mustAdmit(t, two, hit())
		want := []int{account.Shard(one.Account), account.Shard(two.Account)}
		slices.Sort(want)
		if got := dirty(0, account.Shards); !slices.Equal(got, want) {
			t.Errorf("shards %v have usage, want %v", got, want)
		}
		if got := dirty(want[0]+1, want[1]+1); !slices.Equal(got, want[1:]) {
			t.Errorf("shards %v have usage above %d, want %v", got, want[0], want[1:])
		}
		sealed := b.buckets(t, one)
		if got := dirty(0, account.Shards); !slices.Equal(got, want) {
			t.Errorf("shards %v have usage when one is sealed, want %v", got, want)
		}
		if err := b.meter.DropBuckets(b.ctx, append(sealed, b.buckets(t, two)...)); err != nil {
			t.Fatal(err)
		}
		if got := dirty(0, account.Shards); len(got) != 0 {
			t.Errorf("shards %v have usage after all was dropped", got)
		}
	})
}

// A field that no script wrote makes a line that PostgreSQL refuses: the bucket is reported and
// kept, and the others go on.
func TestBuckets_ForeignFieldsBecomeALineThatTheRecordRefuses(t *testing.T) {
	t.Parallel()
	key := account.NewKeyID().String()
	good := "2026-11-01|ok|plan|" + key + "||c|s|m|x|balanced"
	for name, field := range map[string][2]string{
		"no words":          {"x", "1"},
		"empty name":        {"", "1"},
		"too few words":     {"2026-11-01|ok|0", "1"},
		"too many words":    {good + "|more|0", "1"},
		"no key":            {"2026-11-01|ok|plan|nobody||c|s|m|x|balanced|0", "1"},
		"no count":          {good + "|0", "many"},
		"count of no int64": {good + "|1", "9223372036854775808"},
		"units of no int64": {good + "|9223372036854775807", "2"},
		"less than nothing": {good + "|-1", "1"},
		"no such figure":    {good + "|z", "1"},
		"two figures":       {good + "|1|1", "1"},
		"bar only":          {"|0", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupMini(t)
			c := b.client(t, nil)
			b.mustAdmit(t, c, charge(1))
			b.rdb.HSet(b.ctx, openBucket(t, b, c), field[0], field[1])
			buckets := b.buckets(t, c)
			if len(buckets) != 1 {
				t.Fatalf("%d buckets, want 1", len(buckets))
			}
			foreign := 0
			for _, l := range buckets[0].Lines {
				if _, err := time.Parse(time.DateOnly, l.Period); err != nil {
					foreign++
				} else if l.Outcome != "ok" || l.Requests != 1 || l.Units != 1 {
					t.Errorf("line %+v beside the foreign one, want the call's", l)
				}
			}
			if foreign != 1 || len(buckets[0].Lines) != 2 {
				t.Errorf("%d foreign lines of %+v, want 1 of 2", foreign, buckets[0].Lines)
			}
		})
	}
}

package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/workflows"
)

const day = 24 * time.Hour

// visitors is a database with anonymous keys of various ages.
type visitors struct {
	t     *testing.T
	ctx   context.Context //nolint:containedctx // a test's own
	store *store.Store
	db    *pgx.Conn
	clock *testkit.Clock
	swept accountdb.SweptKeys
}

func visited(t *testing.T) *visitors {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	url := testkit.Postgres(t)
	v := &visitors{t: t, ctx: ctx, clock: testkit.NewClock(time.Now())}
	var err error
	v.store, err = store.Open(ctx, url)
	v.must(err)
	t.Cleanup(v.store.Close)
	v.db, err = pgx.Connect(ctx, url)
	v.must(err)
	t.Cleanup(func() { _ = v.db.Close(context.Background()) })
	return v
}

func (v *visitors) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// key creates an anonymous key that is this old and was last used this long ago; 0 means never
// used.
func (v *visitors) key(made, used time.Duration) accountdb.Key {
	v.t.Helper()
	id := account.NewKeyID()
	digest := make([]byte, 32)
	copy(digest, id.UUID[:])
	_, key, err := v.store.CreateDoorKey(v.ctx, accountdb.NewAccount{
		ID: account.NewID(), Kind: accountdb.KindDoor, Plan: plan.Door1,
	},
		accountdb.NewKey{
			ID: id, Digest: digest, Prefix: "cag_12345678", Door: account.DoorPublic,
			Daily: plan.Must(plan.Door1).DailyQuota(),
		})
	v.must(err)
	_, err = v.db.Exec(v.ctx, "UPDATE keys SET created_at = $2 WHERE id = $1", key.ID.UUID, v.clock.Now().Add(-made))
	v.must(err)
	if used > 0 {
		v.use(&key, v.clock.Now().Add(-used))
	}
	return key
}

func (v *visitors) use(key *accountdb.Key, at time.Time) {
	v.t.Helper()
	line := account.UsageLine{
		Key: key.ID, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
		Outcome: "ok", Source: "plan", Requests: 1, Units: plan.Unit,
	}
	line.Period = at.UTC().Format("2006-01-02")
	v.must(v.store.CommitUsage(v.ctx, []account.UsageBucket{
		{Slot: at.Truncate(10 * time.Second), Account: key.Account, Generation: "a", Lines: []account.UsageLine{line}},
	}))
}

// record sets the watermark.
func (v *visitors) record(until time.Time) {
	v.t.Helper()
	marks := map[int]time.Time{}
	for shard := range account.Shards {
		marks[shard] = until
	}
	v.must(v.store.SaveWatermarks(v.ctx, marks))
}

// push marks all changes as pushed to the meter.
func (v *visitors) push() {
	v.t.Helper()
	_, err := v.db.Exec(v.ctx, "DELETE FROM fence_pushes")
	v.must(err)
}

// sweep sweeps with a watermark of now.
func (v *visitors) sweep() activities.PartitionReport {
	v.t.Helper()
	v.record(v.clock.Now())
	return v.sweepOnly()
}

func (v *visitors) sweepOnly() activities.PartitionReport {
	v.t.Helper()
	p := &activities.Partitions{Store: v.store, Now: v.clock.Now, OnSwept: func(n accountdb.SweptKeys) {
		v.swept.Retired, v.swept.Deleted, v.swept.Accounts = v.swept.Retired+n.Retired, v.swept.Deleted+n.Deleted,
			v.swept.Accounts+n.Accounts
	}}
	report, err := p.KeepPartitions(v.ctx, workflows.PartitionInput())
	v.must(err)
	return report
}

// stands returns the state of a key (active, revoked or gone) and whether its account exists.
func (v *visitors) stands(k *accountdb.Key) string {
	v.t.Helper()
	state := "gone"
	found, err := v.store.LoadKey(v.ctx, k.ID)
	if err == nil {
		state = string(found.Status)
	} else if !errors.Is(err, store.ErrNotFound) {
		v.t.Fatal(err)
	}
	if _, err := v.store.LoadAccount(v.ctx, k.Account); errors.Is(err, store.ErrNotFound) {
		return state + ", no account"
	}
	return state
}

func TestUpkeep_SweepsAnonymousKeysThatNobodyUses(t *testing.T) {
	t.Parallel()
	v := visited(t)
	never, young := v.key(31*day, 0), v.key(28*day, 0)
	idle, used := v.key(400*day, 181*day), v.key(400*day, 178*day)
	ticketed, packed := v.key(400*day, 0), v.key(400*day, 0)
	_, err := v.db.Exec(v.ctx, `INSERT INTO packs (id, account_id, kind, units, origin, granted_at, expires_at)
VALUES (gen_random_uuid(), $1, 'pack_s', 1, 'test', now(), now() + interval '1 year')`, packed.Account.UUID)
	v.must(err)
	_, _, err = v.store.CreateTicket(v.ctx, supportdb.NewTicket{
		Writer: supportdb.Writer{Account: ticketed.Account, Key: ticketed.ID, Channel: "api"}, Subject: "x",
		Message:  "y",
		Category: "other", Priority: "normal", At: v.clock.Now(),
	})
	v.must(err)

	got := v.sweep()
	in := expect.In(t, "the first sweep")
	expect.Equal(in, got.KeysRetired, 2)
	expect.Equal(in, got.KeysDeleted, 0)
	expect.Equal(in, got.AccountsDeleted, 0)
	pushes, err := v.store.ListPushes(v.ctx, 0, 10)
	v.must(err)
	if len(pushes) != 2 {
		t.Errorf("the meter is told of %d keys, want both that were retired", len(pushes))
	}
	for name, want := range map[*accountdb.Key]string{
		&never: "revoked", &young: "active", &idle: "revoked", &used: "active", &ticketed: "active", &packed: "active",
	} {
		if got := v.stands(name); got != want {
			t.Errorf("after the first sweep a key is %s, want %s", got, want)
		}
	}
	if got := v.sweep(); got.KeysRetired+got.KeysDeleted != 0 {
		t.Errorf("at once again the sweep did %+v, want nothing: what was charged may not be recorded yet", got)
	}
	v.clock.Advance(day + time.Minute)
	if got := v.sweep(); got.KeysDeleted != 0 {
		t.Errorf("before the meter was told the sweep did %+v, want no key deleted", got)
	}
	v.push()
	got = v.sweep()
	in = expect.In(t, "a day later the sweep")
	expect.Equal(in, got.KeysRetired, 0)
	expect.Equal(in, got.KeysDeleted, 2)
	expect.Equal(in, got.AccountsDeleted, 1)
	for key, want := range map[*accountdb.Key]string{
		&never: "gone, no account", &idle: "gone", &used: "active", &ticketed: "active", &packed: "active",
	} {
		if got := v.stands(key); got != want {
			t.Errorf("in the end a key is %s, want %s", got, want)
		}
	}
	expect.Equal(t, v.swept.Retired, 2)
	expect.Equal(t, v.swept.Deleted, 2)
	expect.Equal(t, v.swept.Accounts, 1)
}

// While usage waits in Redis, a key may be in use although PostgreSQL has no usage of it.
func TestUpkeep_SweepsNoKeysWhileUsageIsNotRecorded(t *testing.T) {
	t.Parallel()
	v := visited(t)
	key := v.key(31*day, 0)
	if got := v.sweepOnly(); got.KeysRetired != 0 {
		t.Errorf("before usage was ever recorded the sweep did %+v", got)
	}
	v.record(v.clock.Now().Add(-2 * time.Hour))
	if got := v.sweepOnly(); got.KeysRetired != 0 || v.stands(&key) != "active" {
		t.Errorf("while usage of two hours waits the sweep did %+v, and the key is %s", got, v.stands(&key))
	}
	v.record(v.clock.Now().Add(-30 * time.Minute))
	if got := v.sweepOnly(); got.KeysRetired != 1 {
		t.Errorf("with usage recorded the sweep did %+v, want one key retired", got)
	}
}

// Usage that was charged between the last check and the revocation arrives a moment later. Then the
// key and its account stay.
func TestUpkeep_KeepsARetiredKeyThatWasUsedAfterAll(t *testing.T) {
	t.Parallel()
	v := visited(t)
	key := v.key(31*day, 0)
	v.sweep()
	v.use(&key, v.clock.Now())
	v.push()
	v.clock.Advance(2 * day)
	if got := v.sweep(); got.KeysDeleted != 0 || v.stands(&key) != "revoked" {
		t.Errorf("the sweep did %+v, and the key is %s", got, v.stands(&key))
	}
}

// The sweep pages through all keys. The input of an older program sweeps nothing.
func TestUpkeep_SweepsAnonymousKeysPageByPage(t *testing.T) {
	t.Parallel()
	v := visited(t)
	for range 5 {
		v.key(31*day, 0)
	}
	old := &activities.Partitions{Store: v.store, Now: v.clock.Now}
	if got, err := old.KeepPartitions(v.ctx, activities.PartitionUpkeep{
		KeepCallDays: 30, KeepLedgerDays: 35,
	}); err != nil || got.KeysRetired != 0 {
		t.Errorf("without figures: %+v, %v", got, err)
	}
	sweep := accountdb.AnonymousSweep{
		MadeBefore: v.clock.Now().Add(-30 * day), UsedBefore: v.clock.Now().Add(-180 * day),
		RetiredBefore: v.clock.Now().Add(-day),
	}
	var last account.KeyID
	var pages []int64
	for more := true; more; {
		var n accountdb.SweptKeys
		var err error
		n, last, more, err = v.store.SweepAnonymousKeys(v.ctx, last, sweep, 2)
		v.must(err)
		pages = append(pages, n.Retired)
	}
	in := expect.In(t, "the pages retired")
	require.Len(in, pages, 3)
	expect.Equal(in, pages[0], 2)
	expect.Equal(in, pages[1], 2)
	expect.Equal(in, pages[2], 1)
}

package limits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

var author = accountdb.Author{Actor: "somebody", Origin: "test", Reason: "a test"}

func TestPush_FailedOneIsSaidNotToBeInForceAndRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	s := b.identify(t, h)
	if a := b.admit(t, s, charge(1)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	b.redis.Pause(t) // it keeps the projections of before the change
	changes := map[string]func() error{
		"revoke": func() error { _, err := b.limits.RevokeKey(b.ctx, h.key.ID, author); return err },
		"suspend": func() error {
			_, err := b.limits.SetStatus(b.ctx, h.account.ID, account.Suspended, author)
			return err
		},
		"again": func() error { _, err := b.limits.RevokeKey(b.ctx, h.key.ID, author); return err },
	}
	for _, name := range []string{"revoke", "suspend", "again"} {
		err := changes[name]()
		refused, ok := errors.AsType[*fault.Error](err)
		in := expect.In(t, "%s without Redis", name)
		require.True(in, ok, err)
		expect.Equal(in, refused.Reason, fault.NotYetInForce)
		expect.Error(in, refused.Cause)
	}
	if _, _, err := b.limits.AdmitOrLoad(b.ctx, s, charge(1)); err == nil {
		t.Error("a call was answered without Redis")
	}
	b.redis.Resume(t)
	pushing, stop := context.WithCancel(b.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { b.another(t).limits.RunPushes(pushing, slog.New(slog.DiscardHandler)) })
	testkit.Eventually(t, testTimeout, func() bool {
		due, err := b.store.ListPushes(b.ctx, 0, 10)
		return err == nil && len(due) == 0
	}, "nothing is due any more")
	stop()
	wg.Wait()
	if a := b.admit(t, s, charge(1)); a.Refused != "key_invalid" {
		t.Errorf("after the push: %+v", a)
	}
	if _, err := b.limits.SetStatus(b.ctx, h.account.ID, account.Active, author); err != nil {
		t.Errorf("a change with Redis: %v", err)
	}
}

// A process dies between the commit of a change and its push.
func TestPush_OfAProcessThatDiedIsMadeByAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	s := b.identify(t, h)
	b.admit(t, s, charge(1))
	if _, _, err := b.store.ChangeKey(b.ctx, h.key.ID, "revoke_key", author,
		func(k *accountdb.Key, _ accountdb.Account) error {
			k.Status = account.Revoked
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	if a := b.admit(t, s, charge(1)); !a.Admitted {
		t.Fatalf("nobody pushed it yet: %+v", a)
	}
	if pushed, err := b.limits.PushDue(b.ctx); err != nil || pushed != 0 {
		t.Fatalf("pushed %d at once, %v; the change's own push goes first", pushed, err)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		pushed, err := b.limits.PushDue(b.ctx)
		return err == nil && pushed == 1
	}, "the change is pushed")
	if a := b.admit(t, s, charge(1)); a.Refused != "key_invalid" {
		t.Errorf("after the push: %+v", a)
	}
}

// A load has read the account, or the key, when the limit changes, the quota is spent, and the
// meter loses what it had. When the load continues, it undoes neither.
func TestLoad_PausedWhileLimitsChangedChangesNothing(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(b *bundle){
		"and nothing was lost":               func(*bundle) {},
		"and Redis lost everything":          func(b *bundle) { b.rdb.FlushAll(b.ctx) },
		"and the projections were forgotten": func(b *bundle) { forget(b, "cfg:*", "key:*") },
	} {
		for query, read := range map[string]string{"ListPacks": "the account", "GetAccount": "the key"} {
			t.Run("read "+read+" "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				quick := b.past(t)
				h := b.holder(t, plan.Enterprise, 1000)
				s := b.identify(t, h)
				if read == "the key" { // the account is there, so that the next load of it is for the key
					b.admit(t, s, charge(1))
					forget(b, "key:*")
				}
				reached, release := b.wire.hold(t, query)
				var paused sync.WaitGroup
				paused.Go(func() {
					if _, a, err := b.limits.AdmitOrLoad(b.ctx, s, charge(1)); err != nil ||
						a.Refused != "key_invalid" {
						t.Errorf("the paused call: %+v, %v; want what holds when it is answered", a, err)
					}
				})
				await(b.ctx, t, reached)
				if _, err := quick.limits.RevokeKey(b.ctx, h.key.ID, author); err != nil {
					t.Error(err)
				}
				lose(b)
				release()
				paused.Wait()
				for range 3 {
					if a := b.admit(t, s, charge(1)); a.Refused != "key_invalid" {
						t.Errorf("after the paused load: %+v", a)
					}
				}
			})
		}
	}
}

func TestSeed_PausedWhileTheQuotaWasSpentChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	quick := b.past(t)
	h := b.holder(t, plan.Enterprise, 1000)
	s := b.identify(t, h)
	b.admit(t, s, charge(100))
	forget(b, "day:*")
	reached, release := b.wire.hold(t, "ListFlushes") // the sums are read
	var paused sync.WaitGroup
	paused.Go(func() {
		if _, a, err := b.limits.AdmitOrLoad(b.ctx, s, charge(300)); err != nil || a.Refused != "door_key_day" ||
			a.Remaining != 200 {
			t.Errorf("the paused call: %+v, %v; want 200 left", a, err)
		}
	})
	await(b.ctx, t, reached)
	if a := quick.admit(t, quick.identify(t, h), charge(700)); !a.Admitted {
		t.Errorf("another process: %+v", a)
	}
	quick.flushAll(t)
	forget(b, "day:*") // lost again
	release()
	paused.Wait()
	if a := b.admit(t, s, charge(200)); !a.Admitted {
		t.Errorf("the last 200: %+v", a)
	}
	if a := b.admit(t, s, charge(1)); a.Refused != "door_key_day" {
		t.Errorf("one more than the day: %+v", a)
	}
}

// A cap is lifted while its counter is being seeded, calls continue, and the cap comes back: its
// counter includes those calls.
func TestSeed_DoesNotBringBackTheCounterOfARemovedLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	quick := b.past(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	limit := func(text string) {
		t.Helper()
		if _, err := quick.limits.ConfigureAccount(b.ctx, h.account.ID, settings(t, text), author); err != nil {
			t.Fatal(err)
		}
		if _, err := quick.limits.ConfigureKey(b.ctx, h.key.ID, settings(t, text), author); err != nil {
			t.Fatal(err)
		}
	}
	limit(`{"caps":{"rpc":10}}`)
	s := b.identify(t, h)
	b.admit(t, s, charge(plan.Unit))
	forget(b, "ap:*", "kp:*")
	reached, release := b.wire.hold(t, "GetAccount")
	var paused sync.WaitGroup
	paused.Go(func() {
		if a := b.admit(t, s, charge(plan.Unit)); !a.Admitted {
			t.Errorf("the paused call: %+v", a)
		}
	})
	await(b.ctx, t, reached)
	limit(`{"caps":{}}`)
	release()
	paused.Wait()
	for range 3 {
		b.admit(t, s, charge(2*plan.Unit))
	}
	limit(`{"caps":{"rpc":10}}`) // of which 8 are used
	if a := b.admit(t, s, charge(3*plan.Unit)); a.Refused != "service_cap" || a.Remaining != int64(2*plan.Unit) {
		t.Errorf("the cap came back: %+v, want 2 units left", a)
	}
}

func settings(t *testing.T, text string) account.Settings {
	t.Helper()
	var wish struct {
		MonthlyCap *json.Number            `json:"monthly_request_cap"`
		Enabled    *[]string               `json:"enabled"`
		Caps       *map[string]json.Number `json:"caps"`
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&wish); err != nil {
		t.Fatal(err)
	}
	return account.Settings(wish)
}

func TestLimits_HoldFromTheAnswerOnInEveryProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	processes := []*bundle{b, b.another(t)}
	h := b.holder(t, plan.Pro, account.Unlimited)
	want := func(units plan.Units, refused string, scope meter.Scope) {
		t.Helper()
		var before meter.Admission
		for i, p := range processes {
			a := p.admit(t, p.identify(t, h), charge(units))
			if a.Refused != refused || a.Scope != scope {
				t.Errorf("%s units: %+v, want %q of %q", units, a, refused, scope)
			}
			if refused == "" {
				continue
			}
			if a.Reset = 0; i > 0 && !reflect.DeepEqual(a, before) {
				t.Errorf("%s units: %+v when Redis has lost everything, %+v before", units, a, before)
			}
			before = a
			b.flushAll(t)
			b.rdb.FlushAll(b.ctx) // projections and counters come back as they were, to the unit
		}
	}
	key := func(text string) {
		t.Helper()
		if _, err := b.limits.ConfigureKey(b.ctx, h.key.ID, settings(t, text), author); err != nil {
			t.Fatal(err)
		}
	}
	owner := func(text string) {
		t.Helper()
		if _, err := b.limits.ConfigureAccount(b.ctx, h.account.ID, settings(t, text), author); err != nil {
			t.Fatal(err)
		}
	}
	want(plan.Unit, "", "") // 2 used
	key(`{"monthly_request_cap":2}`)
	want(plan.Unit, "key_budget", meter.ScopeKey)
	key(`{"monthly_request_cap":0,"caps":{"rpc":3}}`)
	want(2*plan.Unit, "service_cap", meter.ScopeKey)
	key(`{"caps":{},"enabled":["gas","ens"]}`)
	want(1, "service_off", meter.ScopeKey)
	owner(`{"enabled":["ens"]}`)
	want(1, "service_off", meter.ScopeAccount)
	key(`{"enabled":[]}`)
	owner(`{"enabled":["rpc"],"caps":{"rpc":2}}`)
	want(1, "service_off", meter.ScopeKey)
	key(`{"enabled":["rpc"]}`)
	want(1, "service_cap", meter.ScopeAccount)
	owner(`{"caps":{"rpc":4}}`)
	want(plan.Unit, "", "")
	want(1, "service_cap", meter.ScopeAccount)
	owner(`{"caps":{"rpc":5}}`)
	if a := processes[1].admit(t, processes[1].identify(t, h), charge(plan.Unit+1)); a.Refused != "service_cap" ||
		a.Remaining != int64(plan.Unit) {
		t.Errorf("past what the cap has left: %+v", a)
	}
	b.flushAll(t)
	b.rdb.FlushAll(b.ctx)
	if a := b.admit(t, b.identify(t, h), charge(plan.Unit)); !a.Admitted {
		t.Errorf("what the cap has left: %+v", a)
	}
	want(1, "service_cap", meter.ScopeAccount)
	if requests, units := b.recorded(t, h); requests != 5 || units != 5*plan.Unit {
		t.Errorf("PostgreSQL has %d calls of %s units, want 5 of 5", requests, units)
	}
	if _, err := b.limits.ConfigureKey(b.ctx, account.NewKeyID(), settings(t, `{}`), author); !errors.Is(err,
		store.ErrNotFound) {
		t.Errorf("configuring nobody's key gives %v", err)
	}
}

func TestPack_GrantedOneIsDrawnAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Free, account.Unlimited)
	s := b.identify(t, h)
	const custom = 2 * plan.Unit
	_, err := b.limits.SetEnterprise(b.ctx, h.account.ID, account.Custom{
		Quota: custom, Rate: account.RateWindow{Limit: 1000, Per: time.Second},
	}, author)
	if err != nil {
		t.Fatal(err)
	}
	b.admit(t, s, charge(custom))
	if a := b.admit(t, s, charge(1)); a.Refused != "plan_quota" || a.Limit != int64(custom) {
		t.Fatalf("the custom quota: %+v", a)
	}
	id := account.NewPackID()
	for range 2 {
		_, _, err := b.limits.GrantPack(b.ctx, accountdb.Pack{
			Pack:    account.Pack{ID: id, Units: 3 * plan.Unit, Expires: b.clock.Now().AddDate(1, 0, 0)},
			Account: h.account.ID, Kind: "pack_s", Origin: "test", GrantedAt: b.clock.Now(),
		}, author)
		if err != nil {
			t.Fatal(err)
		}
	}
	a := b.admit(t, s, charge(3*plan.Unit))
	if !a.Admitted || !a.Receipt.FromPack() {
		t.Fatalf("%+v", a)
	}
	if a := b.admit(t, s, charge(1)); a.Refused != "plan_quota" {
		t.Fatalf("the pack is used up: %+v", a)
	}
	b.flushAll(t)
	b.rdb.FlushAll(b.ctx)
	if a := b.admit(t, s, charge(1)); a.Refused != "plan_quota" {
		t.Errorf("with everything lost and rebuilt: %+v", a)
	}
	if _, err := b.limits.SetPlan(b.ctx, h.account.ID, plan.Must(plan.Builder), author); err != nil {
		t.Fatal(err)
	}
	if a := b.admit(t, s, charge(1)); !a.Admitted || a.Receipt.FromPack() {
		t.Errorf("Builder is not refused: %+v", a)
	}
}

// forget deletes what the meter keeps under these names.
func forget(b *bundle, kinds ...string) {
	for _, kind := range kinds {
		for _, name := range b.rdb.Keys(b.ctx, "{u*}:"+kind).Val() {
			b.rdb.Del(b.ctx, name)
		}
	}
}

// past returns another process that bypasses the wire, so that nothing delays it.
func (b *bundle) past(t *testing.T) *bundle {
	t.Helper()
	other := b.another(t)
	s, err := store.Open(b.ctx, b.pg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	other.store, other.limits = s, limits.New(s, other.meter, b.hasher, b.clock.Now)
	return other
}

func TestCycle_ImpossibleIsRefusedAndOneToTheNanosecondIsSetOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Pro, account.Unlimited)
	anchor := time.Date(2026, time.November, 20, 10, 30, 0, 123_456_789, time.UTC)
	for name, cycle := range map[string]plan.Cycle{
		"an end without a begin":  {Ends: anchor},
		"an end before the begin": {Anchor: anchor, Ends: anchor.Add(-time.Nanosecond)},
	} {
		_, err := b.limits.SetCycle(b.ctx, h.account.ID, cycle, author)
		if refused, ok := errors.AsType[*fault.Error](err); !ok || refused.Reason != fault.FieldRefused {
			t.Errorf("%s gives %v, want %s", name, err, fault.FieldRefused)
		}
	}
	for _, cycle := range []plan.Cycle{{Anchor: anchor}, {Anchor: anchor, Ends: anchor.AddDate(1, 0, 0)}, {}} {
		t.Run(cycle.Anchor.String(), func(t *testing.T) {
			first, err := b.limits.SetCycle(b.ctx, h.account.ID, cycle, author)
			if err != nil || first.Cycle != cycle.Truncate(time.Millisecond) {
				t.Fatalf("set %+v, %v; want %+v by the millisecond", first.Cycle, err, cycle)
			}
			if again, err := b.limits.SetCycle(b.ctx, h.account.ID, cycle, author); err != nil ||
				again.Version != first.Version {
				t.Errorf("setting %+v again gives version %d, %v; want %d as before", cycle, again.Version, err,
					first.Version)
			}
		})
	}
}

// rich is a record in which an account's packs have the largest possible numbers.
type rich struct{ *store.Store }

func (r rich) ChangeKey(ctx context.Context, id account.KeyID, action string, by accountdb.Author,
	change func(*accountdb.Key, accountdb.Account) error,
) (accountdb.Key, accountdb.Account, error) {
	return r.Store.ChangeKey(ctx, id, action, by, func(k *accountdb.Key, owner accountdb.Account) error {
		for range 2 {
			owner.Packs = append(owner.Packs, account.Pack{
				Units: math.MaxInt64, Expires: time.Now().AddDate(100, 0, 0),
			})
		}
		return change(k, owner)
	})
}

func TestPack_AnySizeLeavesAKeysCapAtTheLargest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Free, account.Unlimited)
	f := limits.New(rich{b.store}, b.meter, b.hasher, b.clock.Now)
	limit := `{"monthly_request_cap":` + account.MaxCap.String() + `}`
	if k, err := f.ConfigureKey(b.ctx, h.key.ID, settings(t, limit), author); err != nil ||
		k.MonthlyCap != account.MaxCap {
		t.Errorf("the largest cap with packs for it gives %s, %v", k.MonthlyCap, err)
	}
}

// due makes every push due now.
func (b *bundle) due(t *testing.T) {
	t.Helper()
	if _, err := b.db.Exec(b.ctx, `UPDATE fence_pushes SET due_at = now() - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
}

func TestPush_ImpossibleOneKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stuck, h := b.holder(t, plan.Enterprise, account.Unlimited), b.holder(t, plan.Enterprise, account.Unlimited)
	s := b.identify(t, h)
	b.admit(t, s, charge(1))
	if _, err := b.store.ChangeAccount(b.ctx, stuck.account.ID, "set_plan", author, func(a *accountdb.Account) error {
		a.Plan = "platinum" // of a later version
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.ChangeKey(b.ctx, h.key.ID, "revoke_key", author,
		func(k *accountdb.Key, _ accountdb.Account) error {
			k.Status = account.Revoked
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	b.due(t)
	if pushed, err := b.limits.PushDue(b.ctx); err == nil || pushed != 1 {
		t.Errorf("pushed %d, %v; want the other one, and the error told", pushed, err)
	}
	if a := b.admit(t, s, charge(1)); a.Refused != "key_invalid" {
		t.Errorf("after the push: %+v", a)
	}
	left, err := b.store.ListPushes(b.ctx, -time.Hour, 10)
	in := expect.In(t, "the one that failed before the one that is pushed once more")
	require.NoError(in, err)
	require.Len(in, left, 2)
	expect.Equal(in, left[0].Account, stuck.account.ID)
	expect.False(in, left[0].InForce)
	expect.True(in, left[1].InForce)
}

// After a failover Redis may lack the newest write.
func TestRevocation_ForgottenByRedisIsPushedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	s := b.identify(t, h)
	b.admit(t, s, charge(1))
	before := b.rdb.Dump(b.ctx, h.keyName()).Val()
	if _, err := b.limits.RevokeKey(b.ctx, h.key.ID, author); err != nil {
		t.Fatal(err)
	}
	if err := b.rdb.RestoreReplace(b.ctx, h.keyName(), time.Hour, before).Err(); err != nil {
		t.Fatal(err)
	}
	if a := b.admit(t, s, charge(1)); !a.Admitted {
		t.Fatalf("with the older projection: %+v", a)
	}
	b.due(t)
	if _, err := b.limits.PushDue(b.ctx); err != nil {
		t.Fatal(err)
	}
	if a := b.admit(t, s, charge(1)); a.Refused != "key_invalid" {
		t.Errorf("after the next push: %+v", a)
	}
	if _, err := b.db.Exec(b.ctx, `UPDATE fence_pushes SET since = now() - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.limits.PushDue(b.ctx); err != nil {
		t.Fatal(err)
	}
	if left, err := b.store.ListPushes(b.ctx, -time.Hour, 10); err != nil || len(left) != 0 {
		t.Errorf("after an hour %+v are kept, %v", left, err)
	}
}

func TestPack_KnownToBeUsedUpIsNotInTheProjection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Free, account.Unlimited)
	s := b.identify(t, h)
	custom := account.Custom{Quota: 0, Rate: account.RateWindow{Limit: 1000, Per: time.Second}}
	if _, err := b.limits.SetEnterprise(b.ctx, h.account.ID, custom, author); err != nil {
		t.Fatal(err)
	}
	var packs []accountdb.Pack
	for i := range 3 {
		p, _, err := b.limits.GrantPack(b.ctx, accountdb.Pack{
			Pack:    account.Pack{ID: account.NewPackID(), Units: plan.Unit, Expires: b.clock.Now().AddDate(1, 0, i)},
			Account: h.account.ID, Kind: "pack_s", Origin: fmt.Sprint("test ", i), GrantedAt: b.clock.Now(),
		}, author)
		if err != nil {
			t.Fatal(err)
		}
		packs = append(packs, p)
	}
	if a := b.admit(t, s, charge(1500)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	b.flushAll(t)
	forget(b, "cfg:*")
	if a := b.admit(t, s, charge(1500)); !a.Admitted || strings.Contains(a.Receipt.Sources, packs[0].ID.String()) {
		t.Errorf("%+v", a)
	}
	if list := b.rdb.HGet(b.ctx, fmt.Sprintf("{u%04d}:cfg:%s", account.Shard(h.account.ID), h.account.ID),
		"pk").Val(); strings.Count(list, ",") != 2 {
		t.Errorf("the projection has packs %q, want the two with units left", list)
	}
}

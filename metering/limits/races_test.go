package limits_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

// Limits of an account and of its key are narrowed and widened at the same time, by two processes
// and under load. In any order, what is recorded last is in force when the last change has
// returned, the narrower of both limits holds to the unit, and the audit log is consistent.
func TestPush_ConcurrentChangesOfAccountAndKeyHoldTogether(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	b := setup(t)
	processes := []*bundle{b, b.another(t)}
	var rounds, pauses sync.WaitGroup
	done := make(chan struct{})
	pauses.Go(func() { // pushes wait for each other, and arrive in another order than changes were committed
		for {
			select {
			case <-done:
				return
			default: // it is the next command that waits
				b.rdb.Do(b.ctx, "client", "pause", "5", "all")
			}
		}
	})
	for round := range 16 {
		h := b.holder(t, plan.Enterprise, account.Unlimited)
		rounds.Go(func() {
			changed := b.changeTogether(t, h, processes, round)
			b.wantOneStory(t, h, changed)
			b.wantInForce(t, h, processes)
		})
	}
	rounds.Wait()
	close(done)
	pauses.Wait()
	if due, err := b.store.ListPushes(b.ctx, 0, 100); err != nil || len(due) != 0 {
		t.Errorf("%d pushes are due when every change has answered, %v", len(due), err)
	}
}

// changed counts the changes of the account and of the key.
type changed struct{ account, key atomic.Int64 }

// changeTogether caps the service rpc of an account and of its key to several figures concurrently,
// while calls are made. At the end the account's cap is narrow.
func (b *bundle) changeTogether(t *testing.T, h *holder, processes []*bundle, round int) *changed {
	t.Helper()
	var made changed
	var changes, load sync.WaitGroup
	begin := make(chan struct{})
	capped := func(units int) account.Settings {
		return account.Settings{Caps: &map[string]json.Number{"rpc": json.Number(strconv.Itoa(units))}}
	}
	for i := range 6 {
		p := processes[(i+round)%2]
		changes.Go(func() {
			<-begin
			if _, err := p.limits.ConfigureAccount(b.ctx, h.account.ID, capped(10+(i+round)%5), author); err != nil {
				t.Error(err)
				return
			}
			made.account.Add(1)
		})
		changes.Go(func() {
			<-begin
			_, err := p.limits.ConfigureKey(b.ctx, h.key.ID, capped(9+(i*round)%7), author)
			switch refused := fault.From(err); {
			case err == nil:
				made.key.Add(1)
			case refused.Reason != fault.FieldRefused: // wider than the account
				t.Error(err)
			}
		})
	}
	for _, p := range processes {
		s := p.identify(t, h)
		call := func() {
			if _, a, err := p.limits.AdmitOrLoad(b.ctx, s, charge(plan.Unit)); err != nil || !a.Admitted {
				t.Errorf("a call that no fence forbids: %+v, %v", a, err)
			}
		}
		call() // loads the projections that the changes replace
		load.Go(func() {
			<-begin
			for range 3 {
				call()
			}
		})
	}
	close(begin)
	changes.Wait()
	load.Wait()
	return &made
}

// wantOneStory compares versions, audit lines and projections of an account and its key with each
// other.
func (b *bundle) wantOneStory(t *testing.T, h *holder, made *changed) {
	t.Helper()
	a, err := b.store.LoadAccount(b.ctx, h.account.ID)
	if err != nil {
		t.Error(err)
		return
	}
	k, err := b.store.LoadKey(b.ctx, h.key.ID)
	if err != nil {
		t.Error(err)
		return
	}
	lines, err := b.store.ListAudit(b.ctx, h.account.ID, 100)
	if err != nil {
		t.Error(err)
		return
	}
	var ofAccount, ofKey int64
	latest := map[account.KeyID]string{} // the state before the next line of the audit log
	for _, l := range lines {            // newest first
		if after, ok := latest[l.Key]; ok && after != string(l.After) {
			t.Errorf("an audit line leaves %s, the next one finds %s", l.After, after)
		}
		if latest[l.Key] = string(l.Before); l.Key.IsZero() {
			ofAccount++
		} else {
			ofKey++
		}
	}
	// A change to the value that is there already is none.
	expect.Equal(t, a.Version, 1+ofAccount)
	expect.Equal(t, k.Version, 1+ofKey)
	expect.NotEqual(t, ofAccount, 0)
	expect.AtMost(t, ofAccount, made.account.Load())
	expect.AtMost(t, ofKey, made.key.Load())
	tag := fmt.Sprintf("{u%04d}:", account.Shard(h.account.ID))
	for name, want := range map[string]map[string]string{
		tag + "cfg:" + h.account.ID.String(): {
			"v": strconv.FormatInt(a.Version, 10), "c:rpc": strconv.FormatInt(int64(a.Services.Caps["rpc"]), 10),
		},
		h.keyName(): {
			"v": strconv.FormatInt(k.Version, 10), "c:rpc": capText(k.Services.Caps["rpc"]),
		},
	} {
		held := b.rdb.HGetAll(b.ctx, name).Val()
		if got := map[string]string{"v": held["v"], "c:rpc": held["c:rpc"]}; !maps.Equal(got, want) {
			t.Errorf("in force is %v, recorded %v", got, want)
		}
	}
}

// capText returns a cap as a projection holds it.
func capText(units plan.Units) string {
	if units == 0 {
		return ""
	}
	return strconv.FormatInt(int64(units), 10)
}

// wantInForce narrows the account below what the key may have, concurrently with a change of the
// key, and calls until both refuse.
func (b *bundle) wantInForce(t *testing.T, h *holder, processes []*bundle) {
	t.Helper()
	const narrow = 9 // 8 are used
	limit := json.Number(strconv.Itoa(narrow))
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := b.limits.ConfigureAccount(b.ctx, h.account.ID, account.Settings{
			Caps: &map[string]json.Number{"rpc": limit},
		}, author); err != nil {
			t.Error(err)
		}
	})
	both.Go(func() {
		_, err := processes[1].limits.ConfigureKey(b.ctx, h.key.ID, account.Settings{
			Caps: &map[string]json.Number{"rpc": "10"},
		}, author)
		if err != nil && fault.From(err).Reason != fault.FieldRefused {
			t.Error(err)
		}
	})
	both.Wait()
	var admitted atomic.Int64
	var calls sync.WaitGroup
	for _, p := range processes {
		s := p.identify(t, h)
		calls.Go(func() {
			for range 3 {
				_, a, err := p.limits.AdmitOrLoad(b.ctx, s, charge(plan.Unit))
				switch {
				case err != nil:
					t.Error(err)
				case a.Admitted:
					admitted.Add(1)
				case a.Refused != "service_cap":
					t.Errorf("%+v", a)
				}
			}
		})
	}
	calls.Wait()
	if admitted.Load() != narrow-8 {
		t.Errorf("%d units admitted past 8, want %d: the account has %d", admitted.Load(), narrow-8, narrow)
	}
}

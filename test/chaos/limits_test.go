package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
)

// besides makes calls of one unit with a separate key until stop is called.
func (r *rig) besides(key apiKey, connections int, every time.Duration) (stop func()) {
	quit := make(chan struct{})
	var calling sync.WaitGroup
	for range connections {
		c := newConnection(key, r.log, r.urls(), r.random.Uint64())
		c.plain, c.pace = true, every
		calling.Go(func() { c.run(quit) })
	}
	return func() {
		close(quit)
		calling.Wait()
	}
}

// of returns the log's entries of a key.
func (r *rig) of(key apiKey) []entry {
	r.t.Helper()
	return slices.DeleteFunc(r.log.read(r.t), func(e entry) bool { return e.Key != key.id })
}

// until waits until n calls of the key have had a fate.
func (r *rig) until(key apiKey, wanted fate, n int) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() bool {
		return r.log.cameTo(key, wanted) >= n
	}, "%d calls of a key came to %d", n, wanted)
}

// revoke revokes a key under load. Once the revocation is answered, no process admits another call
// of the key.
func revoke(r *rig) {
	r.t.Helper()
	key := r.newKey(holder{plan: plan.Scale, door: account.DoorAccount})
	stop := r.besides(key, 4, 5*time.Millisecond)
	r.until(key, answered, 50)
	if _, err := r.limits.RevokeKey(r.t.Context(), key.keyID, harness); err != nil {
		r.t.Fatal(err)
	}
	since := time.Now()
	r.until(key, refused, 30)
	stop()
	checked := 0
	for _, e := range r.of(key) {
		if e.Sent <= since.UnixMicro() {
			continue
		}
		if checked++; e.Status != http.StatusUnauthorized || e.Code != -32001 {
			r.t.Errorf("call %d, sent %s after the revocation was answered, came to HTTP %d, code %d %s", e.Number,
				time.UnixMicro(e.Sent).Sub(since), e.Status, e.Code, e.Lost)
		}
	}
	if checked == 0 {
		r.t.Error("no call was sent after the revocation")
	}
}

// deleteProjections repeatedly deletes everything about accounts from Redis except their usage,
// while usage is not flushed, until their allowances are used up. It covers each counter that a
// limit has.
func deleteProjections(r *rig) {
	r.t.Helper()
	var keys []apiKey
	for _, h := range []holder{
		{plan: plan.Scale, daily: 80},
		{plan: plan.Scale, keyCap: 80},
		{plan: plan.Scale, serviceCap: 80},
		{plan: plan.Enterprise, quota: 30, packs: []int64{20, 30}},
	} {
		h.door = account.DoorAccount
		keys = append(keys, r.newKey(h))
	}
	quit := make(chan struct{})
	var deleting sync.WaitGroup
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*patience)
	defer cancel()
	var stops []func()
	for _, key := range keys {
		stops = append(stops, r.besides(key, 2, 5*time.Millisecond))
	}
	var failed error
	deleting.Go(func() { failed = r.deleteAgain(ctx, keys, quit) })
	for i, key := range keys {
		r.until(key, refused, 20)
		stops[i]()
	}
	close(quit)
	deleting.Wait()
	if failed != nil {
		r.t.Fatal(failed)
	}
	for _, key := range keys {
		// The allowance is used up, so each of its units was charged to some call. finish checks
		// that PostgreSQL has no more of them.
		came, lost := int64(r.log.cameTo(key, answered)), int64(r.log.cameTo(key, unknown))
		if limit := key.allowance(); came > limit || came+lost < limit {
			r.t.Errorf("%+v: %d calls of one unit each were admitted, of %d nothing is known", key.holder, came, lost)
		}
	}
}

// deleteAgain deletes projections, counters, or both, of every key's account, whenever the key has
// had an answer since the last deletion: on a slow machine, loading takes longer than any fixed
// interval.
func (r *rig) deleteAgain(ctx context.Context, keys []apiKey, quit <-chan struct{}) error {
	what := [][]string{{"cfg", "key"}, {"ap", "kp", "pk", "day"}, {"cfg", "key", "ap", "kp", "pk", "day"}}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	had := map[string]int{}
	for n := 0; ; n++ {
		for _, key := range keys {
			has := r.log.cameTo(key, answered) + r.log.cameTo(key, refused)
			if has <= had[key.id] {
				continue
			}
			had[key.id] = has
			tag := fmt.Sprintf("{u%04d}:", account.Shard(key.accountID))
			var doomed []string
			for iter := r.rdb.Scan(ctx, 0, tag+"*", 1000).Iterator(); ; {
				if !iter.Next(ctx) {
					if err := iter.Err(); err != nil {
						return err
					}
					break
				}
				if kind, _, _ := strings.Cut(strings.TrimPrefix(iter.Val(), tag),
					":"); slices.Contains(what[n%len(what)], kind) {
					doomed = append(doomed, iter.Val())
				}
			}
			if len(doomed) == 0 {
				continue
			}
			if err := r.rdb.Del(ctx, doomed...).Err(); err != nil {
				return err
			}
		}
		select {
		case <-quit:
			return nil
		case <-tick.C:
		}
	}
}

// flushAll deletes all data in Redis.
func flushAll(r *rig) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() bool {
		r.pause(100*time.Millisecond, 200*time.Millisecond)
		return len(r.lines()) > 0
	}, "some usage is in PostgreSQL")
	r.pause(0, time.Second)
	before, begun := r.lines(), time.Now()
	if err := r.rdb.FlushAll(r.t.Context()).Err(); err != nil {
		r.t.Fatal(err)
	}
	r.wiped = &wipe{begun: begun, at: time.Now(), before: before}
	r.until(r.keys[0], answered, r.log.cameTo(r.keys[0], answered)+50)
}

// endPeriods ends the periods of two accounts under load: a subscription's, and a calendar month's.
// Calls before that instant of Redis' clock belong to the old period, later ones to the new one.
func endPeriods(r *rig) {
	r.t.Helper()
	key, other := r.newKey(holder{plan: plan.Scale, door: account.DoorAccount}),
		r.newKey(holder{plan: plan.Growth, door: account.DoorAccount})
	boundary := time.Now().Add(r.clockOff + 3*time.Second).Truncate(time.Millisecond).UTC()
	ends := plan.Cycle{Anchor: boundary.AddDate(0, 0, -10), Ends: boundary}
	turns := plan.Cycle{Anchor: plan.AddMonths(boundary, -1)}
	if start, _ := turns.Period(boundary); !start.Equal(boundary) { // a day that last month lacked
		turns = ends
	}
	for key, cycle := range map[string]plan.Cycle{key.id: ends, other.id: turns} {
		of := r.keys[slices.IndexFunc(r.keys, func(k apiKey) bool { return k.id == key })]
		if _, err := r.limits.SetCycle(r.t.Context(), of.accountID, cycle, harness); err != nil {
			r.t.Fatal(err)
		}
	}
	var stops []func()
	for _, k := range []apiKey{key, other} {
		stops = append(stops, r.besides(k, 4, 5*time.Millisecond))
	}
	testkit.Eventually(r.t, patience, func() bool {
		return time.Now().Add(r.clockOff).After(boundary.Add(time.Second))
	}, "the periods are over")
	off := r.clockOff
	for i, k := range []apiKey{key, other} {
		r.until(k, answered, r.log.cameTo(k, answered)+20)
		stops[i]()
		r.atEnd = append(r.atEnd, func() { r.checkPeriods(k, boundary, boundary.Add(-off)) })
	}
}

// checkPeriods checks that a key's calls before and after an instant are in the right one of two
// periods. turned is that instant by this machine's clock.
func (r *rig) checkPeriods(key apiKey, boundary, turned time.Time) {
	r.t.Helper()
	var before, after, between, lost int64
	for _, e := range r.of(key) {
		switch f, _, _ := fateOf(&e); {
		case f == unknown:
			lost++
		case f != answered:
		case e.Ended < turned.UnixMicro():
			before++
		case e.Sent >= turned.UnixMicro():
			after++
		default:
			between++
		}
	}
	rows, err := r.db.Query(r.t.Context(), `SELECT period = $2::date, sum(requests)::bigint FROM usage_hours
WHERE key_id = $1 AND outcome = 'ok' GROUP BY 1`, key.id, boundary.Format(time.DateOnly))
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	recorded := map[bool]int64{}
	for rows.Next() {
		var isNext bool
		var requests int64
		if err := rows.Scan(&isNext, &requests); err != nil {
			r.t.Fatal(err)
		}
		recorded[isNext] = requests
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	old, next := span{before, before + between + lost}, span{after, after + between + lost}
	if before == 0 || after == 0 {
		r.t.Errorf("%d calls before the periods turned and %d after: the load proves nothing", before, after)
	}
	if !old.holds(recorded[false]) || !next.holds(recorded[true]) {
		r.t.Errorf("PostgreSQL has %d calls in the old period and %d in the new one; the client made %d before it "+
			"turned, %d after and %d about then",
			recorded[false], recorded[true], before, after, between)
	}
}

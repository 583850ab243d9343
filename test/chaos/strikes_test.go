package chaos_test

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/internal/testkit"
)

// A strike injects a fault once, under load, and leaves everything running again.

// killAPI makes an API process die at one of its first hits of a fault point.
func killAPI(at faultpoint.Point, hits int, pause time.Duration) func(*rig) {
	return func(r *rig) {
		r.t.Helper()
		victim := r.serve[r.random.IntN(len(r.serve))]
		if r.random.IntN(2) == 0 { // getting there involves a kill or a clean restart
			r.killNow(victim)
		} else if err := victim.Stop(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		r.dieAt(victim, at, hits, pause)
		r.start(victim)
		r.await(victim)
	}
}

// killFlusher makes the worker die after it committed usage and before it dropped the usage from
// Redis.
func killFlusher(r *rig) {
	r.t.Helper()
	r.killNow(r.worker)
	r.dieAt(r.worker, faultpoint.FlushCommitted, 3, 0)
	r.start(r.worker)
}

// dieAt starts a process that dies at a fault point, and waits for its death.
func (r *rig) dieAt(victim *role, at faultpoint.Point, hits int, pause time.Duration) {
	r.t.Helper()
	where := fmt.Sprintf("%s:%d", at, 1+r.random.IntN(hits))
	if pause > 0 {
		where += ":" + time.Duration(r.random.Int64N(int64(pause))).String()
	}
	r.t.Logf("%s is to die at %s", victim.name, where)
	r.start(victim, "GATEWAY_FAULTPOINT="+where)
	r.buried(victim, where)
}

// buried waits for the death of a process that dies at a fault point.
func (r *rig) buried(victim *role, where string) {
	r.t.Helper()
	select {
	case <-victim.Exited():
	case <-time.After(patience):
		r.t.Fatalf("%s does not come to %s", victim.name, where)
	}
	if ended, ok := errors.AsType[*exec.ExitError](victim.Err()); ok {
		if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return
		}
	}
	r.t.Fatalf("%s ended with %v instead of being killed at %s: %s", victim.name, victim.Err(), where, victim.Tail(5))
}

// killNow kills a process at an arbitrary moment.
func (r *rig) killNow(victim *role) {
	r.t.Helper()
	if err := victim.Kill(); err != nil {
		r.t.Fatal(err)
	}
}

// killAnything kills one of the processes at an arbitrary moment and restarts it.
func killAnything(r *rig) {
	r.t.Helper()
	victim := r.worker
	if n := r.random.IntN(3); n < len(r.serve) {
		victim = r.serve[n]
	}
	r.killNow(victim)
	r.start(victim)
	if victim.address != "" {
		r.await(victim)
	}
}

// outage records that the meter, or PostgreSQL from which it is loaded, is unavailable from now
// until some time after over is called: replies may take three seconds, loads five.
func (r *rig) outage() (over func()) {
	from := time.Now()
	return func() { r.outages = append(r.outages, outage{from, time.Now().Add(6 * time.Second)}) }
}

// killRedis kills Redis, which keeps all acknowledged writes.
func killRedis(r *rig) {
	r.t.Helper()
	defer r.outage()()
	r.redis.Kill(r.t)
	r.pause(0, 300*time.Millisecond)
	r.redis.Start(r.t)
	r.pause(500*time.Millisecond, time.Second)
}

// hangRedis suspends Redis for longer than the gateway waits for a reply. Redis then runs the
// commands in its sockets.
func hangRedis(r *rig) {
	r.t.Helper()
	defer r.outage()()
	r.redis.Pause(r.t)
	r.pause(1200*time.Millisecond, 2500*time.Millisecond)
	r.redis.Resume(r.t)
	r.pause(500*time.Millisecond, time.Second)
}

// hangRedisLong suspends Redis for ten seconds.
func hangRedisLong(r *rig) {
	r.t.Helper()
	defer r.outage()()
	r.redis.Pause(r.t)
	r.pause(10*time.Second, 10*time.Second)
	r.redis.Resume(r.t)
	r.pause(500*time.Millisecond, time.Second)
}

// letRedisEvict sets an evicting maxmemory-policy: within a minute both API processes stop
// admitting calls, and resume when the policy is restored.
func letRedisEvict(r *rig) {
	r.t.Helper()
	defer r.outage()()
	set := func(policy string) {
		if err := r.rdb.ConfigSet(r.t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			r.t.Fatal(err)
		}
	}
	set("allkeys-lru")
	for _, s := range r.serve {
		testkit.Eventually(r.t, patience, func() bool {
			return !ready(r.t, s.url())
		}, "%s is not ready while Redis may evict", s.name)
	}
	set("noeviction")
	for _, s := range r.serve {
		r.await(s)
	}
}

// stopPostgres stops PostgreSQL immediately, in the middle of its work.
func stopPostgres(r *rig) {
	r.t.Helper()
	defer r.outage()()
	r.postgres.Stop(r.t)
	r.pause(200*time.Millisecond, 2*time.Second)
	r.postgres.Start(r.t)
	r.pause(500*time.Millisecond, time.Second)
}

// flushScripts repeatedly makes Redis forget its scripts.
func flushScripts(r *rig) {
	r.t.Helper()
	for range 20 {
		if err := r.rdb.ScriptFlush(r.t.Context()).Err(); err != nil {
			r.t.Fatal(err)
		}
		r.pause(10*time.Millisecond, 100*time.Millisecond)
	}
}

// swallowReplies withholds replies of Redis from the API processes.
func swallowReplies(r *rig) {
	r.t.Helper()
	defer r.outage()()
	before := r.proxy.lost.Load()
	r.proxy.swallow.Store(true)
	testkit.Eventually(r.t, patience, func() bool { return r.proxy.lost.Load() >= before+40 }, "replies are swallowed")
	r.proxy.swallow.Store(false)
}

// stepClockBack sets Redis' clock back by 15 seconds, so that flushed slots occur again.
func stepClockBack(r *rig) {
	r.t.Helper()
	const step = 15 * time.Second
	again := func() time.Time { return time.Now().Add(r.clockOff - step).Truncate(slotLength) }
	testkit.Eventually(r.t, patience, func() bool {
		return r.flushed(again()) > 0
	}, "the slot that will come again is flushed")
	watch := r.watchTotals()
	comes := again()
	r.clockOff -= step
	r.redis.SetClock(r.t, r.clockOff)
	// Until the slot is over for the second time, and due.
	testkit.Eventually(r.t, patience, func() bool {
		return time.Now().Add(r.clockOff).After(comes.Add(slotLength + 3*time.Second))
	}, "the slot is over once more")
	watch()
	r.atEnd = append(r.atEnd, func() {
		if r.reopened() == 0 {
			r.t.Error("no slot came again: the step proves nothing")
		}
	})
}

// slotLength is the length of a usage bucket's slot.
const slotLength = 10 * time.Second

// flushed returns the number of a slot's buckets in PostgreSQL.
func (r *rig) flushed(slot time.Time) (n int) {
	r.t.Helper()
	if err := r.db.QueryRow(r.t.Context(), `SELECT count(*) FROM usage_flushes WHERE slot = $1`,
		slot).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// reopened returns the number of slots of accounts that were flushed in several generations.
func (r *rig) reopened() (n int) {
	r.t.Helper()
	err := r.db.QueryRow(r.t.Context(), `SELECT count(*) FROM
(SELECT FROM usage_flushes GROUP BY slot, account_id HAVING count(*) > 1) AS twice`).Scan(&n)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

package chaos_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
)

// recorded holds the contents of calls and refused_calls.
type recorded struct {
	calls  map[callAt]bool
	failed int64 // refused calls with their own record
	summed int64 // refused calls in sums
}

// callAt identifies a call by its request and its index in the batch.
type callAt struct {
	request string
	index   int
}

func (r *rig) recorded() recorded {
	r.t.Helper()
	found := recorded{calls: map[callAt]bool{}}
	rows, err := r.db.Query(r.t.Context(),
		`SELECT request_id::text, batch_index, units = 0 AND attempts = 0 AND outcome NOT IN ('ok', 'hit') FROM calls`)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var at callAt
		var refused bool
		if err := rows.Scan(&at.request, &at.index, &refused); err != nil {
			r.t.Fatal(err)
		}
		found.calls[at] = true
		if refused {
			found.failed++
		}
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.db.QueryRow(r.t.Context(), `SELECT coalesce(sum(calls), 0)::bigint FROM refused_calls`).Scan(
		&found.summed); err != nil {
		r.t.Fatal(err)
	}
	return found
}

// unrecorded returns the calls without a record that were answered, or charged and refunded.
func (r *rig) unrecorded(found recorded) (missing []entry, known int) {
	r.t.Helper()
	log := r.log.read(r.t)
	for i := range log {
		e := &log[i]
		switch f, _, _ := fateOf(e); f {
		case answered, hit, refunded:
			known++
			if !found.calls[callAt{e.Request, e.Index}] {
				missing = append(missing, *e)
			}
		case refused, unknown, unrelayed, unsent, unrefunded:
		}
	}
	return missing, known
}

// answers waits until the load has made more further requests.
func (r *rig) answers(more int64) {
	r.t.Helper()
	from := r.log.n.Load()
	testkit.Eventually(r.t, patience, func() bool { return r.log.n.Load() >= from+more }, "%d more requests", more)
}

// A killed process loses the call records of the last CALL_RECORDS_DELAY and of a COPY in progress
// (docs/decisions/0003-call-records.md). No charge is lost with them.
func TestCallRecords_AKilledProcessLosesThoseOfTheDelay(t *testing.T) {
	t.Parallel()
	const (
		delay  = 250 * time.Millisecond // the default
		slack  = 2 * time.Second        // for a loaded machine with the race detector to notice the tick and write
		rounds = 4
		lives  = 3 * time.Second // the minimum lifetime of a process before it is killed
	)
	r := newRig(t, needs{})
	kills := map[string][]time.Time{} // by base URL
	r.begin()
	for range rounds {
		r.answers(200)
		r.pause(lives, lives+500*time.Millisecond)
		victim := r.serve[r.random.IntN(len(r.serve))]
		r.killNow(victim)
		kills[victim.url()] = append(kills[victim.url()], time.Now())
		r.start(victim)
		r.await(victim)
	}
	r.answers(100)
	r.finish()
	missing, known := r.unrecorded(r.recorded())
	var oldest time.Duration
	for i := range missing {
		before := time.Duration(1<<63 - 1) // time until the next kill of the process that answered
		for _, at := range kills[missing[i].Process] {
			if d := at.Sub(time.UnixMicro(missing[i].Ended)); d > -time.Second {
				before = min(before, d)
			}
		}
		if before > delay+slack {
			t.Errorf("call %d of request %s has no record and was answered %s before a process was killed",
				missing[i].Number, missing[i].Request, before)
		}
		oldest = max(oldest, before)
	}
	t.Logf("%d of %d calls left no record after %d kills, the oldest was answered %s before one", len(missing), known,
		rounds, oldest)
}

// A process that is stopped cleanly writes all records and sums, even with a long delay.
func TestCallRecords_AProcessThatEndsInOrderLosesNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, needs{})
	for _, s := range r.serve {
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.start(s, "CALL_RECORDS_DELAY=1m")
	}
	for _, s := range r.serve {
		r.await(s)
	}
	r.begin()
	r.answers(1_000)
	r.finish()
	found := r.recorded()
	missing, known := r.unrecorded(found)
	if len(missing) > 0 {
		t.Errorf("%d of %d calls left no record, %+v first", len(missing), known, missing[0])
	}
	log, all := r.log.read(t), int64(0)
	for i := range log {
		if f, _, _ := fateOf(&log[i]); f == refused {
			all++
		}
	}
	if found.failed+found.summed != all {
		t.Errorf("%d refused calls have records and %d are in sums, want %d together", found.failed, found.summed, all)
	}
	t.Logf("%d calls have a record each; of %d refused ones %d have, %d are in sums", known, all, found.failed,
		found.summed)
}

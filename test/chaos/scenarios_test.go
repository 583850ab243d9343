package chaos_test

import (
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/faultpoint"
)

// scenario is a fault under load. In the end these must hold, by key, method and tier: answered
// calls are charged; refused calls are refusal lines; refunded calls are a charge, its refund and a
// line with the reason; a call with an unknown result is at most one of these; calls answered with
// 503 cost nothing. No key exceeds its allowance, the meter's counters equal PostgreSQL's sums, and
// gateway ops audit finds nothing, both under load and in the end.
type scenario struct {
	name   string
	strike func(*rig)
	rounds int // when it runs alone
	needs  needs
	slow   bool // only when it runs alone: it waits for something that happens once a minute
}

const shortly = 10 * time.Millisecond

// To show that this harness can fail, four rules were removed from the code, one at a time, and the
// scenario was run with -long:
//
//   - No command is retried (MaxRetries in redisconn.Open set to 3 instead of never): "replies of
//     Redis swallowed after they ran" finds more charges, hits and refusals in PostgreSQL than the
//     client knows of, 113 among 1,287 calls, although no call has an unknown result.
//   - Refunds are idempotent (SET without NX in metering/meter/refund.lua, whatever it answers):
//     the same scenario finds refunds without charges.
//   - Buckets have generations (nonce in metering/meter/admit.go always the same word): "the clock
//     of Redis stepped back" finds half of the charges missing, because the repeated slots are in
//     the ledger already.
//   - Admissions have a deadline (the comparison with ARGV[9] in metering/meter/admit.lua): "Redis
//     hangs for ten seconds" finds calls that are charged and were answered 503.
//
// Repeat this when one of the rules changes.

// groups are groups of scenarios. In the short form, the scenarios of a group run one after another
// under one load. With -long, each runs alone for several rounds.
var groups = []struct {
	name      string
	scenarios []scenario
	ordered   bool // otherwise in random order
}{
	{name: "nothing is lost when processes and Redis are killed", scenarios: []scenario{
		{
			name: "API killed before the reply of the script", strike: killAPI(faultpoint.AdmitSent, 200, shortly),
			rounds: 6,
		},
		{name: "API killed after the reply of the script", strike: killAPI(faultpoint.AdmitReplied, 200, 0), rounds: 6},
		{name: "API killed before it settles", strike: killAPI(faultpoint.SettleDue, 150, 0), rounds: 6},
		{name: "API killed in the middle of a refund", strike: killAPI(faultpoint.RefundReplied, 10, 0), rounds: 6},
		{name: "any process killed anywhere", strike: killAnything, rounds: 8},
		{name: "Redis with its append-only file killed", strike: killRedis, rounds: 6},
		{name: "Redis hangs", strike: hangRedis, rounds: 4},
		{name: "Redis hangs for ten seconds", strike: hangRedisLong, rounds: 1},
		{name: "Redis may evict for a while", strike: letRedisEvict, rounds: 1, slow: true},
		{name: "scripts forgotten", strike: flushScripts, rounds: 5},
		{name: "replies of Redis swallowed after they ran", strike: swallowReplies, rounds: 3},
		{name: "a revoked key is admitted no more", strike: revoke, rounds: 3},
		{
			name:   "projections deleted while usage is not flushed admit not one unit too many",
			strike: deleteProjections, rounds: 3,
		},
		{name: "a period ends", strike: endPeriods, rounds: 3},
	}},
	{
		name: "nothing is lost and no total falls when the record is away or slots come again", ordered: true,
		scenarios: []scenario{
			{name: "PostgreSQL stopped at once", strike: stopPostgres, rounds: 4, needs: needs{ownPostgres: true}},
			{name: "flusher killed between commit and drop", strike: killFlusher, rounds: 3},
			{name: "the clock of Redis stepped back", strike: stepClockBack, rounds: 2, needs: needs{clock: true}},
		},
	},
	{name: "only what was not flushed is lost", scenarios: []scenario{
		{name: "Redis loses everything", strike: flushAll, rounds: 1},
	}},
}

func TestBooks_Balance(t *testing.T) {
	t.Parallel()
	if *long {
		t.Run("everything together", everythingTogether)
	}
	for _, g := range groups {
		if !*long {
			t.Run(g.name, func(t *testing.T) {
				t.Parallel()
				var n needs
				for _, s := range g.scenarios {
					n.ownPostgres, n.clock = n.ownPostgres || s.needs.ownPostgres, n.clock || s.needs.clock
				}
				r := newRig(t, n)
				order := r.random.Perm(len(g.scenarios))
				if g.ordered {
					slices.Sort(order)
				}
				r.begin()
				for _, i := range order {
					if !g.scenarios[i].slow {
						r.strike(g.scenarios[i])
					}
				}
				r.finish()
			})
			continue
		}
		for _, s := range g.scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, s.needs)
				r.begin()
				for range s.rounds {
					r.strike(s)
				}
				r.finish()
			})
		}
	}
}

// everythingTogether runs all scenarios under one load, except the loss of all data.
func everythingTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t, needs{ownPostgres: true, clock: true})
	all := slices.Concat(groups[0].scenarios, groups[1].scenarios)
	r.begin()
	for range 2 {
		for _, i := range r.random.Perm(len(all)) {
			r.strike(all[i])
		}
	}
	r.finish()
}

func (r *rig) strike(s scenario) {
	r.t.Helper()
	begun := time.Now()
	r.pause(100*time.Millisecond, 500*time.Millisecond)
	s.strike(r)
	r.t.Logf("%s: %s", s.name, time.Since(begun).Round(10*time.Millisecond))
}

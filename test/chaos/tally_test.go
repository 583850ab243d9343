package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// fate is the result of a call as far as its client knows.
type fate int

const (
	unsent   fate = iota // no connection was made: nothing happened
	unknown              // the connection broke, or the meter's reply was lost: at most one charge
	answered             // charged
	hit                  // from the cache: a line with no units
	refused              // a line with the reason
	refunded             // charged, refunded, and a line with the reason
	// charged and reported as such: the refund's reply was lost twice, and there was no room to
	// retry the refund later
	unrefunded
	unrelayed // answered 503: a charge, if any, is refunded
)

// reasons are the refusals that the load may get, by code (docs/interface.md, 1.7): a refused call
// is not charged, a refunded one gets its charge back.
var reasons = map[int]struct {
	name string
	fate fate
}{
	-32001: {"key_invalid", refused},
	-32005: {"rate_window", refused},
	-32006: {"key_budget", refused},
	-32007: {"plan_quota", refused},
	-32016: {"door_key_day", refused},
	-32601: {"method_not_served", refused},
	-32602: {"range_too_large", refused},
	-32014: {"service_cap", refused},
	-32020: {"no_upstream", refunded},
	-32021: {"meter_unreachable", unrelayed},
	-32022: {"upstream_failed", refunded},
	-32023: {"upstream_timeout", refunded},
}

const revertCode = 3 // of the scripted upstream, in-band: an answer, which costs what the call costs

// fateOf returns the fate of an entry. A code that the load should never get is returned as
// trouble.
func fateOf(e *entry) (f fate, reason string, trouble error) {
	switch {
	case e.Unsent:
		return unsent, "", nil
	case e.Lost != "":
		return unknown, "", nil
	case e.Hit:
		return hit, "", nil
	case e.Code == 0 || e.Code == revertCode:
		return answered, "", nil
	}
	r, ok := reasons[e.Code]
	switch {
	case !ok:
		return unknown, "", fmt.Errorf("call %d of key %s was answered with HTTP %d, code %d: %s", e.Number, e.Key,
			e.Status, e.Code, e.Message)
	case r.fate == refunded && strings.Contains(e.Message, "could not be given back"):
		return unrefunded, r.name, nil
	}
	return r.fate, r.name, nil
}

// place is the granularity of counts: overcharging one key's calls must not be hidden by another
// key's unknown results.
type place struct{ key, method, tier string }

// span is the range in which a count must be.
type span struct{ least, most int64 }

// add adds a call that is certain (sure is 1) or possible (sure is 0).
func (s *span) add(sure int64) { s.least, s.most = s.least+sure, s.most+1 }

func (s *span) holds(n int64) bool { return s.least <= n && n <= s.most }

// tally is what PostgreSQL must contain according to the client's log.
type tally struct {
	fates   map[fate]int64
	charges map[place]*span             // lines "ok": answered, refunded or not
	refunds map[place]*span             // lines "refund", counted positively
	hits    map[string]*span            // lines "hit", by key
	refused map[string]map[string]*span // lines of refusals, by key and reason
	open    map[string]int64            // calls that may or may not have left a line, by key
	doubts  map[place]int64             // refunds reported as failed that may have succeeded
	silent  map[place]int64             // calls that may have been charged for good, as far as their clients know
	losses  bool                        // some lines may be lost
	weights map[[2]string]int64         // units of a call, by method and tier
	trouble []error
}

// outage is a time in which the meter did not answer or could not be loaded, by this machine's
// clock.
type outage struct{ from, to time.Time }

func (o outage) met(e *entry) bool {
	return e.Sent <= o.to.UnixMicro() && e.Ended >= o.from.UnixMicro()
}

// count returns the tally of a log. lost reports whether a scenario allows that an entry's lines
// were lost with Redis; it may be nil. Errors of the request itself are answered even while the
// meter is unreachable (docs/decisions/0022), so during an outage they may leave no line.
func count(log []entry, outages []outage, lost func(*entry) bool) *tally {
	t := &tally{
		fates: map[fate]int64{}, charges: map[place]*span{}, refunds: map[place]*span{}, hits: map[string]*span{},
		refused: map[string]map[string]*span{}, open: map[string]int64{}, weights: map[[2]string]int64{},
		doubts: map[place]int64{}, silent: map[place]int64{},
	}
	for i := range log {
		e := &log[i]
		uncounted := (e.Code == -32601 || e.Code == -32602) && slices.ContainsFunc(outages, func(o outage) bool {
			return o.met(e)
		})
		t.add(e, uncounted || lost != nil && lost(e))
	}
	return t
}

func (t *tally) add(e *entry, mayBeLost bool) {
	f, reason, trouble := fateOf(e)
	if trouble != nil {
		t.trouble = append(t.trouble, trouble)
	}
	t.fates[f]++
	t.weights[[2]string{e.Method, e.Tier}] = e.Units
	at := place{e.Key, e.Method, e.Tier}
	sure := int64(1)
	if mayBeLost && f != unrelayed || f == unknown {
		t.silent[at]++
	}
	if mayBeLost || f == unknown || f == unrelayed {
		sure = 0
		t.open[e.Key]++
		t.losses = t.losses || mayBeLost && f != unknown && f != unrelayed && f != refused
	}
	switch f {
	case unsent:
	case unknown, unrelayed: // a charge, a hit, a refusal, a refund with its reason: at most those of one call
		of(t.charges, at).add(0)
		of(t.refunds, at).add(0)
		of(t.hits, e.Key).add(0)
		for _, r := range reasons {
			of(t.reasonsOf(e.Key), r.name).add(0)
		}
	case answered:
		of(t.charges, at).add(sure)
	case hit:
		of(t.hits, e.Key).add(sure)
	case refused:
		of(t.reasonsOf(e.Key), reason).add(sure)
	case refunded:
		of(t.charges, at).add(sure)
		of(t.refunds, at).add(sure)
		of(t.reasonsOf(e.Key), reason).add(sure)
	case unrefunded:
		of(t.charges, at).add(sure)
		of(t.refunds, at).add(0)
		of(t.reasonsOf(e.Key), reason).add(0)
		t.doubts[at]++
	}
}

func (t *tally) reasonsOf(key string) map[string]*span {
	if t.refused[key] == nil {
		t.refused[key] = map[string]*span{}
	}
	return t.refused[key]
}

// of returns a map's span for a key, which it adds if it is missing.
func of[K comparable](m map[K]*span, at K) *span {
	if m[at] == nil {
		m[at] = &span{}
	}
	return m[at]
}

// line is a sum of usage lines in PostgreSQL.
type line struct {
	place

	outcome         string
	requests, units int64
}

// compare describes the differences between PostgreSQL's lines and the tally.
func (t *tally) compare(lines []line) (wrong []error) {
	wrong = slices.Clone(t.trouble)
	sums := sum(lines)
	check := func(what string, got int64, want *span) {
		if want == nil {
			want = &span{}
		}
		if !want.holds(got) {
			wrong = append(wrong, fmt.Errorf("%s: PostgreSQL has %d, the client knows of %d to %d", what, got,
				want.least, want.most))
		}
	}
	for _, l := range lines {
		weight := t.weights[[2]string{l.method, l.tier}]
		if l.outcome != "ok" && l.outcome != "refund" {
			weight = 0
		}
		if l.units != l.requests*weight {
			wrong = append(wrong, fmt.Errorf("%v: %d lines %q have %d thousandths of units, want %d each", l.place,
				l.requests, l.outcome, l.units, weight))
		}
	}
	for at := range union(t.charges, sums.charges) {
		check(fmt.Sprintf("charges of %v", at), sums.charges[at], t.charges[at])
	}
	for at := range union(t.refunds, sums.refunds) {
		check(fmt.Sprintf("refunds of %v", at), sums.refunds[at], t.refunds[at])
	}
	for key := range union(t.hits, sums.hits) {
		check("hits of key "+key, sums.hits[key], t.hits[key])
	}
	for key := range union(t.refused, sums.refused) {
		for reason := range union(t.refused[key], sums.refused[key]) {
			check(fmt.Sprintf("refusals %s of key %s", reason, key), sums.refused[key][reason], t.refused[key][reason])
		}
	}
	return append(wrong, t.budget(sums)...)
}

// budget checks, for each key, that the calls with unknown results explain what PostgreSQL has
// beyond the certain calls. Each of them explains one charge that was kept, or one refusal, or one
// hit, or one charge with its refund and its reason, and never two of these.
func (t *tally) budget(s *sums) (wrong []error) {
	beyond, refunds := map[string]int64{}, map[string]int64{}
	for at, want := range t.charges {
		beyond[at.key] += s.charges[at] - want.least
	}
	for at := range t.charges {
		of(t.refunds, at)
	}
	for at, want := range t.refunds {
		more := s.refunds[at] - want.least
		if net := s.charges[at] - t.charges[at].least - more; net > t.silent[at] {
			wrong = append(wrong,
				fmt.Errorf("%v: PostgreSQL has %d charges for good that the client does not know of, and only %d "+
					"calls may have one: one that was answered 503 is charged", at, net, t.silent[at]))
		}
		refunds[at.key] += more
		if charges := s.charges[at] - t.charges[at].least; more > charges+t.doubts[at] && !t.losses {
			wrong = append(wrong,
				fmt.Errorf("%v: PostgreSQL has %d refunds that the client does not know of, and only %d charges", at,
					more, charges))
		}
	}
	for key, want := range t.hits {
		beyond[key] += s.hits[key] - want.least
	}
	for key, byReason := range t.refused {
		for reason, want := range byReason {
			beyond[key] += s.refused[key][reason] - want.least
		}
	}
	for key, n := range beyond {
		// A refunded charge is two lines, the charge and the reason; without its refund, one.
		if n -= refunds[key]; n > t.open[key] {
			wrong = append(wrong,
				fmt.Errorf("key %s: PostgreSQL has %d calls that the client does not know of, and there are %d of "+
					"which it knows nothing",
					key, n, t.open[key]))
		}
	}
	return wrong
}

// sums are PostgreSQL's lines grouped like the tally.
type sums struct {
	charges map[place]int64
	refunds map[place]int64
	hits    map[string]int64
	refused map[string]map[string]int64
}

func sum(lines []line) *sums {
	s := &sums{
		charges: map[place]int64{}, refunds: map[place]int64{}, hits: map[string]int64{},
		refused: map[string]map[string]int64{},
	}
	for _, l := range lines {
		switch l.outcome {
		case "ok":
			s.charges[l.place] += l.requests
		case "refund":
			s.refunds[l.place] -= l.requests
		case "hit":
			s.hits[l.key] += l.requests
		default:
			if s.refused[l.key] == nil {
				s.refused[l.key] = map[string]int64{}
			}
			s.refused[l.key][l.outcome] += l.requests
		}
	}
	return s
}

func union[K comparable, A, B any](a map[K]A, b map[K]B) map[K]struct{} {
	all := map[K]struct{}{}
	for k := range maps.Keys(a) {
		all[k] = struct{}{}
	}
	for k := range maps.Keys(b) {
		all[k] = struct{}{}
	}
	return all
}

// TestTally_FindsEveryKindOfDifference tests the harness: a comparison that finds nothing would let
// every scenario pass.
func TestTally_FindsEveryKindOfDifference(t *testing.T) {
	t.Parallel()
	log := []entry{
		{Key: "k", Method: "m", Tier: "fast", Units: 2000, Status: 200},
		{Key: "k", Method: "m", Tier: "fast", Units: 2000, Status: 502, Code: -32022},
		{Key: "k", Method: "m", Tier: "fast", Units: 2000, Status: 429, Code: -32005},
		{Key: "k", Method: "m", Tier: "fast", Units: 2000, Lost: "EOF"},
		{Key: "k", Method: "m", Tier: "fast", Units: 2000, Unsent: true},
		{Key: "k", Method: "h", Tier: "fast", Units: 2000, Status: 200, Hit: true},
	}
	at, h := place{"k", "m", "fast"}, place{"k", "h", "fast"}
	lines := func(charges, refunds, windows, failures, hits, units int64) []line {
		return []line{
			{at, "ok", charges, charges * units},
			{at, "refund", -refunds, -refunds * units},
			{at, "rate_window", windows, 0},
			{at, "upstream_failed", failures, 0},
			{h, "hit", hits, 0},
		}
	}
	for _, good := range [][]line{
		lines(2, 1, 1, 1, 1, 2000), // the lost call had no effect
		lines(3, 1, 1, 1, 1, 2000), // it was charged
		lines(3, 2, 1, 2, 1, 2000), // and refunded
		lines(2, 1, 2, 1, 1, 2000), // or refused
		lines(2, 1, 1, 1, 2, 2000), // or a hit
	} {
		if wrong := count(log, nil, nil).compare(good); wrong != nil {
			t.Errorf("%v: %v", good, wrong)
		}
	}
	for what, bad := range map[string][]line{
		"a charge lost":            lines(1, 1, 1, 1, 1, 2000),
		"a charge made twice":      lines(4, 1, 1, 1, 1, 2000),
		"the refund lost":          lines(2, 0, 1, 1, 1, 2000),
		"the refund made twice":    lines(2, 2, 1, 1, 1, 2000),
		"the refusal lost":         lines(2, 1, 0, 1, 1, 2000),
		"the hit lost":             lines(2, 1, 1, 1, 0, 2000),
		"too few units":            lines(2, 1, 1, 1, 1, 1000),
		"one unknown explains two": lines(3, 1, 2, 1, 1, 2000),
		"a charge of a key never used": append(lines(2, 1, 1, 1, 1, 2000), line{
			place{"other", "m", "fast"}, "ok", 1, 2000,
		}),
		"a refusal for another reason":  append(lines(2, 1, 1, 1, 1, 2000), line{at, "plan_quota", 2, 0}),
		"a refund beyond what is known": lines(3, 3, 1, 2, 1, 2000),
	} {
		t.Run(what, func(t *testing.T) {
			if wrong := count(log, nil, nil).compare(bad); wrong == nil {
				t.Errorf("%s was not found", what)
			}
		})
	}
}

func TestTally_FindsACallThatIsChargedAndWasAnswered503(t *testing.T) {
	t.Parallel()
	log := []entry{
		{Key: "k", Method: "m", Tier: "fast", Units: 2000, Status: 200},
		{Key: "k", Method: "m", Tier: "fast", Units: 2000, Status: 503, Code: -32021},
	}
	at := place{"k", "m", "fast"}
	for what, row := range map[string]struct {
		lines []line
		wrong bool
	}{
		"not charged": {[]line{{at, "ok", 1, 2000}}, false},
		"charged and given back": {
			[]line{{at, "ok", 2, 4000}, {at, "refund", -1, -2000}, {at, "meter_unreachable", 1, 0}}, false,
		},
		"charged": {[]line{{at, "ok", 2, 4000}}, true},
		"given back, never charged": {
			[]line{{at, "ok", 1, 2000}, {at, "refund", -1, -2000}, {at, "meter_unreachable", 1, 0}}, true,
		},
	} {
		t.Run(what, func(t *testing.T) {
			if wrong := count(log, nil, nil).compare(row.lines); (wrong != nil) != row.wrong {
				t.Error(wrong)
			}
		})
	}
}

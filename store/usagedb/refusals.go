package usagedb

import (
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/netlimit"
)

// RefusedBounds bound how many refused calls get a record of their own; the others are summed. A
// zero value means the default named with each field; docs/decisions/0002-refused-calls.md explains
// them. Half of each bound per minute is reserved for the newest calls.
type RefusedBounds struct {
	First      int           // per minute, key and reason; 5
	PerKey     int           // per minute and key; 60
	PerNetwork int           // per minute and area (netlimit.AreaOf); 600
	Whole      int           // per minute; 12,000
	Sums       int           // sums held by key, reason and hour, the rest by reason; 20,000
	Every      time.Duration // interval of writing the sums and the newest call of each; 10 s
}

func (b *RefusedBounds) defaults() {
	for figure, usual := range map[*int]int{
		&b.First: 5, &b.PerKey: 60, &b.PerNetwork: 600, &b.Whole: 12_000, &b.Sums: 20_000,
	} {
		if *figure <= 0 {
			*figure = usual
		}
	}
	if b.Every <= 0 {
		b.Every = 10 * time.Second
	}
}

// classManagement is the class of calls that cost no units and do not appear in usage.
const classManagement = "management"

// refusedOf is what refused calls are grouped by.
type refusedOf struct {
	account    account.ID
	key        account.KeyID
	hour       int64 // since 1970
	outcome    string
	management bool
}

// caller returns whose bound a call counts against: its key, or its account when it has no key.
func (o *refusedOf) caller() uuid.UUID {
	if o.key.IsZero() {
		return o.account.UUID
	}
	return o.key.UUID
}

// refusedSum is the state of one group of refused calls.
type refusedSum struct {
	calls   int64 // calls without a record of their own; never decreases
	written int64 // how many of them PostgreSQL has
	minute  int64 // the minute of first, since 1970
	first   int   // calls of the minute that got a record
	// newest is the newest call without a record, and network its area; zero when there is none. It
	// is not counted in calls yet.
	newest  Call
	network netip.Prefix
}

// refusals decides which refused calls get a record of their own, and sums the others. Its memory
// is bounded by RefusedBounds and the number of fault reasons. It is not safe for concurrent use.
type refusals struct {
	b    RefusedBounds
	sums map[refusedOf]*refusedSum

	// Records of the current minute, since 1970.
	minute   int64
	whole    int
	callers  map[uuid.UUID]int
	networks map[netip.Prefix]int
}

func newRefusals(b RefusedBounds) *refusals {
	b.defaults()
	return &refusals{
		b: b, sums: map[refusedOf]*refusedSum{}, callers: map[uuid.UUID]int{}, networks: map[netip.Prefix]int{},
	}
}

// clockSlack is how many minutes a call may be older than the current minute. A call older than
// that means that the clock was set back.
const clockSlack = 5

// admit reports whether a refused call gets a record of its own now. Otherwise it counts the call
// and keeps it as the newest.
func (r *refusals) admit(network netip.Prefix, c *Call) bool {
	r.turn(c.StartedAt)
	area := netlimit.AreaOf(network)
	of := r.of(c)
	sum := r.sums[of]
	if sum == nil {
		if len(r.sums) >= r.b.Sums || !r.room(of.caller(), area, 2) {
			r.add(refusedOf{hour: of.hour, outcome: of.outcome, management: of.management})
			return false
		}
		sum = &refusedSum{}
		r.sums[of] = sum
	}
	if sum.minute != r.minute {
		sum.minute, sum.first = r.minute, 0
	}
	if sum.first < r.b.First && r.room(of.caller(), area, 2) {
		sum.first++
		r.spend(of.caller(), area)
		return true
	}
	if sum.newest.Outcome != "" {
		sum.calls++
	}
	sum.newest, sum.network = *c, area
	return false
}

// of returns the group of a call. It uses the hour of the newest minute, so that the sums of a past
// hour no longer change.
func (r *refusals) of(c *Call) refusedOf {
	return refusedOf{c.Account, c.Key, r.minute / 60, c.Outcome, c.Class == classManagement}
}

// turn resets the counts when a new minute begins.
func (r *refusals) turn(at time.Time) {
	minute := at.Unix() / 60
	if minute <= r.minute && minute >= r.minute-clockSlack {
		return
	}
	r.minute, r.whole = minute, 0
	clear(r.callers)
	clear(r.networks)
}

// room reports whether the minute has room for another record within 1/part of each bound.
func (r *refusals) room(caller uuid.UUID, area netip.Prefix, part int) bool {
	return r.callers[caller]*part < r.b.PerKey && r.networks[area]*part < r.b.PerNetwork && r.whole*part < r.b.Whole
}

func (r *refusals) spend(caller uuid.UUID, area netip.Prefix) {
	r.whole++
	r.callers[caller]++
	r.networks[area]++
}

// add counts a call by its reason only.
func (r *refusals) add(rest refusedOf) {
	sum := r.sums[rest]
	if sum == nil {
		sum = &refusedSum{}
		r.sums[rest] = sum
	}
	sum.calls++
}

// count counts a call that was to get a record but found the buffer full.
func (r *refusals) count(c *Call) { r.add(r.of(c)) }

// takeNewest passes the newest call of each group to record; a call for which the minute has no
// room is only counted.
func (r *refusals) takeNewest(record func(Call) bool) {
	for of, sum := range r.sums {
		if sum.newest.Outcome == "" {
			continue
		}
		if r.room(of.caller(), sum.network, 1) && record(sum.newest) {
			r.spend(of.caller(), sum.network)
		} else {
			sum.calls++
		}
		sum.newest = Call{}
	}
}

// changed returns the sums that differ from PostgreSQL's.
func (r *refusals) changed() []RefusedSum {
	var all []RefusedSum
	for of, sum := range r.sums {
		if sum.calls > sum.written {
			all = append(all, RefusedSum{
				of.account, of.key, time.Unix(of.hour*3600, 0).UTC(), of.outcome, of.management, sum.calls,
			})
		}
	}
	return all
}

// wrote records that PostgreSQL has these sums, and deletes complete sums of past hours. It returns
// how many calls were new to PostgreSQL.
func (r *refusals) wrote(sums []RefusedSum) (calls int64) {
	for i := range sums {
		s := &sums[i]
		if sum := r.sums[refusedOf{s.Account, s.Key, s.Hour.Unix() / 3600, s.Outcome, s.Management}]; sum != nil {
			calls += s.Calls - sum.written
			sum.written = s.Calls
		}
	}
	for of, sum := range r.sums {
		if of.hour < r.minute/60 && sum.written == sum.calls && sum.newest.Outcome == "" {
			delete(r.sums, of)
		}
	}
	return calls
}

// unwritten returns how many counted calls PostgreSQL does not have.
func (r *refusals) unwritten() int64 {
	var n int64
	for _, sum := range r.sums {
		n += sum.calls - sum.written
	}
	return n
}

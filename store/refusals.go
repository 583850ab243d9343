package store

import (
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/netlimit"
)

// RefusedBounds say how many refused calls get a record of their own; all others are added up. Zero
// values take the figures named here, which docs/decisions/0002-refused-calls.md explains. Those of
// a minute leave a half to the newest calls.
type RefusedBounds struct {
	First      int           // of a minute, of a key for a reason; 5
	PerKey     int           // a minute; 60
	PerNetwork int           // a minute, from one area (netlimit.AreaOf); 600
	Whole      int           // a minute; 12,000
	Sums       int           // by key, reason and hour, held at once; what finds no room is added up by reason; 20,000
	Every      time.Duration // from one writing of the sums and of the newest call of each to the next; ten seconds
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

// classManagement is the class of what costs no units and stands in no usage.
const classManagement = "management"

// refusedOf is what refused calls are added up by.
type refusedOf struct {
	account    account.ID
	key        account.KeyID
	hour       int64 // since 1970
	outcome    string
	management bool
}

// caller is whose bound a call counts against: its key's, or without one its account's.
func (o *refusedOf) caller() uuid.UUID {
	if o.key.IsZero() {
		return o.account.UUID
	}
	return o.key.UUID
}

// refusedSum is what is known of refused calls that are added up.
type refusedSum struct {
	calls   int64 // without a record of their own; never falls
	written int64 // of them, as PostgreSQL has them
	minute  int64 // since 1970, that first is of
	first   int   // calls of the minute that got a record
	// newest is the newest call without a record, from network; zero when there is none. It is not
	// in calls yet.
	newest  Call
	network netip.Prefix
}

// refusals decide which refused calls get a record of their own, and add up the others. They are
// bounded: by key, by network and in all, as RefusedBounds says, and reasons are those of package
// fault. Not safe for concurrent use.
type refusals struct {
	b    RefusedBounds
	sums map[refusedOf]*refusedSum

	// Records of the minute, since 1970.
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

// clockSlack is how many minutes back a call may have begun without being taken for a sign that the
// clock was set back.
const clockSlack = 5

// admit reports whether a refused call gets a record of its own now. Otherwise it is counted, and
// kept as the newest.
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

// of is the sum of a call. It goes by the hour of the newest minute, so that one which is over does
// not change any more.
func (r *refusals) of(c *Call) refusedOf {
	return refusedOf{c.Account, c.Key, r.minute / 60, c.Outcome, c.Class == classManagement}
}

// turn begins the counts of another minute.
func (r *refusals) turn(at time.Time) {
	minute := at.Unix() / 60
	if minute <= r.minute && minute >= r.minute-clockSlack {
		return
	}
	r.minute, r.whole = minute, 0
	clear(r.callers)
	clear(r.networks)
}

// room reports whether the minute has room for another record, in the given part of each bound: 1
// is all of it, 2 a half.
func (r *refusals) room(caller uuid.UUID, area netip.Prefix, part int) bool {
	return r.callers[caller]*part < r.b.PerKey && r.networks[area]*part < r.b.PerNetwork && r.whole*part < r.b.Whole
}

func (r *refusals) spend(caller uuid.UUID, area netip.Prefix) {
	r.whole++
	r.callers[caller]++
	r.networks[area]++
}

// add counts a call that nobody's sum has room for, by its reason alone.
func (r *refusals) add(rest refusedOf) {
	sum := r.sums[rest]
	if sum == nil {
		sum = &refusedSum{}
		r.sums[rest] = sum
	}
	sum.calls++
}

// count counts a call that was to get a record, and for which there is no memory.
func (r *refusals) count(c *Call) { r.add(r.of(c)) }

// takeNewest hands out the newest call of each sum, for a record of its own; those for which the
// minute has no room are counted.
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

// changed lists the sums that PostgreSQL does not have as they are.
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

// wrote notes sums that PostgreSQL has now, and forgets those of hours that are over. It returns
// how many calls are new to it.
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

// unwritten is how many calls were counted that PostgreSQL does not know of.
func (r *refusals) unwritten() int64 {
	var n int64
	for _, sum := range r.sums {
		n += sum.calls - sum.written
	}
	return n
}

package price

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// maxAccounts bounds the accounts whose costs wait to be written. What further accounts cost is
// still in the sums by method.
const maxAccounts = 100_000

// Spent is what requests of one method cost at one upstream on a UTC day.
type Spent struct {
	Day                     time.Time // midnight UTC
	Chain, Upstream, Method string
	Requests                int64
	Cost
}

// AccountSpent is what the calls of one account cost on a chain on a UTC day, over all upstreams.
// Units of different providers do not add up, so it has money only.
type AccountSpent struct {
	Day     time.Time // midnight UTC
	Account uuid.UUID
	Chain   string
	Calls   int64
	Nanos   Nanos
}

// Batch is what was spent since the batch before.
type Batch struct {
	Spent    []Spent
	Accounts []AccountSpent
}

// Empty reports whether nothing was spent.
func (b *Batch) Empty() bool { return len(b.Spent) == 0 && len(b.Accounts) == 0 }

type methodKey struct{ chain, upstream, method string }

type dayKey struct {
	methodKey

	day int64 // since 1970
}

type accountKey struct {
	day     int64
	account uuid.UUID
	chain   string
}

type sum struct {
	requests int64
	cost     Cost
}

func (s *sum) add(requests int64, c Cost) {
	s.requests += requests
	s.cost = s.cost.Add(c)
}

// Ledger sums what this process spends at providers. A process that is killed loses what it has not
// handed on: the sums serve the operator's calculation, no client's bill depends on them. A nil
// *Ledger counts nothing.
type Ledger struct {
	mu       sync.Mutex        // guards what follows
	names    map[string]string // of methods, so that a request allocates nothing
	totals   map[methodKey]*sum
	days     map[dayKey]*sum
	accounts map[accountKey]*sum
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{
		names: map[string]string{}, totals: map[methodKey]*sum{}, days: map[dayKey]*sum{},
		accounts: map[accountKey]*sum{},
	}
}

const daySeconds = 24 * 60 * 60

// Request counts one request to an upstream. Methods must be of a bounded set.
func (l *Ledger) Request(now time.Time, chain, upstream string, method []byte, c Cost) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name, known := l.names[string(method)]
	if !known {
		name = string(method)
		l.names[name] = name
	}
	key := methodKey{chain, upstream, name}
	entry(l.totals, key).add(1, c)
	entry(l.days, dayKey{key, now.Unix() / daySeconds}).add(1, c)
}

// Call counts what one call of an account cost.
func (l *Ledger) Call(now time.Time, account uuid.UUID, chain string, cost Nanos) {
	if l == nil || account == uuid.Nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := accountKey{now.Unix() / daySeconds, account, chain}
	if len(l.accounts) < maxAccounts || l.accounts[key] != nil {
		entry(l.accounts, key).add(1, Cost{Nanos: cost})
	}
}

func entry[K comparable](sums map[K]*sum, key K) *sum {
	s := sums[key]
	if s == nil {
		s = &sum{}
		sums[key] = s
	}
	return s
}

// Take returns what was spent since the last Take, in a fixed order, so that writers of several
// processes lock rows in the same order.
func (l *Ledger) Take() (b Batch) {
	l.mu.Lock()
	days, accounts := l.days, l.accounts
	l.days, l.accounts = map[dayKey]*sum{}, map[accountKey]*sum{}
	l.mu.Unlock()
	for k, s := range days {
		b.Spent = append(b.Spent, Spent{dayOf(k.day), k.chain, k.upstream, k.method, s.requests, s.cost})
	}
	for k, s := range accounts {
		b.Accounts = append(b.Accounts, AccountSpent{dayOf(k.day), k.account, k.chain, s.requests, s.cost.Nanos})
	}
	slices.SortFunc(b.Spent, func(x, y Spent) int {
		return cmp.Or(x.Day.Compare(y.Day), cmp.Compare(x.Chain, y.Chain), cmp.Compare(x.Upstream, y.Upstream),
			cmp.Compare(x.Method, y.Method))
	})
	slices.SortFunc(b.Accounts, func(x, y AccountSpent) int {
		return cmp.Or(x.Day.Compare(y.Day), slices.Compare(x.Account[:], y.Account[:]), cmp.Compare(x.Chain, y.Chain))
	})
	return b
}

// Return puts back a batch that could not be written.
func (l *Ledger) Return(b Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range b.Spent {
		key := dayKey{methodKey{s.Chain, s.Upstream, s.Method}, s.Day.Unix() / daySeconds}
		entry(l.days, key).add(s.Requests, s.Cost)
	}
	for _, a := range b.Accounts {
		key := accountKey{a.Day.Unix() / daySeconds, a.Account, a.Chain}
		entry(l.accounts, key).add(a.Calls, Cost{Nanos: a.Nanos})
	}
}

// Totals returns what this process spent since its start, without days.
func (l *Ledger) Totals() []Spent {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Spent, 0, len(l.totals))
	for k, s := range l.totals {
		all = append(all, Spent{time.Time{}, k.chain, k.upstream, k.method, s.requests, s.cost})
	}
	return all
}

func dayOf(day int64) time.Time { return time.Unix(day*daySeconds, 0).UTC() }

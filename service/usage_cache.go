package service

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/supportdb"
)

// For an account with a million usage lines, PostgreSQL takes dozens of milliseconds per report,
// which costs the caller nothing. So each process caches reports for a short time: a report polled
// by every key of an account is made once.
const (
	usageKeptFor  = 10 * time.Second
	usageKeptMost = 1024 // entries; each has at most some ten KiB
)

// usageAsk is the cache key of a usage report. It contains everything that access depends on:
// callers who may see different data never share a key.
type usageAsk struct {
	what    string
	account account.ID
	scope   supportdb.Scope // an agent or a key that sees only its part of the account; zero for all of it
	key     account.KeyID   // for reports that depend on the key itself; zero for others
	input   any             // comparable
}

// usageMade is the result of making a report.
type usageMade struct {
	value any
	err   error
	until time.Time
}

func newUsageKept() *lru.Cache[usageAsk, usageMade] {
	kept, err := lru.New[usageAsk, usageMade](usageKeptMost)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return kept
}

// asks returns the cache key of a report with the caller's access.
func (c *Call) asks(what string, input any) usageAsk {
	_, scope := c.sees()
	return usageAsk{what: what, account: c.Account.ID, scope: scope, input: input}
}

// ofKey adds the key itself, for reports that depend on it, such as allowances and caps.
func (a usageAsk) ofKey(id account.KeyID) usageAsk {
	a.key = id
	return a
}

// keptUsage returns a report that is younger than usageKeptFor, or makes it. Concurrent requests
// for the same report wait for one run. The result is shared: callers must not modify it. Errors
// are not cached.
func keptUsage[T any](ctx context.Context, h *service, ask usageAsk, read func(context.Context) (T, error)) (T, error) {
	if held, ok := heldUsage[T](h, ask); ok {
		return held, nil
	}
	var none T
	f, leads := h.usageFlights.Join(ask)
	if !leads {
		m, ok := f.Wait(ctx, deadline)
		if !ok {
			return none, recordAway(ctx.Err())
		}
		if m.err != nil {
			return none, m.err
		}
		value, _ := m.value.(T)
		return value, nil
	}
	made := usageMade{err: fault.New(fault.InternalFault, "")}
	defer func() { f.Finish(func() usageMade { return made }) }() // also after a panic, so that nobody waits for ever
	if held, ok := heldUsage[T](h, ask); ok {                     // a run may have ended since the check above
		made = usageMade{value: held}
		return held, nil
	}
	shared, end := f.Start(ctx)
	defer end()
	shared, cancel := context.WithTimeout(shared, deadline)
	defer cancel()
	until := h.Now().Add(usageKeptFor)
	value, err := read(shared)
	made = usageMade{value: value, err: err, until: until}
	if err == nil {
		h.usageKept.Add(ask, made)
	}
	return value, err
}

func heldUsage[T any](h *service, ask usageAsk) (value T, ok bool) {
	held, ok := h.usageKept.Get(ask)
	if !ok || !h.Now().Before(held.until) {
		return value, false
	}
	value, ok = held.value.(T)
	return value, ok
}

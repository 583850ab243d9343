package service

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store"
)

// Answers out of the record of usage take PostgreSQL some dozens of milliseconds for an account of
// a million lines, and cost their caller nothing. So they are kept for a moment, in each process: a
// report polled by every key of an account is made once.
const (
	usageKeptFor  = 10 * time.Second
	usageKeptMost = 1024 // answers of at most some ten KiB
)

// usageAsk is what an answer of usage depends on. Nothing that a caller may see of another's
// account, agent or key can be under the same one.
type usageAsk struct {
	what    string
	account account.ID
	scope   store.Scope   // of an agent or a key that sees a part of the account alone; zero for all of it
	key     account.KeyID // of answers that depend on the very key; zero for the others
	input   any           // comparable
}

// usageMade is an answer being made, or why there is none.
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

// asks names what a caller asks of what it sees.
func (c *Call) asks(what string, input any) usageAsk {
	_, scope := c.sees()
	return usageAsk{what: what, account: c.Account.ID, scope: scope, input: input}
}

// ofKey says that the answer depends on the very key, as allowances and caps do.
func (a usageAsk) ofKey(id account.KeyID) usageAsk {
	a.key = id
	return a
}

// keptUsage returns an answer that is less than usageKeptFor old, or has it made; whoever asks the
// same meanwhile waits for that one. What it gives is shared: nobody may change it. A failure is
// kept for nobody who comes later.
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
	defer func() { f.Finish(func() usageMade { return made }) }() // after a panic, too: nobody is left waiting
	if held, ok := heldUsage[T](h, ask); ok {                     // the flight before landed meanwhile
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

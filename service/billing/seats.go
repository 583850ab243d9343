package billing

import (
	"context"
	"sync"
	"time"
)

// seatsLast is how long the count of founding seats is cached, because price lists are requested
// often and need PostgreSQL for nothing else. Taking a seat does not use this count.
const seatsLast = 10 * time.Second

// seatsWait bounds the wait for PostgreSQL.
const seatsWait = 2 * time.Second

// SeatsUnknown explains a founding offer whose seats cannot be counted.
const SeatsUnknown = "How many seats of the founding offer are left cannot be read now, so it is shown as not on " +
	"sale; ask again in a minute."

// seatCount is the cached count.
type seatCount struct {
	mu    sync.Mutex
	taken int
	until time.Time
}

// SeatsTaken returns the number of seats that are sold or held. known is false if PostgreSQL does
// not answer.
func (p *Prices) SeatsTaken(ctx context.Context) (taken int, known bool) {
	p.seats.mu.Lock()
	taken, known = p.seats.taken, p.now().Before(p.seats.until)
	p.seats.mu.Unlock()
	if known {
		return taken, true
	}
	ctx, cancel := context.WithTimeout(ctx, seatsWait)
	defer cancel()
	taken, err := p.store.SeatsTaken(ctx)
	if err != nil {
		return 0, false
	}
	p.seats.mu.Lock()
	defer p.seats.mu.Unlock()
	p.seats.taken, p.seats.until = taken, p.now().Add(seatsLast)
	return taken, true
}

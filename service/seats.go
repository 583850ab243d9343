package service

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

const seatsUnknown = "How many seats of the founding offer are left cannot be read now, so it is shown as not on " +
	"sale; ask again in a minute."

// seatCount is the cached count.
type seatCount struct {
	mu    sync.Mutex
	taken int
	until time.Time
}

// seatsTaken returns the number of seats that are sold or held. known is false if PostgreSQL does
// not answer.
func (h *service) seatsTaken(ctx context.Context) (taken int, known bool) {
	h.seats.mu.Lock()
	taken, known = h.seats.taken, h.Now().Before(h.seats.until)
	h.seats.mu.Unlock()
	if known {
		return taken, true
	}
	ctx, cancel := context.WithTimeout(ctx, seatsWait)
	defer cancel()
	taken, err := h.Store.SeatsTaken(ctx)
	if err != nil {
		return 0, false
	}
	h.seats.mu.Lock()
	defer h.seats.mu.Unlock()
	h.seats.taken, h.seats.until = taken, h.Now().Add(seatsLast)
	return taken, true
}

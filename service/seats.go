package service

import (
	"context"
	"sync"
	"time"
)

// seatsLast is how long a count of the founding offer's seats is gone by: lists of prices are asked
// for often, and need the record for nothing else. Whoever takes a seat is counted by the record
// itself.
const seatsLast = 10 * time.Second

// seatsWait bounds the wait for the record.
const seatsWait = 2 * time.Second

const seatsUnknown = "How many seats of the founding offer are left cannot be read now, so it is shown as not on " +
	"sale; ask again in a minute."

// seatCount is the count that was read last.
type seatCount struct {
	mu    sync.Mutex
	taken int
	until time.Time
}

// seatsTaken counts the seats that are sold or held; false when the record is away.
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

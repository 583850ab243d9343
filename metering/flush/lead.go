package flush

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/store"
)

// Leases are locks that last as long as one session, and count the sessions that share them. Every
// method fails once the session is lost.
type Leases interface {
	// Members counts the sessions that share the leases, this one included.
	Members(ctx context.Context) (int, error)
	// Take tries to acquire a lease and reports whether it is held now.
	Take(ctx context.Context, number int) (bool, error)
	// Release releases a lease.
	Release(ctx context.Context, number int) error
	// Close releases all leases.
	Close(ctx context.Context) error
}

// OpenLeases opens a session.
type OpenLeases func(ctx context.Context) (Leases, error)

// FromStore opens sessions on PostgreSQL.
func FromStore(s *store.Store) OpenLeases {
	return func(ctx context.Context) (Leases, error) {
		leases, err := s.OpenLeases(ctx, store.LeaseUsageFlush)
		if err != nil {
			return nil, err
		}
		return leases, nil
	}
}

// lead acquires this flusher's fair share of the ranges. Leases only avoid duplicate work. It is
// the ledger that prevents double counting, so a flusher that lost its session unawares does no
// harm.
func (f *Flusher) lead(ctx context.Context) error {
	if f.leases == nil {
		leases, err := f.open(ctx)
		if err != nil {
			return err
		}
		f.leases = leases
	}
	if err := f.share(ctx); err != nil {
		return errors.Join(err, f.giveUp(ctx))
	}
	return nil
}

// share acquires free ranges up to the fair share and releases those beyond it.
func (f *Flusher) share(ctx context.Context) error {
	members, err := f.leases.Members(ctx)
	if err != nil {
		return err
	}
	ranges := (f.o.Shards + f.o.RangeSize - 1) / f.o.RangeSize
	members = max(members, 1)
	fair := (ranges + members - 1) / members
	for number := range f.led {
		if len(f.led) <= fair {
			break
		}
		if err := f.leases.Release(ctx, number); err != nil {
			return err
		}
		delete(f.led, number)
	}
	for number := 0; number < ranges && len(f.led) < fair; number++ {
		if f.led[number] {
			continue
		}
		held, err := f.leases.Take(ctx, number)
		if err != nil {
			return err
		}
		if held {
			f.led[number] = true
			f.forget(number)
		}
	}
	return nil
}

// forget drops the watermarks of a range, which another flusher may have changed since.
func (f *Flusher) forget(number int) {
	for shard := number * f.o.RangeSize; shard < (number+1)*f.o.RangeSize; shard++ {
		delete(f.marked, shard)
	}
}

// giveUp closes the session and with it releases every lease.
func (f *Flusher) giveUp(ctx context.Context) error {
	clear(f.led)
	leases := f.leases
	f.leases = nil
	if leases == nil {
		return nil
	}
	return leases.Close(ctx)
}

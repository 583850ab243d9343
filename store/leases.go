package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/store/db"
)

// LeaseClass separates kinds of work that are shared by leases.
type LeaseClass int32

// LeaseUsageFlush divides ranges of shards among flushers.
const LeaseUsageFlush LeaseClass = 0x75736c31

// leaseMember is the shared lock by which members of a class are counted. Work is numbered from 0.
const leaseMember = -1

// Leases holds PostgreSQL session advisory locks on numbered pieces of work, on a connection of its
// own. A holder that loses the connection loses its leases, and others may take them. Leases only
// avoid duplicate work; what must happen once is guarded by constraints. They need a session, so
// the database URL must not point to a pooler in transaction mode. Leases is not safe for
// concurrent use.
type Leases struct {
	conn  *pgx.Conn
	class LeaseClass
}

// OpenLeases opens a connection and joins the members of the class.
func (s *Store) OpenLeases(ctx context.Context, class LeaseClass) (*Leases, error) {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect for leases: %w", err)
	}
	l := &Leases{conn: conn, class: class}
	if err := db.New(conn).JoinLeases(ctx, db.JoinLeasesParams{Class: int32(class), Number: leaseMember}); err != nil {
		return nil, fmt.Errorf("join the leases: %w", closeAfter(ctx, conn, err))
	}
	return l, nil
}

// Members returns how many members the class has, the caller included.
func (l *Leases) Members(ctx context.Context) (int, error) {
	// sqlc does not know catalog views. pg_locks shows the numbers of a lock as unsigned.
	const query = `SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND mode = 'ShareLock' AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid::bigint = $1 AND objid::bigint = $2`
	var n int
	number := int32(leaseMember)
	//nolint:gosec // the same bits
	err := l.conn.QueryRow(ctx, query, int64(uint32(l.class)), int64(uint32(number))).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count lease members: %w", err)
	}
	return n, nil
}

// Take tries to take the lease on a piece of work and reports whether the caller holds it now. It
// must not be called for a lease that the caller already holds.
func (l *Leases) Take(ctx context.Context, number int) (bool, error) {
	//nolint:gosec // small
	held, err := db.New(l.conn).TryLease(ctx, db.TryLeaseParams{Class: int32(l.class), Number: int32(number)})
	if err != nil {
		return false, fmt.Errorf("take lease %d: %w", number, err)
	}
	return held, nil
}

// Release releases a lease.
func (l *Leases) Release(ctx context.Context, number int) error {
	//nolint:gosec // small
	_, err := db.New(l.conn).ReleaseLease(ctx, db.ReleaseLeaseParams{Class: int32(l.class), Number: int32(number)})
	if err != nil {
		return fmt.Errorf("release lease %d: %w", number, err)
	}
	return nil
}

// Close releases all leases.
func (l *Leases) Close(ctx context.Context) error {
	if err := l.conn.Close(ctx); err != nil {
		return fmt.Errorf("close leases: %w", err)
	}
	return nil
}

// closeAfter closes a connection that failed with err, and returns err. It sets its own deadline,
// because the caller's context may be done.
func closeAfter(ctx context.Context, conn *pgx.Conn, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
	return err
}

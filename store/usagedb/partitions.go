package usagedb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/store/db"
)

const (
	// A partition is named after its table and its UTC day.
	partitionInfix  = "_p"
	partitionLayout = "20060102"
	day             = 24 * time.Hour
	// partitionLock serializes partition maintenance among workers.
	partitionLock = 0x63616c6c
	// lockPatience bounds how long maintenance waits for a table lock: every insert queues behind a
	// waiting exclusive lock.
	lockPatience = "3s"
)

// daily is a table that is partitioned by UTC day. Rows without a partition go to the default
// partition, <table>_default.
type daily struct{ table, column string }

var (
	dailyCalls   = daily{"calls", "started_at"}
	dailyFlushes = daily{"usage_flushes", "slot"}
)

// EnsurePartitions creates the missing partitions of call records and of the flush ledger for the
// UTC day of from and the given number of days after it, and returns how many it created. Rows in
// the default partition move to the new ones.
func (s *Store) EnsurePartitions(ctx context.Context, from time.Time, days int) (int, error) {
	made := 0
	for _, d := range []daily{dailyCalls, dailyFlushes} {
		n, err := s.ensurePartitions(ctx, d, from, days)
		made += n
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

func (s *Store) ensurePartitions(ctx context.Context, d daily, from time.Time, days int) (int, error) {
	existing, err := s.partitions(ctx, d)
	if err != nil {
		return 0, err
	}
	made := 0
	first := from.UTC().Truncate(day)
	for i := range days + 1 {
		start := first.Add(time.Duration(i) * day)
		if _, ok := existing[d.partition(start)]; ok {
			continue
		}
		created, err := s.createPartition(ctx, d, start)
		if err != nil {
			return made, fmt.Errorf("make partition %s: %w", d.partition(start), err)
		}
		if created {
			made++
		}
	}
	return made, nil
}

// DropPartitionsBefore drops the call records and the sums of refused calls of all UTC days before
// cutoff, and returns the number of partitions dropped.
func (s *Store) DropPartitionsBefore(ctx context.Context, cutoff time.Time) (int, error) {
	limit := cutoff.UTC().Truncate(day)
	dropped, err := s.dropPartitions(ctx, dailyCalls, limit)
	if err != nil {
		return dropped, err
	}
	if _, err := s.pool.Queries().DeleteDefaultCallsBefore(ctx, limit); err != nil {
		return dropped, fmt.Errorf("delete old records of the default partition: %w", err)
	}
	if _, err := s.pool.Queries().DeleteRefusedCallsBefore(ctx, limit); err != nil {
		return dropped, fmt.Errorf("delete old sums of refused calls: %w", err)
	}
	return dropped, nil
}

// dropPartitions drops the partitions of the days before limit, which is the start of a day.
func (s *Store) dropPartitions(ctx context.Context, d daily, limit time.Time) (int, error) {
	existing, err := s.partitions(ctx, d)
	if err != nil {
		return 0, err
	}
	dropped := 0
	for name, start := range existing {
		if !start.Before(limit) {
			continue
		}
		err := s.partitionTx(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "DROP TABLE IF EXISTS "+pgx.Identifier{name}.Sanitize())
			return err
		})
		if err != nil {
			return dropped, fmt.Errorf("drop partition %s: %w", name, err)
		}
		dropped++
	}
	return dropped, nil
}

// createPartition builds the table separately and attaches it. That takes weaker locks on the
// parent than creating a partition in place.
func (s *Store) createPartition(ctx context.Context, d daily, start time.Time) (created bool, err error) {
	name := pgx.Identifier{d.partition(start)}.Sanitize()
	whole, rest, column := pgx.Identifier{d.table}.Sanitize(), pgx.Identifier{d.table + "_default"}.Sanitize(),
		pgx.Identifier{d.column}.Sanitize()
	end := start.Add(day)
	bounds := fmt.Sprintf("FROM ('%s') TO ('%s')", start.Format(time.RFC3339), end.Format(time.RFC3339))
	err = s.partitionTx(ctx, func(tx pgx.Tx) error {
		var exists bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL",
			d.partition(start)).Scan(&exists); err != nil || exists {
			return err
		}
		// No row may enter the default partition between the move and the attachment.
		if _, err := tx.Exec(ctx, "LOCK TABLE "+rest+" IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx,
			"CREATE TABLE "+name+" (LIKE "+whole+" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"); err != nil {
			return err
		}
		move := "WITH moved AS (DELETE FROM " + rest + " WHERE " + column + " >= $1 AND " + column +
			" < $2 RETURNING *) INSERT INTO " +
			name + " SELECT * FROM moved"
		if _, err := tx.Exec(ctx, move, start, end); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "ALTER TABLE "+whole+" ATTACH PARTITION "+name+" FOR VALUES "+bounds); err != nil {
			return err
		}
		created = true
		return nil
	})
	return created, err
}

// partitionTx runs do in a transaction that excludes other maintenance and uses a short lock
// timeout.
func (s *Store) partitionTx(ctx context.Context, do func(pgx.Tx) error) error {
	return s.pool.Tx(ctx, pgx.TxOptions{}, func(tx pgx.Tx, _ *db.Queries) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(partitionLock)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+lockPatience+"'"); err != nil {
			return err
		}
		return do(tx)
	})
}

// partitions returns the partitions of a table with their days, by name, without the default
// partition.
func (s *Store) partitions(ctx context.Context, d daily) (map[string]time.Time, error) {
	// sqlc does not know catalog tables.
	rows, err := s.pool.Query(ctx, `SELECT child.relname::text FROM pg_inherits
JOIN pg_class AS child ON child.oid = pg_inherits.inhrelid WHERE pg_inherits.inhparent = $1::regclass`, d.table)
	if err != nil {
		return nil, fmt.Errorf("list partitions of %s: %w", d.table, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list partitions of %s: %w", d.table, err)
	}
	partitions := make(map[string]time.Time, len(names))
	for _, name := range names {
		date, ok := strings.CutPrefix(name, d.table+partitionInfix)
		if !ok {
			continue
		}
		if start, err := time.Parse(partitionLayout, date); err == nil {
			partitions[name] = start
		}
	}
	return partitions, nil
}

func (d daily) partition(start time.Time) string {
	return d.table + partitionInfix + start.Format(partitionLayout)
}

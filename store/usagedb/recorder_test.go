package usagedb

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// gate is a writer that a test opens and closes, and that rejects chosen records.
type gate struct {
	mu     sync.Mutex // guards the fields below
	down   bool
	refuse map[uuid.UUID]string // SQLSTATE by record
	got    []Call
	tries  chan struct{}
}

func (g *gate) write(ctx context.Context, calls []Call) error {
	select {
	case g.tries <- struct{}{}:
	default:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down {
		return errors.New("connection refused")
	}
	for i := range calls {
		if code, ok := g.refuse[calls[i].RequestID]; ok {
			return &pgconn.PgError{Code: code}
		}
	}
	g.got = append(g.got, calls...)
	return ctx.Err()
}

// writeSums accepts sums while the gate is open.
func (g *gate) writeSums(ctx context.Context, _ []RefusedSum) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down {
		return errors.New("connection refused")
	}
	return ctx.Err()
}

func (g *gate) set(down bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = down
}

func setupRecorder(t *testing.T, o RecorderOptions) (*gate, *Recorder) {
	t.Helper()
	g := &gate{refuse: map[uuid.UUID]string{}, tries: make(chan struct{}, 1)}
	o.Logger = slog.New(slog.DiscardHandler)
	return g, newRecorder(g.write, g.writeSums, o)
}

func closeRecorder(t *testing.T, r *Recorder) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return r.Close(ctx)
}

func newCall() Call { return Call{RequestID: uuid.Must(uuid.NewV7()), Outcome: "ok"} }

func TestRecorder_WritesEveryRecordOnce(t *testing.T) {
	t.Parallel()
	g, r := setupRecorder(t, RecorderOptions{MaxBatch: 100, MaxDelay: time.Millisecond})
	const writers, each = 8, 1_000
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				r.Record(newCall())
			}
		})
	}
	wg.Wait()
	if err := closeRecorder(t, r); err != nil {
		t.Fatal(err)
	}
	seen := map[uuid.UUID]int{}
	for i := range g.got {
		seen[g.got[i].RequestID]++
	}
	expect.Len(t, seen, writers*each)
	expect.Len(t, g.got, writers*each)
	expect.Equal(t, r.Written(), writers*each)
	expect.Equal(t, r.Dropped(), 0)
}

func TestRecorder_FullDropsTheNewestAndCounts(t *testing.T) {
	t.Parallel()
	var told int
	g, r := setupRecorder(t, RecorderOptions{
		Buffer: 10, MaxBatch: 4, MaxDelay: time.Hour, OnDrop: func(n int) { told += n },
	})
	g.set(true)
	calls := make([]Call, 13)
	for i := range calls {
		calls[i] = newCall()
		r.Record(calls[i])
		if i == 4 {
			<-g.tries // a batch is being written from here on, and still counts as held
		}
	}
	if r.Dropped() != 3 || told != 3 {
		t.Errorf("dropped %d, told %d, want 3", r.Dropped(), told)
	}
	g.set(false)
	if err := closeRecorder(t, r); err != nil {
		t.Fatal(err)
	}
	if len(g.got) != 10 {
		t.Fatalf("%d records written, want 10", len(g.got))
	}
	for i := range g.got {
		if g.got[i] != calls[i] {
			t.Errorf("record %d is not the oldest of those held", i)
		}
	}
}

func TestRecorder_RefusedRecordsAreLostAlone(t *testing.T) {
	t.Parallel()
	g, r := setupRecorder(t, RecorderOptions{MaxDelay: time.Hour})
	bad, again := newCall(), newCall()
	g.refuse[bad.RequestID], g.refuse[again.RequestID] = "22021", uniqueViolation
	for range 5 {
		r.Record(newCall())
	}
	r.Record(bad)
	r.Record(again)
	r.Record(newCall())
	if err := closeRecorder(t, r); err == nil {
		t.Error("closing says nothing of the lost record")
	}
	expect.Len(t, g.got, 6)
	expect.Equal(t, r.Dropped(), 1)
	expect.Equal(t, r.Written(), 7)
}

func TestRecorder_CloseGivesUpAtTheDeadlineAndSaysSo(t *testing.T) {
	t.Parallel()
	g, r := setupRecorder(t, RecorderOptions{MaxDelay: time.Hour})
	g.set(true)
	r.Record(newCall())
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := r.Close(ctx); err == nil {
		t.Error("closing with PostgreSQL away reports no loss")
	}
	r.Record(newCall())
	if r.Dropped() != 2 {
		t.Errorf("dropped %d, want 2: one in the buffer, one after closing", r.Dropped())
	}
}

func TestRecorder_SurvivesAnOutage(t *testing.T) {
	t.Parallel()
	g, r := setupRecorder(t, RecorderOptions{MaxDelay: time.Millisecond})
	g.set(true)
	r.Record(newCall())
	<-g.tries
	r.Record(newCall())
	g.set(false)
	if err := closeRecorder(t, r); err != nil {
		t.Fatal(err)
	}
	if len(g.got) != 2 || r.Dropped() != 0 {
		t.Errorf("%d written, %d dropped, want 2 and 0", len(g.got), r.Dropped())
	}
}

func TestRecorder_CopiesIntoPostgreSQL(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool, err := pg.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := &Store{pool: pool}
	r := NewRecorder(s, RecorderOptions{Logger: slog.New(slog.DiscardHandler)})
	const total = 20_000
	begin := time.Now()
	call := newCall()
	call.StartedAt = begin
	broken := call
	broken.Method = "eth_\x00"
	r.Record(broken)
	for i := range total {
		call.Index = i
		r.Record(call)
	}
	// Only the record with a NUL byte is lost, before or during Close.
	_ = r.Close(ctx)
	t.Logf("%d records in %s", total, time.Since(begin))
	calls, err := s.FindCalls(ctx, call.RequestID)
	require.NoError(t, err)
	expect.Len(t, calls, total)
	expect.Equal(t, r.Dropped(), 1)
}

func BenchmarkRecord(b *testing.B) {
	r := newRecorder(func(context.Context, []Call) error { return nil }, func(context.Context, []RefusedSum) error {
		return nil
	}, RecorderOptions{Buffer: 1 << 20})
	call := newCall()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Record(call)
		}
	})
	_ = closeBench(r)
}

func closeBench(r *Recorder) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return r.Close(ctx)
}

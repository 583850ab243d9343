package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// shared is the tier in Redis. Look-ups have a short timeout, writes go through a bounded queue,
// and a circuit breaker stops using a Redis that keeps failing.
type shared struct {
	now     func() time.Time
	log     *slog.Logger
	seal    seal
	rdb     *redis.Client
	writer  *redis.Client // the same connections with a longer timeout
	lookup  time.Duration
	writing time.Duration
	breaker *gobreaker.CircuitBreaker[[]byte]
	n       *counters

	queue  chan write
	queued atomic.Int64 // bytes
	quit   chan struct{}
	done   chan struct{}
	stop   context.CancelFunc // cancels writes in flight
	once   sync.Once
}

type write struct {
	key     Key
	value   []byte
	expires time.Time
}

const (
	lookupTimeout = 50 * time.Millisecond
	writeTimeout  = time.Second
	queueEntries  = 4096
	queueBytes    = 16 << 20
	writeMost     = 64 // entries of one pipeline

	breakAfter = 5               // failures in a row
	breakFor   = 2 * time.Second // before one look-up tests Redis again

	keyPrefix = "answer:"
)

func openShared(o Options, n *counters) (*shared, error) {
	opts, err := parse(o.RedisURL)
	if err != nil {
		return nil, err
	}
	sealed, err := newSeal(o.Secret)
	if err != nil {
		return nil, err
	}
	s := &shared{
		now: o.Now, log: o.Logger, seal: sealed, lookup: o.LookupTimeout, n: n,
		queue: make(chan write, queueEntries), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if s.lookup == 0 {
		s.lookup = lookupTimeout
	}
	s.writing = max(writeTimeout, s.lookup)
	opts.MaxRetries = -1 // a retry costs more than the miss
	opts.DialerRetries = 1
	opts.DialTimeout = writeTimeout
	opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = s.lookup, s.lookup, s.lookup
	opts.ContextTimeoutEnabled = true
	s.rdb = redis.NewClient(opts)
	s.writer = s.rdb.WithTimeout(s.writing)
	s.breaker = gobreaker.NewCircuitBreaker[[]byte](gobreaker.Settings{
		Timeout:      breakFor,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter },
		IsSuccessful: answered,
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) }, // the caller left
		OnStateChange: func(_ string, _, to gobreaker.State) {
			s.log.Warn("second tier of the cache", "circuit", to.String())
		},
	})
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	go s.write(ctx)
	return s, nil
}

func parse(url string) (*redis.Options, error) {
	opts, err := redis.ParseURL(url)
	if err != nil { // whose text would show the address with its password
		return nil, errors.New("CACHE_REDIS_URL is not a Redis address: expected redis://host:port/0")
	}
	return opts, nil
}

// answered reports whether Redis replied, even if with an error.
func answered(err error) bool {
	var said redis.Error
	return err == nil || errors.As(err, &said)
}

func redisKey(key Key) string { return keyPrefix + string(key[:]) }

// get looks a key up. Every failure is a miss.
func (s *shared) get(ctx context.Context, key Key) (value []byte, expires time.Time, ok bool) {
	raw, err := s.breaker.Execute(func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, s.lookup)
		defer cancel()
		return s.rdb.Get(ctx, redisKey(key)).Bytes()
	})
	switch {
	case errors.Is(err, redis.Nil), errors.Is(err, context.Canceled), errors.Is(err, gobreaker.ErrOpenState),
		errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, time.Time{}, false
	case err != nil:
		s.n.redisErrors.Add(1)
		return nil, time.Time{}, false
	}
	value, expires, ok = s.seal.open(key, raw)
	if !ok {
		s.n.corrupt.Add(1)
		return nil, time.Time{}, false
	}
	return value, expires, s.now().Before(expires)
}

// put queues a value to be written, or drops it.
func (s *shared) put(key Key, value []byte, expires time.Time) {
	size := int64(len(value))
	if s.queued.Add(size) <= queueBytes {
		select {
		case s.queue <- write{key, value, expires}:
			return
		default:
		}
	}
	s.queued.Add(-size)
	s.n.droppedWrites.Add(1)
}

// write drains the queue to Redis, with one pipeline for the entries that are waiting.
func (s *shared) write(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case w := <-s.queue:
			s.flush(ctx, w)
		case <-s.quit:
			for len(s.queue) > 0 {
				s.flush(ctx, <-s.queue)
			}
			return
		}
	}
}

func (s *shared) flush(ctx context.Context, first write) {
	pipe := s.writer.Pipeline()
	count, size := uint64(0), int64(0)
	for w, more := first, true; more; {
		if ttl := w.expires.Sub(s.now()); ttl > 0 {
			pipe.Set(ctx, redisKey(w.key), s.seal.close(w.key, w.value, w.expires), ttl)
		}
		count, size = count+1, size+int64(len(w.value))
		more = false
		if count < writeMost {
			select {
			case w = <-s.queue:
				more = true
			default:
			}
		}
	}
	s.queued.Add(-size)
	_, err := s.breaker.Execute(func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, s.writing)
		defer cancel()
		_, err := pipe.Exec(ctx)
		return nil, err
	})
	if err == nil {
		s.n.redisWrites.Add(count)
		return
	}
	s.n.droppedWrites.Add(count)
	if !errors.Is(err, gobreaker.ErrOpenState) && !errors.Is(err, gobreaker.ErrTooManyRequests) {
		s.n.redisErrors.Add(1)
	}
}

// close writes the queued entries until ctx ends.
func (s *shared) close(ctx context.Context) error {
	s.once.Do(func() { close(s.quit) })
	var err error
	select {
	case <-s.done:
	case <-ctx.Done():
		err = fmt.Errorf("%d bytes of stored answers were not written to Redis any more: %w", s.queued.Load(),
			ctx.Err())
	}
	s.stop()
	<-s.done
	_ = s.rdb.Close() // nothing is in flight any more
	return err
}

// Forget removes every cached answer from the Redis at url and leaves its other keys alone.
func Forget(ctx context.Context, url string) error {
	opts, err := parse(url)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(opts)
	defer func() { _ = rdb.Close() }()
	var found []string
	each := rdb.Scan(ctx, 0, keyPrefix+"*", 1000).Iterator()
	for each.Next(ctx) {
		found = append(found, each.Val())
	}
	if err := each.Err(); err != nil {
		return fmt.Errorf("forget stored answers: %w", err)
	}
	for _, key := range found {
		if err := rdb.Unlink(ctx, key).Err(); err != nil {
			return fmt.Errorf("forget stored answers: %w", err)
		}
	}
	return nil
}

package meter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/internal/telemetry"
)

// Concurrent admissions share pipelines: each worker sends what has gathered while its last
// pipeline was running. Two workers keep Redis busy while one of them decodes.
const (
	pipelineCount = 2
	// callers block while it is full, until there is room or their context ends: admission is never
	// skipped
	pipelineQueue = 1024
	maxPipeline   = 256
	pipelineTime  = 3 * time.Second
)

var (
	errClosed = errors.New("the meter is closed")
	// errLost is returned for a script that was sent and whose reply never came: it may have run.
	errLost = errors.New("the reply is lost")
)

// noShard is the shard of a job that is no admission.
const noShard = -1

// The states of a job: a worker takes a queued one, unless its caller has left it.
const (
	jobQueued int32 = iota
	jobTaken
	jobLeft
)

// job is one script call on its way through the pipeliner. done has room for one token, so a worker
// never waits for a caller.
type job struct {
	cmd   *redis.Cmd
	shard int // of an admission, which is stamped when it is sent; else noShard
	err   error
	state atomic.Int32
	done  chan struct{}
}

func newJob() *job { return &job{done: make(chan struct{}, 1)} }

var jobs sync.Pool

// scriptRunner runs script calls on the Redis that serves them.
type scriptRunner interface {
	// do runs cmd, batched with other waiting calls, as pipeliner.do describes.
	do(ctx context.Context, cmd *redis.Cmd, shard int) error
	// stop answers what is queued and refuses later calls. It reports false when it was called
	// before.
	stop() (first bool)
}

// pipeliner runs scripts on one server.
type pipeliner struct {
	rdb     redis.UniversalClient
	clock   clock // of the server
	queue   chan *job
	quit    chan struct{} // closed when no more jobs are taken
	stopped chan struct{} // closed when every worker has ended
	wg      sync.WaitGroup
	once    sync.Once

	pipelines *atomic.Pointer[telemetry.Pipelines]
}

var _ scriptRunner = (*pipeliner)(nil)

func startPipeliner(rdb redis.UniversalClient, pipelines *atomic.Pointer[telemetry.Pipelines]) *pipeliner {
	l := &pipeliner{
		rdb: rdb, queue: make(chan *job, pipelineQueue), quit: make(chan struct{}), stopped: make(chan struct{}),
		pipelines: pipelines,
	}
	for range pipelineCount {
		l.wg.Go(l.work)
	}
	return l
}

// stop answers what is queued and waits for the workers. It reports false when it was called
// before.
func (l *pipeliner) stop() (first bool) {
	l.once.Do(func() {
		first = true
		close(l.quit)
		l.wg.Wait()
		close(l.stopped)
	})
	return first
}

// do runs cmd, batched with other waiting calls. The end of ctx ends the wait only until a worker
// has taken the job: from then on the script runs either way, its reply says what was charged, and
// the wait is bounded by pipelineTime. shard is that of an admission, noShard for anything else.
// The error wraps errLost when the script may have run.
func (l *pipeliner) do(ctx context.Context, cmd *redis.Cmd, shard int) error {
	j, ok := jobs.Get().(*job)
	if !ok {
		j = newJob()
	}
	j.cmd, j.shard = cmd, shard
	j.state.Store(jobQueued)
	select {
	case l.queue <- j:
	case <-l.quit:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("not sent: %w", ctx.Err())
	}
	faultpoint.Hit(faultpoint.AdmitSent)
	select {
	case <-j.done:
	case <-ctx.Done():
		if j.state.CompareAndSwap(jobQueued, jobLeft) {
			return fmt.Errorf("not sent: %w", ctx.Err()) // the worker that finds the job drops it
		}
		<-j.done
	case <-l.stopped:
		select {
		case <-j.done:
		default:
			return errClosed // queued after the workers ended: nothing was sent
		}
	}
	err := j.err
	j.cmd, j.err = nil, nil
	jobs.Put(j)
	return err
}

func (l *pipeliner) work() {
	var names marks
	batch := make([]*job, 0, maxPipeline)
	for {
		select {
		case j := <-l.queue:
			batch = take(batch[:0], j)
		case <-l.quit:
			l.finish(batch[:0], &names)
			return
		}
		// calls that are ready join before the pipeline is sent: fewer, longer pipelines cost both
		// sides less
		runtime.Gosched()
		batch = l.gather(batch)
		l.send(batch, &names)
		clear(batch)
	}
}

// finish sends what is still queued.
func (l *pipeliner) finish(batch []*job, names *marks) {
	for {
		if batch = l.gather(batch[:0]); len(batch) == 0 {
			return
		}
		l.send(batch, names)
		clear(batch)
	}
}

// gather adds waiting jobs to the batch, up to maxPipeline.
func (l *pipeliner) gather(batch []*job) []*job {
	for len(batch) < maxPipeline {
		select {
		case j := <-l.queue:
			batch = take(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// take adds a job to the batch unless its caller has left.
func take(batch []*job, j *job) []*job {
	if !j.state.CompareAndSwap(jobQueued, jobTaken) {
		return batch
	}
	return append(batch, j)
}

// send runs a batch and answers its jobs. Before the first admission, and after a loss, it asks
// Redis only for its time: while Redis hangs, nothing that could be charged is sent.
func (l *pipeliner) send(batch []*job, names *marks) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pipelineTime)
	defer cancel()
	measured := l.pipelines.Load()
	begun := measured.Begin()
	var failed bool
	if old, err := l.stamp(ctx, batch, names); err != nil {
		failed = true
		for _, j := range batch {
			j.err = fmt.Errorf("not sent: %w", err)
		}
	} else if l.exchange(ctx, batch, old) {
		failed = true
		l.clock.forget()
		names.renew()
	}
	measured.End(begun, len(batch), failed)
	for _, j := range batch {
		j.done <- struct{}{}
	}
}

// stamp sets the deadline and the mark of each admission of a batch. It reports whether the clock
// must be read along with the batch.
func (l *pipeliner) stamp(ctx context.Context, batch []*job, names *marks) (old bool, err error) {
	var perShard [account.Shards]uint8 // a pipeline has at most maxPipeline calls
	var notAfter any
	for _, j := range batch {
		if j.shard == noShard {
			continue
		}
		if notAfter == nil {
			moment, late, ok := l.clock.notAfter()
			if !ok {
				if err := l.clock.read(ctx, l.rdb); err != nil {
					return false, err
				}
				moment, late, _ = l.clock.notAfter()
			}
			notAfter, old = moment, late
		}
		stamp(j.cmd, notAfter, names.nth(int(perShard[j.shard])))
		perShard[j.shard]++
	}
	return old, nil
}

// exchange sends a batch, with a reading of the clock when old is set, and takes its replies. It
// reports whether the connection failed.
func (l *pipeliner) exchange(ctx context.Context, batch []*job, old bool) (failed bool) {
	if len(batch) == 1 && !old {
		_ = l.rdb.Process(ctx, batch[0].cmd) // each command carries its own error
	} else {
		pipe := l.rdb.Pipeline()
		var reading *redis.TimeCmd
		if old {
			reading = pipe.Time(ctx)
		}
		for _, j := range batch {
			_ = pipe.Process(ctx, j.cmd) // only queues it
		}
		_, _ = pipe.Exec(ctx)
		if reading != nil && reading.Err() == nil {
			l.clock.note(reading.Val())
		}
	}
	for _, j := range batch {
		j.err = j.cmd.Err()
		if j.err == nil {
			if reply, ok := j.cmd.Val().(string); ok && reply == lateReply {
				l.clock.forget() // it was set forward, or another server took over
			}
		} else if _, answered := errors.AsType[redis.Error](j.err); !answered {
			failed = true
			j.err = fmt.Errorf("%w: %w", errLost, j.err)
		}
	}
	return failed
}

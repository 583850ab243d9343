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

	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/telemetry"
)

// Concurrent admissions share pipelines: each lane sends what has gathered while its last pipeline was under way. Two lanes keep
// Redis busy while one of them decodes.
const (
	laneCount    = 2
	laneQueue    = 1024 // callers block when it is full, until there is room or their context ends: admission is never skipped
	pipelineMost = 256
	pipelineTime = 3 * time.Second
)

var errClosed = errors.New("the meter is closed")

// The states of a job: a lane takes a queued one, unless its caller has left it.
const (
	jobQueued int32 = iota
	jobTaken
	jobLeft
)

// job is one script call on its way through a lane. done has room for one token, so a lane never waits for a caller.
type job struct {
	cmd   *redis.Cmd
	state atomic.Int32
	done  chan struct{}
}

func newJob() *job { return &job{done: make(chan struct{}, 1)} }

var jobs sync.Pool

// carrier takes script calls to the Redis that they belong to.
type carrier interface {
	// do sends cmd with whatever else is waiting and gives it back answered, as lanes.do says.
	do(ctx context.Context, cmd *redis.Cmd) error
	// stop answers what is queued and refuses what comes later. It reports false when it was called before.
	stop() (first bool)
}

// lanes carry to one server.
type lanes struct {
	rdb     redis.UniversalClient
	queue   chan *job
	quit    chan struct{} // closed when nothing more is to be taken in
	stopped chan struct{} // closed when every lane has ended
	wg      sync.WaitGroup
	once    sync.Once

	pipelines *atomic.Pointer[telemetry.Pipelines]
}

var _ carrier = (*lanes)(nil)

func startLanes(rdb redis.UniversalClient, pipelines *atomic.Pointer[telemetry.Pipelines]) *lanes {
	l := &lanes{
		rdb: rdb, queue: make(chan *job, laneQueue), quit: make(chan struct{}), stopped: make(chan struct{}), pipelines: pipelines,
	}
	for range laneCount {
		l.wg.Go(l.work)
	}
	return l
}

// stop answers what is queued and waits for the lanes. It reports false when it was called before.
func (l *lanes) stop() (first bool) {
	l.once.Do(func() {
		first = true
		close(l.quit)
		l.wg.Wait()
		close(l.stopped)
	})
	return first
}

// do sends cmd with whatever else is waiting and gives it back answered. The caller's context ends the wait only until a lane has
// taken the job: from then on the script runs either way, and its reply says what was charged. The pipeline's own deadline bounds
// that wait.
func (l *lanes) do(ctx context.Context, cmd *redis.Cmd) error {
	j, ok := jobs.Get().(*job)
	if !ok {
		j = newJob()
	}
	j.cmd = cmd
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
			return fmt.Errorf("not sent: %w", ctx.Err()) // the lane that finds the job drops it
		}
		<-j.done
	case <-l.stopped:
		select {
		case <-j.done:
		default:
			return errClosed // queued when the lanes had ended: nothing was sent
		}
	}
	j.cmd = nil
	jobs.Put(j)
	return cmd.Err()
}

func (l *lanes) work() {
	batch := make([]*job, 0, pipelineMost)
	for {
		select {
		case j := <-l.queue:
			batch = take(batch[:0], j)
		case <-l.quit:
			l.finish(batch[:0])
			return
		}
		runtime.Gosched() // calls that are ready join before the pipeline leaves: fewer, longer pipelines cost both sides less
		batch = l.gather(batch)
		l.send(batch)
		clear(batch)
	}
}

// finish sends what is queued still.
func (l *lanes) finish(batch []*job) {
	for {
		if batch = l.gather(batch[:0]); len(batch) == 0 {
			return
		}
		l.send(batch)
		clear(batch)
	}
}

// gather adds what waits to the batch, up to the most that a pipeline carries.
func (l *lanes) gather(batch []*job) []*job {
	for len(batch) < pipelineMost {
		select {
		case j := <-l.queue:
			batch = take(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// take adds a job to the batch unless its caller has left it.
func take(batch []*job, j *job) []*job {
	if !j.state.CompareAndSwap(jobQueued, jobTaken) {
		return batch
	}
	return append(batch, j)
}

func (l *lanes) send(batch []*job) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pipelineTime)
	defer cancel()
	measured := l.pipelines.Load()
	begun := measured.Begin()
	var err error // each command carries its own as well
	if len(batch) == 1 {
		err = l.rdb.Process(ctx, batch[0].cmd)
	} else {
		pipe := l.rdb.Pipeline()
		for _, j := range batch {
			_ = pipe.Process(ctx, j.cmd)
		}
		_, err = pipe.Exec(ctx)
	}
	_, answered := errors.AsType[redis.Error](err)
	measured.End(begun, len(batch), err != nil && !answered)
	for _, j := range batch {
		j.done <- struct{}{}
	}
}

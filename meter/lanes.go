package meter

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Concurrent admissions share pipelines: each lane sends what has gathered while its last pipeline was under way. Two lanes keep
// Redis busy while one of them decodes.
const (
	laneCount    = 2
	laneQueue    = 1024 // callers block when it is full: admission is never skipped
	pipelineMost = 256
	pipelineTime = 3 * time.Second
)

var errClosed = errors.New("the meter is closed")

// job is one script call on its way through a lane. done has room for one token, so a lane never waits for a caller.
type job struct {
	cmd  *redis.Cmd
	done chan struct{}
}

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

type lanes struct {
	rdb   redis.UniversalClient
	queue chan *job
	quit  chan struct{}
	wg    sync.WaitGroup
}

func startLanes(rdb redis.UniversalClient) *lanes {
	l := &lanes{rdb: rdb, queue: make(chan *job, laneQueue), quit: make(chan struct{})}
	for range laneCount {
		l.wg.Go(l.work)
	}
	return l
}

func (l *lanes) stop() {
	close(l.quit)
	l.wg.Wait()
}

// do sends cmd with whatever else is waiting and gives it back answered. It does not end early when the caller's context does:
// the script runs either way, and its reply says what was charged. The pipeline's own deadline bounds the wait.
func (l *lanes) do(cmd *redis.Cmd) error {
	j := jobs.Get().(*job) //nolint:forcetypeassert // the pool holds jobs only
	j.cmd = cmd
	select {
	case l.queue <- j:
	case <-l.quit:
		return errClosed
	}
	select {
	case <-j.done:
	case <-l.quit:
		// The lane may still answer: the job is not put back, and the caller is told as if the reply was lost.
		return errClosed
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
			batch = append(batch[:0], j)
		case <-l.quit:
			return
		}
		for len(batch) < pipelineMost {
			select {
			case j := <-l.queue:
				batch = append(batch, j)
				continue
			default:
			}
			break
		}
		l.send(batch)
		clear(batch)
	}
}

func (l *lanes) send(batch []*job) {
	ctx, cancel := context.WithTimeout(context.Background(), pipelineTime)
	defer cancel()
	if len(batch) == 1 {
		_ = l.rdb.Process(ctx, batch[0].cmd) // the error is on the command
	} else {
		pipe := l.rdb.Pipeline()
		for _, j := range batch {
			_ = pipe.Process(ctx, j.cmd)
		}
		_, _ = pipe.Exec(ctx) // each command carries its own error
	}
	for _, j := range batch {
		j.done <- struct{}{}
	}
}

package main

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	pipelineMost  = 512
	pipelineCount = 2
	pipelineTime  = 30 * time.Second
)

// pipelines is a hook of a Redis client that sends concurrent single commands together. Seeding
// sends millions of them, and each would otherwise be a round trip.
type pipelines struct {
	rdb   redis.UniversalClient
	queue chan waiting
}

// waiting is a command in flight. done is closed when it has its answer.
type waiting struct {
	cmd  redis.Cmder
	done chan struct{}
}

var _ redis.Hook = (*pipelines)(nil)

// newPipelines sends through rdb, which must not have the hook itself. Its goroutines run until the
// program ends.
func newPipelines(rdb redis.UniversalClient) *pipelines {
	p := &pipelines{rdb: rdb, queue: make(chan waiting, pipelineMost)}
	for range pipelineCount {
		go p.work()
	}
	return p
}

func (p *pipelines) work() {
	for first := range p.queue {
		batch := []waiting{first}
		for more := true; more && len(batch) < pipelineMost; {
			select {
			case w := <-p.queue:
				batch = append(batch, w)
			default:
				more = false
			}
		}
		p.send(batch)
	}
}

// send sends a batch. Each command holds its own error.
func (p *pipelines) send(batch []waiting) {
	ctx, cancel := context.WithTimeout(context.Background(), pipelineTime)
	defer cancel()
	pipe := p.rdb.Pipeline()
	for _, w := range batch {
		_ = pipe.Process(ctx, w.cmd)
	}
	_, _ = pipe.Exec(ctx)
	for _, w := range batch {
		close(w.done)
	}
}

// DialHook changes nothing.
func (p *pipelines) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessPipelineHook changes nothing.
func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook queues a command for a pipeline and waits for its answer.
func (p *pipelines) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		w := waiting{cmd, make(chan struct{})}
		p.queue <- w
		<-w.done
		return cmd.Err()
	}
}

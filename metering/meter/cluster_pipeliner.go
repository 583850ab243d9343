package meter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/internal/telemetry"
)

// clusterPipeliner runs scripts on a cluster. Each master has a pipeliner of its own, so that a
// slow or lost master delays only the accounts whose shards it serves.
type clusterPipeliner struct {
	cluster   *redis.ClusterClient
	pipelines *atomic.Pointer[telemetry.Pipelines]

	masters atomic.Pointer[map[*redis.Client]*pipeliner] // replaced, never changed

	mu      sync.Mutex // guards the replacement of masters, and closed
	closed  bool
	retired sync.WaitGroup // pipeliners of former masters, while they stop
}

var _ scriptRunner = (*clusterPipeliner)(nil)

func newClusterPipeliner(cluster *redis.ClusterClient,
	pipelines *atomic.Pointer[telemetry.Pipelines],
) *clusterPipeliner {
	s := &clusterPipeliner{cluster: cluster, pipelines: pipelines}
	s.masters.Store(&map[*redis.Client]*pipeliner{})
	return s
}

// firstKey is the position of the first key, which names the slot, in EVAL and EVALSHA.
const firstKey = 3

func (s *clusterPipeliner) do(ctx context.Context, cmd *redis.Cmd, shard int) error {
	key, _ := cmd.Args()[firstKey].(string)
	for {
		master, err := s.cluster.MasterForKey(ctx, key)
		if err != nil {
			return err
		}
		l, err := s.pipelinerOf(ctx, master)
		if err != nil {
			return err
		}
		err = l.do(ctx, cmd, shard)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errClosed):
			continue // retired in between, and nothing was sent; if all is closed, pipelinerOf reports it
		case redisconn.Unexecuted(err):
			return s.follow(ctx, cmd, key, shard)
		case redisconn.Outdated(err) && ctx.Err() == nil:
			s.cluster.ReloadState(ctx) // a replaced master does not redirect
		}
		return err
	}
}

// follow lets the cluster client redirect a call that a node refused without running it. As in a
// pipeliner, its reply is waited for even if ctx ends.
func (s *clusterPipeliner) follow(ctx context.Context, cmd *redis.Cmd, key string, shard int) error {
	s.cluster.ReloadState(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pipelineTime)
	defer cancel()
	if shard != noShard {
		master, err := s.cluster.MasterForKey(ctx, key)
		if err != nil {
			return err
		}
		var its clock
		if err := its.read(ctx, master); err != nil {
			return fmt.Errorf("not sent: %w", err)
		}
		moment, _, _ := its.notAfter()
		stamp(cmd, moment, new(marks).nth(0))
	}
	err := s.cluster.Process(ctx, cmd)
	if _, answered := errors.AsType[redis.Error](err); err != nil && !answered {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// pipelinerOf returns the pipeliner of a master. It starts one for a new master and stops those of
// former masters.
func (s *clusterPipeliner) pipelinerOf(ctx context.Context, master *redis.Client) (*pipeliner, error) {
	if l, ok := (*s.masters.Load())[master]; ok {
		return l, nil
	}
	serving, err := masters(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	serving[master] = struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	all := maps.Clone(*s.masters.Load())
	for c, l := range all {
		if _, ok := serving[c]; !ok {
			delete(all, c)
			s.retired.Go(func() { l.stop() })
		}
	}
	l, ok := all[master]
	if !ok {
		l = startPipeliner(master, s.pipelines)
		all[master] = l
	}
	s.masters.Store(&all)
	return l, nil
}

// stop stops the pipeliners of all masters concurrently.
func (s *clusterPipeliner) stop() (first bool) {
	s.mu.Lock()
	first = !s.closed
	s.closed = true
	all := *s.masters.Swap(&map[*redis.Client]*pipeliner{})
	s.mu.Unlock()
	for _, l := range all {
		s.retired.Go(func() { l.stop() })
	}
	s.retired.Wait()
	return first
}

// masters returns the masters that serve a shard, by the client's picture of the cluster. Only the
// first call asks the cluster for it.
func masters(ctx context.Context, cluster *redis.ClusterClient) (map[*redis.Client]struct{}, error) {
	all := map[*redis.Client]struct{}{}
	for shard := range account.Shards {
		master, err := cluster.MasterForKey(ctx, tag(shard))
		if err != nil {
			return nil, err
		}
		all[master] = struct{}{}
	}
	return all, nil
}

package redisconn

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A command that a cluster refused is retried at most maxTries times with exponential backoff: some
// tenths of a second, in which a slot is moved or a failover becomes known.
const (
	maxTries   = 4
	firstPause = 20 * time.Millisecond
)

// Unexecuted reports whether an error proves that its command did not run on a cluster, so that it
// may be retried. A lost reply proves nothing.
func Unexecuted(err error) bool { return judge(err, true) != final }

// verdict is what to do about a command's error.
type verdict int

const (
	final     verdict = iota // do not retry
	elsewhere                // another node serves the slot (MOVED)
	asking                   // another node has the key already, the slot follows (ASK)
	later                    // the slot is between two nodes, or the node was just replaced
)

// judge classifies an error. single reports that the command has one key.
//
// While a slot is migrated, its keys are on two nodes. A command with one key follows that key. A
// script touches more keys than the one that it was refused for: on the new node some of them would
// still be missing, and it would create them a second time. So it waits until the slot has moved.
func judge(err error, single bool) verdict {
	if err == nil {
		return final
	}
	if errors.Is(err, redis.ErrClosed) { // the client of a node that was removed; nothing was sent
		return later
	}
	if _, ok := redis.IsMovedError(err); ok {
		return elsewhere
	}
	if _, ok := redis.IsAskError(err); ok {
		if single {
			return asking
		}
		return later
	}
	if redis.IsTryAgainError(err) || redis.IsReadOnlyError(err) {
		return later
	}
	return final
}

// follower retries what a cluster refused without running it. Of a pipeline it retries only those
// commands.
type follower struct {
	cluster *redis.ClusterClient

	mu    sync.Mutex // guards nodes
	nodes map[string]*redis.Client
}

var _ redis.Hook = (*follower)(nil)

// connect creates the client of a node and stores it by its address, because redirections name
// addresses.
func (f *follower) connect(o *redis.Options) *redis.Client {
	node := redis.NewClient(o)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[o.Addr] = node
	return node
}

func (f *follower) node(addr string) *redis.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[addr]
}

// DialHook changes nothing.
func (f *follower) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook retries a single command.
func (f *follower) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		cmd.SetErr(next(ctx, cmd))
		if cmd.Err() != nil {
			f.follow(ctx, []redis.Cmder{cmd}, func(ctx context.Context, cmds []redis.Cmder) {
				cmds[0].SetErr(next(ctx, cmds[0]))
			})
		}
		return cmd.Err()
	}
}

// ProcessPipelineHook retries the refused commands of a pipeline. A transaction runs as a whole or
// not at all, so it is retried as a whole.
func (f *follower) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if err == nil {
			return nil
		}
		if cmds[0].Name() == "multi" {
			return f.repeat(ctx, cmds, err, next)
		}
		f.follow(ctx, cmds, func(ctx context.Context, cmds []redis.Cmder) { _ = next(ctx, cmds) })
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

// repeat retries a refused transaction once the cluster's topology was reloaded.
func (f *follower) repeat(ctx context.Context, cmds []redis.Cmder, err error, next redis.ProcessPipelineHook) error {
	pause := firstPause
	for range maxTries {
		f.learn(ctx, err)
		if judge(err, false) == final || !wait(ctx, pause) {
			return err
		}
		pause *= 2
		for _, cmd := range cmds {
			cmd.SetErr(nil)
		}
		if err = next(ctx, cmds); err == nil {
			return nil
		}
	}
	return err
}

// follow retries the refused commands of cmds until none is left or the tries are used up. again
// sends commands by the client's present view of the cluster. Each command ends with its own error.
func (f *follower) follow(ctx context.Context, cmds []redis.Cmder, again func(context.Context, []redis.Cmder)) {
	pause := firstPause
	for range maxTries {
		named, unnamed := f.refused(ctx, cmds)
		if len(named)+len(unnamed) == 0 {
			return
		}
		for _, d := range named {
			d.send(ctx)
		}
		if len(unnamed) == 0 {
			continue
		}
		if !wait(ctx, pause) {
			return
		}
		pause *= 2
		again(ctx, unnamed)
	}
}

// delivery holds the commands for one node in their order.
type delivery struct {
	node  *redis.Client
	cmds  []redis.Cmder
	asked []bool
}

// refused groups the refused commands: those that go to a node that the reply names, and those that
// the client routes.
func (f *follower) refused(ctx context.Context, cmds []redis.Cmder) (named []*delivery, unnamed []redis.Cmder) {
	byNode := map[*redis.Client]*delivery{}
	for _, cmd := range cmds {
		err := cmd.Err()
		if err == nil {
			continue
		}
		f.learn(ctx, err)
		v := judge(err, !isScript(cmd))
		if v == final {
			continue
		}
		node := f.node(target(err))
		if v == later || node == nil {
			unnamed = append(unnamed, cmd)
			continue
		}
		d := byNode[node]
		if d == nil {
			d = &delivery{node: node}
			byNode[node] = d
			named = append(named, d)
		}
		d.cmds = append(d.cmds, cmd)
		d.asked = append(d.asked, v == asking)
	}
	return named, unnamed
}

func (d *delivery) send(ctx context.Context) {
	pipe := d.node.Pipeline()
	for i, cmd := range d.cmds {
		if d.asked[i] {
			pipe.Do(ctx, "asking")
		}
		cmd.SetErr(nil)
		_ = pipe.Process(ctx, cmd) // only queues it
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
}

// learn reloads the cluster's topology when an error suggests that it has changed: clients are not
// notified when a failed node is replaced.
func (f *follower) learn(ctx context.Context, err error) {
	if Outdated(err) {
		f.cluster.ReloadState(ctx)
	}
}

// Outdated reports whether an error of a cluster's node is a reason to reload the cluster's
// topology.
func Outdated(err error) bool {
	_, answered := errors.AsType[redis.Error](err)
	return judge(err, true) != final || redis.IsClusterDownError(err) || !answered
}

func target(err error) string {
	if addr, ok := redis.IsMovedError(err); ok {
		return addr
	}
	addr, _ := redis.IsAskError(err)
	return addr
}

func isScript(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "eval", "evalsha", "fcall":
		return true
	}
	return false
}

func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

const redisMissing = "redis-server was not found: run scripts/bootstrap test, or set REDIS_URL to one that runs"

// embeddedTick is the interval at which the embedded Redis' clock is advanced.
const embeddedTick = 100 * time.Millisecond

func (s *starter) planRedis() (func(context.Context) error, error) {
	if s.opts.RedisURL != "" {
		return s.useRedis, nil
	}
	program := s.programs.look("redis-server")
	switch {
	case program != "":
		return func(ctx context.Context) error { return s.startRedis(ctx, program) }, nil
	case s.opts.EmbeddedRedis:
		return s.embedRedis, nil
	default:
		return nil, errors.New(redisMissing)
	}
}

// useRedis checks a server that is already running.
func (s *starter) useRedis(ctx context.Context) error {
	opts, err := redis.ParseURL(s.opts.RedisURL)
	if err != nil {
		// The cause is omitted: it quotes the URL with its password.
		return errors.New("REDIS_URL is not a Redis URL: write it as redis://[user:password@]host:port/0")
	}
	return s.progress.during("waiting for the Redis of REDIS_URL", func() error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		opts.MaxRetries = -1
		client := redis.NewClient(opts)
		defer func() { _ = client.Close() }()
		if err := client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf(
				"the Redis of REDIS_URL does not answer: start it, correct the address, or unset the variable: %w", err)
		}
		s.stack.RedisURL = s.opts.RedisURL
		return nil
	})
}

// startRedis starts a server with an append-only file and without eviction, as in production.
func (s *starter) startRedis(ctx context.Context, program string) error {
	dir := filepath.Join(s.opts.DataDir, "redis")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of Redis: %w", err)
	}
	return s.progress.during("starting Redis", func() error {
		p, err := s.launch(ctx, func() (attempt, error) {
			port, err := freePort(ctx)
			if err != nil {
				return attempt{}, err
			}
			addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
			s.stack.RedisURL = "redis://" + addr + "/0"
			return attempt{process.Spec{
				Name: "Redis", Path: program, Dir: dir, LogFile: s.logFile("redis"),
				Args: []string{
					"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--daemonize", "no",
					"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy",
					"noeviction",
				},
				Stop: []syscall.Signal{syscall.SIGTERM}, ParentDeath: syscall.SIGTERM,
			}, func(ctx context.Context, p *process.Process) error { return RedisReady(ctx, addr, p.PID()) }}, nil
		})
		if err != nil {
			return err
		}
		s.ownProcess(p, stopRedis)
		return nil
	})
}

// RedisReady returns nil when the Redis at addr answers and its process id is pid: on a shared
// machine, another server may have taken the port in between.
func RedisReady(ctx context.Context, addr string, pid int) error {
	// The client would log every refused connection, and some are expected while a server starts.
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	_ = conn.Close()
	client := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, PoolSize: 1, Protocol: 2, DisableIdentity: true,
	})
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "process_id:"+strconv.Itoa(pid)+"\r\n") {
		return fmt.Errorf("another Redis listens on %s", addr)
	}
	// A server that is still loading its data answers INFO, but not PING.
	return client.Ping(ctx).Err()
}

// embedRedis runs Redis in this process. Its keys expire in real time; its data is lost with the
// process.
func (s *starter) embedRedis(context.Context) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return fmt.Errorf("start the embedded Redis: %w", err)
	}
	stop := make(chan struct{})
	var clock sync.WaitGroup
	clock.Go(func() {
		tick := time.NewTicker(embeddedTick)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	})
	s.own(component{name: "embedded Redis", order: stopRedis, stop: func(context.Context) error {
		close(stop)
		clock.Wait()
		server.Close()
		return nil
	}})
	s.stack.RedisURL = "redis://" + server.Addr() + "/0"
	s.stack.RedisEmbedded = true
	s.progress.sayf("redis-server was not found: an embedded Redis is used, which forgets everything at the stop " +
		"(scripts/bootstrap test installs redis-server)")
	return nil
}

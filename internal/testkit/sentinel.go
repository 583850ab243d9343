package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// RedisSentinelServers are a master, its replica and a sentinel that watches them, for one test.
type RedisSentinelServers struct {
	URL     string // redis+sentinel://127.0.0.1:port/0?master_name=meter
	Master  *RedisServer
	Replica *RedisServer // becomes the master after a failover
}

// sentinelConfig has a quorum of one: the single sentinel decides.
const sentinelConfig = `bind 127.0.0.1
sentinel monitor meter 127.0.0.1 %d 1
sentinel down-after-milliseconds meter 500
sentinel failover-timeout meter 5000
`

// RedisSentinel starts the three servers for one test and kills them when it ends.
func RedisSentinel(t testing.TB, options ...RedisOption) *RedisSentinelServers {
	t.Helper()
	s := &RedisSentinelServers{Master: Redis(t, options...)}
	s.Replica = Redis(t, append([]RedisOption{WithRedisArgs("--replicaof", "127.0.0.1", strconv.Itoa(s.Master.port))},
		options...)...)
	Eventually(t, redisDeadline, func() bool {
		return strings.Contains(fmt.Sprint(s.Replica.Do(t, "info", "replication")), "master_link_status:up")
	}, "the replica follows its master")
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server was not found: run scripts/bootstrap test")
	}
	sentinel := &RedisServer{program: program, dir: t.TempDir()}
	sentinel.config = filepath.Join(sentinel.dir, "sentinel.conf")
	if err := os.WriteFile(sentinel.config, fmt.Appendf(nil, sentinelConfig, s.Master.port), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel.launch(t)
	Eventually(t, redisDeadline, func() bool {
		known := fmt.Sprint(sentinel.Do(t, "sentinel", "replicas", "meter"))
		return strings.Contains(known, "127.0.0.1:"+strconv.Itoa(s.Replica.port)) &&
			strings.Contains(known, "master-link-status ok")
	}, "the sentinel knows the replica")
	s.URL = "redis+sentinel://" + sentinel.Addr + "/0?master_name=meter"
	return s
}

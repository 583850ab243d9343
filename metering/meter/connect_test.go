package meter_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
)

func TestSentinel_FailoverIsFollowed(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	servers := testkit.RedisSentinel(t)
	b := connect(t, servers.URL)
	c := b.client(t, limits(noWindow, 1<<50, 1<<50))
	b.mustAdmit(t, c, charge(5))
	charged := b.rdb.DBSize(b.ctx).Val()
	testkit.Eventually(t, testTimeout, func() bool {
		return servers.Replica.Do(t, "dbsize") == charged
	}, "the replica has all of it")
	servers.Master.Kill(t)
	if a, err := b.meter.Admit(b.ctx, c.Subject, charge(5)); err == nil {
		t.Errorf("the meter said %+v without a master", a)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		a, err := b.meter.Admit(b.ctx, c.Subject, charge(5))
		return err == nil && a.Admitted
	}, "calls are admitted by the replica, with the counters that were there")
	if info := fmt.Sprint(servers.Replica.Do(t, "info", "replication")); !strings.Contains(info, "role:master") {
		t.Errorf("the replica admitted without being the master:\n%s", info)
	}
	if day := b.usedDay(t, c); day != 10 {
		t.Errorf("the day stands at %d, want 10", day)
	}
}

func TestTLS_MeterNeedsCertificates(t *testing.T) {
	t.Parallel()
	trusted, foreign := testkit.NewCertificates(t, "redis.internal"), testkit.NewCertificates(t, "redis.internal")
	server := testkit.Redis(t, testkit.WithTLS(trusted))
	cluster := testkit.RedisCluster(t, testkit.WithTLS(trusted))
	tlsAddr := func(n *testkit.RedisServer) string { return n.TLSAddr }
	for kind, address := range map[string]string{
		"one server": "rediss://" + server.TLSAddr + "/0",
		"a cluster":  strings.Replace(cluster.AddressOf(tlsAddr), "redis", "rediss", 1),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
			defer cancel()
			good := redisconn.Certificates{
				CAFile: trusted.CAFile, CertFile: trusted.CertFile, KeyFile: trusted.KeyFile, ServerName: trusted.Name,
			}
			m, err := meter.OpenTLS(ctx, address, good)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			if got, err := m.Limit(ctx, kind, account.RateWindow{Limit: 1, Per: time.Hour}); err != nil || !got.OK {
				t.Errorf("%+v, %v", got, err)
			}
			if _, err := m.DirtyShards(ctx, 0, 1024); err != nil { // of every node
				t.Error(err)
			}
			for name, bad := range map[string]redisconn.Certificates{
				"the system's roots": {
					CertFile: good.CertFile, KeyFile: good.KeyFile, ServerName: good.ServerName,
				},
				"another authority": {
					CAFile: foreign.CAFile, CertFile: good.CertFile, KeyFile: good.KeyFile, ServerName: good.ServerName,
				},
				"another name": {
					CAFile: good.CAFile, CertFile: good.CertFile, KeyFile: good.KeyFile, ServerName: "other.internal",
				},
				"the address as its name":   {CAFile: good.CAFile, CertFile: good.CertFile, KeyFile: good.KeyFile},
				"no certificate of its own": {CAFile: good.CAFile, ServerName: good.ServerName},
				"a foreign certificate": {
					CAFile: good.CAFile, CertFile: foreign.CertFile, KeyFile: foreign.KeyFile,
					ServerName: good.ServerName,
				},
			} {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
				if m, err := meter.OpenTLS(ctx, address, bad); err == nil {
					t.Errorf("a meter with %s is connected", name)
					_ = m.Close()
				}
				cancel()
			}
		})
	}
}

func TestTLS_BadCertificateFilesAreNamed(t *testing.T) {
	t.Parallel()
	good := testkit.NewCertificates(t, "redis.internal")
	for variable, files := range map[string]redisconn.Certificates{
		"REDIS_TLS_CA_FILE":   {CAFile: good.KeyFile},
		"REDIS_TLS_CERT_FILE": {CertFile: good.CertFile, KeyFile: good.CAFile},
		"REDIS_TLS_KEY_FILE":  {CertFile: good.CertFile, KeyFile: good.KeyFile + ".missing"},
	} {
		t.Run(variable, func(t *testing.T) {
			if _, err := meter.OpenTLS(t.Context(), "rediss://"+testkit.ClosedAddress(t), files); err == nil ||
				!strings.Contains(err.Error(), variable) {
				t.Errorf("%v, want an error that names %s", err, variable)
			}
		})
	}
}

// A Redis user that may touch only one hash tag can run everything about an account: no script uses
// keys outside it.
func TestHashTag_EverythingOfAnAccountLiesUnderOne(t *testing.T) {
	t.Parallel()
	admin, server := setupRedis(t)
	c := admin.stranger(t, limits(wideWindow, 50_000, 80_000))
	server.Do(t, "acl", "setuser", "own", "on", ">secret", "+@all", "~"+tagOf(c)+"*")
	b := connect(t, "redis://own:secret@"+server.Addr+"/0")
	b.push(t, c)
	if a := b.admit(t, c, charge(1000)); len(a.Missing) == 0 {
		t.Errorf("admitted without counters: %+v", a)
	}
	b.seed(t, c, figure{})
	r := b.mustAdmit(t, c, charge(1000))
	b.mustAdmit(t, c, hit())
	b.mustAdmit(t, c, windowOnly("method_not_found"))
	b.mustRefuse(t, c, charge(60_000), "door_key_day")
	b.refund(t, c, charge(1000), r, "request")
	if err := b.meter.DropBuckets(b.ctx, b.buckets(t, c)); err != nil {
		t.Error(err)
	}

	// With another tag nothing of it runs.
	server.Do(t, "acl", "setuser", "other", "on", ">secret", "+@all", "~{u9999}:*")
	other := openMeter(b.ctx, t, "redis://other:secret@"+server.Addr+"/0")
	if a, err := other.Admit(b.ctx, c.Subject, hit()); err == nil {
		t.Errorf("admitted without the right to a key: %+v", a)
	}
}

// loading answers LOADING to the first commands of a client, as a Redis does that was restarted.
type loading struct{ left atomic.Int64 }

type loadingError struct{}

func (loadingError) Error() string { return "LOADING Redis is loading the dataset in memory" }
func (loadingError) RedisError()   {}

func (*loading) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *loading) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if l.left.Add(-1) < 0 {
			return next(ctx, cmd)
		}
		cmd.SetErr(loadingError{})
		return loadingError{}
	}
}

func (*loading) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestNew_WaitsWhileRedisLoadsItsData(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	open := func(answers int64) *redis.Client {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
		hook := new(loading)
		hook.left.Store(answers)
		rdb.AddHook(hook)
		return rdb
	}
	m, err := meter.New(t.Context(), open(3))
	require.NoError(t, err)
	expect.NoError(t, m.Ping(t.Context()))
	expect.NoError(t, m.Close())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = meter.New(ctx, open(1<<60))
	expect.ErrorIs(t, err, context.Canceled)
}

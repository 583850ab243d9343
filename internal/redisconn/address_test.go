package redisconn

import (
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestAddress_NamesWhatIsConnected(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Address{
		"redis+cluster://node-a": {
			cluster: &redis.ClusterOptions{Addrs: []string{"node-a:6379"}},
		},
		"rediss+cluster://u:p%40w@node-a:7000?addr=node-b:7001": {
			cluster: &redis.ClusterOptions{
				Addrs: []string{"node-a:7000", "node-b:7001"}, Username: "u", Password: "p@w",
			}, tls: true,
		},
		"redis+cluster://[2001:db8::1]/0?addr=[2001:db8::2]:6379": {
			cluster: &redis.ClusterOptions{Addrs: []string{"[2001:db8::1]:6379", "[2001:db8::2]:6379"}},
		},
		"redis+sentinel://:pw@s-a/3?master_name=meter&addr=s-b:26380": {failover: &redis.FailoverOptions{
			MasterName: "meter", SentinelAddrs: []string{"s-a:26379", "s-b:26380"}, Password: "pw", DB: 3,
		}},
		"REDISS+SENTINEL://u@s-a:1?master_name=m&sentinel_username=su&sentinel_password=sp": {
			failover: &redis.FailoverOptions{
				MasterName: "m", SentinelAddrs: []string{"s-a:1"}, Username: "u", SentinelUsername: "su",
				SentinelPassword: "sp",
			}, tls: true,
		},
	} {
		t.Run(address, func(t *testing.T) {
			got, err := Parse(address)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %+v, %v", address, got, err)
			}
		})
	}
	for address, addr := range map[string]string{
		"redis://h": "h:6379", "rediss://u:p@h:6380/2": "h:6380", "unix:///run/r.sock": "/run/r.sock",
	} {
		t.Run(address, func(t *testing.T) {
			got, err := Parse(address)
			in := expect.In(t, "%s", address)
			require.NoError(in, err)
			expect.True(in, got.Single(), got)
			expect.Equal(in, got.single.Addr, addr)
			expect.Equal(in, got.TLS(), strings.HasPrefix(address, "rediss"))
		})
	}
}

func TestAddress_BadOneIsReportedWithoutItsParts(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                                                    "must be redis://",
		"canary":                                              "must be redis://",
		"http://canary":                                       "must be redis://",
		"redis+ring://canary":                                 "must be redis://",
		"unix+cluster:///canary":                              "must be redis://",
		"redis://:canary@ho st":                               "must be redis://",
		"redis://:canary%zz@host":                             "must be redis://",
		"redis://:canary@host/one":                            "must be redis://",
		"redis://:canary@host?a=b":                            "must be redis://",
		"redis+cluster://:canary@":                            "must name a host",
		"redis://:canary@:6379":                               "must name a host",
		"rediss://canary?skip_verify=true":                    "must not have skip_verify",
		"redis+cluster://canary/1":                            "must have no path",
		"redis+cluster://h?addr=canary":                       "must have each addr as HOST:PORT",
		"redis+cluster://h?addr=:6379":                        "must have each addr as HOST:PORT",
		"redis+cluster://h?addr=canary:0":                     "must have a port from 1",
		"redis+cluster://h?addr=canary:65536":                 "must have a port from 1",
		"redis+cluster://h?max_redirects=8&canary=1":          "must have no other parameters than addr",
		"redis+sentinel://:canary@h":                          "must have ?master_name=NAME",
		"redis+sentinel://:canary@h/db?master_name=m":         "must have the number of a database",
		"redis+sentinel://:canary@h?master_name=m&password=p": "must have no other parameters",
	} {
		t.Run(address, func(t *testing.T) {
			_, err := Parse(address)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
				return
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("%v shows a part of it", err)
			}
		})
	}
}

// The client library must not retry on its own, whatever the kind of address.
func TestClient_DoesNotRetryByItself(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://h?max_retries=5", "rediss://h", "unix:///run/r.sock", "redis+sentinel://h?master_name=m",
		"redis+cluster://h", "rediss+cluster://h",
	} {
		a, err := Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := Open(a, Certificates{})
		if err != nil {
			t.Fatal(err)
		}
		switch c := client.(type) {
		case *redis.ClusterClient:
			o := c.Options()
			in := expect.In(t, "%s", address)
			expect.Equal(in, o.MaxRedirects, 0)
			expect.Equal(in, o.MaxRetries, -1)
			expect.Equal(in, o.TLSConfig != nil, a.TLS())
		case *redis.Client:
			if o := c.Options(); o.MaxRetries != 0 || (o.TLSConfig != nil) != a.TLS() &&
				strings.HasPrefix(address, "rediss") {
				t.Errorf("%s: %d retries", address, o.MaxRetries)
			}
		default:
			t.Errorf("%s opens a %T", address, c)
		}
		_ = client.Close() // it was never connected
	}
}

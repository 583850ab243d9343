package redisconn

import (
	"crypto/tls"
	"errors"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"
)

// AnswerTime is how long a command waits for its reply once it was written. A later reply is lost,
// and the command fails with a timeout.
const AnswerTime = time.Second

// The other limits of a connection.
const (
	dialTime = 2 * time.Second
	// never disables the client's own retries.
	never = -1
	// dials is how often one connection is attempted: commands that wait for a pipeline wait for
	// its connection too.
	dials = 1
	// protocol is RESP2: with RESP3 the client would look for push messages, which are not used,
	// before every reply.
	protocol = 2
	// reloadEvery is how often a cluster's topology is reloaded anyway; redirections and lost
	// connections reload it at once.
	reloadEvery = 10 * time.Second
)

// Open returns a client for an address; it connects at the first command. A command is sent once,
// and a lost reply is an error. Only what a cluster refused without running it (see Unexecuted) is
// retried. An error names the invalid variable.
func Open(a Address, certificates Certificates) (redis.UniversalClient, error) {
	var secure *tls.Config
	if a.tls {
		var err error
		if secure, err = certificates.load(); err != nil {
			return nil, err
		}
	}
	switch {
	case a.cluster != nil:
		return openCluster(*a.cluster, secure), nil
	case a.failover != nil:
		o := *a.failover
		o.TLSConfig = secure
		o.MaxRetries = never
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout, o.DialerRetries = AnswerTime, AnswerTime, dialTime, dials
		o.ContextTimeoutEnabled = true
		o.Protocol = protocol
		return redis.NewFailoverClient(&o), nil
	case a.single != nil:
		o := *a.single
		if secure != nil {
			o.TLSConfig = secure
		}
		o.MaxRetries = never
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout, o.DialerRetries = AnswerTime, AnswerTime, dialTime, dials
		o.ContextTimeoutEnabled = true
		o.Protocol = protocol
		return redis.NewClient(&o), nil
	}
	return nil, errors.New("no address of Redis was given")
}

func openCluster(o redis.ClusterOptions, secure *tls.Config) *redis.ClusterClient {
	follow := &follower{nodes: map[string]*redis.Client{}}
	o.TLSConfig = secure
	// By itself, the client would retry after lost connections and timeouts as well as after
	// redirections; the follower retries only the latter.
	o.MaxRetries, o.MaxRedirects = never, never
	o.ReadTimeout, o.WriteTimeout, o.DialTimeout, o.DialerRetries = AnswerTime, AnswerTime, dialTime, dials
	o.ContextTimeoutEnabled = true
	o.Protocol = protocol
	o.PoolSize = 10 * runtime.GOMAXPROCS(0) // for each node, as for a single server
	o.ClusterStateReloadInterval = reloadEvery
	o.DisableRoutingPolicies = true // route commands by their keys only; do not split any over nodes
	o.NewClient = follow.connect
	client := redis.NewClusterClient(&o)
	follow.cluster = client
	client.AddHook(follow)
	return client
}

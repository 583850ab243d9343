package redisconn

import (
	"crypto/tls"
	"errors"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"
)

// AnswerTime is how long a command waits for its reply once it was written. A later reply is lost,
// and whoever waits for it is told so.
const AnswerTime = time.Second

// The other bounds of a connection.
const (
	dialTime = 2 * time.Second
	// never is what the client takes for "send nothing again".
	never = -1
	// dials is how often one connection is tried: whoever waits for a pipeline waits for its
	// connection too.
	dials = 1
	// protocol 3 would look for pushed messages, which nobody sends here, before every reply.
	protocol = 2
	// reloadEvery is how often the shape of a cluster is read without need; redirections and lost
	// connections have it read at once.
	reloadEvery = 10 * time.Second
)

// Open makes the client for an address; it connects with its first command. A command is sent once:
// a lost reply is an error. Only what a cluster refused without running it (see Unexecuted) is sent
// again. An error names the variable at fault.
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
	// Of itself the client sends again after lost connections and time-outs as well as after
	// redirections; the follower does only the latter.
	o.MaxRetries, o.MaxRedirects = never, never
	o.ReadTimeout, o.WriteTimeout, o.DialTimeout, o.DialerRetries = AnswerTime, AnswerTime, dialTime, dials
	o.ContextTimeoutEnabled = true
	o.Protocol = protocol
	o.PoolSize = 10 * runtime.GOMAXPROCS(0) // for each node, as for a single server
	o.ClusterStateReloadInterval = reloadEvery
	o.DisableRoutingPolicies = true // commands go by their keys alone; nothing is spread over nodes behind our back
	o.NewClient = follow.connect
	client := redis.NewClusterClient(&o)
	follow.cluster = client
	client.AddHook(follow)
	return client
}

// Package redisconn opens the Redis that an address describes: one server, the master of a Sentinel
// setup, or a cluster. It owns the forms of such addresses, TLS, and the rule that no command is
// retried unless a reply proves that it did not run. The commands and their replies belong to
// metering/meter and relay/upstream.
package redisconn

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// forms describes the syntax of an address.
const forms = "redis://[USER:PASSWORD@]HOST:6379/0 or unix:///PATH for one server, " +
	"redis+sentinel://[USER:PASSWORD@]SENTINEL:26379/0?master_name=NAME for the master that sentinels name, " +
	"redis+cluster://[USER:PASSWORD@]HOST:6379 for a cluster; further sentinels or nodes are given as " +
	"&addr=HOST:PORT, and rediss in place of redis is TLS"

const (
	serverPort   = "6379"
	sentinelPort = "26379"
)

// Address is a parsed address. Exactly one of its options is set.
type Address struct {
	single   *redis.Options
	failover *redis.FailoverOptions
	cluster  *redis.ClusterOptions
	tls      bool
}

// Parse parses an address. Its error continues a sentence that begins with the variable's name
// ("must …"). The error never quotes the address, which may hold a password.
func Parse(address string) (Address, error) {
	u, err := url.Parse(address)
	if err != nil { // the cause quotes the address
		return Address{}, errForm
	}
	scheme, kind, special := strings.Cut(u.Scheme, "+") // url.Parse has lowercased it
	a := Address{tls: scheme == "rediss"}
	switch {
	case scheme == "unix" && !special:
	case scheme != "redis" && scheme != "rediss", special && kind != "sentinel" && kind != "cluster":
		return Address{}, errForm
	case u.Hostname() == "":
		return Address{}, errors.New("must name a host: " + forms)
	}
	switch kind {
	case "sentinel":
		a.failover, err = parseSentinel(u)
	case "cluster":
		a.cluster, err = parseCluster(u)
	default:
		a.single, err = parseSingle(address, u)
	}
	if err != nil {
		return Address{}, err
	}
	return a, nil
}

var errForm = errors.New("must be " + forms)

func parseSingle(address string, u *url.URL) (*redis.Options, error) {
	if u.Query().Has("skip_verify") {
		return nil, errors.New(
			"must not have skip_verify: a server that is not checked may be anybody; REDIS_TLS_CA_FILE says who is " +
				"trusted")
	}
	opts, err := redis.ParseURL(address)
	if err != nil { // the cause may quote the address
		return nil, errForm
	}
	return opts, nil
}

func parseSentinel(u *url.URL) (*redis.FailoverOptions, error) {
	q := u.Query()
	if err := onlyKnown(q, "addr", "master_name", "sentinel_username", "sentinel_password"); err != nil {
		return nil, err
	}
	o := &redis.FailoverOptions{
		MasterName: q.Get("master_name"), SentinelUsername: q.Get("sentinel_username"),
		SentinelPassword: q.Get("sentinel_password"),
	}
	if o.MasterName == "" {
		return nil, errors.New("must have ?master_name=NAME, under which the sentinels know the master")
	}
	o.Username, o.Password = credentials(u)
	if path := strings.Trim(u.Path, "/"); path != "" {
		db, err := strconv.ParseUint(path, 10, 16)
		if err != nil {
			return nil, errors.New("must have the number of a database as its path, or none")
		}
		o.DB = int(db)
	}
	var err error
	o.SentinelAddrs, err = hosts(u, sentinelPort)
	return o, err
}

func parseCluster(u *url.URL) (*redis.ClusterOptions, error) {
	if err := onlyKnown(u.Query(), "addr"); err != nil {
		return nil, err
	}
	if path := strings.Trim(u.Path, "/"); path != "" && path != "0" {
		return nil, errors.New("must have no path: a cluster has one database only")
	}
	o := &redis.ClusterOptions{}
	o.Username, o.Password = credentials(u)
	var err error
	o.Addrs, err = hosts(u, serverPort)
	return o, err
}

func credentials(u *url.URL) (user, password string) {
	password, _ = u.User.Password()
	return u.User.Username(), password
}

// onlyKnown refuses other parameters: a misspelt one would otherwise be ignored silently.
func onlyKnown(q url.Values, known ...string) error {
	for name := range q {
		if !slices.Contains(known, name) {
			return fmt.Errorf("must have no other parameters than %s", strings.Join(known, ", "))
		}
	}
	return nil
}

// hosts lists the address's host and those of its addr parameters.
func hosts(u *url.URL, port string) ([]string, error) {
	all := []string{net.JoinHostPort(u.Hostname(), portOr(u, port))}
	for _, addr := range u.Query()["addr"] {
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" {
			return nil, errors.New("must have each addr as HOST:PORT")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("must have a port from 1 to 65535 in each addr")
		}
		all = append(all, addr)
	}
	return all, nil
}

func portOr(u *url.URL, fallback string) string {
	if p := u.Port(); p != "" {
		return p
	}
	return fallback
}

// Single reports whether the address is that of one server.
func (a Address) Single() bool { return a.single != nil }

// TLS reports whether connections are encrypted.
func (a Address) TLS() bool { return a.tls }

// Shares reports whether both addresses name the same server, even with other databases or users.
// Servers that sentinels name are not in an address and are not compared.
func (a Address) Shares(b Address) bool {
	return slices.ContainsFunc(a.servers(), func(one string) bool {
		return slices.ContainsFunc(b.servers(), func(other string) bool { return strings.EqualFold(one, other) })
	})
}

func (a Address) servers() []string {
	switch {
	case a.single != nil:
		return []string{a.single.Network + " " + a.single.Addr}
	case a.cluster != nil:
		var all []string
		for _, addr := range a.cluster.Addrs {
			all = append(all, "tcp "+addr)
		}
		return all
	}
	return nil
}

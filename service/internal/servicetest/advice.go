package servicetest

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/billingdb"
)

// Neighbour returns a caller without a key on a network of its own, so that tests do not share a
// rate limit.
func Neighbour(n int) *operation.Caller {
	c := Browser("")
	c.Network = netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, byte(100 + n/256), byte(n)}), 32)
	return c
}

// Seen is the result of probing an upstream.
type Seen struct {
	Supply  plan.Supply
	Latency time.Duration
	Lag     uint64
	Reason  string // why it is not usable; empty if it is
	Can     map[chain.Capability]bool
}

// Measured returns a pool with these probe results of an instant, by chain. The zero instant means
// never probed.
func Measured(t *testing.T, at time.Time, chains map[chain.ID][]Seen) *upstream.Pool {
	t.Helper()
	file := config.Upstreams{Chains: map[string]config.ChainUpstreams{}}
	for id, ups := range chains {
		var listed []config.Upstream
		for i, u := range ups {
			listed = append(listed, config.Upstream{
				Name: fmt.Sprintf("secret-name-%d", i), URL: "http://127.0.0.1:9/secret-path", Supply: string(u.Supply),
			})
		}
		file.Chains[string(id)] = config.ChainUpstreams{Upstreams: listed}
	}
	pool, err := upstream.NewPool(file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if at.IsZero() {
		return pool
	}
	for id, ups := range chains {
		c, _ := pool.Chain(id)
		s := upstream.Snapshot{Chain: id, MeasuredAt: at, Head: 1000, HeadKnown: true, HeadAt: at}
		for i, u := range ups {
			name := c.Names()[i]
			state := upstream.UpstreamState{
				Name: name, Fingerprint: c.Fingerprint(name), Usable: u.Reason == "", Reason: u.Reason, ChainIDOK: true,
				Head: 1000 - u.Lag, Lag: u.Lag, LatencyMicros: u.Latency.Microseconds(),
				Capabilities: map[chain.Capability]upstream.Verdict{},
			}
			for of, able := range u.Can {
				state.Capabilities[of] = upstream.Verdict{Able: able, MeasuredAt: at, AskedAt: at}
			}
			s.Upstreams = append(s.Upstreams, state)
		}
		c.Apply(s)
	}
	return pool
}

// Advisers returns an environment over such a pool.
func Advisers(t *testing.T, pool *upstream.Pool) *Env {
	t.Helper()
	return OpenEnv(t, func(o *service.Options) {
		o.Pool, o.Links, o.Terms = pool, chain.Links{
			Contact: "help@gateway.example", Docs: "https://gateway.example/docs",
		}, x402.Terms{}
	})
}

// Hold opens a checkout of the founding offer, which holds a seat.
func (o *Env) Hold(t *testing.T, owner string) {
	t.Helper()
	id, err := account.ParseID(owner)
	if err != nil {
		t.Fatal(err)
	}
	opened := plan.Founding().Ends.Add(-24 * time.Hour)
	c := billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: id, Item: plan.Founding().Key, OpenedAt: opened,
		ExpiresAt: opened.Add(time.Hour),
	}
	if _, err := o.Store.OpenCheckout(o.Ctx, c); err != nil {
		t.Fatal(err)
	}
}

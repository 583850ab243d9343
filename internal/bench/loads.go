package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// load is one kind of request, which is sent to both sides.
type load struct {
	name  string
	about string
	body  string // Lua expression over n, the number of the request
	path  string // Lua expression of a GET's target; empty for a POST
	to    string // the target of a POST; empty for the relay's
	wrong string // what no answer may contain, where the status does not show a refusal
	many  bool   // requests come from many networks, since each is rate limited
	plan  string // the plan of the accounts that send it
	ratio bar    // the gateway's rate divided by nginx's
	p99   bar    // the gateway's p99 divided by nginx's
	// kept reports that the gateway should answer from its cache. The cache is filled before the
	// load and checked after it.
	kept bool
}

const (
	getBalance = `string.format('{"jsonrpc":"2.0","id":%d,"method":"eth_getBalance","params":["0x%040x","latest"]}', ` +
		`n, n)`
	getReceipt = `string.format('{"jsonrpc":"2.0","id":%d,"method":"eth_getTransactionReceipt","params":["0x%064x"]}` +
		`', n, n % 1000)`
	getLocal = `string.format('{"jsonrpc":"2.0","id":%d,"method":"%s","params":[]}', n, n % 2 == 0 and "eth_chainId" ` +
		`or "eth_blockNumber")`

	receipts = 1000 // distinct receipts of getReceipt

	ratioKey = "ratio_to_nginx"
	p99Key   = "p99_to_nginx"
)

var loads = []load{
	{
		name: "distinct_reads", about: "rate and p99 of metered reads, each another, to nginx's", body: getBalance,
		plan: plan.Enterprise, ratio: bar{atLeast, 0.40, 0.50}, p99: bar{atMost, 2, 0},
	},
	{
		name: "distinct_reads_with_quota", about: "the same with accounts that a quota is counted for",
		body: getBalance, plan: plan.Growth,
	},
	{
		name: "cache_hits", about: "rate of receipts that the gateway keeps, still admitted, to nginx's",
		body: getReceipt, plan: plan.Enterprise, ratio: bar{atLeast, 0.55, 0.70}, kept: true,
	},
	{
		name: "local_hits", about: "rate of eth_chainId and eth_blockNumber, still admitted, to nginx's",
		body: getLocal, plan: plan.Enterprise,
	},
}

// request returns the Lua expression of a request.
func (l load) request() string {
	if l.path != "" {
		return `wrk.format("GET", ` + l.path + `, headers)`
	}
	to := "nil"
	if l.to != "" {
		to = strconv.Quote(l.to)
	}
	return `wrk.format("POST", ` + to + `, headers, ` + l.body + `)`
}

// compared holds the results of both sides of a load.
type compared struct {
	load           load
	nginx, gateway figures
}

// compare runs both sides in turn and prints the comparison. The first round warms up; the medians
// of the others count.
func (r *rig) compare(ctx context.Context, o options, l load, report *report) error {
	if err := r.prepare(ctx, l); err != nil {
		return err
	}
	sides := [2]string{r.nginx, r.gateway.url}
	var all [2][]figures
	for round := range o.rounds + 1 {
		report.sayf("%s: round %d of %d", l.name, round, o.rounds)
		for turn := range sides {
			side := (turn + round) % len(sides) // each side goes first equally often
			profiled := r.profileDuring(ctx, o, l, side == 1 && round == o.rounds)
			f, err := r.wrk(ctx, o, l, sides[side]+rpcPath)
			if err = errors.Join(err, <-profiled); err != nil {
				return fmt.Errorf("%s: %w", []string{"nginx", "the gateway"}[side], err)
			}
			if round > 0 {
				all[side] = append(all[side], f)
			}
		}
	}
	if l.kept {
		if err := r.checkKept(ctx); err != nil {
			return err
		}
	}
	c := compared{load: l, nginx: medians(all[0]), gateway: medians(all[1])}
	report.sayf("nginx    %s\ngateway  %s", c.nginx, c.gateway)
	report.loads = append(report.loads, c)
	report.add(c.ratio())
	report.add(c.p99())
	return nil
}

func (c compared) ratio() result {
	return result{c.load.name, ratioKey, c.gateway.rate / c.nginx.rate, 2, c.load.ratio}
}

func (c compared) p99() result {
	return result{c.load.name, p99Key, float64(c.gateway.p99) / float64(c.nginx.p99), 2, c.load.p99}
}

// prepare starts everything that a load needs. Loads share one gateway.
func (r *rig) prepare(ctx context.Context, l load) error {
	if err := r.servers(ctx); err != nil {
		return err
	}
	if err := r.besides(ctx); err != nil {
		return err
	}
	if r.gateway == nil {
		if _, err := r.freshGateway(ctx, r.node); err != nil {
			return err
		}
	}
	if !l.kept {
		return nil
	}
	if _, err := r.askForReceipts(ctx); err != nil {
		return err
	}
	return r.checkKept(ctx)
}

// checkKept asks for every receipt and fails unless the gateway's cache has all of them.
func (r *rig) checkKept(ctx context.Context) error {
	hits, err := r.askForReceipts(ctx)
	if err == nil && hits < receipts {
		err = fmt.Errorf("%d of %d receipts came from the gateway's cache: this load would not measure it", hits,
			receipts)
	}
	return err
}

func (r *rig) askForReceipts(ctx context.Context) (hits int, err error) {
	c := client{url: r.gateway.url + rpcPath, keys: r.keys[plan.Enterprise], http: newHTTPClient(1)}
	for n := range receipts {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionReceipt","params":["0x%064x"]}`, n)
		head, err := c.call(ctx, n, body)
		if err != nil {
			return hits, err
		}
		if head.Get("X-Service-Cache") == "hit" {
			hits++
		}
	}
	return hits, nil
}

// medians takes the median of each figure separately; the CPU times are those of the round with the
// median rate.
func medians(all []figures) figures {
	by := func(order func(a, b figures) int) figures {
		slices.SortFunc(all, order)
		return all[len(all)/2]
	}
	f := by(func(a, b figures) int { return cmp.Compare(a.rate, b.rate) })
	f.p50 = by(func(a, b figures) int { return cmp.Compare(a.p50, b.p50) }).p50
	f.p99 = by(func(a, b figures) int { return cmp.Compare(a.p99, b.p99) }).p99
	return f
}

// figures are what wrk measured.
type figures struct {
	rate     float64 // requests per second
	p50, p99 time.Duration
	calls    float64
	failed   int // answers other than 2xx, and socket errors
	cpu      spent
}

// String formats the figures for people.
func (f figures) String() string {
	return fmt.Sprintf("%8.0f requests/s  p50 %-9s p99 %-9s  cpu per call: %s", f.rate, f.p50, f.p99, f.cpu)
}

// newHTTPClient returns a client with the given number of connections.
func newHTTPClient(connections int) *http.Client {
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true,
		},
	}
}

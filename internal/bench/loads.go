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

// load is one kind of request, sent through both sides.
type load struct {
	name  string
	about string
	body  string // Lua expression over n, the number of the request
	path  string // the same, of a GET's target; without one it is a POST
	to    string // where a POST goes; without one to the relay
	wrong string // what no answer may hold, where a status does not tell a refusal
	many  bool   // requests come from many networks, of which each is bounded
	plan  string // of the accounts whose keys send it
	ratio bar    // of the gateway's rate to nginx's
	p99   bar    // of the gateway's p99 to nginx's
	// kept is whether the gateway is to answer from its cache, which is filled first and checked
	// afterwards.
	kept bool
}

const (
	getBalance = `string.format('{"jsonrpc":"2.0","id":%d,"method":"eth_getBalance","params":["0x%040x","latest"]}', n, n)`
	getReceipt = `string.format('{"jsonrpc":"2.0","id":%d,"method":"eth_getTransactionReceipt","params":["0x%064x"]}', n, n % 1000)`
	getLocal   = `string.format('{"jsonrpc":"2.0","id":%d,"method":"%s","params":[]}', n, n % 2 == 0 and "eth_chainId" or "eth_blockNumber")`

	receipts = 1000 // distinct ones of getReceipt

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

// request is the Lua expression of a request.
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

// compared is both sides of a load.
type compared struct {
	load           load
	nginx, gateway figures
}

// compare runs both sides in turn and prints how they compare. The first round warms up; of the
// others the medians count.
func (r *rig) compare(ctx context.Context, o options, l load, report *report) error {
	if err := r.prepare(ctx, l); err != nil {
		return err
	}
	sides := [2]string{r.nginx, r.gateway.url}
	var all [2][]figures
	for round := range o.rounds + 1 {
		report.sayf("%s: round %d of %d", l.name, round, o.rounds)
		for turn := range sides {
			side := (turn + round) % len(sides) // either begins as often
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

// prepare has everything run that a load needs. The gateway of one load serves the next as well.
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

// checkKept asks for every receipt and holds that the gateway has it.
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

// medians are taken of each figure by itself; the CPU times are those of the round in the middle.
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

// String is for people.
func (f figures) String() string {
	return fmt.Sprintf("%8.0f requests/s  p50 %-9s p99 %-9s  cpu per call: %s", f.rate, f.p50, f.p99, f.cpu)
}

// newHTTPClient keeps as many connections as it is told.
func newHTTPClient(connections int) *http.Client {
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true,
		},
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
)

// Loads of /mcp, the route for agents.
const (
	mcpMissName    = "mcp_distinct_reads"
	mcpHitName     = "mcp_cache_hits"
	toolsListName  = "tools_list"
	mcpClientsName = "mcp_clients_1000"

	cpuToRelayKey = "cpu_to_rpc"
	heapGrowthKey = "heap_growth_mb"

	mcpPath    = "/mcp"
	mcpClients = 1000
	// refusedMark is in results of refused tool calls, whose HTTP status is 200.
	refusedMark = `"isError":true`
	calledMark  = `"isError":false`

	callRead    = `string.format('` + toolCall + `', n, "eth_getBalance", string.format('"0x%040x","latest"', n))`
	callReceipt = `string.format('` + toolCall +
		`', n, "eth_getTransactionReceipt", string.format('"0x%064x"', n % 1000))`
	toolCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"rpc_call",` +
		`"arguments":{"chain":"eth_mainnet","method":"%s","params":[%s]}}}`
)

var (
	mcpBar = bar{atMost, 2, 0}
	// mcpClientsBar leaves room for variations of an idle process's heap.
	mcpClientsBar = bar{below, 4, 0}
)

// asTool pairs a relay call made as a tool with the same call on the relay's own route.
type asTool struct{ tool, relay load }

var (
	mcpMiss = asTool{
		load{name: mcpMissName, plan: plan.Enterprise, to: mcpPath, body: callRead, wrong: refusedMark},
		load{name: mcpMissName + "_rpc", plan: plan.Enterprise, body: getBalance},
	}
	mcpHit = asTool{
		load{name: mcpHitName, plan: plan.Enterprise, to: mcpPath, body: callReceipt, wrong: refusedMark, kept: true},
		load{name: mcpHitName + "_rpc", plan: plan.Enterprise, body: getReceipt, kept: true},
	}
	toolsList = load{
		name: toolsListName, plan: plan.Enterprise, to: mcpPath, many: true,
		body: `string.format('{"jsonrpc":"2.0","id":%d,"method":"tools/list"}', n)`, wrong: `,"error":{"code":-`,
	}
)

// measureMCP sends both loads in turn, over the same connections with the same keys to the same
// node. It compares the CPU time of the gateway's process per call; the meter's part is the same.
func measureMCP(both asTool) func(context.Context, *rig, options, *report) error {
	return func(ctx context.Context, r *rig, o options, report *report) error {
		all, err := r.inTurn(ctx, o, both.tool, both.relay)
		if err != nil {
			return err
		}
		report.sayf("/mcp     %s\n/rpc     %s", medians(slices.Clone(all[0])), medians(slices.Clone(all[1])))
		report.add(result{both.tool.name, cpuToRelayKey, cpuRatio(all), 2, mcpBar})
		return nil
	}
}

// cpuRatio returns the median over all rounds of one load's CPU time per call in the gateway's
// process, divided by that of the other load.
func cpuRatio(all [][]figures) float64 {
	var ratios []float64
	for round, f := range all[0] {
		ratios = append(ratios, f.cpu["gateway"]/all[1][round].cpu["gateway"])
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

func measureToolsList(ctx context.Context, r *rig, o options, report *report) error {
	all, err := r.inTurn(ctx, o, toolsList)
	if err != nil {
		return err
	}
	f := medians(all[0])
	report.sayf("gateway  %s", f)
	report.add(result{toolsListName, requestsKey, f.rate, 0, bar{}})
	return nil
}

// measureMCPClients connects clients in rounds, all at once. Each performs the handshake, lists the
// tools, calls one and stays until all have done so. When they have left, the heap is compared with
// its size before the first round.
func measureMCPClients(ctx context.Context, r *rig, o options, report *report) error {
	s, err := r.inService(ctx, o, "agents")
	if err != nil {
		return err
	}
	defer s.end()
	s.client.url = s.gateway.url + mcpPath
	if err := visit(ctx, s, o, o.connections, nil); err != nil { // a first round makes what is made once per process
		return err
	}
	before, err := s.gateway.heapBytes(ctx)
	if err != nil {
		return err
	}
	for round := range o.rounds {
		var held float64
		if err := visit(ctx, s, o, mcpClients, func() (err error) {
			held, err = s.gateway.heapBytes(ctx)
			return err
		}); err != nil {
			return err
		}
		after, err := s.gateway.heapBytes(ctx)
		if err != nil {
			return err
		}
		report.sayf("round %d: heap %.1f MB before all, %.1f MB with %d clients, %.1f MB without", round+1,
			before/megabyte, held/megabyte, mcpClients, after/megabyte)
		if round == o.rounds-1 {
			report.add(result{mcpClientsName, heapGrowthKey, max(0, after-before) / megabyte, 1, mcpClientsBar})
		}
	}
	return nil
}

// visit connects clients, calls while with all of them connected, and disconnects them.
func visit(ctx context.Context, s *service, o options, clients int, while func() error) error {
	open := make([]*idle, clients)
	err := eachIdle(ctx, o, open, func(i int) (err error) {
		if open[i], err = dialIdle(ctx, s.gateway.url); err != nil {
			return err
		}
		return open[i].agent(ctx, s.client, i)
	})
	if err == nil && while != nil {
		err = while()
	}
	for _, one := range open {
		if one != nil {
			_ = one.conn.Close() // nothing is in flight
		}
	}
	return errors.Join(err, pause(ctx, settleFor))
}

// agent does what a client does that connects and calls a tool. The answer to each message has to
// contain the given text.
func (i *idle) agent(ctx context.Context, c *client, n int) error {
	for _, step := range [...]struct{ message, answer string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"bench","version":"1"}}}`, `"serverInfo"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"tools":[`},
		{fmt.Sprintf(toolCall, 3, "eth_getBalance", fmt.Sprintf(`"0x%040x","latest"`, n)), calledMark},
	} {
		req, err := c.request(ctx, n, step.message)
		if err != nil {
			return err
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("10.0.%d.%d", n/256, n%256)) // a network for each client
		status, body, err := i.send(req)
		if err != nil {
			return err
		}
		if status >= http.StatusBadRequest || !bytes.Contains(body, []byte(step.answer)) {
			return fmt.Errorf("%.80s is HTTP %d: %.300s", step.message, status, body)
		}
	}
	return nil
}

// heapBytes returns the size of a gateway's heap after two garbage collections, since a sync.Pool
// releases its contents only at the second one.
func (g *gateway) heapBytes(ctx context.Context) (float64, error) {
	const line = "# HeapAlloc = "
	var text []byte
	for range 2 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.pprof+"/heap?gc=1&debug=1", http.NoBody)
		if err != nil {
			return 0, err
		}
		resp, err := http.DefaultClient.Do(req) //nolint:gosec // of the gateway that the bench started
		if err != nil {
			return 0, err
		}
		text, err = io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return 0, err
		}
	}
	for l := range strings.Lines(string(text)) {
		if figure, ok := strings.CutPrefix(l, line); ok {
			return strconv.ParseFloat(strings.TrimSpace(figure), 64)
		}
	}
	return 0, errors.New("the heap's profile does not say how large it is")
}

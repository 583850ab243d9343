package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chainaccess/gateway/metering/plan"
)

// Loads of the toolbox, which the gateway answers itself.
const (
	utilitiesName  = "utilities"
	toolboxHitName = "toolbox_hit"

	requestsKey = "requests_per_second"
	costKey     = "cost_to_relay_hit"
	rateKey     = "rate_to_relay_hit"
)

var (
	utilitiesBar  = bar{atLeast, 20_000, 0}
	toolboxHitBar = bar{atMost, 1.3, 0}
)

var (
	// utilities sends a different computation each time, from accounts with a quota.
	utilities = load{
		name: utilitiesName, plan: plan.Growth,
		path: `string.format(n % 2 == 0 and "/toolbox/utils/keccak?text=%d" or ` +
			`"/toolbox/utils/convert?value=%d.5&from=gwei&to=eth", n)`,
	}
	// gasHits are cache hits, apart from one miss per 12 s.
	gasHits = load{name: toolboxHitName, plan: plan.Enterprise, path: `"/toolbox/gas/eth_mainnet"`}
)

// measureUtilities sends computations that need no chain.
func measureUtilities(ctx context.Context, r *rig, o options, report *report) error {
	all, err := r.inTurn(ctx, o, utilities)
	if err != nil {
		return err
	}
	f := medians(all[0])
	report.sayf("gateway  %s", f)
	report.add(result{utilitiesName, requestsKey, f.rate, 0, utilitiesBar})
	return nil
}

// measureToolboxHit alternates toolbox requests and relay calls that the cache answers.
func measureToolboxHit(ctx context.Context, r *rig, o options, report *report) error {
	i := slices.IndexFunc(loads, func(l load) bool { return l.kept })
	all, err := r.inTurn(ctx, o, gasHits, loads[i])
	if err != nil {
		return err
	}
	cost, rate := againstRelay(all)
	report.sayf("toolbox  %s\nrelay    %s", medians(all[0]), medians(all[1]))
	report.add(result{toolboxHitName, costKey, cost, 2, toolboxHitBar})
	report.add(result{toolboxHitName, rateKey, rate, 2, bar{}})
	return nil
}

// againstRelay returns the toolbox's cost and rate divided by the relay's, each the median over
// rounds. The cost is the CPU time of the gateway and its Redis per answer.
func againstRelay(all [][]figures) (cost, rate float64) {
	var costs, rates []float64
	for round, tool := range all[0] {
		call := all[1][round]
		costs = append(costs, tool.cpu.ours()/call.cpu.ours())
		rates = append(rates, tool.rate/call.rate)
	}
	slices.Sort(costs)
	slices.Sort(rates)
	return costs[len(costs)/2], rates[len(rates)/2]
}

// ours returns the CPU time of the gateway and Redis, without the client's.
func (s spent) ours() float64 { return s["gateway"] + s["redis-server"] }

// inTurn sends loads to the gateway, one after another in each round. It returns the rounds of each
// load without the first, which warms up. For a load of cache hits, it fills the cache first and
// checks it afterwards.
func (r *rig) inTurn(ctx context.Context, o options, tools ...load) ([][]figures, error) {
	all := make([][]figures, len(tools))
	for _, l := range tools {
		if err := r.prepare(ctx, l); err != nil {
			return nil, err
		}
	}
	for round := range o.rounds + 1 {
		for turn := range tools {
			i := (turn + round) % len(tools) // each goes first equally often
			l := tools[i]
			r.sayf("%s: round %d of %d", l.name, round, o.rounds)
			profiled := r.profileDuring(ctx, o, l, round == o.rounds)
			f, err := r.wrk(ctx, o, l, r.gateway.url+rpcPath)
			if err = errors.Join(err, <-profiled); err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
			if round > 0 {
				all[i] = append(all[i], f)
			}
		}
	}
	if slices.ContainsFunc(tools, func(l load) bool { return l.kept }) {
		return all, r.checkKept(ctx)
	}
	return all, nil
}

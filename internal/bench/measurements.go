package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// measurement is a measurement that can be selected by name. Each prints one line or more.
type measurement struct {
	name  string
	about string
	run   func(context.Context, *rig, options, *report) error
}

// measurements lists all measurements in their order: loads, which share a gateway, come before
// measurements that replace it with their own.
func measurements() []measurement {
	var all []measurement
	for _, l := range loads {
		all = append(all,
			measurement{l.name, l.about, func(ctx context.Context, r *rig, o options, report *report) error {
				return r.compare(ctx, o, l, report)
			}})
	}
	return append(all,
		measurement{
			utilitiesName, "requests per second of tools that need no chain, admitted and counted against a quota",
			measureUtilities,
		},
		measurement{
			toolboxHitName, "what a cached answer of the toolbox costs, to a cached answer of the relay",
			measureToolboxHit,
		},
		measurement{
			mcpMissName, "CPU that the gateway takes for rpc_call through /mcp, to the same read on /rpc",
			measureMCP(mcpMiss),
		},
		measurement{mcpHitName, "the same of answers from the cache", measureMCP(mcpHit)},
		measurement{toolsListName, "requests per second of tools/list", measureToolsList},
		measurement{
			balancesName,
			"what the balances of owners of 100 tokens ask of upstreams, and their time to one eth_getBalance's",
			measureBalances,
		},
		measurement{
			mcpClientsName, "heap that 1,000 MCP clients leave behind, each with a handshake, a list and a call",
			measureMCPClients,
		},
		measurement{
			admissionsName,
			"admissions per second through one Redis by kind of account, their script's time, p99 at 10,000 a second",
			measureAdmissions,
		},
		measurement{
			idleKeysName, "memory that Redis takes for a key in a million, without and with counters", measureIdleKeys,
		},
		measurement{flushName, "seconds in which 100,000 usage buckets move to PostgreSQL", measureFlush},
		measurement{
			statementsName,
			"seconds in which a month of 10,000 accounts with a million rows of usage is closed, and what an account " +
				"costs as they grow", measureStatements,
		},
		measurement{
			consoleName,
			"milliseconds and bytes of each page of the console, of an account with a million rows of usage",
			measureConsole,
		},
		measurement{
			subscriptionsName, "periods' ends that 10,000 flows of subscriptions miss or pass twice, in simulated time",
			measureSubscriptions,
		},
		measurement{
			traceName, "resident memory that a trace answer of 50 MB takes, with and without gzip", measureTrace,
		},
		measurement{
			idleName, "resident memory that 1,000 open connections take which have made a call each", measureIdle,
		},
		measurement{
			killedName, "reads that fail when one of two upstreams is killed under load, and when p99 is back",
			measureKilled,
		},
		measurement{allocationsName, "allocations of a relayed call, from BenchmarkRelayedCall", measureAllocations},
	)
}

// choose returns the measurements with the given names, separated by commas; all for an empty
// string.
func choose(all []measurement, names string) ([]measurement, error) {
	if names == "" {
		return all, nil
	}
	wanted := strings.Split(names, ",")
	var chosen []measurement
	for _, m := range all {
		if i := slices.Index(wanted, m.name); i >= 0 {
			chosen = append(chosen, m)
			wanted = slices.Delete(wanted, i, i+1)
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("--only: nothing is called %q; --list shows the names", wanted[0])
	}
	return chosen, nil
}

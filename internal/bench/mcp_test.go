package main

import (
	"strings"
	"testing"
)

func TestTools_AreComparedByTheGatewaysOwnCPU(t *testing.T) {
	t.Parallel()
	round := func(gateway, redis float64) figures {
		return figures{cpu: spent{"gateway": gateway, "redis-server": redis}}
	}
	got := cpuRatio([][]figures{
		{round(90, 500), round(30, 1), round(40, 9)},
		{round(30, 1), round(20, 900), round(20, 1)},
	})
	if got != 2 {
		t.Errorf("the median of 3, 1.5 and 2 is told as %g", got)
	}
}

func TestLoads_GoToTheirTargets(t *testing.T) {
	t.Parallel()
	if got := mcpMiss.tool.request(); !strings.HasPrefix(got, `wrk.format("POST", "/mcp", headers, `) ||
		!strings.Contains(got, "tools/call") {
		t.Errorf("a tool is called by %s", got)
	}
	if got := mcpMiss.relay.request(); !strings.HasPrefix(got, `wrk.format("POST", nil, headers, `) {
		t.Errorf("the relay is called by %s", got)
	}
	if !toolsList.many || networks == "" {
		t.Error("lists of tools come from one network, which is bounded")
	}
	if mcpMiss.tool.wrong == "" || mcpHit.tool.wrong == "" {
		t.Error("refusals of tools are HTTP 200, and nobody looks for them")
	}
}

func TestLoads_RunBeforeWhatTakesTheirGatewayAway(t *testing.T) {
	t.Parallel()
	own := map[string]bool{
		balancesName: true, mcpClientsName: true, consoleName: true, traceName: true, idleName: true, killedName: true,
	}
	shared := map[string]bool{
		utilitiesName: true, toolboxHitName: true, mcpMissName: true, mcpHitName: true, toolsListName: true,
	}
	for _, l := range loads {
		shared[l.name] = true
	}
	taken := ""
	for _, m := range measurements() {
		if own[m.name] {
			taken = m.name
		}
		if shared[m.name] && taken != "" {
			t.Errorf("%s is measured after %s, which has ended its gateway", m.name, taken)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// column is a column of the table in results.md.
type column struct{ title, name, key string }

// columns of the table, after the date and the machine. A new one is appended, with a header in
// results.md.
var columns = []column{
	{"distinct reads, ratio", "distinct_reads", ratioKey},
	{"p99", "distinct_reads", p99Key},
	{"with quota, ratio", "distinct_reads_with_quota", ratioKey},
	{"cache hits, ratio", "cache_hits", ratioKey},
	{"local hits, ratio", "local_hits", ratioKey},
	{"trace, MB", traceName, residentKey},
	{"trace gzip, MB", traceGzipName, residentKey},
	{"1,000 idle, MB", idleName, residentKey},
	{"kill: failed", killedName, "failed"},
	{"p99 back, ms", killedName, "p99_back_ms"},
	{"allocations", allocationsName, "value"},
	{"admissions with quota/s", admissionsName + "_" + quota.name, perSecondKey},
	{"script, µs", admissionsName + "_" + quota.name, scriptKey},
	{"p99 at 10,000/s, ms", openLoopName, openLoopP99Key},
	{"bytes per key", idleKeysName, bytesKey},
	{"with counters", idleKeysName, withCountersKey},
	{"flush, s", flushName, secondsKey},
	{"utilities/s", utilitiesName, requestsKey},
	{"toolbox hit, cost", toolboxHitName, costKey},
	{"MCP reads, CPU to /rpc", mcpMissName, cpuToRelayKey},
	{"MCP hits, CPU to /rpc", mcpHitName, cpuToRelayKey},
	{"month closed, s", statementsName, secondsKey},
	{"cost per account, 10,000 to 1,000", statementsName, growthKey},
	{"subscriptions: missed", subscriptionsName, missedKey},
	{"repeated", subscriptionsName, repeatedKey},
	{"console p95, ms", consoleName, slowestP95Key},
	{"largest page, KB", consoleName, largestPageKey},
}

// header is the first line of the table.
func header() string {
	cells := []string{"Date", "Machine"}
	for _, c := range columns {
		cells = append(cells, c.title)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// row returns the run as a line of the table.
func (r *report) row(now time.Time) string {
	cells := []string{now.UTC().Format(time.DateOnly), machine()}
	for _, c := range columns {
		found, ok := r.find(c.name, c.key)
		if !ok {
			cells = append(cells, "–")
			continue
		}
		cells = append(cells, found.text())
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// machine returns the class of this machine.
func machine() string { return fmt.Sprintf("%d cores", runtime.NumCPU()) }

// record appends the run to the table, which ends its file.
func (r *report) record(path string, now time.Time) error {
	text, err := os.ReadFile(path) //nolint:gosec // a file of the checkout
	if err != nil {
		return fmt.Errorf("--record is for a checkout's root: %w", err)
	}
	table := strings.TrimRight(string(text), "\n")
	if !strings.Contains(table, "\n"+header()+"\n") || !strings.HasSuffix(table, "|") {
		return fmt.Errorf("%s does not end with the table that this program writes; its header is\n%s", path, header())
	}
	//nolint:gosec // a page, for everybody
	if err := os.WriteFile(path, []byte(table+"\n"+r.row(now)+"\n"), 0o644); err != nil {
		return fmt.Errorf("record the run: %w", err)
	}
	r.sayf("added a line to %s", path)
	return nil
}

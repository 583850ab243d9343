package workflows

import (
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/relay/chain"
)

// details renders a chain's last measurement for the Temporal UI, in Markdown. failures counts the
// rounds that have failed since. It does not use fmt, which workflowcheck cannot prove
// deterministic.
func details(id chain.ID, s activities.ProbeResult, failures int, failure string) string {
	var b strings.Builder
	text := func(parts ...string) {
		for _, part := range parts {
			b.WriteString(part)
		}
	}
	text("**", cell(string(id)), "**")
	if failures > 0 {
		text(": ", strconv.Itoa(failures), " rounds failed in a row, the last with `", cell(failure), "`.")
	}
	if s.MeasuredAt.IsZero() {
		text(" Not measured yet.\n")
		return b.String()
	}
	head := "unknown"
	if s.HeadKnown {
		head = number(s.Head)
	}
	text(" Head ", head, ", measured ", s.MeasuredAt.UTC().Format(time.RFC3339), ".\n\n")
	text("| Upstream | State | Head | Lag | Latency | Chain id | Error |\n|---|---|---|---|---|---|---|\n")
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		state, chainID := "usable", "ok"
		if !u.Usable {
			state = "not used"
		}
		if !u.ChainIDOK {
			chainID = "not proven"
		}
		latency := strconv.FormatFloat(float64(u.LatencyMicros)/1000, 'f', 1, 64)
		text("| ", cell(u.Name), " | ", state, " | ", number(u.Head), " | ", number(u.Lag), " | ", latency, " ms | ",
			chainID, " | ", cell(u.Reason), " |\n")
	}
	return b.String()
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// cell escapes text for one cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", "/", "\n", " ", "\r", " ", "`", "'").Replace(text)
}

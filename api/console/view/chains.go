package view

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/status"
)

// Chains is the state of the chains, as a table that several pages include.
type Chains struct {
	Lines []chainLine
	Full  bool // with the results of calls
}

// chainLine is the state of a chain.
type chainLine struct {
	Title    string
	Status   Status
	Why      string // what is wrong; empty when nothing is
	Head     string
	P50, P95 string // of the last hour, or of a probe when there were no calls
	ByProbe  bool
	Errors   string // of the last 24 hours, as is Rerouted
	Rerouted string
	Uptime   string
}

// NewChains formats the state of the chains.
func NewChains(s *status.Status) Chains {
	shown := Chains{Lines: make([]chainLine, len(s.Chains))}
	for i := range s.Chains {
		shown.Lines[i] = newChainLine(&s.Chains[i])
	}
	return shown
}

// noFigure replaces a number that is not available.
const noFigure = "–"

func newChainLine(c *status.ChainStatus) chainLine {
	l := chainLine{
		Title: c.Title, Status: chainStatus(c.State), Why: whyNotUp(c), Head: noFigure, P50: duration(c.LastHour.P50),
		P95: duration(c.LastHour.P95), Errors: Percentage(c.LastDay.Errors), Rerouted: noFigure,
		Uptime: Percentage(c.Uptime),
	}
	if c.Head != nil {
		l.Head = plan.Group(strconv.FormatUint(*c.Head, 10))
	}
	if c.LastHour.P50 == nil && c.ProbeMS != nil {
		l.P50, l.ByProbe = duration(c.ProbeMS), true
	}
	if c.LastDay.Calls > 0 {
		l.Rerouted = Number(c.LastDay.Rerouted) + " of " + Number(c.LastDay.Calls)
	}
	return l
}

// chainStatus returns a state as a dot with its word.
func chainStatus(s chain.State) Status {
	switch s {
	case chain.Up:
		return Status{Good, "up"}
	case chain.Degraded:
		return Status{Warn, "degraded"}
	case chain.Down:
		return Status{Bad, "down"}
	case chain.Unknown:
	}
	return Status{"", "not measured"}
}

// whyNotUp describes what is wrong with a chain.
func whyNotUp(c *status.ChainStatus) string {
	switch c.Why {
	case "no_upstream":
		return "None of its upstreams can be used. Calls are refused with -32020 and cost nothing."
	case "one_upstream_left":
		return "Only one of its " + Number(int64(c.Upstreams)) + " upstreams can be used, so there is no failover."
	case "head_stands_still":
		return "No new block was seen for some minutes."
	case "calls_lost":
		return "More than a tenth of its calls got no answer. They cost nothing; retry them."
	}
	return ""
}

// duration formats milliseconds with three digits.
func duration(ms *float64) string {
	switch {
	case ms == nil:
		return noFigure
	case *ms < 1:
		return "under 1 ms"
	case *ms < 10:
		return strconv.FormatFloat(*ms, 'f', 1, 64) + " ms"
	}
	return Number(int64(*ms+0.5)) + " ms"
}

// Percentage formats a share with at most two decimals.
func Percentage(p *float64) string {
	if p == nil {
		return noFigure
	}
	text := strconv.FormatFloat(*p, 'f', 2, 64)
	return cmp.Or(strings.TrimSuffix(strings.TrimRight(text, "0"), "."), "0") + " %"
}

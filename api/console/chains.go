package console

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// chainsView is the state of the chains, as a table that several pages include.
type chainsView struct {
	Lines []chainLine
	Full  bool // with the results of calls
}

// chainLine is the state of a chain.
type chainLine struct {
	Title    string
	Status   status
	Why      string // what is wrong; empty when nothing is
	Head     string
	P50, P95 string // of the last hour, or of a probe when there were no calls
	ByProbe  bool
	Errors   string // of the last 24 hours, as is Rerouted
	Rerouted string
	Uptime   string
}

// chainsView returns the state of the chains. It returns nil when the state is not available, which
// must not fail the page.
func (v *request) chainsView() *chainsView {
	s, err := v.chainsStatus()
	if err != nil {
		return nil
	}
	view := newChainsView(&s)
	return &view
}

// chainsStatus returns the state of the chains, cached for all pages.
func (v *request) chainsStatus() (service.Status, error) {
	return v.stand.get(v.r.Context(), v.Now, func() (service.Status, error) {
		return ask(v, v.Calls.GetStatus, service.Nothing{})
	})
}

func newChainsView(s *service.Status) chainsView {
	view := chainsView{Lines: make([]chainLine, len(s.Chains))}
	for i := range s.Chains {
		view.Lines[i] = newChainLine(&s.Chains[i])
	}
	return view
}

// noFigure replaces a number that is not available.
const noFigure = "–"

func newChainLine(c *service.ChainStatus) chainLine {
	l := chainLine{
		Title: c.Title, Status: chainStatus(c.State), Why: whyNotUp(c), Head: noFigure, P50: duration(c.LastHour.P50),
		P95: duration(c.LastHour.P95), Errors: percentage(c.LastDay.Errors), Rerouted: noFigure,
		Uptime: percentage(c.Uptime),
	}
	if c.Head != nil {
		l.Head = plan.Group(strconv.FormatUint(*c.Head, 10))
	}
	if c.LastHour.P50 == nil && c.ProbeMS != nil {
		l.P50, l.ByProbe = duration(c.ProbeMS), true
	}
	if c.LastDay.Calls > 0 {
		l.Rerouted = number(c.LastDay.Rerouted) + " of " + number(c.LastDay.Calls)
	}
	return l
}

// chainStatus returns a state as a dot with its word.
func chainStatus(s chain.State) status {
	switch s {
	case chain.Up:
		return status{good, "up"}
	case chain.Degraded:
		return status{warn, "degraded"}
	case chain.Down:
		return status{bad, "down"}
	case chain.Unknown:
	}
	return status{"", "not measured"}
}

// whyNotUp describes what is wrong with a chain.
func whyNotUp(c *service.ChainStatus) string {
	switch c.Why {
	case "no_upstream":
		return "None of its upstreams can be used. Calls are refused with -32020 and cost nothing."
	case "one_upstream_left":
		return "Only one of its " + number(int64(c.Upstreams)) + " upstreams can be used, so there is no failover."
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
	return number(int64(*ms+0.5)) + " ms"
}

// percentage formats a share with at most two decimals.
func percentage(p *float64) string {
	if p == nil {
		return noFigure
	}
	text := strconv.FormatFloat(*p, 'f', 2, 64)
	return cmp.Or(strings.TrimSuffix(strings.TrimRight(text, "0"), "."), "0") + " %"
}

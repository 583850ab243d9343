package console

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// chainsView is how the chains stand: a table for pages that are about something else as well.
type chainsView struct {
	Lines []chainLine
	Full  bool // with what became of calls
}

// chainLine is how a chain stands.
type chainLine struct {
	Title    string
	Status   status
	Why      string // what is amiss; empty when nothing is
	Head     string
	P50, P95 string // of the last hour, or of a probe while nobody called
	ByProbe  bool
	Errors   string // of the last 24 hours, as the next
	Rerouted string
	Uptime   string
}

// chainsView asks how the chains stand; nil when that cannot be told now, for which no page is
// refused.
func (v *request) chainsView() *chainsView {
	s, err := v.chainsStatus()
	if err != nil {
		return nil
	}
	view := newChainsView(&s)
	return &view
}

// chainsStatus is how the chains stand, as all pages share it.
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

// noFigure stands where there is no number.
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

// chainStatus is a state as a dot with its word.
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

// whyNotUp says what is amiss, for people.
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

// duration is milliseconds for people, to three digits.
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

// percentage is a share for people, in hundredths of a percent at most.
func percentage(p *float64) string {
	if p == nil {
		return noFigure
	}
	text := strconv.FormatFloat(*p, 'f', 2, 64)
	return cmp.Or(strings.TrimSuffix(strings.TrimRight(text, "0"), "."), "0") + " %"
}

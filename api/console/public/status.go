package public

import (
	"net/http"
	"time"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/status"
)

const pathStatus = "/status"

// statusPage shows the current state of the chains and their history.
type statusPage struct {
	Now       view.Notice // all chains in one sentence
	Chains    view.Chains
	Strips    []strip
	Days      []stripDay // the same as the strips, newest first
	First     string     // first day of the strips
	Incidents []incidentRow
	Mails     view.Link // where mails about incidents are ordered
	Made      view.Moment
	JSON      string
}

func (statusPage) Head() view.Head {
	return view.Head{Template: "status", Title: "Status", Bare: true, Broad: true}
}

// Coordinates of the strip. It is scaled to its container, so they have no unit.
const (
	stripDayWidth = 10
	stripBarWidth = 8
	stripHeight   = 100
)

// strip shows the days of a chain as bars: the taller, the better.
type strip struct {
	Title, Uptime string
	Label         string // what it shows, for screen readers
	Width, Height int
	BarWidth      int
	Bars          []stripBar
}

type stripBar struct {
	State        chain.State
	X, Y, Height int
	Says         string
}

// stripDay is a day of all chains, in the order of the strips.
type stripDay struct {
	Day   string
	Cells []string
}

// incidentRow is a period in which a chain was down.
type incidentRow struct {
	Chain        string
	Began, Ended view.Moment
	Lasted       string
	Open         bool
}

// showStatus shows the current state of the chains and their history.
func showStatus(v *site.Request) error {
	s, err := v.ChainsStatus()
	if err != nil {
		return err
	}
	// The visitor may be anybody, so the time zone is unknown.
	r := view.Reader{Now: v.Now(), Zone: time.UTC, Chains: v.Known}
	p := newStatusPage(r, &s)
	if v.Cookie(site.SessionCookie) != "" {
		p.Mails = view.Link{Text: "Choose in the settings whether you get a mail", To: paths.Settings +
			"#notifications"}
	}
	return v.Show(http.StatusOK, p)
}

func newStatusPage(r view.Reader, s *status.Status) statusPage {
	p := statusPage{Now: statusNow(s), Chains: view.NewChains(s), Made: r.Moment(s.MadeAt), JSON: pathStatus + ".json"}
	p.Mails = view.Link{Text: "Sign in to get a mail about chains that you use", To: paths.SignIn + "?next=" +
		paths.Settings}
	p.Chains.Full = true
	for i := range s.Chains {
		p.Strips = append(p.Strips, newStrip(&s.Chains[i]))
	}
	if len(s.Chains) > 0 && s.Recorded {
		days := s.Chains[0].Days
		for i := len(days) - 1; i >= 0; i-- {
			day := stripDay{Day: dateOf(days[i].Day)}
			for c := range s.Chains {
				day.Cells = append(day.Cells, dayCell(&s.Chains[c].Days[i]))
			}
			p.Days = append(p.Days, day)
		}
		p.First = dateOf(days[0].Day)
	}
	for i := range s.Incidents {
		p.Incidents = append(p.Incidents, newIncidentRow(r, &s.Incidents[i]))
	}
	return p
}

// statusNow describes the state of all chains in one sentence.
func statusNow(s *status.Status) view.Notice {
	by := map[chain.State]int64{}
	for i := range s.Chains {
		by[s.Chains[i].State]++
	}
	var n view.Notice
	switch s.State {
	case chain.Up:
		n = view.Notice{Tone: view.Good, Title: "All chains are up"}
		if by[chain.Up] < int64(len(s.Chains)) {
			n = view.Notice{
				Title: "All measured chains are up",
				Text:  view.Count(by[chain.Unknown], "chain") + " not measured in the last two minutes.",
			}
		}
	case chain.Degraded:
		n = view.Notice{
			Tone: view.Warn, Title: view.Count(by[chain.Degraded], "chain") + " degraded",
			Text: "Calls are answered, but something is wrong. The table says what.",
		}
	case chain.Down:
		n = view.Notice{
			Tone: view.Bad, Title: view.Count(by[chain.Down], "chain") + " down",
			Text: "Calls of a chain that is down are refused with -32020 and cost nothing. Calls of other chains are " +
				"not affected.",
		}
	case chain.Unknown:
		n = view.Notice{
			Tone: view.Warn, Title: "Not measured",
			Text: "No probe has checked a chain in the last two minutes, so their state is unknown. Calls are served " +
				"by the last known state.",
		}
	}
	if !s.Recorded {
		n.Steps = append(n.Steps,
			"The database does not answer right now, so no history is shown. Reload the page in a minute.")
	}
	return n
}

func newStrip(c *status.ChainStatus) strip {
	s := strip{
		Title: c.Title, Uptime: view.Percentage(c.Uptime), Width: len(c.Days) * stripDayWidth, Height: stripHeight,
		BarWidth: stripBarWidth,
	}
	by := map[chain.State]int64{}
	for i := range c.Days {
		d := &c.Days[i]
		by[d.State]++
		height := map[chain.State]int{
			chain.Up: stripHeight, chain.Degraded: 70, chain.Down: 40, chain.Unknown: 6,
		}[d.State]
		s.Bars = append(s.Bars, stripBar{
			State: d.State, X: i * stripDayWidth, Y: stripHeight - height, Height: height,
			Says: dateOf(d.Day) + ": " + dayCell(d),
		})
	}
	s.Label = c.Title + ", the last " + view.Count(int64(len(c.Days)), "day") + ": " + view.Number(by[chain.Up]) +
		" up, " +
		view.Number(by[chain.Degraded]) + " degraded, " +
		view.Number(by[chain.Down]) + " down, " + view.Number(by[chain.Unknown]) + " not measured"
	return s
}

// dayCell describes the state of a chain on a day.
func dayCell(d *status.StatusDay) string {
	switch d.State {
	case chain.Unknown:
		return "not measured"
	case chain.Down:
		return view.Percentage(d.Uptime) + ", down " + lasted(d.Down)
	case chain.Degraded:
		return view.Percentage(d.Uptime) + ", degraded " + lasted(d.Degraded)
	case chain.Up:
	}
	return view.Percentage(d.Uptime)
}

// lasted formats seconds as seconds, minutes, or hours and minutes.
func lasted(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < time.Minute:
		return view.Number(seconds) + " s"
	case d < time.Hour:
		return view.Number(int64(d/time.Minute)) + " min"
	}
	text := view.Number(int64(d/time.Hour)) + " h"
	if rest := d % time.Hour / time.Minute; rest > 0 {
		text += " " + view.Number(int64(rest)) + " min"
	}
	return text
}

// dateOf formats a day of the operation.
func dateOf(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.Format(view.DayLayout)
}

func newIncidentRow(r view.Reader, i *status.IncidentView) incidentRow {
	row := incidentRow{Chain: i.Title, Began: r.Moment(i.BeganAt), Lasted: lasted(i.Seconds), Open: i.EndedAt == nil}
	if i.EndedAt != nil {
		row.Ended = r.Moment(*i.EndedAt)
	}
	return row
}

package tickets

import (
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
)

// Evidence is the evidence that is attached to a ticket, formatted.
type Evidence struct {
	Call     []view.Detail // empty when no call was named
	Chain    []view.Detail
	Refusals []refusalRow
	Limits   []view.Detail
	Gathered view.Moment
}

// refusalRow is the number of calls that were refused for one reason.
type refusalRow struct {
	Title, Code, Chain, Method, Count string
	Last                              view.Moment
}

// EvidenceOf formats evidence, stored or current.
func EvidenceOf(r view.Reader, e *ticket.Evidence) *Evidence {
	shown := &Evidence{
		Call: callFacts(r, e.Call), Chain: chainFacts(r, e.Chain), Limits: limitFacts(&e.Fences),
		Gathered: r.Moment(e.GatheredAt),
	}
	for i := range e.Refusals {
		of := &e.Refusals[i]
		row := refusalRow{
			Title: view.OutcomeWords(of.Reason), Chain: r.ChainTitle(string(of.Chain)),
			Method: methodWords(of.Method),
			Count:  view.Number(of.Count), Last: r.Hour(of.Last),
		}
		if of.Code != 0 {
			row.Code = view.CodeOf(of.Code)
		}
		shown.Refusals = append(shown.Refusals, row)
	}
	return shown
}

// methodWords returns the name of a method. Names of unknown methods are not recorded.
func methodWords(method string) string {
	if method == "" {
		return "not known"
	}
	return method
}

func callFacts(r view.Reader, c *ticket.ReportedCall) []view.Detail {
	if c == nil {
		return nil
	}
	outcome := view.OutcomeWords(c.Outcome)
	if c.Code != 0 {
		outcome += " (" + view.CodeOf(c.Code) + ")"
	}
	facts := []view.Detail{
		{Label: "Request", Value: c.RequestID, Code: true},
		{Label: "Time", Value: r.Moment(c.At).Exact, Code: false},
		{Label: "Chain", Value: r.ChainTitle(string(c.Chain)), Code: false},
		{Label: "Method", Value: methodWords(c.Method), Code: true},
		{Label: "Outcome", Value: outcome, Code: false},
	}
	if c.HTTPStatus != 0 {
		facts = append(facts, view.Detail{Label: "HTTP status", Value: strconv.Itoa(c.HTTPStatus), Code: false})
	}
	if c.Batch > 1 {
		facts = append(facts, view.Detail{
			Label: "Place", Value: view.Number(int64(c.Place)+1) + " of " + view.Count(int64(c.Batch), "call") +
				" in the batch", Code: false,
		})
	}
	if c.Tier != "" {
		facts = append(facts, view.Detail{Label: "Tier", Value: c.Tier, Code: false})
	}
	return append(facts, view.Detail{Label: "Charged", Value: view.Units(c.Units), Code: false}, view.Detail{
		Label: "Upstreams asked", Value: view.Number(int64(c.Attempts)), Code: false,
	}, view.Detail{Label: "Duration", Value: view.Number(c.Millis) + " ms", Code: false})
}

// chainStates describe the state of a chain.
var chainStates = map[ticket.ChainState]string{
	ticket.ChainUp: "up", ticket.ChainDegraded: "degraded", ticket.ChainDown: "down",
	ticket.ChainUnknown: "not measured yet",
}

func chainFacts(r view.Reader, c *ticket.ChainCondition) []view.Detail {
	if c == nil {
		return nil
	}
	facts := []view.Detail{
		{Label: r.ChainTitle(string(c.Chain)), Value: chainStates[c.State], Code: false},
		{Label: "Upstreams", Value: view.Number(int64(c.Usable)) + " of " + view.Number(int64(c.Upstreams)) +
			" usable", Code: false},
	}
	if c.Head != 0 {
		facts = append(facts, view.Detail{
			Label: "Head", Value: plan.Group(strconv.FormatUint(c.Head, 10)),
			Code: false,
		})
	}
	if c.MeasuredAt != nil {
		facts = append(facts, view.Detail{Label: "Measured", Value: r.Moment(*c.MeasuredAt).Exact, Code: false})
	}
	return facts
}

func limitFacts(f *ticket.FencesThen) []view.Detail {
	title := f.Plan
	if p, known := plan.Lookup(f.Plan); known {
		title = p.Title
	}
	facts := append([]view.Detail{
		{Label: "Plan", Value: title, Code: false},
		{Label: "Account", Value: f.Status, Code: false},
	}, listFacts("", &f.Account)...)
	if f.Key == nil {
		return facts
	}
	door := f.Key.Door
	if words, known := view.DoorWords[account.Door(door)]; known {
		door = words[0]
	}
	facts = append(facts, view.Detail{Label: "Key", Value: f.Key.Prefix + "…", Code: true},
		view.Detail{Label: "Key, door", Value: door + ", " + f.Key.Status, Code: false}, view.Detail{
			Label: "Key, monthly cap", Value: unitsOrNone(f.Key.Cap), Code: false,
		})
	if f.Key.Daily != nil {
		facts = append(facts, view.Detail{Label: "Key, units a day", Value: view.Units(*f.Key.Daily), Code: false})
	}
	return append(facts, listFacts("Key, ", &f.Key.FenceList)...)
}

func unitsOrNone(u *plan.Units) string {
	if u == nil {
		return "none"
	}
	return view.Units(*u)
}

// listFacts lists what is switched off and what is capped.
func listFacts(of string, f *ticket.FenceList) []view.Detail {
	var facts []view.Detail
	if len(f.Off) > 0 {
		names := make([]string, len(f.Off))
		for i, s := range f.Off {
			names[i] = view.ServiceTitle(s)
		}
		facts = append(facts, view.Detail{Label: of + "switched off", Value: strings.Join(names, ", "), Code: false})
	}
	var caps []string
	for s, limit := range f.Caps {
		caps = append(caps, view.ServiceTitle(s)+" "+view.Units(limit))
	}
	if len(caps) > 0 {
		slices.Sort(caps)
		facts = append(facts, view.Detail{Label: of + "caps", Value: strings.Join(caps, ", "), Code: false})
	}
	for i := range facts {
		facts[i].Label = view.SentenceCase(facts[i].Label)
	}
	return facts
}

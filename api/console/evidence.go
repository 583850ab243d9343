package console

import (
	"slices"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
)

// detail is a name with its value. Code selects the font of keys and hashes.
type detail struct {
	Label, Value string
	Code         bool
}

// evidenceView is the evidence that is attached to a ticket, formatted.
type evidenceView struct {
	Call     []detail // empty when no call was named
	Chain    []detail
	Refusals []refusalRow
	Fences   []detail
	Gathered moment
}

// refusalRow is the number of calls that were refused for one reason.
type refusalRow struct {
	Title, Code, Chain, Method, Count string
	Last                              moment
}

// evidenceView formats evidence, stored or current.
func (v *request) evidenceView(e *ticket.Evidence) *evidenceView {
	shown := &evidenceView{
		Call: v.callFacts(e.Call), Chain: v.chainFacts(e.Chain), Fences: fenceFacts(&e.Fences),
		Gathered: v.reader.moment(e.GatheredAt),
	}
	for i := range e.Refusals {
		r := &e.Refusals[i]
		row := refusalRow{
			Title: outcomeWords(r.Reason), Chain: chainTitle(string(r.Chain)), Method: methodWords(r.Method),
			Count: number(r.Count), Last: v.reader.hour(r.Last),
		}
		if r.Code != 0 {
			row.Code = codeOf(r.Code)
		}
		shown.Refusals = append(shown.Refusals, row)
	}
	return shown
}

// outcomeWords describes how a call ended: by the title of its reason where the fault table has
// one.
func outcomeWords(outcome string) string {
	switch outcome {
	case "ok":
		return "Answered"
	case "hit":
		return "Answered from the cache"
	case "":
		return "Not recorded"
	}
	if reason, ok := fault.Named(outcome); ok {
		return reason.Entry().Title
	}
	return sentenceCase(strings.ReplaceAll(outcome, "_", " "))
}

// methodWords returns the name of a method. Names of unknown methods are not recorded.
func methodWords(method string) string {
	if method == "" {
		return "not known"
	}
	return method
}

func (v *request) callFacts(c *ticket.ReportedCall) []detail {
	if c == nil {
		return nil
	}
	outcome := outcomeWords(c.Outcome)
	if c.Code != 0 {
		outcome += " (" + codeOf(c.Code) + ")"
	}
	facts := []detail{
		{"Request", c.RequestID, true},
		{"Time", v.reader.moment(c.At).Exact, false},
		{"Chain", chainTitle(string(c.Chain)), false},
		{"Method", methodWords(c.Method), true},
		{"Outcome", outcome, false},
	}
	if c.HTTPStatus != 0 {
		facts = append(facts, detail{"HTTP status", strconv.Itoa(c.HTTPStatus), false})
	}
	if c.Batch > 1 {
		facts = append(facts, detail{
			"Place", number(int64(c.Place)+1) + " of " + count(int64(c.Batch), "call") + " in the batch", false,
		})
	}
	if c.Tier != "" {
		facts = append(facts, detail{"Tier", c.Tier, false})
	}
	return append(facts, detail{"Charged", units(c.Units), false}, detail{
		"Upstreams asked", number(int64(c.Attempts)), false,
	}, detail{"Duration", number(c.Millis) + " ms", false})
}

// chainStates describe the state of a chain.
var chainStates = map[ticket.ChainState]string{
	ticket.ChainUp: "up", ticket.ChainDegraded: "degraded", ticket.ChainDown: "down",
	ticket.ChainUnknown: "not measured yet",
}

func (v *request) chainFacts(c *ticket.ChainCondition) []detail {
	if c == nil {
		return nil
	}
	facts := []detail{
		{chainTitle(string(c.Chain)), chainStates[c.State], false},
		{"Upstreams", number(int64(c.Usable)) + " of " + number(int64(c.Upstreams)) + " usable", false},
	}
	if c.Head != 0 {
		facts = append(facts, detail{"Head", plan.Group(strconv.FormatUint(c.Head, 10)), false})
	}
	if c.MeasuredAt != nil {
		facts = append(facts, detail{"Measured", v.reader.moment(*c.MeasuredAt).Exact, false})
	}
	return facts
}

func fenceFacts(f *ticket.FencesThen) []detail {
	title := f.Plan
	if p, known := plan.Lookup(f.Plan); known {
		title = p.Title
	}
	facts := append([]detail{{"Plan", title, false}, {"Account", f.Status, false}}, listFacts("", &f.Account)...)
	if f.Key == nil {
		return facts
	}
	door := f.Key.Door
	if words, known := doorWords[account.Door(door)]; known {
		door = words[0]
	}
	facts = append(facts, detail{"Key", f.Key.Prefix + "…", true},
		detail{"Key, door", door + ", " + f.Key.Status, false}, detail{
			"Key, monthly cap", unitsOrNone(f.Key.Cap), false,
		})
	if f.Key.Daily != nil {
		facts = append(facts, detail{"Key, units a day", units(*f.Key.Daily), false})
	}
	return append(facts, listFacts("Key, ", &f.Key.FenceList)...)
}

func unitsOrNone(u *plan.Units) string {
	if u == nil {
		return "none"
	}
	return units(*u)
}

// listFacts lists what is switched off and what is capped.
func listFacts(of string, f *ticket.FenceList) []detail {
	var facts []detail
	if len(f.Off) > 0 {
		names := make([]string, len(f.Off))
		for i, s := range f.Off {
			names[i] = serviceTitle(s)
		}
		facts = append(facts, detail{of + "switched off", strings.Join(names, ", "), false})
	}
	var caps []string
	for s, limit := range f.Caps {
		caps = append(caps, serviceTitle(s)+" "+units(limit))
	}
	if len(caps) > 0 {
		slices.Sort(caps)
		facts = append(facts, detail{of + "caps", strings.Join(caps, ", "), false})
	}
	for i := range facts {
		facts[i].Label = sentenceCase(facts[i].Label)
	}
	return facts
}

func serviceTitle(name string) string {
	if words, known := serviceWords[account.Service(name)]; known {
		return words[0]
	}
	return name
}

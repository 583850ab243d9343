package ticket

import (
	"slices"
	"strconv"

	"github.com/chainaccess/gateway/internal/fault"
)

// Path is something to try before somebody answers.
type Path struct {
	Reason string   `json:"reason" doc:"the reason of a refusal, or what of the evidence it follows from"`
	Code   int      `json:"code,omitempty" doc:"error.code, where it follows from a refusal"`
	Title  string   `json:"title"`
	Steps  []string `json:"steps" doc:"what to do, in order"`
	At     string   `json:"at,omitempty" doc:"path of the service that leads past the limit"`
}

// maxPaths bounds the suggestions: those for the call's reason and for the most frequent refusals.
const maxPaths = 4

// Paths returns what to try: the fault table's steps for the call's reason and for the most
// frequent refusals, and what follows from the chain's and the key's state. Each reason appears
// once.
func (e *Evidence) Paths() []Path {
	paths := []Path{}
	if e.Chain != nil && (e.Chain.State == ChainDown || e.Chain.State == ChainDegraded) {
		paths = append(paths, e.ofChain())
	}
	if e.Fences.Key != nil && e.Fences.Key.Status == "revoked" {
		paths = append(paths, Path{
			Reason: "key_revoked", Title: "The key is revoked", At: "/keys", Steps: []string{
				"Use another key of the account: a revoked one is not restored.",
			},
		})
	}
	add := func(reason string) {
		r, ok := fault.Named(reason)
		if !ok || len(paths) >= maxPaths || slices.ContainsFunc(paths, func(p Path) bool {
			return p.Reason == reason
		}) {
			return
		}
		entry := r.Entry()
		paths = append(paths, Path{
			Reason: reason, Code: entry.Code, Title: entry.Title, Steps: slices.Clone(entry.Steps), At: entry.Doorway,
		})
	}
	if e.Call != nil {
		add(e.Call.Outcome)
	}
	for i := range e.Refusals {
		add(e.Refusals[i].Reason)
	}
	return paths
}

func (e *Evidence) ofChain() Path {
	p := Path{Reason: "chain_" + string(e.Chain.State)}
	if e.Chain.State == ChainDown {
		p.Title = string(e.Chain.Chain) + " cannot be reached"
		p.Steps = []string{
			"Wait: no upstream of the chain could be used when this was written, and calls of it cost nothing " +
				"meanwhile.",
			"A transaction that was answered with -32017 may have been sent: look it up before signing again.",
		}
		return p
	}
	p.Title = string(e.Chain.Chain) + " is served by fewer upstreams"
	p.Steps = []string{
		"Retry: " + strconv.Itoa(e.Chain.Usable) + " of " + strconv.Itoa(e.Chain.Upstreams) +
			" upstreams could be used when this was written.",
	}
	return p
}

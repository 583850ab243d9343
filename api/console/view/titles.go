package view

import (
	"slices"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// ItemTitle returns the title of an item, or its key when this version does not know it.
func ItemTitle(key string) string {
	if item, known := plan.FindItem(key); known {
		return item.Title
	}
	return key
}

// OutcomeWords describes how a call ended: by the title of its reason where the fault table has
// one.
func OutcomeWords(outcome string) string {
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
	return SentenceCase(strings.ReplaceAll(outcome, "_", " "))
}

// PlanTitle returns the title of a plan, or its key when this version does not know it.
func PlanTitle(key string) string {
	if p, known := plan.Lookup(key); known {
		return p.Title
	}
	return key
}

// LimitTitle returns the title of a limit, or its reason when this version has none.
func LimitTitle(reason string) string {
	all := fault.Table()
	if i := slices.IndexFunc(all, func(e fault.Entry) bool { return e.Name == reason }); i >= 0 {
		return all[i].Title
	}
	return reason
}

// ChainTitle returns the title of a chain, or its id when this version does not know it.
func (r Reader) ChainTitle(id string) string {
	if id == "" {
		return "no chain"
	}
	return r.Chains.Title(id)
}

// ClassTitle returns the name of a method or of a class of methods, which may not be known.
func ClassTitle(class string) string {
	if class == "" {
		return "method not known"
	}
	return class
}

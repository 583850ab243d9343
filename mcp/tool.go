package mcp

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/capability"
	"github.com/chainaccess/gateway/fault"
)

// tool is what an agent may call: words over one capability, or over several among which an argument chooses.
type tool struct {
	name, title string
	about       about
	hints       hints
	// input describes the parameters, a struct with tags as inputs of capabilities have them; nil where they are those of the one way.
	input any
	ways  []way
	// selector is the parameter that chooses the way by its value, or chosen does by all of them, as an index into ways.
	selector string
	chosen   func(args map[string]any) int
	relays   bool // it is rpc_call, which is no capability
	keyFree  bool // anybody may call it
}

// about is a tool's description for a model that has to choose, sentence by sentence.
type about struct {
	Purpose string // what it gives; the first sentence
	Use     string // when to choose it
	Instead string // which other tool is the right one for what is near
	Cost    string // units or nothing, and which limit counts it
	Limits  string // sizes, ranges, pages
	Fails   string // the codes that matter here, and what to do then
	Again   string // what a repeat does
}

// String is the description as tools/list has it.
func (a *about) String() string {
	return a.Purpose + "\nWhen: " + a.Use + "\nInstead: " + a.Instead + "\nCost: " + a.Cost + "\nLimits: " + a.Limits + "\nErrors: " + a.Fails +
		"\nRepeat: " + a.Again
}

// hints are the protocol's annotations of a tool, all four always said.
type hints uint8

const (
	readOnly    hints = 1 << iota // changes nothing
	idempotent                    // a repeat with the same arguments changes nothing more
	destructive                   // ends something that cannot be restored
	openWorld                     // asks or changes something outside the service: a chain, a name, a price
)

// way is a capability that a tool may turn out to be.
type way struct {
	of   capability.Capability
	when string // the selector's value for it; "" where nothing is selected, or for its absence
	// names are those parameters of the tool that the capability calls otherwise.
	names map[string]string
}

// one is the way of a tool that is one capability.
func one(c capability.Capability) []way { return []way{{of: c}} }

// choose finds the way and gives the arguments as its capability calls them. When the selector chooses none, what is wrong with it is told by the
// first way, once its capability knows the caller.
func (t *tool) choose(args map[string]any) (*way, map[string]any, *fault.Error) {
	i := 0
	var wrong *fault.Error
	switch {
	case t.chosen != nil:
		i = t.chosen(args)
	case t.selector != "":
		value, there := args[t.selector]
		text, _ := value.(string)
		i = slices.IndexFunc(t.ways, func(w way) bool { return w.when == text && (there || w.when == "") })
		if i < 0 {
			i, wrong = 0, wrongField(t.selector, "takes "+t.values())
		}
	}
	w := &t.ways[i]
	theirs := make(map[string]any, len(args))
	for name, value := range args {
		if name == t.selector {
			continue
		}
		if w.renames(name) { // the capability's own name for another parameter is none of the tool's
			wrong = wrongField(shown(name), "is no parameter of "+t.name)
		}
		if renamed, ok := w.names[name]; ok {
			name = renamed
		}
		theirs[name] = value
	}
	return w, theirs, wrong
}

// values are those that the selector takes, in words.
func (t *tool) values() string {
	var list []string
	for _, w := range t.ways {
		if w.when != "" {
			list = append(list, w.when)
		}
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// renames is whether the capability calls a parameter so that the tool calls otherwise.
func (w *way) renames(theirs string) bool {
	for _, name := range w.names {
		if name == theirs {
			_, both := w.names[theirs]
			return !both
		}
	}
	return false
}

// inOurWords calls fields in a refusal as the tool calls its parameters.
func (w *way) inOurWords(f *fault.Error) *fault.Error {
	fields, ok := f.Data["fields"].([]map[string]string)
	if f.Reason != fault.FieldRefused || len(w.names) == 0 {
		return f
	}
	told := *f
	ours := map[string]string{}
	for name, theirs := range w.names {
		ours[theirs] = name
		told.Message = regexp.MustCompile(`(^|again\. |; )`+regexp.QuoteMeta(theirs)+`:`).ReplaceAllString(told.Message, "${1}"+name+":")
	}
	rename := func(name string) string {
		if our, ok := ours[name]; ok {
			return our
		}
		return name
	}
	renamed := &told
	if ok {
		list := make([]map[string]string, len(fields))
		for i, field := range fields {
			list[i] = map[string]string{"field": rename(field["field"]), "problem": field["problem"]}
		}
		renamed = renamed.With("fields", list)
	}
	if field, ok := f.Data["field"].(string); ok {
		renamed = renamed.With("field", rename(field))
	}
	return renamed
}

// check panics when a tool is made wrongly.
func (t *tool) check() {
	switch {
	case t.relays && len(t.ways) == 0 && t.input != nil:
	case t.relays || len(t.ways) == 0:
		panic(fmt.Sprintf("mcp: the tool %s leads nowhere", t.name))
	case len(t.ways) > 1 && (t.input == nil || (t.selector == "") == (t.chosen == nil)):
		panic(fmt.Sprintf("mcp: the tool %s has several ways and does not choose among them", t.name))
	case t.input != nil && reflect.TypeOf(t.input).Kind() != reflect.Struct:
		panic(fmt.Sprintf("mcp: the input of %s is no struct", t.name))
	}
}

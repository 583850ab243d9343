package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/service/operation"
)

// tool is a tool of the MCP server: a description of one operation, or of several of which an
// argument selects one.
type tool struct {
	name, title string
	about       about
	hints       hints
	// input describes the parameters as a struct with tags, like the inputs of operations. It is
	// nil when the parameters are those of the only way.
	input any
	ways  []way
	// selector is the parameter that selects the way: by the value of the way's field when, or by
	// the index into ways that chosen returns.
	selector string
	chosen   func(value string) int
	// strangers are the fields of the answer with text that anybody may have written on a chain or
	// for it.
	strangers []string
	relays    bool // it is rpc_call, which is not an operation
	keyFree   bool // needs no key
}

// about is a tool's description, in sections, from which a model chooses.
type about struct {
	Purpose string // what it returns; the first sentence
	Use     string // when to choose it
	Instead string // which tool to use for similar tasks
	Cost    string // units or nothing, and which limit counts it
	Limits  string // sizes, ranges, pages
	Fails   string // the codes that matter here and how to react
	Again   string // what a repeat does
}

// String returns the description as tools/list has it.
func (a *about) String() string {
	return a.Purpose + "\nWhen: " + a.Use + "\nInstead: " + a.Instead + "\nCost: " + a.Cost + "\nLimits: " + a.Limits +
		"\nErrors: " + a.Fails +
		"\nRepeat: " + a.Again
}

// hints are the protocol's annotations of a tool. All four are always sent.
type hints uint8

const (
	readOnly    hints = 1 << iota // changes nothing
	idempotent                    // a repeat with the same arguments has no further effect
	destructive                   // ends something irrevocably
	openWorld                     // reads or changes something outside the service: a chain, a name, a price
)

// way is an operation that a tool may run.
type way struct {
	of   operation.Definition
	when string // the selector's value; "" without a selector or for its absence
	// names maps the tool's parameters to the operation's names where they differ.
	names map[string]string
}

// one returns the ways of a tool that has one operation.
func one(c operation.Definition) []way { return []way{{of: c}} }

// choose returns the way that the arguments select. When the selector is invalid, it returns the
// first way and an error, which is reported only once the operation has identified the caller.
func (t *tool) choose(arguments []byte) (*way, *fault.Error) {
	if t.selector == "" || len(arguments) > t.maxBytes() {
		return &t.ways[0], nil // arguments that are too long are refused when they are read
	}
	var value []byte
	jsonrpc.Members(arguments, func(name, val []byte) bool {
		if string(name) == t.selector {
			value = val
		}
		return value == nil
	})
	var text string
	isText := json.Unmarshal(value, &text) == nil
	if t.chosen != nil {
		return &t.ways[t.chosen(text)], nil
	}
	i := slices.IndexFunc(t.ways, func(w way) bool { return w.when == text && (isText || value == nil) })
	if i < 0 {
		return &t.ways[0], wrongField(t.selector, "takes "+t.values())
	}
	return &t.ways[i], nil
}

// read returns the arguments under the operation's names.
func (t *tool) read(w *way, arguments []byte) (map[string]any, *fault.Error) {
	args := map[string]any{}
	if len(arguments) > t.maxBytes() {
		return nil, fault.New(fault.BodyTooLarge,
			"The arguments are longer than %d bytes, which %s does not need. Send the parameters that it takes.",
			t.maxBytes(), t.name)
	}
	// it is valid JSON, so a number is out of range
	if len(arguments) > 0 && json.Unmarshal(arguments, &args) != nil {
		return nil, fault.New(fault.FieldRefused,
			"The arguments hold a number that is too large. Correct it and call again.")
	}
	if twice := repeated(arguments); twice != "" {
		return nil, wrongField(shown(twice), "stands twice")
	}
	theirs := make(map[string]any, len(args))
	for name, value := range args {
		if w.renames(name) { // the operation's name for a renamed parameter is not one of the tool's
			return nil, wrongField(shown(name), "is no parameter of "+t.name)
		}
		if name == t.selector && !w.takes(name) {
			continue
		}
		if renamed, ok := w.names[name]; ok {
			name = renamed
		}
		theirs[name] = value
	}
	return theirs, nil
}

// takes reports whether the selector is also a parameter of the way's operation.
func (w *way) takes(selector string) bool {
	if w.when != "" {
		return false
	}
	if renamed, ok := w.names[selector]; ok {
		selector = renamed
	}
	return w.of.Input().Properties[selector] != nil
}

// repeated returns a name that an object has twice, because parsers disagree on which one is used.
func repeated(object []byte) (twice string) {
	seen := map[string]bool{}
	jsonrpc.Members(object, func(name, _ []byte) bool {
		if seen[string(name)] {
			twice = string(name)
		}
		seen[string(name)] = true
		return twice == ""
	})
	return twice
}

// maxBytes returns the limit of the arguments in bytes, the same as that of the operation's body
// over HTTP.
func (t *tool) maxBytes() int {
	limit := maxArguments
	for _, w := range t.ways {
		limit = max(limit, int(w.of.Meta().MaxBody))
	}
	return limit
}

const maxArguments = 64 << 10

// values lists the values of the selector in words.
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

// renames reports whether theirs is an operation's name of a parameter that the tool calls
// differently.
func (w *way) renames(theirs string) bool {
	for _, name := range w.names {
		if name == theirs {
			_, both := w.names[theirs]
			return !both
		}
	}
	return false
}

// inOurWords replaces the operation's field names in a refusal with the tool's.
func (w *way) inOurWords(f *fault.Error) *fault.Error {
	fields, ok := f.Data["fields"].([]map[string]string)
	if f.Reason != fault.FieldRefused || len(w.names) == 0 {
		return f
	}
	told := *f
	ours := map[string]string{}
	for name, theirs := range w.names {
		ours[theirs] = name
		told.Message = regexp.MustCompile(`(^|again\. |; )`+regexp.QuoteMeta(theirs)+`:`).ReplaceAllString(told.Message,
			"${1}"+name+":")
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

// check panics when a tool is declared incorrectly.
func (t *tool) check() {
	switch {
	case t.relays && len(t.ways) == 0 && t.input != nil:
	case t.relays || len(t.ways) == 0:
		panic(fmt.Sprintf("mcp: the tool %s leads nowhere", t.name))
	case len(t.ways) > 1 && (t.input == nil || t.selector == ""):
		panic(fmt.Sprintf("mcp: the tool %s has several ways and does not choose among them", t.name))
	case t.input != nil && reflect.TypeOf(t.input).Kind() != reflect.Struct:
		panic(fmt.Sprintf("mcp: the input of %s is no struct", t.name))
	}
}

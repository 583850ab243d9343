package toolbox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
)

// tool is a metered operation in the toolbox. Its form and its command are generated from its
// schema. It is immutable.
type tool struct {
	op     operation.Definition
	meta   operation.Meta
	about  string // one sentence
	method string // of its form
	inputs []input
}

// input is one field of a tool's form.
type input struct {
	name, label, rule string
	place             view.Place
	kind              view.Kind
	schema            *huma.Schema
	required          bool // by the interface
	example           string
	options           []view.Option
}

// toolGroup is a group of tools.
type toolGroup struct {
	ID, Title string
	tools     []*tool
}

// groupOf maps the services of the toolbox to groups. Every service except the relay has a group.
var groupOf = map[account.Service]string{
	account.Gas: "Chain state", account.TxStatus: "Chain state",
	account.ENS: "Names and prices", account.Prices: "Names and prices",
	account.Contracts: "Contracts", account.Utils: "Utilities", account.Data: "Data",
}

// groupTitles are the groups in the order of the page.
var groupTitles = []string{"Chain state", "Names and prices", "Contracts", "Utilities", "Data"}

// newToolGroups returns the tools of operations by group, in the order of the page.
func newToolGroups(known *chain.Set, ops []operation.Definition) ([]toolGroup, error) {
	byTitle := map[string][]*tool{}
	for _, op := range ops {
		t, err := newTool(known, op)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", op.Meta().Name, err)
		}
		title := groupOf[t.meta.Service]
		if title == "" {
			return nil, fmt.Errorf("tool %s: its service %q belongs to no group", t.meta.Name, t.meta.Service)
		}
		byTitle[title] = append(byTitle[title], t)
	}
	var groups []toolGroup
	for _, title := range groupTitles {
		if tools := byTitle[title]; len(tools) > 0 {
			id := "tools-" + strings.ReplaceAll(strings.ToLower(title), " ", "-")
			groups = append(groups, toolGroup{ID: id, Title: title, tools: tools})
		}
	}
	return groups, nil
}

// live reports whether visitors may run the tool here. The data service needs a key, because only
// paid plans include it.
func (t *tool) live() bool { return t.meta.Service != account.Data }

var pathInputs = regexp.MustCompile(`\{(\w+)\}`)

// newTool returns the tool of an operation. Its inputs are ordered: path parameters, then required
// ones, then the others.
func newTool(known *chain.Set, op operation.Definition) (*tool, error) {
	meta, schema := op.Meta(), op.Input()
	t := &tool{op: op, meta: meta, about: firstSentence(meta.Description), method: "get"}
	further := view.InQuery
	switch meta.Route.Method {
	case http.MethodGet:
	case http.MethodPost:
		t.method, further = "post", view.InBody
	default:
		return nil, fmt.Errorf("forms cannot send %s", meta.Route.Method)
	}
	places := map[string]view.Place{}
	var names []string
	take := func(name string, at view.Place) {
		if _, known := places[name]; !known {
			places[name] = at
			names = append(names, name)
		}
	}
	for _, m := range pathInputs.FindAllStringSubmatch(meta.Route.Path, -1) {
		take(m[1], view.InPath)
	}
	for _, name := range schema.Required {
		take(name, further)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		take(name, further)
	}
	for _, name := range names {
		in, err := newInput(known, name, places[name], schema)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		if in.kind == view.AreaKind { // a URL is too short for it
			t.method = "post"
		}
		t.inputs = append(t.inputs, in)
	}
	return t, nil
}

// longLine is the length from which on a text gets a text area and is too long for a URL.
const longLine = 4096

// newInput returns the input of a property.
func newInput(known *chain.Set, name string, at view.Place, of *huma.Schema) (input, error) {
	s := of.Properties[name]
	if s == nil {
		return input{}, errors.New("the schema does not have it")
	}
	if name == site.TokenField || name == toolField {
		return input{}, errors.New("the page's forms use this name themselves")
	}
	in := input{
		name: name, label: view.SentenceCase(name), rule: explained(s, firstSentence(s.Description)), place: at,
		schema:   s,
		required: at == view.InPath || slices.Contains(of.Required, name),
	}
	if in.kind = kindOf(s, at); in.kind == "" {
		return input{}, fmt.Errorf("there is no field for a value of type %q", s.Type)
	}
	if in.kind == view.ChoiceKind {
		in.options = enumOptions(known, s, in.required)
	}
	switch {
	case len(s.Examples) > 0:
		in.example = plainText(s.Examples[0])
	case s.Default != nil:
		in.example = plainText(s.Default)
	case in.kind == view.ChoiceKind && in.required:
		in.example = in.options[0].Value
	}
	return in, nil
}

// kindOf returns the form control for a schema, or "" when there is none.
func kindOf(s *huma.Schema, at view.Place) view.Kind {
	switch s.Type {
	case huma.TypeBoolean:
		return view.TickKind
	case huma.TypeString:
		if len(s.Enum) > 0 {
			return view.ChoiceKind
		}
		if at != view.InPath && (s.MaxLength == nil || *s.MaxLength > longLine) && s.Format == "" &&
			!fixedLength(s.Pattern) {
			return view.AreaKind
		}
		return view.LineKind
	case huma.TypeInteger, huma.TypeNumber:
		return view.LineKind
	case huma.TypeArray:
		if s.Items != nil && s.Items.Type == huma.TypeString {
			return view.LineKind
		}
	}
	return ""
}

// fixedLength reports whether a pattern limits the length of its matches, which it does when it has
// no unbounded repetition.
func fixedLength(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, "*+") }

// plainText formats an example as a user would type it.
func plainText(example any) string {
	if list, ok := example.([]any); ok {
		var items []string
		for _, item := range list {
			items = append(items, fmt.Sprint(item))
		}
		return strings.Join(items, ",")
	}
	return fmt.Sprint(example)
}

// enumOptions returns the options of an enumeration. Chains have their titles.
func enumOptions(known *chain.Set, s *huma.Schema, required bool) []view.Option {
	var all []view.Option
	if !required {
		all = append(all, view.Option{Value: "", Text: "–"})
	}
	for _, one := range s.Enum {
		value := fmt.Sprint(one)
		all = append(all, view.Option{Value: value, Text: known.Title(value)})
	}
	return all
}

// explained returns the description of a value as a sentence. A description that begins with a term
// of the interface keeps its case.
func explained(s *huma.Schema, text string) string {
	word, _, _ := strings.Cut(text, " ")
	if slices.ContainsFunc(s.Enum, func(one any) bool { return fmt.Sprint(one) == strings.TrimSuffix(word, ":") }) {
		return strings.TrimSuffix(text, ".") + "."
	}
	return view.Sentence(text)
}

// firstSentence returns the first sentence of a description.
func firstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// keptFor describes how long an answer is cached.
func keptFor(d time.Duration) string {
	switch {
	case d <= 0:
		return "not kept"
	case d%time.Hour == 0:
		return "kept for " + view.Number(int64(d/time.Hour)) + " h"
	case d%time.Minute == 0:
		return "kept for " + view.Number(int64(d/time.Minute)) + " min"
	}
	return "kept for " + view.Number(int64(d/time.Second)) + " s"
}

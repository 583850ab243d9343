package console

import (
	"regexp"

	"github.com/danielgtaylor/huma/v2"
)

// toolboxPage lists every tool with its form.
type toolboxPage struct {
	Groups   []toolGroupView
	Visitors string // the rate limit for visitors
}

func (toolboxPage) head() head {
	return head{
		Template: "toolbox", Title: "Toolbox", Bare: true, Broad: true, Scripts: []string{scriptCopy, scriptToolbox},
	}
}

// toolGroupView is a section of the page.
type toolGroupView struct {
	ID, Title string
	Tools     []toolView
}

// toolView is a tool with the values in its form and the outcome of its last run.
type toolView struct {
	Name, Title, About string
	Cost, Kept         string
	Live               bool   // visitors may run it here
	Method, Token      string // of its form
	Inputs             []inputView
	Curl               copyable
	Outcome            *outcome

	// toolbox.js builds the command from these.
	PublicURL, Route, RouteMethod string
}

// inputView is an input with its value.
type inputView struct {
	field

	Optional bool // it may be left out
	Kind     kind
	Options  []option
	Ticked   bool
	Place    place
	JSONType string
	Always   bool // an empty text or an unticked box is sent, because omitting it has another meaning
}

// outcome is the result of running a tool.
type outcome struct {
	Title   string // of the tool
	Facts   string
	Answer  *shown
	Raw     string // the answer as JSON
	Whole   bool   // Raw is complete
	Refused *notice
	Errors  []fieldError
}

// fieldError is the error of a field of the form.
type fieldError struct{ ID, Text string }

// names returns the names of a tool's inputs.
func (t *tool) names() []string {
	var names []string
	for i := range t.inputs {
		names = append(names, t.inputs[i].name)
	}
	return names
}

// view returns a tool with values in its form.
func (t *tool) view(publicURL, token string, values map[string]string) toolView {
	name := t.meta.Name
	view := toolView{
		Name: name, Title: t.meta.Title, About: t.about, Cost: units(t.meta.Units), Kept: keptFor(t.meta.TTL),
		Live: t.live(), Method: t.method, Token: token, Curl: copyable{
			ID: name + "-curl", What: "the command for: " + t.meta.Title, Text: t.curl(publicURL, values), Wrap: true,
		},
		PublicURL: publicURL, Route: t.meta.Route.Path, RouteMethod: t.meta.Route.Method,
	}
	for i := range t.inputs {
		view.Inputs = append(view.Inputs, t.inputs[i].view(name, values[t.inputs[i].name]))
	}
	return view
}

// view returns an input of a tool's form with a value.
func (in *input) view(tool, value string) inputView {
	s := in.schema
	v := inputView{
		field: field{
			Name: in.name, Label: in.label, Value: value, Rule: in.rule, Prefix: tool + "-",
			Required: in.required && !in.takesNothing(),
		},
		Optional: !in.required, Kind: in.kind, Ticked: value == "true", Place: in.place, JSONType: s.Type,
		Always: in.required && s.Type == huma.TypeString,
	}
	if in.kind == tickKind {
		v.Always = in.ticked(false) != ""
	}
	if s.MaxLength != nil && in.kind == lineKind {
		v.Most = *s.MaxLength
	}
	if in.kind == lineKind {
		v.Pattern = s.Pattern
	}
	if s.Type == huma.TypeInteger || s.Type == huma.TypeNumber {
		v.Mode = "decimal"
	}
	for _, o := range in.options {
		o.Chosen = o.Value == value
		v.Options = append(v.Options, o)
	}
	return v
}

// takesNothing reports whether the interface accepts an empty text for the input.
func (in *input) takesNothing() bool {
	s := in.schema
	if in.place == inPath || s.Type != huma.TypeString || (s.MinLength != nil && *s.MinLength > 0) || len(s.Enum) > 0 {
		return false
	}
	empty, err := regexp.MatchString(s.Pattern, "")
	return err == nil && empty
}

package toolbox

import (
	"regexp"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/api/console/view"
)

// toolboxPage lists every tool with its form.
type toolboxPage struct {
	Groups   []toolGroupView
	Visitors string // the rate limit for visitors
}

func (toolboxPage) Head() view.Head {
	return view.Head{
		Template: "toolbox", Title: "Toolbox", Bare: true, Broad: true,
		Scripts: []string{view.ScriptCopy, view.ScriptToolbox},
	}
}

// toolGroupView is a section of the page.
type toolGroupView struct {
	ID, Title string
	Tools     []view.Tool
}

// names returns the names of a tool's inputs.
func (t *tool) names() []string {
	var names []string
	for i := range t.inputs {
		names = append(names, t.inputs[i].name)
	}
	return names
}

// view returns a tool with values in its form.
func (t *tool) view(publicURL, token string, values map[string]string) view.Tool {
	name := t.meta.Name
	shown := view.Tool{
		Name: name, Title: t.meta.Title, About: t.about, Cost: view.Units(t.meta.Units), Kept: keptFor(t.meta.TTL),
		Live: t.live(), Method: t.method, Token: token, Curl: view.Copyable{
			ID: name + "-curl", What: "the command for: " + t.meta.Title, Text: t.curl(publicURL, values), Wrap: true,
		},
		PublicURL: publicURL, Route: t.meta.Route.Path, RouteMethod: t.meta.Route.Method,
	}
	for i := range t.inputs {
		shown.Inputs = append(shown.Inputs, t.inputs[i].view(name, values[t.inputs[i].name]))
	}
	return shown
}

// view returns an input of a tool's form with a value.
func (in *input) view(tool, value string) view.Input {
	s := in.schema
	v := view.Input{
		Field: view.Field{
			Name: in.name, Label: in.label, Value: value, Rule: in.rule, Prefix: tool + "-",
			Required: in.required && !in.takesNothing(),
		},
		Optional: !in.required, Kind: in.kind, Ticked: value == "true", Place: in.place, JSONType: s.Type,
		Always: in.required && s.Type == huma.TypeString,
	}
	if in.kind == view.TickKind {
		v.Always = in.ticked(false) != ""
	}
	if s.MaxLength != nil && in.kind == view.LineKind {
		v.Most = *s.MaxLength
	}
	if in.kind == view.LineKind {
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
	if in.place == view.InPath || s.Type != huma.TypeString || (s.MinLength != nil && *s.MinLength > 0) ||
		len(s.Enum) > 0 {
		return false
	}
	empty, err := regexp.MatchString(s.Pattern, "")
	return err == nil && empty
}

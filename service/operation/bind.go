package operation

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// init changes settings of libraries that must be set before first use.
func init() {
	huma.ValidateStrictCasing = true // "Address" is not "address": one name has one spelling
}

// newRegistry returns the registry of all input and output schemas, named after their types.
func newRegistry() huma.Registry {
	r := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	r.RegisterTypeAlias(reflect.TypeFor[plan.Units](), reflect.TypeFor[float64]()) // on the wire units are numbers
	return r
}

// schema returns the schema of a struct type, resolving references.
func (r *Runner) schema(t reflect.Type) *huma.Schema {
	s := r.schemas.Schema(t, true, "")
	for s.Ref != "" {
		s = r.schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// bind validates arguments against the input's schema and decodes them.
func (o *Operation[In, Out]) bind(args map[string]any) (*In, *fault.Error) {
	in := new(In)
	args, mistakes := o.runner.check(o.in, args)
	if len(mistakes) > 0 {
		return in, o.runner.mistake(o.in, args, mistakes)
	}
	if o.fill.decode(in, args) {
		return in, nil
	}
	in = new(In)
	text, err := json.Marshal(args)
	if err == nil {
		err = json.Unmarshal(text, in)
	}
	if err != nil { // the schema follows from the type, so what it lets through fits
		return in, fault.New(fault.FieldRefused,
			"The input cannot be read. Compare it with the description of this operation at /docs.").Wrap(err)
	}
	return in, nil
}

// check returns the arguments that the schema knows, and all mistakes. The schema bounds the number
// of mistakes, not the caller.
func (r *Runner) check(s *huma.Schema, args map[string]any) (fitting map[string]any, mistakes []error) {
	fitting, mistakes = validate(s, args)
	result := huma.ValidateResult{Errors: mistakes}
	huma.Validate(r.schemas, s, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, fitting, &result)
	return fitting, result.Errors
}

// maxMistakes is the maximum number of fields that one refusal names.
const maxMistakes = 5

// mistake returns the refusal that names what is wrong with each field and what it takes.
func (r *Runner) mistake(s *huma.Schema, args map[string]any, errs []error) *fault.Error {
	var told []string
	var fields []map[string]string
	seen := make(map[string]bool, len(errs))
	for _, err := range errs {
		field, what := "", err.Error()
		if detail, ok := err.(*huma.ErrorDetail); ok { //nolint:errorlint // the library's own type, never wrapped
			field, what = detail.Location, detail.Message
		}
		if field == "" { // a missing property is reported for the object
			field = missing(s, args, what)
		}
		field = shown(field)
		text := strings.TrimSpace(field + ": " + what)
		if takes := doc(s, field); takes != "" {
			text += " (" + takes + ")"
		}
		if !seen[text] {
			seen[text] = true
			told = append(told, text)
			fields = append(fields, map[string]string{"field": field, "problem": what})
		}
	}
	slices.Sort(told)
	slices.SortFunc(fields, func(a, b map[string]string) int {
		return strings.Compare(a["field"]+a["problem"], b["field"]+b["problem"])
	})
	told, fields = told[:min(len(told), maxMistakes)], fields[:min(len(fields), maxMistakes)]
	return fault.New(fault.FieldRefused, "%s", "Correct and send again. "+strings.Join(told, "; ")+".").With("fields",
		fields)
}

// missing returns the required property that a message about the object means.
func missing(s *huma.Schema, args map[string]any, message string) string {
	for _, name := range s.Required {
		if _, there := args[name]; !there && strings.Contains(message, " "+name+" ") {
			return name
		}
	}
	return ""
}

const longestField = 64

// shown shortens and cleans a field name that the caller made up.
func shown(field string) string {
	if len(field) > longestField {
		field = field[:longestField] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, field)
}

// doc returns the schema's description of a field.
func doc(s *huma.Schema, field string) string {
	name, _, _ := strings.Cut(field, ".")
	name, _, _ = strings.Cut(name, "[")
	if p := s.Properties[name]; p != nil {
		return p.Description
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	if len(known) == 0 {
		return "this operation takes no fields"
	}
	return fmt.Sprintf("known fields: %s", strings.Join(known, ", "))
}

package toolbox

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// maxTyped limits a value in a form, in bytes. Longer values need a program.
const maxTyped = 32 << 10

// examples returns the initial values of a form.
func (t *tool) examples() map[string]string {
	values := map[string]string{}
	for i := range t.inputs {
		values[t.inputs[i].name] = t.inputs[i].example
	}
	return values
}

// sent returns the values of a submitted form. Browsers send line breaks in a text area as CRLF;
// they become LF.
func (t *tool) sent(form url.Values) map[string]string {
	values := map[string]string{}
	for i := range t.inputs {
		in := &t.inputs[i]
		text := form.Get(in.name)
		switch in.kind {
		case view.AreaKind:
			text = strings.ReplaceAll(text, "\r\n", "\n")
		case view.TickKind:
			text = in.ticked(text != "")
		case view.LineKind, view.ChoiceKind:
		}
		values[in.name] = text
	}
	return values
}

// ticked returns the value of a checkbox. An unticked one has a value only where omitting it would
// have another meaning.
func (in *input) ticked(on bool) string {
	switch {
	case on:
		return "true"
	case in.required || in.schema.Default == true:
		return "false"
	}
	return ""
}

// args returns the arguments of a run.
func (t *tool) args(values map[string]string) operation.Args {
	return func() (map[string]any, *fault.Error) {
		args := map[string]any{}
		for i := range t.inputs {
			in := &t.inputs[i]
			if len(values[in.name]) > maxTyped {
				return nil, fault.New(fault.FieldRefused,
					"%s is longer than the %d bytes that this page takes. Send it with the command instead.", in.name,
					maxTyped)
			}
			if value, given := in.typed(values[in.name]); given {
				args[in.name] = value
			}
		}
		return args, nil
	}
}

// typed converts a text to the type in the schema, and reports whether it is set. A text that does
// not convert stays a text, which the schema refuses.
func (in *input) typed(text string) (value any, given bool) {
	if text == "" && (!in.required || in.schema.Type != huma.TypeString) {
		return nil, false
	}
	switch in.schema.Type {
	case huma.TypeInteger, huma.TypeNumber:
		if n := json.Number(text); json.Valid([]byte(text)) {
			if f, err := n.Float64(); err == nil {
				return f, true
			}
		}
	case huma.TypeBoolean:
		return text == "true", true
	case huma.TypeArray:
		var list []any
		for item := range strings.SplitSeq(text, ",") {
			list = append(list, strings.TrimSpace(item))
		}
		return list, true
	}
	return text, true
}

package service

import (
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// validate keeps the arguments that the schema of an input can be held against, and gives the
// mistakes of the others. The schema's own check tells of every name and every item that is wrong,
// so what it looks at is bounded here: names that there are, lists and objects no longer than they
// may be. An argument that is null stands for a field that is left out: clients write it so.
func validate(s *huma.Schema, args map[string]any) (fitting map[string]any, mistakes []error) {
	fits := func(name string, v any) bool {
		return s.Properties[name] != nil && v != nil && tooMany(s.Properties[name], v) == ""
	}
	all := true
	for name, v := range args {
		all = all && fits(name, v)
	}
	if all {
		return args, nil
	}
	fitting = make(map[string]any, len(s.Properties))
	var unknown []string
	for name, v := range args {
		property := s.Properties[name]
		switch {
		case v == nil:
		case property == nil:
			unknown = keepFirst(unknown, name)
		case fits(name, v):
			fitting[name] = v
		default:
			mistakes = append(mistakes, &huma.ErrorDetail{Location: name, Message: tooMany(property, v)})
		}
	}
	for _, name := range unknown {
		mistakes = append(mistakes, &huma.ErrorDetail{Location: name, Message: validation.MsgUnexpectedProperty})
	}
	return fitting, mistakes
}

// tooMany says how many parts a value may have when it has more; empty when it is well. Every
// input's schema bounds its lists and objects.
func tooMany(s *huma.Schema, v any) string {
	switch parts := v.(type) {
	case []any:
		if s.MaxItems != nil && len(parts) > *s.MaxItems {
			return fmt.Sprintf("expected array length <= %d", *s.MaxItems)
		}
	case map[string]any:
		if s.MaxProperties != nil && len(parts) > *s.MaxProperties {
			return fmt.Sprintf("expected object with at most %d properties", *s.MaxProperties)
		}
	}
	return ""
}

// keepFirst enters a name into the first few in their order, however many come along.
func keepFirst(names []string, name string) []string {
	at, _ := slices.BinarySearch(names, name)
	if at == maxMistakes {
		return names
	}
	names = slices.Insert(names, at, name)
	return names[:min(len(names), maxMistakes)]
}

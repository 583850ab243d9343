package operation

import (
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// validate returns the arguments that can be checked against the schema, and the mistakes in the
// others. The schema's own check reports every wrong name and item, so validate bounds its work: it
// passes only known names, and only lists and objects within their size limits. null counts as
// absent, because clients write it that way.
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

// tooMany returns the size limit that a value exceeds, as text, or "". Every input's schema limits
// its lists and objects.
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

// keepFirst inserts a name in order and keeps only the first maxMistakes.
func keepFirst(names []string, name string) []string {
	at, _ := slices.BinarySearch(names, name)
	if at == maxMistakes {
		return names
	}
	names = slices.Insert(names, at, name)
	return names[:min(len(names), maxMistakes)]
}

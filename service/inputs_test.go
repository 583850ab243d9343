package service_test

import (
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/service"
)

// The schema's check creates an error for each wrong part, so every list and object of an input
// must have a limit, and objects must not be nested.
func TestValidate_EveryInputBoundsItsLists(t *testing.T) {
	t.Parallel()
	for _, c := range service.New(service.Options{}).All() {
		in := c.Input()
		if in.AdditionalProperties != false {
			t.Errorf("%s takes names that it does not have", c.Meta().Name)
		}
		for name, p := range in.Properties {
			more, _ := p.AdditionalProperties.(*huma.Schema)
			switch {
			case p.Ref != "", len(p.Properties) > 0, nested(p.Items), nested(more):
				t.Errorf("%s of %s has parts of parts; bound them in validate first", name, c.Meta().Name)
			case p.Type == huma.TypeArray && (p.MaxItems == nil || *p.MaxItems > 100),
				more != nil && (p.MaxProperties == nil || *p.MaxProperties > 100):
				t.Errorf("%s of %s has any number of parts", name, c.Meta().Name)
			}
		}
	}
}

// nested reports whether the elements of a list or object have elements themselves.
func nested(s *huma.Schema) bool {
	return s != nil && (s.Ref != "" || s.Type == huma.TypeArray || s.Type == huma.TypeObject)
}

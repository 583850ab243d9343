package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// networkSubject returns n arguments that no operation has.
func networkSubject(n int) map[string]any {
	args := map[string]any{}
	for i := range n {
		args[fmt.Sprintf("k%05d", i)] = 1.0
	}
	return args
}

// A body of 320 KiB has room for 32,000 names. Refusing them must not allocate an error and a text
// for each.
func TestValidate_ManyUnknownNamesCostNoMoreThanAFew(t *testing.T) {
	t.Parallel()
	op, many := New(Options{}).ConfigureServices, networkSubject(32_000)
	if _, errs := op.house.check(op.in, many); len(errs) != maxMistakes {
		t.Fatalf("%d mistakes are looked at, want %d", len(errs), maxMistakes)
	}
	_, refusal := op.bind(many)
	for i := range maxMistakes {
		if want := fmt.Sprintf("k%05d: unexpected property", i); !strings.Contains(refusal.Message, want) {
			t.Errorf("the refusal lacks %q: %s", want, refusal.Message)
		}
	}
	fields, _ := refusal.Data["fields"].([]map[string]string)
	if strings.Contains(refusal.Message, "k00005") || len(fields) == 0 ||
		!slices.IsSortedFunc(fields, func(a, b map[string]string) int {
			return strings.Compare(a["field"], b["field"])
		}) {
		t.Errorf("not the first few in their order: %s, %v", refusal.Message, refusal.Data["fields"])
	}
}

func TestValidate_MistypedNameIsReportedWithTheMissingField(t *testing.T) {
	t.Parallel()
	_, refusal := New(Options{}).ComputeSelector.bind(map[string]any{"signatur": "f()", "signature": nil})
	if refusal == nil || !strings.Contains(refusal.Message, "signatur: unexpected property") ||
		!strings.Contains(refusal.Message, "signature: expected required property") {
		t.Errorf("refused with %v", refusal)
	}
}

func TestValidate_ReadsListsAndObjectsOnlyWithinTheirBounds(t *testing.T) {
	t.Parallel()
	op := New(Options{}).ConfigureServices
	long := make([]any, 50_000)
	for i := range long {
		long[i] = 1.0
	}
	for name, args := range map[string]map[string]any{
		"expected array length <= 8":                {"enabled": long},
		"expected object with at most 8 properties": {"caps": networkSubject(50_000)},
	} {
		_, errs := op.house.check(op.in, args)
		if _, refusal := op.bind(args); len(errs) != 1 || !strings.Contains(refusal.Message, name) {
			t.Errorf("%d mistakes, %v; want one: %s", len(errs), refusal, name)
		}
	}
	short := []any{"rpc", 5.0}
	if _, refusal := op.bind(map[string]any{"enabled": short}); refusal == nil ||
		!strings.Contains(refusal.Message, "enabled[1]") {
		t.Errorf("a wrong item: %v", refusal)
	}
}

// The schema's check creates an error for each wrong part, so every list and object of an input
// must have a limit, and objects must not be nested.
func TestValidate_EveryInputBoundsItsLists(t *testing.T) {
	t.Parallel()
	for _, c := range New(Options{}).All() {
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

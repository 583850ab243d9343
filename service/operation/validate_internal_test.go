package operation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// networkSubject returns n arguments that no operation has.
func networkSubject(n int) map[string]any {
	args := map[string]any{}
	for i := range n {
		args[fmt.Sprintf("k%05d", i)] = 1.0
	}
	return args
}

// limitsInput has a list and an object, both bounded.
type limitsInput struct {
	Enabled *[]string         `json:"enabled,omitempty" maxItems:"8" enum:"rpc,data,gas" doc:"services"`
	Caps    *map[string]int64 `json:"caps,omitempty" maxProperties:"8" doc:"caps by service"`
	Window  string            `json:"window,omitempty" enum:"1h,30d" doc:"look-back"`
}

// textInput has a required field.
type textInput struct {
	Signature string `json:"signature" minLength:"1" maxLength:"500" doc:"a signature"`
}

// taking returns an operation with an input.
func taking[In any]() *Operation[In, Nothing] {
	return Define(NewRunner(Dependencies{}), Meta{Name: "take", Title: "Take", Description: "Takes an input."},
		func(context.Context, *Call, In) (Nothing, error) { return Nothing{}, nil })
}

// A body of 320 KiB has room for 32,000 names. Refusing them must not allocate an error and a text
// for each.
func TestValidate_ManyUnknownNamesCostNoMoreThanAFew(t *testing.T) {
	t.Parallel()
	op, many := taking[limitsInput](), networkSubject(32_000)
	if _, errs := op.runner.check(op.in, many); len(errs) != maxMistakes {
		t.Fatalf("%d mistakes are looked at, want %d", len(errs), maxMistakes)
	}
	_, refusal := op.bind(many)
	for i := range maxMistakes {
		if want := fmt.Sprintf("k%05d: unexpected property", i); !strings.Contains(refusal.Message, want) {
			t.Errorf("the refusal lacks %q: %s", want, refusal.Message)
		}
	}
	fields, _ := refusal.Data["fields"].([]map[string]string)
	in := expect.In(t, "not the first few in their order")
	expect.NotContains(in, refusal.Message, "k00005")
	expect.NotEmpty(in, fields)
	expect.True(in, slices.IsSortedFunc(fields, func(a, b map[string]string) int {
		return strings.Compare(a["field"], b["field"])
	}), fields)
}

func TestValidate_MistypedNameIsReportedWithTheMissingField(t *testing.T) {
	t.Parallel()
	_, refusal := taking[textInput]().bind(map[string]any{"signatur": "f()", "signature": nil})
	require.NotNil(t, refusal)
	expect.Contains(t, refusal.Message, "signatur: unexpected property")
	expect.Contains(t, refusal.Message, "signature: expected required property")
}

func TestValidate_ReadsListsAndObjectsOnlyWithinTheirBounds(t *testing.T) {
	t.Parallel()
	op := taking[limitsInput]()
	long := make([]any, 50_000)
	for i := range long {
		long[i] = 1.0
	}
	for name, args := range map[string]map[string]any{
		"expected array length <= 8":                {"enabled": long},
		"expected object with at most 8 properties": {"caps": networkSubject(50_000)},
	} {
		_, errs := op.runner.check(op.in, args)
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

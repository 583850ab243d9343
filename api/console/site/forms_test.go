package site

import (
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
)

func TestPages_SchemaErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]string{
		"expected string to match pattern ^[A-Z]{2}$.":  "Use the format that is described next to the field.",
		"expected length >= 1":                          "Enter something here.",
		"expected length >= 3":                          "Enter at least 3 characters.",
		"expected length <= 5000":                       "Enter 5,000 characters at most.",
		"expected number <= 1e+12":                      "Enter 1,000,000,000,000 or less.",
		"expected number >= 0":                          "Enter 0 or more.",
		"expected required property name to be present": "Enter something here.", "of another kind": "Of another kind.",
	} {
		t.Run(problem, func(t *testing.T) {
			err := fault.New(fault.FieldRefused, "wrong").With("fields", []map[string]string{
				{"field": "name", "problem": problem},
			})
			if got := MistakesOf(err, "name")["name"]; got != want {
				t.Errorf("%q is told as %q, want %q", problem, got, want)
			}
		})
	}
}

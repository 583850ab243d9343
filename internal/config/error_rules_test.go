package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const oneChain = "\nchains:\n  eth_mainnet:\n    upstreams:\n      - {name: one, url: https://one.example}\n"

func TestErrorRules_AreReadFromTheUpstreamsFile(t *testing.T) {
	t.Parallel()
	report := checkUpstreams([]byte(`errors:
  - verdict: range_refused
    methods: [eth_getLogs, "trace_*"]
    words: "at most * blocks"
  - {verdict: throttled, code: -32099, status: 5xx, family: evm, data: true}
`+oneChain), os.Getenv)
	if len(report.Mistakes) > 0 {
		t.Fatal(report.Mistakes)
	}
	want := []ErrorRule{
		{Verdict: "range_refused", Methods: []string{"eth_getLogs", "trace_*"}, Words: "at most * blocks"},
		{Verdict: "throttled", Code: "-32099", Status: "5xx", Family: "evm", Data: true},
	}
	if diff := cmp.Diff(want, report.Upstreams.Errors); diff != "" {
		t.Error(diff)
	}
}

func TestErrorRules_ExplainMistakes(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"{verdict: rang_refused, words: limit}": "line 2, column 15: errors[0].verdict: give one of answer,",
		"{words: limit}":                        "errors[0].verdict: give one of answer,",
		"{verdict: denied}": "errors[0].words: give at least one of words, code and " +
			"status",
		"{verdict: denied, words: 'no*'}":                 "errors[0].words: give 4 to 200 characters",
		"{verdict: denied, code: x}":                      "errors[0].code: give a whole number",
		"{verdict: denied, code: 7..5}":                   "errors[0].code: give a whole number",
		"{verdict: denied, status: 200}":                  "errors[0].status: give an HTTP status",
		"{verdict: denied, status: 9xx}":                  "errors[0].status: give an HTTP status",
		"{verdict: denied, words: limit, family: cosmos}": "errors[0].family: give evm or solana",
		"{verdict: denied, words: limit, methods: ['*']}": "errors[0].methods: give at most 50 names",
		"{verdict: denied, words: limit, word: x}": "errors[0]: a member has an unknown name, perhaps words " +
			"is meant",
		"{verdict: denied, words: limit, data: maybe}": "errors[0].data: a value is of the wrong kind",
		"denied": "errors[0]: a value is of the wrong kind",
		"{verdict: denied, words: x}" + strings.Repeat("\n  - {verdict: denied, words: limit}",
			maxErrorRules): "errors: give at most 200 rules",
	} {
		t.Run(rule, func(t *testing.T) {
			report := checkUpstreams([]byte("errors:\n  - "+rule+oneChain), os.Getenv)
			if !slices.ContainsFunc(report.Mistakes,
				func(m Mistake) bool { return strings.Contains(m.String(), want) }) {
				t.Errorf("%.60s: %v, want %q", rule, report.Mistakes, want)
			}
		})
	}
}

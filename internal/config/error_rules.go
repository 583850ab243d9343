package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// ErrorRule says what an upstream's error means. Every condition that it names must hold. The
// built-in rules and those of the upstreams file have this form.
type ErrorRule struct {
	// Verdict is one of ErrorVerdicts.
	Verdict string `yaml:"verdict"`
	// Family is evm or solana; empty for both.
	Family string `yaml:"family"`
	// Methods are names, or prefixes that end in *; empty for all.
	Methods []string `yaml:"methods"`
	// Status is an HTTP status as 429, or a class of them as 5xx.
	Status string `yaml:"status"`
	// Code is the error's code, or the lowest and the highest as -38026..-38010.
	Code string `yaml:"code"`
	// Data asks for an error with data.
	Data bool `yaml:"data"`
	// Words are in the error's message, in any case; * stands for any text, and ^ at the beginning
	// for the beginning of the message.
	Words string `yaml:"words"`
}

// ErrorVerdicts are the meanings that a rule may have. docs/operations/errors.md explains them.
var ErrorVerdicts = []string{
	"answer", "range_refused", "plan_refused", "billing", "throttled", "missing_data", "execution_timeout",
	"method_absent", "unsupported", "denied", "node_failure", "broken",
}

const (
	maxErrorRules = 200 // in an upstreams file
	minWords      = 4   // characters: fewer would match by accident
	maxWords      = 200
	maxMethods    = 50
)

// Check returns what is wrong with the rule, by member; empty if nothing is.
func (r *ErrorRule) Check() map[string]string {
	wrong := map[string]string{}
	if !slices.Contains(ErrorVerdicts, r.Verdict) {
		wrong["verdict"] = "give one of " + strings.Join(ErrorVerdicts, ", ")
	}
	if !slices.Contains([]string{"", "evm", "solana"}, r.Family) {
		wrong["family"] = "give evm or solana, or leave it out for both"
	}
	if len(r.Methods) > maxMethods || slices.Contains(r.Methods, "") || slices.Contains(r.Methods, "*") {
		wrong["methods"] = fmt.Sprintf("give at most %d names or prefixes that end in *; leave it out for all",
			maxMethods)
	}
	if _, _, ok := r.Statuses(); !ok {
		wrong["status"] = "give an HTTP status as 429, or a class as 5xx"
	}
	if _, _, ok := r.Codes(); !ok {
		wrong["code"] = "give a whole number, or the lowest and the highest as -38026..-38010"
	}
	if n := len(strings.Trim(r.Words, "*^ ")); r.Words != "" && (n < minWords || len(r.Words) > maxWords) {
		wrong["words"] = fmt.Sprintf("give %d to %d characters of the message", minWords, maxWords)
	}
	if r.Words == "" && r.Code == "" && r.Status == "" {
		wrong["words"] = "give at least one of words, code and status"
	}
	return wrong
}

// Statuses returns the lowest and the highest HTTP status of the rule; zero for none.
func (r *ErrorRule) Statuses() (from, to int, ok bool) {
	if r.Status == "" {
		return 0, 0, true
	}
	if class, isClass := strings.CutSuffix(r.Status, "xx"); isClass {
		n, err := strconv.Atoi(class)
		return n * 100, n*100 + 99, err == nil && n >= 3 && n <= 5
	}
	n, err := strconv.Atoi(r.Status)
	return n, n, err == nil && n >= 300 && n <= 599
}

// Codes returns the lowest and the highest code of the rule; zero for none.
func (r *ErrorRule) Codes() (from, to int, ok bool) {
	if r.Code == "" {
		return 0, 0, true
	}
	low, high, isRange := strings.Cut(r.Code, "..")
	if !isRange {
		high = low
	}
	from, err := strconv.Atoi(low)
	to, errTo := strconv.Atoi(high)
	return from, to, err == nil && errTo == nil && from <= to
}

// errorRules reads the member errors of an upstreams file.
func (c *checker) errorRules(m member) {
	values, ok := c.sequence(m.value, "errors")
	if !ok {
		return
	}
	if len(values) > maxErrorRules {
		c.mistake(m.key, "errors", fmt.Sprintf("give at most %d rules", maxErrorRules))
		return
	}
	for i, n := range values {
		c.errorRule(n, fmt.Sprintf("errors[%d]", i))
	}
}

func (c *checker) errorRule(n ast.Node, place string) {
	var rule ErrorRule
	into := map[string]*string{
		"verdict": &rule.Verdict, "family": &rule.Family, "status": &rule.Status, "code": &rule.Code,
		"words": &rule.Words,
	}
	members, ok := c.members(n, place, []string{"verdict", "family", "methods", "status", "code", "data", "words"})
	if !ok {
		return
	}
	nodes := map[string]ast.Node{}
	for _, m := range members {
		nodes[m.name] = m.value
		switch m.name {
		case "methods":
			names, _ := c.sequence(m.value, place+".methods")
			for _, name := range names {
				rule.Methods = append(rule.Methods, c.text(c.resolve(name), place+".methods"))
			}
		case "data":
			c.scalar(reflect.ValueOf(&rule.Data).Elem(), m.value, place+".data")
		default:
			*into[m.name] = c.text(m.value, place+"."+m.name)
		}
	}
	for name, advice := range rule.Check() {
		where := nodes[name]
		if where == nil {
			where = n
		}
		c.mistake(where, place+"."+name, advice)
	}
	c.report.Upstreams.Errors = append(c.report.Upstreams.Errors, rule)
}

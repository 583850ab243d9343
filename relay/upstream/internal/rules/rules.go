// Package rules says what the errors of nodes and providers mean. It holds one table of rules, of
// which the first that matches decides.
package rules

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/fold"
)

// Row is a built-in rule with an error that it is for, and where that was published.
type Row struct {
	config.ErrorRule `yaml:",inline"`

	Example string `yaml:"example"` // a message
	Source  string `yaml:"source"`  // repository and path or issue, or an address
}

// builtin are the built-in rules. The rules in first come before an operator's: codes and words
// that a specification or a contract decides.
type builtin struct {
	First []Row `yaml:"first"`
	Then  []Row `yaml:"then"`
}

//go:embed builtin.yaml
var builtinSource []byte

// Table is an ordered list of rules. It is safe for concurrent use.
type Table struct{ rules []rule }

// rule is a compiled rule.
type rule struct {
	config.ErrorRule

	meaning              Meaning
	minStatus, maxStatus int
	minCode, maxCode     int
	pieces               []string // of Words, in lower case, in order
	begins               bool     // the first piece begins the message
}

// New returns the built-in rules with an operator's own, which come before most of them.
func New(own []config.ErrorRule) (*Table, error) {
	rows, err := builtinRows()
	if err != nil {
		return nil, err
	}
	t := &Table{}
	for _, r := range rows.First {
		t.rules = append(t.rules, compile(r.ErrorRule))
	}
	for _, r := range own {
		t.rules = append(t.rules, compile(r))
	}
	for _, r := range rows.Then {
		t.rules = append(t.rules, compile(r.ErrorRule))
	}
	return t, nil
}

func builtinRows() (rows builtin, err error) {
	if err := yaml.UnmarshalWithOptions(builtinSource, &rows, yaml.Strict()); err != nil {
		return rows, fmt.Errorf("read the built-in error rules: %w", err)
	}
	for _, r := range slices.Concat(rows.First, rows.Then) {
		if wrong := r.Check(); len(wrong) > 0 {
			return rows, fmt.Errorf("the built-in error rule of %q: %v", r.Example, wrong)
		}
	}
	return rows, nil
}

// compile expects a rule that was checked.
func compile(r config.ErrorRule) rule {
	made := rule{ErrorRule: r, meaning: meaningOf(r.Verdict)}
	made.minStatus, made.maxStatus, _ = r.Statuses()
	made.minCode, made.maxCode, _ = r.Codes()
	words, begins := strings.CutPrefix(strings.ToLower(r.Words), "^")
	made.begins = begins
	made.pieces = slices.DeleteFunc(strings.Split(words, "*"), func(s string) bool { return s == "" })
	return made
}

// Error is an upstream's answer that is no result.
type Error struct {
	Family chain.Family
	Status int    // of HTTP
	Method []byte // of the call
	// Asked is the request. Words that appear in it mean nothing, because a node may only be
	// repeating a parameter.
	Asked []byte
	// Object is the error of JSON-RPC; nil if the body has none.
	Object []byte
}

// Verdict is what an error means.
type Verdict struct {
	Meaning Meaning
	// ByStatus is set when the HTTP status decided, whatever the body says.
	ByStatus bool
}

// maxMessage bounds how much of a message is read, and of its data.
const maxMessage = 4 << 10

var invalidParams = []byte("invalid param")

// Judge returns the verdict of the first rule that matches. Without one it is Unknown, or Broken
// when there is no well-formed error.
func (t *Table) Judge(e *Error) Verdict {
	r, wellFormed := t.find(e)
	switch {
	case r != nil:
		return Verdict{r.meaning, r.Status != ""}
	case wellFormed:
		return Verdict{Unknown, false}
	}
	return Verdict{Broken, false}
}

// find returns the first rule that matches, or nil, and whether the error is well-formed.
func (t *Table) find(e *Error) (*rule, bool) {
	o := object{asked: e.Asked}
	o.wellFormed = e.Object != nil && o.read(e.Object)
	for i := range t.rules {
		if r := &t.rules[i]; r.matches(e, &o) {
			return r, o.wellFormed
		}
	}
	return nil, o.wellFormed
}

// Refuses reports whether a status alone is an error, and what it means.
func (t *Table) Refuses(family chain.Family, status int) (Meaning, bool) {
	if status < http.StatusMultipleChoices {
		return Answer, false
	}
	v := t.Judge(&Error{Family: family, Status: status})
	return v.Meaning, v.ByStatus
}

// object is an error object as the rules see it.
type object struct {
	wellFormed bool
	code       int
	message    []byte // in lower case
	data       bool
	asked      []byte
	folded     bool // asked is
}

func (o *object) read(raw []byte) bool {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return false
	}
	o.code, o.data = e.Code, len(e.Data) > 0 && string(e.Data) != "null" && string(e.Data) != `""`
	o.message = bytes.ToLower([]byte(e.Message[:min(len(e.Message), maxMessage)]))
	if o.data && bytes.HasPrefix(o.message, invalidParams) { // then the reason is in the data
		o.message = append(append(o.message, ' '), bytes.ToLower(e.Data[:min(len(e.Data), maxMessage)])...)
	}
	return true
}

func (r *rule) matches(e *Error, o *object) bool {
	switch {
	case r.Status != "" && (e.Status < r.minStatus || e.Status > r.maxStatus),
		r.Code != "" && (!o.wellFormed || o.code < r.minCode || o.code > r.maxCode),
		r.Data && !o.data,
		r.Family != "" && r.Family != e.Family.String(),
		len(r.Methods) > 0 && !slices.ContainsFunc(r.Methods, func(name string) bool { return covers(name, e.Method) }):
		return false
	}
	return len(r.pieces) == 0 || o.has(r)
}

func covers(name string, method []byte) bool {
	if prefix, ok := strings.CutSuffix(name, "*"); ok {
		return bytes.HasPrefix(method, []byte(prefix))
	}
	return string(method) == name
}

// has reports whether the message has the rule's pieces in their order. Unless the rule lets the
// error pass, the longest one must not be the request's own.
func (o *object) has(r *rule) bool {
	rest, longest := o.message, ""
	for i, piece := range r.pieces {
		at := bytes.Index(rest, []byte(piece))
		if at < 0 || (i == 0 && r.begins && at > 0) {
			return false
		}
		rest = rest[at+len(piece):]
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	if r.meaning == Answer {
		return true
	}
	if !o.folded { // lazily, because most messages match no rule
		o.asked, o.folded = fold.Lower(o.asked), true
	}
	return !bytes.Contains(o.asked, []byte(longest))
}

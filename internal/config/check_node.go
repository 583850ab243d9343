package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Mistake is an error in an upstreams file. Its text quotes no credential.
type Mistake struct {
	Line, Column int    // from 1; 0 when it is about the file as a whole
	Place        string // as chains.eth_mainnet.upstreams[0].url; empty for the file as a whole
	Rule         string // what is wrong and what is right
}

// String returns the mistake as one line.
func (m Mistake) String() string {
	text := m.Rule
	if m.Place != "" {
		text = m.Place + ": " + text
	}
	if m.Line > 0 {
		text = fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, text)
	}
	return text
}

// form is appended to every mistake about the file's structure.
const form = "; upstreams.example.yaml shows the form"

// parse calls the YAML library and turns its panics into errors: reloading a bad file must not end
// the process.
func parse(raw []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the parser panicked")
		}
	}()
	return parser.ParseBytes(raw, 0, parser.AllowDuplicateMapKey())
}

// syntax reports the position of a YAML error. It does not use the parser's message, which quotes
// the file.
func (c *checker) syntax(err error) {
	m := Mistake{
		Rule: "it is not valid YAML; look at the quotes, brackets and indents of this line and the one before" + form,
	}
	if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil && at.GetToken().Position != nil {
		m.Line, m.Column = at.GetToken().Position.Line, at.GetToken().Position.Column
	}
	c.report.Mistakes = append(c.report.Mistakes, m)
}

func at(n ast.Node, place, rule string) Mistake {
	m := Mistake{Place: place, Rule: rule}
	if mapping, ok := n.(ast.MapNode); ok { // its own token is the first colon
		if first := mapping.MapRange(); first.Next() {
			n = first.Key()
		}
	}
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		m.Line, m.Column = n.GetToken().Position.Line, n.GetToken().Position.Column
	}
	return m
}

func (c *checker) mistake(n ast.Node, place, rule string) {
	c.report.Mistakes = append(c.report.Mistakes, at(n, place, rule))
}

func (c *checker) note(n ast.Node, place, rule string) {
	c.report.Notes = append(c.report.Notes, at(n, place, rule))
}

// resolve returns the node behind anchors, aliases and tags; nil for a null or missing value.
func (c *checker) resolve(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.AnchorNode:
		c.anchors[n.Name.GetToken().Value] = n.Value
		return c.resolve(n.Value)
	case *ast.AliasNode:
		return c.anchors[n.Value.GetToken().Value]
	case *ast.TagNode:
		return c.resolve(n.Value)
	case nil, *ast.NullNode:
		return nil
	default:
		return n
	}
}

// member is one key and value of a mapping.
type member struct {
	name       string
	key, value ast.Node // nil for a null value
}

// members reads a mapping. known lists the allowed keys; nil allows any. It returns false when the
// node is not a mapping.
func (c *checker) members(n ast.Node, place string, known []string) ([]member, bool) {
	mapping, ok := c.resolve(n).(ast.MapNode)
	if !ok {
		c.mistake(n, place, "a value is of the wrong kind: give a mapping"+naming(known)+form)
		return nil, false
	}
	var found []member
	seen := make(map[string]int)
	for pairs := mapping.MapRange(); pairs.Next(); {
		key := pairs.Key()
		name := key.GetToken().Value
		line := key.GetToken().Position.Line
		switch before := seen[name]; {
		case key.IsMergeKey():
			c.mistake(key, place, "merge keys are not taken: write the members out"+form)
		case known != nil && !slices.Contains(known, name):
			c.mistake(key, place, "a member has an unknown name"+meant(name, known)+naming(known)+form)
		case before > 0:
			c.mistake(key, place, fmt.Sprintf("a name stands twice: it is on line %d already", before))
		default:
			found = append(found, member{name, key, c.resolve(pairs.Value())})
		}
		seen[name] = line
	}
	return found, true
}

func naming(known []string) string {
	if known == nil {
		return ""
	}
	return "; it takes " + strings.Join(known, ", ")
}

// meant suggests a known name that is similar. It does not quote the given name, which may be a
// misplaced credential.
func meant(name string, known []string) string {
	plain := func(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }
	for _, k := range known {
		a, b := plain(name), plain(k)
		if a == b || a+"s" == b || a == b+"s" || len(a) > 2 && strings.HasPrefix(b, a) {
			return ", perhaps " + k + " is meant"
		}
	}
	return ""
}

// sequence returns the entries of a list; none for a missing value.
func (c *checker) sequence(n ast.Node, place string) (values []ast.Node, ok bool) {
	if n == nil {
		return nil, true
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		c.mistake(n, place, "a value is of the wrong kind: give a list, each entry beginning with -"+form)
		return nil, false
	}
	return list.Values, true
}

// text reads a scalar as written; it returns "" for a missing value.
func (c *checker) text(n ast.Node, place string) string {
	switch n := n.(type) {
	case nil:
		return ""
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case ast.ScalarNode:
		return n.GetToken().Value
	}
	c.mistake(n, place, "a value is of the wrong kind: give text")
	return ""
}

// scalar reads a string, number or boolean into a field; a missing value leaves the field as it is.
func (c *checker) scalar(field reflect.Value, n ast.Node, place string) {
	if n == nil {
		return
	}
	var fits bool
	want := "a whole number"
	switch n.(type) {
	case *ast.IntegerNode:
		fits = field.CanInt() || field.CanUint() || field.CanFloat()
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		fits = field.CanFloat()
	case *ast.BoolNode:
		fits = field.Kind() == reflect.Bool
	}
	switch {
	case field.Kind() == reflect.String:
		field.SetString(c.text(n, place))
		return
	case field.Kind() == reflect.Bool:
		want = "true or false"
	case field.CanFloat():
		want = "a number"
	case field.CanUint():
		want = "a whole number that is not negative"
	}
	if !fits || yaml.NodeToValue(n, field.Addr().Interface()) != nil {
		c.mistake(n, place, "a value is of the wrong kind: give "+want)
	}
}

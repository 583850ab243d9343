package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Mistake is something wrong in an upstreams file, in words that quote no credential.
type Mistake struct {
	Line, Column int    // from 1; 0 when it is about the file as a whole
	Place        string // as chains.eth_mainnet.upstreams[0].url; empty for the file as a whole
	Rule         string // what is wrong and what is right
}

// String is the mistake in one line.
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

// form is where every mistake of form ends.
const form = "; upstreams.example.yaml shows the form"

// checker reads an upstreams file node by node, so that every mistake has its place.
type checker struct {
	chains  []string
	getenv  func(string) string
	anchors map[string]ast.Node
	report  UpstreamsReport
}

func checkUpstreams(raw []byte, chains []string, getenv func(string) string) UpstreamsReport {
	c := &checker{chains: chains, getenv: getenv, anchors: make(map[string]ast.Node)}
	c.report.Upstreams.Chains = make(map[string]ChainUpstreams)
	file, err := parse(raw)
	switch {
	case err != nil:
		c.syntax(err)
	case len(file.Docs) > 1 && file.Docs[1].Body != nil:
		c.mistake(file.Docs[1].Body, "", "only one document is taken, this is a second one"+form)
	case len(file.Docs) == 0 || c.resolve(file.Docs[0].Body) == nil:
		c.noChain(nil)
	default:
		c.file(file.Docs[0].Body)
	}
	byPlace := func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Place, b.Place))
	}
	slices.SortStableFunc(c.report.Mistakes, byPlace)
	slices.SortStableFunc(c.report.Notes, byPlace)
	if len(c.report.Mistakes) > 0 {
		c.report.Upstreams = Upstreams{}
	}
	return c.report
}

// parse is the library's, which must not take a process that reloads its file with it, whatever is in the file.
func parse(raw []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the parser panicked")
		}
	}()
	return parser.ParseBytes(raw, 0, parser.AllowDuplicateMapKey())
}

// syntax says where the YAML is at fault; the parser's own words quote the file.
func (c *checker) syntax(err error) {
	m := Mistake{Rule: "it is not valid YAML; look at the quotes, brackets and indents of this line and the one before" + form}
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

func (c *checker) noChain(n ast.Node) {
	c.mistake(n, "", "it names no chain: add chains: with at least one of "+strings.Join(c.chains, ", "))
}

// resolve gives what a node stands for; nil for nothing.
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

// member is a line of a mapping.
type member struct {
	name       string
	key, value ast.Node // value is nil for nothing
}

// members reads a mapping whose members may have these names; nil allows any. false when it is no mapping.
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

// meant suggests the name that differs least. The name itself is not quoted: what stands in the wrong place may be a credential.
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

func (c *checker) file(n ast.Node) {
	top, ok := c.members(n, "", []string{"chains"})
	if !ok {
		return
	}
	if len(top) == 0 || top[0].value == nil {
		if len(c.report.Mistakes) == 0 {
			c.noChain(n)
		}
		return
	}
	chains, ok := c.members(top[0].value, "chains", nil)
	if ok && len(chains) == 0 {
		c.noChain(top[0].key)
	}
	named := make(map[string]bool)
	for _, m := range chains {
		named[m.name] = true
		if !slices.Contains(c.chains, m.name) {
			c.mistake(m.key, "chains."+shown(m.name), "unknown chain, use one of "+strings.Join(c.chains, ", "))
			continue
		}
		c.chain(m)
	}
	absent := slices.DeleteFunc(slices.Clone(c.chains), func(name string) bool { return named[name] })
	if len(absent) > 0 {
		c.note(nil, "chains", "not named, so not served: "+strings.Join(absent, ", "))
	}
}

// harmless is what a wrong name of a chain may look like to be shown.
var harmless = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _-]{0,23}$`)

func shown(name string) string {
	if harmless.MatchString(name) {
		return name
	}
	return "?"
}

func (c *checker) chain(m member) {
	place := "chains." + m.name
	var made ChainUpstreams
	var list member
	if m.value != nil {
		members, ok := c.members(m.value, place, []string{"chain_id", "upstreams"})
		if !ok {
			return
		}
		for _, inner := range members {
			if inner.name == "chain_id" {
				c.scalar(reflect.ValueOf(&made.ChainID).Elem(), inner.value, place+".chain_id")
			} else {
				list = inner
			}
		}
	}
	values, ok := c.sequence(list.value, place+".upstreams")
	if ok && (len(values) == 0 || len(values) > maxUpstreams) {
		where := list.key
		if where == nil {
			where = m.key
		}
		c.mistake(where, place+".upstreams", fmt.Sprintf("give between 1 and %d", maxUpstreams))
	}
	if len(values) == 1 {
		c.note(list.key, place+".upstreams", "only one, so there is none to turn to when it fails")
	}
	var read []upstreamNode
	for i, n := range values {
		u := c.upstream(n, fmt.Sprintf("%s.upstreams[%d]", place, i))
		c.compare(u, read)
		read = append(read, u)
		made.Upstreams = append(made.Upstreams, u.Upstream)
	}
	c.report.Upstreams.Chains[m.name] = made
}

// sequence gives the entries of a list; none for nothing.
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

// upstreamNode is an upstream with where it was read.
type upstreamNode struct {
	Upstream
	place  string
	fields map[string]ast.Node // the members' values; "" is the upstream itself
}

// upstreamMembers are the members' names, as the tags of Upstream have them, and where they go.
var upstreamMembers, upstreamFields = func() (names []string, fields map[string]int) {
	fields = make(map[string]int)
	for i, f := range slices.Collect(reflect.TypeFor[Upstream]().Fields()) {
		name := f.Tag.Get("yaml")
		names, fields[name] = append(names, name), i
	}
	return names, fields
}()

func (c *checker) upstream(n ast.Node, place string) upstreamNode {
	u := upstreamNode{place: place, fields: map[string]ast.Node{"": n}}
	members, ok := c.members(n, place, upstreamMembers)
	if !ok {
		return u
	}
	before := len(c.report.Mistakes)
	for _, m := range members {
		u.fields[m.name] = cmp.Or[ast.Node](m.value, m.key)
		if m.name == "headers" {
			c.headers(&u, m.value, place+".headers")
			continue
		}
		c.scalar(reflect.ValueOf(&u.Upstream).Elem().Field(upstreamFields[m.name]), m.value, place+"."+m.name)
	}
	unread := make(map[string]bool) // a member that could not be read has had its mistake
	for _, m := range c.report.Mistakes[before:] {
		unread[m.Place] = true
	}
	u.complete(func(field, rule string) {
		where := place + "." + field
		if unread[where] {
			return
		}
		at := u.fields[field]
		if at == nil {
			at = n
		}
		c.mistake(at, where, rule)
	}, c.getenv)
	return u
}

func (c *checker) headers(u *upstreamNode, n ast.Node, place string) {
	if n == nil {
		return
	}
	members, _ := c.members(n, place, nil)
	u.Headers = make(map[string]string, len(members))
	for _, m := range members {
		u.fields["headers."+m.name] = m.key
		u.Headers[m.name] = c.text(m.value, place)
	}
}

// text reads a scalar as it stands; empty for nothing.
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

// scalar reads text, a number or a truth value into a field; nothing leaves it as it is.
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

// compare holds an upstream against those before it in the chain. The same provider twice would be asked again after it failed, and
// vouch for itself.
func (c *checker) compare(u upstreamNode, before []upstreamNode) {
	for _, other := range before {
		if u.Name == other.Name && u.Name != "" {
			c.mistake(u.fields["name"], u.place+".name", fmt.Sprintf("%q is used twice, by %s already", shown(u.Name), other.place))
		}
		if u.URL == "" || sameAddress(u.URL) != sameAddress(other.URL) {
			continue
		}
		if maps.Equal(u.Headers, other.Headers) {
			c.mistake(u.fields["url"], u.place+".url", "it is the address of "+other.place+" too: name an upstream once")
		} else {
			c.note(u.fields["url"], u.place+".url", "it is the address of "+other.place+" too; one provider does not replace another, whatever the account")
		}
	}
}

// sameAddress writes an address in the one way that all spellings of it share.
func sameAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); (u.Scheme == "https" && port == "443") || (u.Scheme == "http" && port == "80") {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return strings.ToLower(u.Scheme) + "://" + host + strings.TrimRight(u.EscapedPath(), "/") + "?" + u.RawQuery
}

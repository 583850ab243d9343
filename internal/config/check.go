package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/chainaccess/gateway/relay/chain"
)

// checker reads an upstreams file node by node, so that every mistake has a line and a column.
type checker struct {
	known   *chain.Set      // the built-in chains and those that the file defines
	defined map[string]bool // chains with a definition, which may have mistakes
	// overridden are the chains with a chain_id of their own, with its place.
	overridden map[string]ast.Node
	getenv     func(string) string
	anchors    map[string]ast.Node
	report     UpstreamsReport
}

func checkUpstreams(raw []byte, getenv func(string) string) UpstreamsReport {
	c := &checker{
		getenv: getenv, anchors: make(map[string]ast.Node), defined: make(map[string]bool),
		overridden: make(map[string]ast.Node),
	}
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
	c.report.Upstreams.Known = c.known
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

func (c *checker) noChain(n ast.Node) {
	c.mistake(n, "", "it names no chain: add chains: with at least one of "+strings.Join(c.known.IDs(), ", "))
}

func (c *checker) file(n ast.Node) {
	top, ok := c.members(n, "", []string{"chains", "errors"})
	if !ok {
		return
	}
	var listed member
	for _, m := range top {
		if m.name == "errors" {
			c.errorRules(m)
		} else {
			listed = m
		}
	}
	if listed.value == nil {
		if len(c.report.Mistakes) == 0 {
			c.noChain(n)
		}
		return
	}
	chains, ok := c.members(listed.value, "chains", nil)
	if ok && len(chains) == 0 {
		c.noChain(listed.key)
	}
	c.definitions(chains)
	named := make(map[string]bool)
	for _, m := range chains {
		named[m.name] = true
		if _, known := c.known.Lookup(m.name); !known && !c.defined[m.name] {
			c.mistake(m.key, "chains."+shown(m.name), "unknown chain, use one of "+strings.Join(c.known.IDs(), ", ")+
				"; another chain needs define")
			continue
		}
		c.chain(m)
	}
	c.chainIDs()
	absent := slices.DeleteFunc(c.known.IDs(), func(name string) bool { return named[name] })
	if len(absent) > 0 {
		c.note(nil, "chains", "not named, so not served: "+strings.Join(absent, ", "))
	}
}

// chainIDs reports a chain whose chain_id is that of another chain in the file. Its upstreams could
// not be told from the other's.
func (c *checker) chainIDs() {
	of := make(map[uint64]string)
	for _, known := range c.known.All() {
		listed, ok := c.report.Upstreams.Chains[string(known.ID)]
		id := cmp.Or(listed.ChainID, known.ChainID)
		if !ok || id == 0 {
			continue
		}
		other, taken := of[id]
		of[id] = string(known.ID)
		if !taken {
			continue
		}
		wrong := string(known.ID)
		if c.overridden[wrong] == nil {
			wrong, other = other, wrong
		}
		c.mistake(c.overridden[wrong], "chains."+wrong+".chain_id",
			fmt.Sprintf("%d is the id of %s: list its upstreams there, or correct it", id, other))
	}
}

// harmless matches a chain's wrong name that may be quoted: it is too short and plain for a
// credential.
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
	var list, verify member
	if m.value != nil {
		members, ok := c.members(m.value, place, []string{"define", "chain_id", "verify", "upstreams"})
		if !ok {
			return
		}
		for _, inner := range members {
			switch inner.name {
			case "chain_id":
				c.scalar(reflect.ValueOf(&made.ChainID).Elem(), inner.value, place+".chain_id")
				if c.defined[m.name] {
					c.mistake(inner.key, place+".chain_id", "give it in define, as this chain is not built in")
				}
				c.overridden[m.name] = inner.key
			case "verify":
				verify = inner
			case "upstreams":
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
	c.nodes(read, place)
	made.Verify = c.verify(m.name, verify, read)
	c.report.Upstreams.Chains[m.name] = made
}

// verify reads how many nodes must agree on the answers to methods.
func (c *checker) verify(id string, m member, read []upstreamNode) map[string]int {
	on, known := c.known.Lookup(id)
	if m.value == nil || !known {
		return nil
	}
	nodes := 0
	for _, u := range read {
		if u.Kind == KindNode && u.Shadow == "" {
			nodes++
		}
	}
	place := "chains." + id + ".verify"
	members, _ := c.members(m.value, place, nil)
	all := make(map[string]int, len(members))
	for _, inner := range members {
		where := place + "." + shown(inner.name)
		if method, ok := on.Method([]byte(inner.name)); !ok || !method.Verifiable() {
			c.mistake(inner.key, where, "leave it out: GET /docs/methods lists the methods that can be verified")
			continue
		}
		var n int
		before := len(c.report.Mistakes)
		c.scalar(reflect.ValueOf(&n).Elem(), inner.value, where)
		most := min(nodes, maxVerify)
		switch {
		case len(c.report.Mistakes) > before:
		case most < 2:
			c.mistake(inner.key, where,
				"leave it out, or give a second upstream of the kind node: one has nobody to agree with")
		case n < 2 || n > most:
			c.mistake(cmp.Or[ast.Node](inner.value, inner.key), where,
				fmt.Sprintf("give how many nodes must agree, from 2 to %d", most))
		}
		all[inner.name] = n
	}
	return all
}

// nodes reports a chain of which every upstream is of a special kind: nobody answers its reads.
func (c *checker) nodes(read []upstreamNode, place string) {
	special := 0
	for _, u := range read {
		if u.Kind == KindPrivate || u.Kind == KindBundler || u.Shadow != "" {
			special++
		}
	}
	if special > 0 && special == len(read) {
		c.mistake(read[0].fields[""], place+".upstreams",
			"give an upstream of the kind node too: private ones, bundlers and shadows answer no reads of the chain")
	}
}

// upstreamNode is an upstream with its position in the file.
type upstreamNode struct {
	Upstream
	place  string
	fields map[string]ast.Node // the members' values; "" is the upstream itself
}

// upstreamMembers are the members' names, as tagged in Upstream; upstreamFields maps them to
// fields.
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
		if m.name == "price" {
			c.price(&u, m, place+".price")
			continue
		}
		if m.name == "budget" {
			c.budget(&u, m, place+".budget")
			continue
		}
		c.scalar(reflect.ValueOf(&u.Upstream).Elem().Field(upstreamFields[m.name]), m.value, place+"."+m.name)
	}
	unread := make(map[string]bool) // members that could not be read and were reported already
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

// compare checks an upstream against those before it in the chain. A provider that is listed twice
// would be retried after its own failure and would vote twice in consensus.
func (c *checker) compare(u upstreamNode, before []upstreamNode) {
	for _, other := range before {
		if u.Name == other.Name && u.Name != "" {
			c.mistake(u.fields["name"], u.place+".name", fmt.Sprintf("%q is used twice, by %s already", shown(u.Name),
				other.place))
		}
		if u.URL == "" || sameAddress(u.URL) != sameAddress(other.URL) {
			continue
		}
		if maps.Equal(u.Headers, other.Headers) {
			c.mistake(u.fields["url"], u.place+".url",
				"it is the address of "+other.place+" too: name an upstream once")
		} else {
			c.note(u.fields["url"], u.place+".url",
				"it is the address of "+other.place+" too; one provider does not replace another, whatever the account")
		}
	}
}

// sameAddress normalizes an address, so that equal addresses compare as equal.
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

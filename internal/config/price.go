package config

import (
	"cmp"
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/chainaccess/gateway/relay/price"
)

// price reads what requests cost: a table's name, or a mapping.
func (c *checker) price(u *upstreamNode, m member, place string) {
	if m.value == nil {
		return
	}
	var made price.Setting
	nodes := map[string]ast.Node{}
	if name, ok := m.value.(*ast.StringNode); ok {
		made.Table = name.Value
	} else if !c.priceMembers(&made, nodes, m.value, place) {
		return
	}
	for name, rule := range made.Check() {
		at := nodes[name]
		if at == nil {
			at = m.value
		}
		c.mistake(at, place+"."+name, rule)
	}
	u.Price = &made
}

func (c *checker) priceMembers(into *price.Setting, nodes map[string]ast.Node, n ast.Node, place string) (ok bool) {
	members, ok := c.members(n, place, []string{"table", "usd_per_million", "default", "methods"})
	if !ok {
		return false
	}
	before := len(c.report.Mistakes)
	for _, m := range members {
		nodes[m.name] = cmp.Or[ast.Node](m.value, m.key)
		where := place + "." + m.name
		switch m.name {
		case "table":
			into.Table = c.text(m.value, where)
		case "usd_per_million":
			c.scalar(reflect.ValueOf(&into.USDPerMillion).Elem(), m.value, where)
		case "default":
			c.scalar(reflect.ValueOf(&into.Default).Elem(), m.value, where)
		case "methods":
			listed, _ := c.members(m.value, where, nil)
			into.Methods = make(map[string]int64, len(listed))
			for _, method := range listed {
				var units int64
				c.scalar(reflect.ValueOf(&units).Elem(), method.value, where)
				into.Methods[method.name] = units
			}
		}
	}
	return len(c.report.Mistakes) == before
}

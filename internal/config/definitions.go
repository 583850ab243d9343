package config

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/chainaccess/gateway/relay/chain"
)

// definitionMembers are the members of define.
var definitionMembers = []string{
	"title", "family", "chain_id", "genesis_hash", "block_time", "finality_depth", "max_log_blocks", "l1_fee", "coin",
	"methods",
}

// definitions reads the chains of a file that are not built in, before their upstreams are read.
func (c *checker) definitions(chains []member) {
	for _, m := range chains {
		entry, ok := m.value.(ast.MapNode)
		if !ok {
			continue
		}
		for pairs := entry.MapRange(); pairs.Next(); {
			if key := pairs.Key(); key.GetToken().Value == "define" && !c.defined[m.name] {
				c.defined[m.name] = true
				c.define(m, key, c.resolve(pairs.Value()))
			}
		}
	}
}

// define reads one definition and adds its chain to the known ones.
func (c *checker) define(m member, key, n ast.Node) {
	d := chain.Definition{ID: chain.ID(m.name)}
	place := "chains." + shown(m.name)
	before := len(c.report.Mistakes)
	nodes := map[string]ast.Node{"": m.key}
	members, ok := c.members(n, place+".define", definitionMembers)
	if !ok {
		return
	}
	for _, inner := range members {
		nodes[inner.name] = cmp.Or[ast.Node](inner.value, inner.key)
		c.definitionMember(&d, inner, place+".define."+inner.name, nodes)
	}
	if len(c.report.Mistakes) > before {
		return
	}
	known, wrong := c.known.With(d)
	for name, rule := range wrong {
		at, where := nodes[name], place+".define."+name
		if at == nil {
			at = key
		}
		if name == "" {
			where = place
		} else if method, ok := strings.CutPrefix(name, "methods."); ok {
			where = place + ".define.methods." + shown(method)
		}
		c.mistake(at, where, rule)
	}
	if len(wrong) == 0 {
		c.known = known
	}
}

func (c *checker) definitionMember(d *chain.Definition, m member, place string, nodes map[string]ast.Node) {
	switch m.name {
	case "title":
		d.Title = c.text(m.value, place)
	case "family":
		switch c.text(m.value, place) {
		case "evm", "":
		case "solana":
			d.Family = chain.Solana
		default:
			c.mistake(m.value, place, "give evm or solana, or leave it out for evm")
		}
	case "chain_id":
		c.scalar(reflect.ValueOf(&d.ChainID).Elem(), m.value, place)
	case "genesis_hash":
		d.GenesisHash = c.text(m.value, place)
	case "block_time":
		d.BlockTime = c.duration(m.value, place)
	case "finality_depth":
		c.positive(&d.FinalDepth, m, place)
	case "max_log_blocks":
		c.positive(&d.MaxLogBlocks, m, place)
	case "l1_fee":
		d.L1Fee = chain.L1Fee(c.text(m.value, place))
	case "coin":
		d.Coin = c.text(m.value, place)
	case "methods":
		c.additions(d, m, place, nodes)
	}
}

// positive reads a whole number that is not 0, which stands for a member that is left out.
func (c *checker) positive(into *uint64, m member, place string) {
	before := len(c.report.Mistakes)
	c.scalar(reflect.ValueOf(into).Elem(), m.value, place)
	if *into == 0 && len(c.report.Mistakes) == before {
		c.mistake(cmp.Or[ast.Node](m.value, m.key), place, "give a whole number from 1, or leave it out")
	}
}

// duration reads a duration as 12s or 250ms.
func (c *checker) duration(n ast.Node, place string) time.Duration {
	d, err := time.ParseDuration(c.text(n, place))
	if err != nil && n != nil {
		c.mistake(n, place, "give a duration with its unit, as 12s or 250ms")
	}
	return d
}

// additions reads the methods that a chain has in addition to those of its family.
func (c *checker) additions(d *chain.Definition, m member, place string, nodes map[string]ast.Node) {
	methods, _ := c.members(m.value, place, nil)
	for _, method := range methods {
		where := place + "." + shown(method.name)
		nodes["methods."+method.name] = method.key
		a := chain.Addition{Name: method.name, Weight: 1}
		if method.value != nil {
			members, ok := c.members(method.value, where, []string{"weight", "ttl", "needs"})
			if !ok {
				continue
			}
			for _, inner := range members {
				switch inner.name {
				case "weight":
					c.scalar(reflect.ValueOf(&a.Weight).Elem(), inner.value, where+".weight")
				case "ttl":
					a.TTL = c.duration(inner.value, where+".ttl")
				case "needs":
					a.Needs = chain.Capability(strings.TrimSpace(c.text(inner.value, where+".needs")))
				}
			}
		}
		d.Methods = append(d.Methods, a)
	}
}

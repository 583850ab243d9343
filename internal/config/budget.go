package config

import (
	"cmp"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// Budget is what an upstream may cost in a month.
type Budget struct {
	Units int64 // of the provider by the upstream's price; requests without one
	Day   int   // of the month, on which it begins at midnight UTC
}

const (
	maxBudget = 1_000_000_000_000_000 // whole numbers of scripts in Redis end at 9 times this
	lastDay   = 28                    // every month has it
)

// budget reads a monthly budget: its units, or a mapping.
func (c *checker) budget(u *upstreamNode, m member, place string) {
	if m.value == nil {
		return
	}
	made := Budget{Day: 1}
	units, day := m.value, m.value
	before := len(c.report.Mistakes)
	if _, ok := m.value.(ast.MapNode); ok {
		members, ok := c.members(m.value, place, []string{"units", "day"})
		if !ok {
			return
		}
		for _, inner := range members {
			at := cmp.Or[ast.Node](inner.value, inner.key)
			if inner.name == "day" {
				day = at
				c.scalar(reflect.ValueOf(&made.Day).Elem(), inner.value, place+".day")
			} else {
				units = at
				c.scalar(reflect.ValueOf(&made.Units).Elem(), inner.value, place+".units")
			}
		}
	} else {
		c.scalar(reflect.ValueOf(&made.Units).Elem(), m.value, place)
	}
	if len(c.report.Mistakes) > before {
		return
	}
	if made.Units < 1 || made.Units > maxBudget {
		c.mistake(units, place, "give how many of the provider's units a month may cost, from 1 to 1000000000000000")
	}
	if made.Day < 1 || made.Day > lastDay {
		c.mistake(day, place+".day", "give the day of the month on which it begins, from 1 to 28")
	}
	u.Budget = &made
}

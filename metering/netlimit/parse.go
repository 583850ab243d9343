package netlimit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// contractKeys is how many anonymous keys the interface allows an address per day
// (docs/interface.md, 2.3).
const contractKeys = 3

// maxFigure bounds a limit, so that the arithmetic of the counts stays exact.
const maxFigure = 10_000_000

// Parse parses changes to the defaults, such as "new_keys=3/30/5000 wishes=5/10/0": for each action
// the limits of an address, an area and all networks together, 0 for none. The error says what is
// wrong without repeating the values.
func Parse(text string) (Figures, error) {
	figures := Defaults()
	for _, change := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		name, value, _ := strings.Cut(change, "=")
		b, known := figures[Action(name)]
		if !known {
			return nil, fmt.Errorf("must name actions among %s", words())
		}
		parts := strings.Split(value, "/")
		if len(parts) != len(Levels()) {
			return nil, fmt.Errorf("must say %s=ADDRESS/AREA/WHOLE, three whole numbers", name)
		}
		for i, to := range []*int64{&b.Address, &b.Area, &b.Whole} {
			n, err := strconv.ParseInt(parts[i], 10, 64)
			if err != nil || n < 0 || n > maxFigure {
				return nil, fmt.Errorf("must give %s whole numbers between 0, for no bound, and %d", name, maxFigure)
			}
			*to = n
		}
		if err := b.check(Action(name)); err != nil {
			return nil, err
		}
		figures[Action(name)] = b
	}
	return figures, nil
}

// check refuses limits where a wider level allows less than a narrower one, and a number of keys
// other than the interface's.
func (b *Bounds) check(name Action) error {
	widest := int64(0)
	for _, limit := range []int64{b.Address, b.Area, b.Whole} {
		if limit > 0 && limit < widest {
			return fmt.Errorf(
				"must let an area do at least what one of its addresses may, and all together what an area may: %s",
				name)
		}
		widest = max(widest, limit)
	}
	if name == NewKeys && b.Address != contractKeys {
		return fmt.Errorf("must leave %s at %d for an address: the interface promises that many a day", name,
			contractKeys)
	}
	return nil
}

func words() string {
	var all []string
	for _, a := range slices.Sorted(maps.Keys(Defaults())) {
		all = append(all, string(a))
	}
	return strings.Join(all, ", ")
}

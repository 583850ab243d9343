package chain

import (
	"fmt"
	"slices"
	"strings"
)

// Terms describe how a method's parameters affect its weight. Both are empty if they do not.
type Terms struct {
	// Heavy completes "it weighs 2 when …".
	Heavy string
	// Cap is a sentence about what is refused and what to do instead.
	Cap string
}

// Terms returns the rules that Weigh applies, in words.
func (m *Method) Terms() Terms {
	switch m.rule {
	case weighLogRange:
		return Terms{
			Heavy: fmt.Sprintf("its range spans more than %d blocks, both bounds counted", WideLogBlocks),
			Cap: fmt.Sprintf(
				"A range of more than %d blocks is refused with -32602 and costs nothing: ask for %d blocks at a "+
					"time. A filter with blockHash weighs 1.",
				m.maxLogBlocks(), m.maxLogBlocks()),
		}
	case weighFeeWindow:
		return Terms{
			Cap: fmt.Sprintf("More than %d blocks are refused with -32602 and cost nothing: ask for %d at a time.",
				MaxFeeBlocks, MaxFeeBlocks),
		}
	case weighStateDepth:
		return Terms{
			Heavy: fmt.Sprintf(
				"its block lies more than %d blocks below the head, by its number, as safe or as finalized, or is "+
					"earliest; latest, pending and block hashes weigh 1", StateDepth),
		}
	default:
		return Terms{}
	}
}

// HeavyCalls describes which calls are heavy, over all chains: methods that always are (a prefix if
// a whole family is heavy), then calls that parameters make heavy.
func HeavyCalls() string {
	var always []string
	rules := map[weighRule]bool{}
	standard := map[string]bool{} // families with a method that is not always heavy
	for _, c := range builtIn.all {
		for _, m := range c.Methods() {
			rules[m.rule] = true
			if m.Class == Heavy {
				always = append(always, m.Name)
			} else {
				standard[family(m.Name)] = true
			}
		}
	}
	for i, name := range always {
		if f := family(name); !standard[f] {
			always[i] = f + "*"
		}
	}
	slices.Sort(always)
	words := slices.Compact(always)
	if rules[weighLogRange] {
		words = append(words, fmt.Sprintf("logs over more than %d blocks", WideLogBlocks))
	}
	if rules[weighStateDepth] {
		words = append(words, fmt.Sprintf("state more than %d blocks below the head", StateDepth))
	}
	return strings.Join(words, ", ")
}

// family returns a method's name up to and including its first underscore, which separates
// namespace and method on EVM nodes.
func family(name string) string {
	before, _, found := strings.Cut(name, "_")
	if !found {
		return name
	}
	return before + "_"
}

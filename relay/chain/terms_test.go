package chain_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
)

// HeavyCalls must name every heavy method and no other, by itself or by a prefix, and the limits
// above which parameters make a call heavy.
func TestHeavyCalls_AreThoseOfTheCatalog(t *testing.T) {
	t.Parallel()
	words := strings.Split(chain.HeavyCalls(), ", ")
	used := map[string]bool{}
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			named := false
			for _, word := range words {
				prefix, wide := strings.CutSuffix(word, "*")
				if word == m.Name || wide && strings.HasPrefix(m.Name, prefix) {
					named, used[word] = true, true
				}
			}
			if heavy := m.Class == chain.Heavy; named != heavy {
				t.Errorf("%s of %s is heavy: %t, named: %t", m.Name, c.ID, heavy, named)
			}
		}
	}
	var rest []string
	for _, word := range words {
		if !used[word] {
			rest = append(rest, word)
		}
	}
	logs, state := strconv.Itoa(chain.WideLogBlocks), strconv.Itoa(chain.StateDepth)
	if got, want := strings.Join(rest, "; "), "logs over more than "+logs+" blocks; state more than "+state+
		" blocks below the head"; got != want {
		t.Errorf("beside methods it says %q, want %q", got, want)
	}
}

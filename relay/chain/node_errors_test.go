package chain

import (
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestNodeErrors_EveryCodeOfSolanaIsExplained(t *testing.T) {
	t.Parallel()
	for code := -32019; code <= -32001; code++ {
		found := 0
		for _, e := range NodeErrors(code) {
			if e.Family == Solana {
				found++
			}
			in := expect.In(t, "%d is explained", code)
			expect.NotEqual(in, e.Title, "")
			expect.NotEqual(in, e.Meaning, "")
			expect.NotEqual(in, e.Step, "")
			expect.Equal(in, e.Code, code)
		}
		if found != 1 {
			t.Errorf("%d has %d meanings on Solana", code, found)
		}
	}
	if all := NodeErrors(-32000); len(all) != 1 || all[0].Family != EVM {
		t.Errorf("-32000 is %+v", all)
	}
	if all := NodeErrors(0); all != nil {
		t.Errorf("0 is %+v", all)
	}
}

// Terms must match Weigh: a method has terms exactly if its parameters can change its weight or be
// refused.
func TestTerms_SayWhatWeighGoesBy(t *testing.T) {
	t.Parallel()
	for _, c := range builtIn.all {
		for _, m := range c.Methods() {
			terms := m.Terms()
			capped := m.rule == weighLogRange || m.rule == weighFeeWindow
			in := expect.In(t, "%s has terms", m.Name)
			expect.Equal(in, terms.Heavy != "", m.rule == weighLogRange || m.rule == weighStateDepth)
			expect.Equal(in, terms.Cap != "", capped)
		}
	}
}

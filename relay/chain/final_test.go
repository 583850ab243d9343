package chain

import (
	"fmt"
	"math"
	"testing"
)

func TestDeep_BeginsSixtyFourBlocksBelowTheHead(t *testing.T) {
	t.Parallel()
	eth := builtIn.byID["eth_mainnet"]
	for _, row := range []struct {
		block, head uint64
		want        bool
	}{
		{1000, 1064, true},
		{1000, 1063, false},
		{1000, 1000, false},
		{1001, 1000, false},
		{0, 64, true},
		{0, 63, false},
		{math.MaxUint64, 70, false},
		{math.MaxUint64, math.MaxUint64, false},
	} {
		t.Run(fmt.Sprint(row.block), func(t *testing.T) {
			if eth.Deep(row.block, row.head) != row.want {
				t.Errorf("block %d, head %d: want %v", row.block, row.head, row.want)
			}
		})
	}
}

func TestFinal_OnlyTheOneWeekRuleHasProofs(t *testing.T) {
	t.Parallel()
	proofs := 0
	for _, c := range builtIn.all {
		for _, m := range c.Methods() {
			if m.Proof != (Proof{}) {
				proofs++
				if m.Cache != Final {
					t.Errorf("%s has a proof and the rule %s", m.Name, m.Cache)
				}
			}
			if m.Cache == Final && c.Family == Solana {
				t.Errorf("%s: finalized is a moving head on Solana, not immutability", m.Name)
			}
		}
	}
	if proofs != 5*5 {
		t.Errorf("%d methods with proofs on five chains, want 5 on each", proofs)
	}
}

package plan_test

import (
	"testing"

	"github.com/chainaccess/gateway/metering/plan"
)

func TestCost_OfAVolumeIsItsPriceOnEachRung(t *testing.T) {
	t.Parallel()
	const million = 1_000_000 * plan.Unit
	all := rungs()
	for name, c := range map[string]struct {
		rung   string
		volume plan.Units
		want   plan.Cents
		short  bool // the volume is not covered
	}{
		"nothing":                       {"pro_monthly", 0, 99_00, false},
		"what is included":              {"pro_monthly", 15 * million, 99_00, false},
		"a little more":                 {"pro_monthly", 15*million + 1, 109_00, false},
		"two small packs more":          {"pro_monthly", 17_400_000 * plan.Unit, 119_00, false},
		"a pack of each":                {"scale_yearly", 60*million + 32*million + 7*million, 249_17 + 250_00, false},
		"seven small are dear":          {"founding", 15*million + 6*million, 79_00 + 50_00, false},
		"packs alone":                   {"pack_s", 1_200_001 * plan.Unit, 20_00, false},
		"per call":                      {"per_call", 1_500_000 * plan.Unit, 13_50, false},
		"per call, begun cents":         {"per_call", 1, 1, false},
		"per call, a lot":               {"per_call", 1_000_000 * million, 9_000_000_00, false},
		"free":                          {"free", million, 0, false},
		"more than free":                {"free", million + 1, 0, true},
		"the flat plan's soft ceiling":  {"builder", 20 * million, 12_00, false},
		"beyond it, where it is slower": {"builder", 20*million + 1, 12_00, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, covered := all[c.rung].Cost(c.volume)
			if got != c.want || covered == c.short {
				t.Errorf("%s, covered %t; want %s", got, covered, c.want)
			}
		})
	}
}

// The packs for a volume are those that an exhaustive search finds, also where most of them are of
// the largest kind.
func TestCost_PacksForAVolumeAreTheCheapest(t *testing.T) {
	t.Parallel()
	for _, units := range []plan.Units{
		100_000, 1_200_000, 5_800_000, 6_000_000, 27_900_000, 31_900_000, 32_100_000, 63_900_000, 64_100_000,
		97_300_000, 351_900_000,
	} {
		units *= plan.Unit
		if got, want := plan.PacksFor(units), cheapestPacks(units); got != want {
			t.Errorf("%s units: %s, want %s", units, got, want)
		}
	}
	if plan.PacksFor(0) != 0 || plan.PacksFor(-1) != 0 {
		t.Error("no units cost something")
	}
}

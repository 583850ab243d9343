package plan_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

func rungsOf(t *testing.T, keys ...string) []plan.Rung {
	t.Helper()
	var found []plan.Rung
	for _, key := range keys {
		for _, r := range plan.Ladder() {
			if r.Key == key {
				found = append(found, r)
			}
		}
	}
	if len(found) != len(keys) {
		t.Fatalf("of %q there are %d", keys, len(found))
	}
	return found
}

// The expected values are computed by hand from the prices of docs/interface.md, 2.8.
func TestBreakEven_NextLaneBeginsAtTheUnitFromWhichItIsCheaper(t *testing.T) {
	t.Parallel()
	const million = 1_000_000 * plan.Unit
	for name, c := range map[string]struct {
		from   string
		others []string
		volume plan.Units
		next   string
		at     plan.Units // 0 for none
	}{
		"a free plan ends": {
			"free", []string{"builder", "pack_s"}, 0, "pack_s", million + plan.Unit,
		},
		"and the flat one is dearer than a pack": {
			"pack_s", []string{"builder"}, million + 100*plan.Unit, "builder", 1_200_001 * plan.Unit,
		},
		"the flat one ends": {
			"builder",
			[]string{"pro_monthly", "pro_yearly", "scale_yearly"},
			5 * million, "pro_yearly", 20*million + plan.Unit,
		},
		// 1,111,111.1 units are $10.00
		"per call until a pack is cheaper": {"per_call", []string{"pack_s"}, 0, "pack_s", 1_111_112 * plan.Unit},
		"per call until a yearly plan is cheaper": {
			"per_call", []string{"pro_yearly"}, 0, "pro_yearly", 9_166_667 * plan.Unit,
		},
		"a volume beyond it begins there": {
			"free", []string{"builder"}, 3 * million, "builder", 3*million + plan.Unit,
		},
		// Scale by the year is $249.17 a month. Pro is $99 and three packs of 7,000,000 are $150:
		// $249 up to 36,000,000 units, and $259 beyond.
		"a plan with packs until a larger plan": {
			"pro_monthly", []string{"scale_yearly"}, 15 * million, "scale_yearly", 36*million + plan.Unit,
		},
		"nothing is cheaper": {
			"growth_yearly", []string{"growth_monthly", "per_call"}, 100 * million, "", 0,
		},
		"no others": {"free", nil, 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			next, at, ok := plan.NextLane(rungsOf(t, c.from)[0], rungsOf(t, c.others...), c.volume)
			in := expect.In(t, "%s", name)
			expect.Equal(in, ok, c.at > 0)
			expect.Equal(in, next.Key, c.next)
			expect.Equal(in, at, c.at)
			if !ok {
				return
			}
			was, covered := rungsOf(t, c.from)[0].Cost(at)
			if is, _ := next.Cost(at); covered && is >= was {
				t.Errorf("there it costs %s instead of %s", is, was)
			}
		})
	}
}

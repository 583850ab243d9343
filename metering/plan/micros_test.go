package plan

import "testing"

// Computed by hand: price of the rung over its units, times the units asked for.
func TestMicros_UnitsCostTheirShareOfTheRung(t *testing.T) {
	t.Parallel()
	rungs := map[string]Rung{}
	for _, r := range Ladder() {
		rungs[r.Key] = r
	}
	for _, c := range []struct {
		rung  string
		units Units
		want  string
	}{
		{"per_call", 1_000 * Unit, "0.009"},
		{"per_call", Unit / 2, "0.000005"}, // 4.5 millionths, a half up
		{"pro_monthly", 1_000_000 * Unit, "6.6"},
		{"pro_monthly", 1_000 * Unit, "0.0066"},
		{"scale_yearly", 1_000_000 * Unit, "4.152778"}, // 2990 / 12 / 60
		{"growth_yearly", 4_000_000 * Unit, "14.983333"},
		{"growth_yearly", 1_000_000_000_000 * Unit, "3745833.333333"},
		{"pack_s", 2_000 * Unit, "0.016667"},
		{"builder", 1_000_000 * Unit, "0.6"},
		{"free", 1_000_000 * Unit, "0.0"},
		{"founding", 15_000_000 * Unit, "79.0"},
		{"pack_l", 0, "0.0"},
		{"pack_l", -Unit, "0.0"},
	} {
		t.Run(c.rung, func(t *testing.T) {
			text, err := rungs[c.rung].PriceOf(c.units).MarshalJSON()
			if err != nil || string(text) != c.want {
				t.Errorf("%s units of %s cost %s, want %s (%v)", c.units, c.rung, text, c.want, err)
			}
		})
	}
	if text, _ := Micros(-1_500_000).MarshalJSON(); string(text) != "-1.5" { //nolint:errcheck // it cannot fail
		t.Errorf("less than nothing is %s", text)
	}
}

package advice

import (
	"slices"
	"strings"
	"testing"
)

func TestRecommend_UptimeGoesByTheShareOfFailures(t *testing.T) {
	t.Parallel()
	percent := func(p float64) *float64 { return &p }
	ranked := []RankedChain{
		{Title: "single", Usable: 1, ErrorPercent: percent(0)},
		{Title: "worst", Usable: 5, ErrorPercent: percent(7.2)},
		{Title: "bad", Usable: 2, ErrorPercent: percent(2.6)},
		{Title: "few", Usable: 2, ErrorPercent: percent(0.4)},
		{Title: "unknown", Usable: 3},
	}
	slices.SortStableFunc(ranked, byUptime)
	var got []string
	for i := range ranked {
		got = append(got, ranked[i].Title)
	}
	if strings.Join(got, " ") != "unknown few bad worst single" { // 0.4 rounds to 0 percent; unknown counts as 0
		t.Errorf("ranked %v", got)
	}
}

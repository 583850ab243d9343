package plan

import (
	"math"
	"testing"
)

func TestGroupedSetsCommasBetweenThousandsOnly(t *testing.T) {
	t.Parallel()
	for units, want := range map[Units]string{
		0: "0", 500: "0.5", 999 * Unit: "999", 1000 * Unit: "1,000", 12_345_678 * Unit: "12,345,678", -1_000_001: "-1,000.001", -100 * Unit: "-100",
		1_200_000*Unit + 250: "1,200,000.25", math.MinInt64: "-9,223,372,036,854,775.808",
	} {
		if got := units.Grouped(); got != want {
			t.Errorf("%d thousandths are %q, want %q", int64(units), got, want)
		}
	}
}

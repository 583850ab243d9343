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

func TestAmountsOfUSDCHaveSixDecimals(t *testing.T) {
	t.Parallel()
	for amount, want := range map[Atomic]string{
		0: "0.000000", 1: "0.000001", 108_000: "0.108000", 1_000_000: "1.000000", -1_500_000: "-1.500000", -1: "-0.000001",
		math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		if got := amount.USDC(); got != want {
			t.Errorf("%d is %s, want %s", int64(amount), got, want)
		}
	}
}

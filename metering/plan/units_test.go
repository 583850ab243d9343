package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

func TestGrouped_SetsCommasBetweenThousandsOnly(t *testing.T) {
	t.Parallel()
	for units, want := range map[Units]string{
		0: "0", 500: "0.5", 999 * Unit: "999", 1000 * Unit: "1,000", 12_345_678 * Unit: "12,345,678",
		-1_000_001: "-1,000.001", -100 * Unit: "-100", 1_200_000*Unit + 250: "1,200,000.25",
		math.MinInt64: "-9,223,372,036,854,775.808",
	} {
		t.Run(units.String(), func(t *testing.T) {
			if got := units.Grouped(); got != want {
				t.Errorf("%d thousandths are %q, want %q", int64(units), got, want)
			}
		})
	}
}

func TestUnits_AreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, u := range []Units{0, 1, -1, 500, -500, 50, Unit, -Unit, 12_345_678, math.MaxInt64, math.MinInt64} {
		text, err := json.Marshal(u)
		var back Units
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back != u {
			t.Errorf("%d thousandths are written as %s and read as %d: %v", int64(u), text, int64(back), err)
		}
	}
	for _, text := range []string{`0.0005`, `1e3`, `"1"`, `null`, `9223372036854775.808`, `true`, `{}`} {
		var u Units
		if err := json.Unmarshal([]byte(text), &u); err == nil {
			t.Errorf("%s is read as %s units", text, u)
		}
	}
}

func TestUSDC_AmountsHaveSixDecimals(t *testing.T) {
	t.Parallel()
	for amount, want := range map[Atomic]string{
		0: "0.000000", 1: "0.000001", 108_000: "0.108000", 1_000_000: "1.000000", -1_500_000: "-1.500000",
		-1: "-0.000001", math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		t.Run(fmt.Sprint(amount), func(t *testing.T) {
			if got := amount.USDC(); got != want {
				t.Errorf("%d is %s, want %s", int64(amount), got, want)
			}
		})
	}
}

package x402

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func found(paid plan.Atomic, depth uint64) Finding {
	return Finding{Paid: paid, Block: 100, BlockHash: TxHash{1}, Time: noon.Add(-time.Minute).Unix(), Depth: depth}
}

func TestJudge_AcceptsGoodPaymentsAndSaysWhatIsWrongWithOthers(t *testing.T) {
	t.Parallel()
	old, oldest, final := found(90_000, 2), found(90_000, 2), found(90_000, 0)
	old.Time, oldest.Time, final.Final = noon.Add(-MaxAge-time.Second).Unix(), noon.Add(-MaxAge).Unix(), true
	for name, c := range map[string]struct {
		sight Sight
		found Finding
		tier  plan.Tier
		stage Stage
		why   string
	}{
		"good":                         {SightMined, found(90_000, 2), plan.Balanced, StagePayable, ""},
		"one unit short":               {SightMined, found(89_999, 2), plan.Balanced, StageRefused, WhyTooSmall},
		"too small, and not deep":      {SightMined, found(89_999, 0), plan.Balanced, StageRefused, WhyTooSmall},
		"enough for a cheaper tier":    {SightMined, found(89_999, 2), plan.Cheap, StagePayable, ""},
		"too little for a dearer tier": {SightMined, found(90_000, 2), plan.Fast, StageRefused, WhyTooSmall},
		"one block short":              {SightMined, found(90_000, 1), plan.Balanced, StagePending, WhyShallow},
		"final, whatever its depth":    {SightMined, final, plan.Balanced, StagePayable, ""},
		"of last month":                {SightMined, old, plan.Balanced, StageRefused, WhyTooOld},
		"30 days old":                  {SightMined, oldest, plan.Balanced, StagePayable, ""},
		"pays nothing":                 {SightMined, found(0, 2), plan.Balanced, StageRefused, WhyNothing},
		"in no block":                  {SightWaiting, Finding{}, plan.Balanced, StagePending, WhyWaiting},
		"failed":                       {SightFailed, found(0, 2), plan.Balanced, StageRefused, WhyFailed},
		"unknown":                      {SightNone, Finding{}, plan.Balanced, StageRefused, WhyUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := terms.Judge(c.sight, c.found, c.tier, "US", noon)
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.Equal(in, v.Stage, c.stage)
			expect.Equal(in, v.Why, c.why)
			if payable := c.stage == StagePayable; payable != (v.Deal.Units > 0) || payable == (v.Words != "") {
				t.Errorf("%d units, %q", v.Deal.Units, v.Words)
			}
		})
	}
}

func TestJudge_SplitsTaxByCountryAndCapsUnits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paid    plan.Atomic
		country string
		want    Deal
	}{
		"outside the EU": {90_000, "US", Deal{plan.Balanced, "US", 90_000, 90_000, 0, 10_000 * plan.Unit, false}},
		"in the EU": {
			108_000, "FR", Deal{plan.Balanced, "FR", 108_000, 90_000, 18_000, 10_000 * plan.Unit, false},
		},
		"not located": {90_001, "", Deal{plan.Balanced, "", 90_001, 75_000, 15_001, 8_333 * plan.Unit, false}},
		"at the cap": {
			1_800_000, "US", Deal{plan.Balanced, "US", 1_800_000, 1_800_000, 0, plan.MaxUnitsPerSettlement, false},
		},
		"over the cap": {
			1_800_009, "US", Deal{plan.Balanced, "US", 1_800_009, 1_800_009, 0, plan.MaxUnitsPerSettlement, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := terms.Judge(SightMined, found(c.paid, 2), plan.Balanced, c.country, noon)
			if err != nil || v.Deal != c.want {
				t.Errorf("%+v, %v; want %+v", v.Deal, err, c.want)
			}
		})
	}
}

func TestJudge_KnowsNoOtherTiersAndSights(t *testing.T) {
	t.Parallel()
	if v, err := terms.Judge(SightMined, found(90_000, 2), "gold", "US", noon); err == nil || v.Stage == StagePayable {
		t.Errorf("a tier that is not sold: %+v", v)
	}
	if v, err := terms.Judge("sideways", found(90_000, 2), plan.Balanced, "US", noon); err == nil ||
		v.Stage == StagePayable {
		t.Errorf("a sight that is none: %+v", v)
	}
}

func TestJudge_NamesTheAmountThatOneUpstreamMayConfirm(t *testing.T) {
	t.Parallel()
	v, err := terms.Judge(SightMined, found(89_999, 2), plan.Balanced, "US", noon)
	require.NoError(t, err)
	expect.Contains(t, v.Words, "89999")
	expect.Contains(t, v.Words, "90000")
}

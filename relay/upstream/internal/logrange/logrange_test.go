package logrange

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit_CoversTheRangeWithAsFewPartsAsPossible(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		r     Range
		limit uint64
		want  []Range
	}{
		{Range{5, 5}, 1, []Range{{5, 5}}},
		{Range{0, 9}, 10, []Range{{0, 9}}},
		{Range{0, 10}, 10, []Range{{0, 9}, {10, 10}}},
		{Range{3, 8}, 2, []Range{{3, 4}, {5, 6}, {7, 8}}},
		{Range{math.MaxUint64 - 2, math.MaxUint64}, 2, []Range{
			{math.MaxUint64 - 2, math.MaxUint64 - 1}, {math.MaxUint64, math.MaxUint64},
		}},
		{Range{0, math.MaxUint64}, math.MaxUint64, []Range{
			{0, math.MaxUint64 - 1}, {math.MaxUint64, math.MaxUint64},
		}},
	} {
		t.Run(fmt.Sprint(row.limit), func(t *testing.T) {
			got := row.r.Split(row.limit)
			if row.r.From != 0 || row.r.To != math.MaxUint64 {
				if n := row.r.Requests(row.limit); n != uint64(len(got)) {
					t.Errorf("%v by %d is announced as %d requests", row.r, row.limit, n)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%v by %d: %s", row.r, row.limit, diff)
			}
		})
	}
	if n := len(Range{100, 1099}.Split(10)); n != 100 {
		t.Errorf("1000 blocks by 10 are %d parts", n)
	}
}

func TestHalves_EndAtOneBlock(t *testing.T) {
	t.Parallel()
	if got := (Range{7, 9}).Halves(); !slices.Equal(got, []Range{{7, 8}, {9, 9}}) {
		t.Errorf("three blocks are halved to %v", got)
	}
	todo, blocks := []Range{{0, 999}}, 0
	for len(todo) > 0 {
		r := todo[0]
		if todo = todo[1:]; r.Blocks() == 1 {
			blocks++
			continue
		}
		todo = append(todo, r.Halves()...)
	}
	if blocks != 1000 {
		t.Errorf("halving reaches %d single blocks", blocks)
	}
}

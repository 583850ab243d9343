package capability_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/capability"
	"github.com/chainaccess/gateway/fault"
)

// Who has many networks is bound by their area, and all together by what the service takes in a day.
func TestWishesAreBoundByAreaAndInAll(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	wish := func(prefix string) *fault.Error {
		_, refusal := o.JoinWishlist.Invoke(o.ctx, onNetwork(prefix), capability.JoinWishlistInput{Items: "x", Email: "a@b.example"})
		return refusal
	}
	taken := map[string]int{}
	for _, area := range []string{"2001:db8:1:%x::/64", "2001:db8:2:%x::/64", "198.51.100.%d/32"} {
		for i := range 50 {
			if refusal := wish(fmt.Sprintf(area, i+1)); refusal == nil {
				taken[area]++
			} else if refusal.Reason != fault.RateWindow {
				t.Fatal(refusal)
			}
		}
	}
	if fmt.Sprint(taken["2001:db8:1:%x::/64"], taken["2001:db8:2:%x::/64"], taken["198.51.100.%d/32"]) != "40 40 20" {
		t.Errorf("taken were %v", taken)
	}
}

// Prices are told while the record is away; what depends on it is not on sale.
func TestPricesAreToldWithoutTheRecord(t *testing.T) {
	t.Parallel()
	o := advisers(t, measured(t, time.Now(), nil))
	o.store.Close()
	l := must[capability.PlanList](t)(o.ListPlans.Invoke(o.ctx, neighbour(0), capability.Nothing{}))
	if l.Founding.Open || l.Founding.SeatsLeft != 0 || len(l.Plans) == 0 || !hasSeatsNote(l.Note) {
		t.Errorf("the list is %+v", l)
	}
	q, refusal := o.GetQuote.Invoke(o.ctx, neighbour(0), capability.QuoteInput{Chain: "eth_mainnet", Method: "eth_call"})
	if refusal != nil || !hasSeatsNote(q.Note) {
		t.Errorf("the quote is %+v, %v", q, refusal)
	}
}

func hasSeatsNote(note string) bool { return strings.Contains(note, "not on sale") }

// The count of seats is kept for a while.
func TestTheCountOfSeatsIsKept(t *testing.T) {
	t.Parallel()
	o := advisers(t, nil)
	first := must[capability.PlanList](t)(o.ListPlans.Invoke(o.ctx, neighbour(0), capability.Nothing{}))
	o.store.Close()
	if l := must[capability.PlanList](t)(o.ListPlans.Invoke(o.ctx, neighbour(0), capability.Nothing{})); l.Founding.SeatsLeft != first.Founding.SeatsLeft || l.Founding.SeatsLeft == 0 {
		t.Errorf("%d seats are left", l.Founding.SeatsLeft)
	}
}

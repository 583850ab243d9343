package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/service"
)

// Prices are served without PostgreSQL; what depends on it is shown as not on sale.
func TestPrices_AreShownWithoutPostgreSQL(t *testing.T) {
	t.Parallel()
	o := advisers(t, measured(t, time.Now(), nil))
	o.store.Close()
	l := must[service.PlanList](t)(o.ListPlans.Invoke(o.ctx, neighbour(0), service.Nothing{}))
	if l.Founding.Open || l.Founding.SeatsLeft != 0 || len(l.Plans) == 0 || !hasSeatsNote(l.Note) {
		t.Errorf("the list is %+v", l)
	}
	q, refusal := o.GetQuote.Invoke(o.ctx, neighbour(0), service.QuoteInput{Chain: "eth_mainnet", Method: "eth_call"})
	if refusal != nil || !hasSeatsNote(q.Note) {
		t.Errorf("the quote is %+v, %v", q, refusal)
	}
}

func hasSeatsNote(note string) bool { return strings.Contains(note, "not on sale") }

// The count of seats is cached.
func TestSeats_CountIsCached(t *testing.T) {
	t.Parallel()
	o := advisers(t, nil)
	first := must[service.PlanList](t)(o.ListPlans.Invoke(o.ctx, neighbour(0), service.Nothing{}))
	o.store.Close()
	if l := must[service.PlanList](t)(o.ListPlans.Invoke(o.ctx, neighbour(0),
		service.Nothing{})); l.Founding.SeatsLeft != first.Founding.SeatsLeft || l.Founding.SeatsLeft == 0 {
		t.Errorf("%d seats are left", l.Founding.SeatsLeft)
	}
}

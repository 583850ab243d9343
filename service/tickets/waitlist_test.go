package tickets_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
)

// Prices are served without PostgreSQL; what depends on it is shown as not on sale.
func TestPrices_AreShownWithoutPostgreSQL(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), nil))
	o.Store.Close()
	l := servicetest.Must[advice.PlanList](t)(o.ListPlans.Invoke(o.Ctx, servicetest.Neighbour(0), operation.Nothing{}))
	expect.False(t, l.Founding.Open)
	expect.Equal(t, l.Founding.SeatsLeft, 0)
	expect.NotEmpty(t, l.Plans)
	expect.True(t, hasSeatsNote(l.Note), l.Note)
	q, refusal := o.GetQuote.Invoke(o.Ctx, servicetest.Neighbour(0),
		advice.QuoteInput{Chain: "eth_mainnet", Method: "eth_call"})
	if refusal != nil || !hasSeatsNote(q.Note) {
		t.Errorf("the quote is %+v, %v", q, refusal)
	}
}

func hasSeatsNote(note string) bool { return strings.Contains(note, "not on sale") }

// The count of seats is cached.
func TestSeats_CountIsCached(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, nil)
	first := servicetest.Must[advice.PlanList](t)(o.ListPlans.Invoke(o.Ctx, servicetest.Neighbour(0),
		operation.Nothing{}))
	o.Store.Close()
	if l := servicetest.Must[advice.PlanList](t)(o.ListPlans.Invoke(o.Ctx, servicetest.Neighbour(0),
		operation.Nothing{})); l.Founding.SeatsLeft != first.Founding.SeatsLeft || l.Founding.SeatsLeft == 0 {
		t.Errorf("%d seats are left", l.Founding.SeatsLeft)
	}
}

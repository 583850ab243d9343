package console

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// met returns a call that answers only once other calls have begun as well.
func met[In, Out any](t *testing.T, begun chan struct{}, run site.Call[In, Out]) site.Call[In, Out] {
	t.Helper()
	return func(ctx context.Context, c *operation.Caller, in In) (Out, *fault.Error) {
		select {
		case begun <- struct{}{}:
		case <-begun:
		case <-time.After(10 * time.Second):
			t.Error("one was asked after the other")
		}
		return run(ctx, c, in)
	}
}

// A page runs its operations in parallel, so slow ones do not delay each other.
func TestPages_ReadTheirPartsConcurrently(t *testing.T) {
	t.Parallel()
	for path, meet := range map[string]func(*site.Calls, chan struct{}){
		"/overview": func(c *site.Calls, begun chan struct{}) {
			c.GetInsights, c.UsageByDay = met(t, begun, c.GetInsights), met(t, begun, c.UsageByDay)
		},
		"/usage": func(c *site.Calls, begun chan struct{}) {
			c.ExploreUsage, c.ListKeys = met(t, begun, c.ExploreUsage), met(t, begun, c.ListKeys)
		},
		"/billing": func(c *site.Calls, begun chan struct{}) {
			c.BillingStatus, c.PriceLadder = met(t, begun, c.BillingStatus), met(t, begun, c.PriceLadder)
		},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			b := consoletest.SignedIn(t, consoletest.NewOperations(), register)
			meet(&b.Pages.Calls, make(chan struct{}))
			if got := b.Get(path); got.Status != http.StatusOK {
				t.Errorf("it answers %d", got.Status)
			}
		})
	}
}

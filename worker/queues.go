package worker

import (
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows"
)

// queue is a task queue and what is registered on it.
type queue struct {
	name     string
	most     int // maximum of concurrent activities per process; 0 means the SDK's default, 1000
	register func(r worker.Registry, o Options)
}

// maxBilling is the maximum of concurrent billing activities per process. At the turn of a month
// all flows poll Stripe, which accepts a hundred requests a second per Stripe account.
const maxBilling = 16

// queues lists all task queues.
var queues = []queue{
	{workflows.QueueGateway, 0, func(r worker.Registry, o Options) {
		workflows.RegisterGateway(r)
		r.RegisterActivity(&activities.Partitions{Store: o.Store, Now: o.Now, OnSwept: o.OnSwept})
		r.RegisterActivity(o.Doors)
		r.RegisterActivity(o.Settlements)
		r.RegisterActivity(&activities.Tickets{Record: o.Store, Now: o.Now, Logger: o.Logger})
		r.RegisterActivity(&activities.Notices{Store: o.Store, Messenger: o.Messenger, Logger: o.Logger})
	}},
	{workflows.QueueBilling, maxBilling, func(r worker.Registry, o Options) {
		workflows.RegisterBilling(r)
		r.RegisterActivity(o.Billing)
		r.RegisterActivity(o.Statements)
	}},
	{workflows.QueueProbe, 0, func(r worker.Registry, o Options) {
		workflows.RegisterProbe(r)
		r.RegisterActivity(&activities.Chains{Prober: o.Prober, Board: o.Board, Logger: o.Logger})
	}},
}

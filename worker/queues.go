package worker

import (
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows"
)

// queue is a task queue and what runs on it.
type queue struct {
	name     string
	most     int // activities that run at a time in a process; 0 for the SDK's default, a thousand
	register func(r worker.Registry, o Options)
}

// maxBilling is how many activities ask Stripe at a time: at the turn of a month all flows want to,
// and Stripe takes a hundred requests a second from an account in all.
const maxBilling = 16

// queues lists the task queues that have something registered.
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

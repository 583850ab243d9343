package worker

import (
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows"
)

// queue is a task queue and what runs on it.
type queue struct {
	name     string
	register func(r worker.Registry, o Options)
}

// queues lists the task queues that have something registered.
var queues = []queue{
	{workflows.QueueGateway, func(r worker.Registry, o Options) {
		workflows.RegisterGateway(r)
		r.RegisterActivity(&activities.Partitions{Store: o.Store, Now: o.Now})
		r.RegisterActivity(o.Doors)
		r.RegisterActivity(o.Settlements)
		r.RegisterActivity(&activities.Notices{Store: o.Store, Messenger: o.Messenger, Logger: o.Logger})
	}},
	{workflows.QueueBilling, func(r worker.Registry, o Options) {
		workflows.RegisterBilling(r)
		r.RegisterActivity(o.Billing)
		r.RegisterActivity(o.Statements)
	}},
	{workflows.QueueProbe, func(r worker.Registry, o Options) {
		workflows.RegisterProbe(r)
		r.RegisterActivity(&activities.Chains{Prober: o.Prober, Board: o.Board, Logger: o.Logger})
	}},
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/chainaccess/gateway/workflows"
)

// rpcTimeout bounds one step at Temporal: a call, or a page of notices.
const rpcTimeout = 10 * time.Second

// within sets the deadline of a step at Temporal.
func within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, rpcTimeout)
	defer cancel()
	return call(ctx)
}

// step is something that has to hold at Temporal, which it makes so or says why it cannot. It may
// be repeated.
type step func(context.Context) error

// all takes steps one after another, each within its deadline, up to the first that fails.
func (w *Worker) all(ctx context.Context, steps []step) error {
	for _, do := range steps {
		if err := within(ctx, do); err != nil {
			return err
		}
	}
	return nil
}

// prepared lists what must hold before a task queue is polled: the server is there, with the
// namespace and its search attributes.
func (w *Worker) prepared() []step { return []step{w.reach, w.findNamespace, w.addSearchAttributes} }

// ensured lists what must hold all the time, and is looked at every CheckInterval.
func (w *Worker) ensured() []step { return append(w.prepared(), w.findProbes, w.findSchedules) }

func (w *Worker) reach(ctx context.Context) error {
	if _, err := w.o.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("reach Temporal; check that it runs and that TEMPORAL_ADDRESS is right: %w", err)
	}
	return nil
}

func (w *Worker) findNamespace(ctx context.Context) error {
	request := &workflowservice.DescribeNamespaceRequest{Namespace: w.o.Namespace}
	_, err := w.o.Temporal.WorkflowService().DescribeNamespace(ctx, request)
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing && w.found {
		return w.restoreNamespace(ctx)
	} else if missing {
		return fmt.Errorf(
			"temporal has no namespace %q; create it with `temporal operator namespace create -n %s`, or name another "+
				"in TEMPORAL_NAMESPACE", w.o.Namespace, w.o.Namespace)
	}
	if err != nil {
		return fmt.Errorf("look up namespace %q: %w", w.o.Namespace, err)
	}
	w.found = true
	return nil
}

// retention is how long a namespace keeps what ended, as deploy/temporal/namespace.sh makes it.
const retention = 30 * 24 * time.Hour

// restoreNamespace makes the namespace again that this worker has worked in: its server came back
// without it. One that was never there may be a slip in TEMPORAL_NAMESPACE and is not made.
func (w *Worker) restoreNamespace(ctx context.Context) error {
	_, err := w.o.Temporal.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: w.o.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	})
	if _, raced := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); raced {
		return nil
	}
	if err != nil {
		return fmt.Errorf(
			"make namespace %q again, which Temporal has lost; create it with `temporal operator namespace create -n "+
				"%s`: %w",
			w.o.Namespace, w.o.Namespace, err)
	}
	w.o.Logger.Warn("Temporal had lost the namespace; it was created again, and workflows restart from PostgreSQL",
		"namespace", w.o.Namespace)
	return nil
}

// findProbes starts the probes that do not run, and leaves the others alone.
func (w *Worker) findProbes(ctx context.Context) error {
	flows := workflows.NewClient(w.o.Temporal)
	for _, id := range w.o.Chains() {
		runs, err := flows.Probes(ctx, id)
		if err == nil && !runs {
			w.o.Logger.Warn("a probe was not running; starting it", "chain", id)
			err = flows.StartProbe(ctx, w.probe(id))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findSchedules makes the schedules that are missing.
func (w *Worker) findSchedules(ctx context.Context) error {
	flows := workflows.NewClient(w.o.Temporal)
	for id, schedule := range map[string]step{
		workflows.StatementSweepSchedule: flows.ScheduleStatementSweep,
		workflows.PartitionSchedule:      w.schedulePartitions,
	} {
		stands, err := flows.HasSchedule(ctx, id)
		if err == nil && !stands {
			w.o.Logger.Warn("a schedule was missing; creating it", "schedule", id)
			err = schedule(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addSearchAttributes makes the namespace know the workflows' search attributes: without them,
// setting one fails the workflow's task.
func (w *Worker) addSearchAttributes(ctx context.Context) error {
	operator := w.o.Temporal.OperatorService()
	known, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{
		Namespace: w.o.Namespace,
	})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %q: %w", w.o.Namespace, err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, name := range workflows.SearchAttributes() {
		if _, ok := known.GetCustomAttributes()[name]; !ok {
			missing[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: w.o.Namespace, SearchAttributes: missing,
	})
	if _, raced := errors.AsType[*serviceerror.AlreadyExists](err); raced {
		return nil
	}
	if err != nil {
		return fmt.Errorf(
			"add search attributes to namespace %q; where the worker may not, add %v as Keyword by hand: %w",
			w.o.Namespace, workflows.SearchAttributes(), err)
	}
	return nil
}

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

// rpcTimeout is the timeout of one step at Temporal: a call, or a page of a sweep.
const rpcTimeout = 10 * time.Second

// within runs one step with rpcTimeout.
func within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, rpcTimeout)
	defer cancel()
	return call(ctx)
}

// step makes sure that something holds at Temporal, or returns why it cannot. It is idempotent.
type step func(context.Context) error

// all runs steps in order, each with its own timeout, until one fails.
func (w *Worker) all(ctx context.Context, steps []step) error {
	for _, do := range steps {
		if err := within(ctx, do); err != nil {
			return err
		}
	}
	return nil
}

// prepared returns what must hold before task queues are polled: the server answers, and the
// namespace exists with its search attributes.
func (w *Worker) prepared() []step { return []step{w.reach, w.findNamespace, w.addSearchAttributes} }

// ensured returns what must hold all the time. It is checked every CheckInterval.
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

// retention is how long the namespace keeps closed workflows, as in deploy/temporal/namespace.sh.
const retention = 30 * 24 * time.Hour

// restoreNamespace creates the namespace again after its server came back without it. It is called
// only for a namespace that this worker has found before: one that never existed may be a typo in
// TEMPORAL_NAMESPACE.
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

// findProbes starts the probes that are not running.
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

// findSchedules creates missing schedules.
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

// addSearchAttributes registers the workflows' search attributes in the namespace. Without them,
// setting one fails the workflow task.
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

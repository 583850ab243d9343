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

	"github.com/chainaccess/gateway/workflows"
)

// rpcTimeout bounds one step at Temporal: a call, or a page of notices.
const rpcTimeout = 10 * time.Second

// within gives a step at Temporal its deadline.
func within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, rpcTimeout)
	defer cancel()
	return call(ctx)
}

// prepare checks the server, the namespace and its search attributes, and adds those that are missing.
func (w *Worker) prepare(ctx context.Context) error {
	for _, step := range []func(context.Context) error{w.reach, w.findNamespace, w.addSearchAttributes} {
		if err := within(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) reach(ctx context.Context) error {
	if _, err := w.o.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("reach Temporal; check that it runs and that TEMPORAL_ADDRESS is right: %w", err)
	}
	return nil
}

func (w *Worker) findNamespace(ctx context.Context) error {
	request := &workflowservice.DescribeNamespaceRequest{Namespace: w.o.Namespace}
	_, err := w.o.Temporal.WorkflowService().DescribeNamespace(ctx, request)
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		return fmt.Errorf("temporal has no namespace %q; create it with `temporal operator namespace create -n %s`, or name another "+
			"in TEMPORAL_NAMESPACE", w.o.Namespace, w.o.Namespace)
	}
	if err != nil {
		return fmt.Errorf("look up namespace %q: %w", w.o.Namespace, err)
	}
	return nil
}

// addSearchAttributes makes the namespace know the workflows' search attributes: without them, setting one fails the workflow's task.
func (w *Worker) addSearchAttributes(ctx context.Context) error {
	operator := w.o.Temporal.OperatorService()
	known, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: w.o.Namespace})
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
		return fmt.Errorf("add search attributes to namespace %q; where the worker may not, add %v as Keyword by hand: %w",
			w.o.Namespace, workflows.SearchAttributes(), err)
	}
	return nil
}

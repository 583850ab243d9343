// Package namespace marks a Temporal namespace as a deployment's.
package namespace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/durationpb"
)

// DeploymentWorkflow is the id of an execution that marks a namespace as a deployment's: its memo
// contains the deployment's id. It does nothing: its first task is due in a hundred years, the
// longest delay that Temporal accepts, so no worker ever sees it.
const (
	DeploymentWorkflow = "deployment"
	deploymentMemo     = "deployment"
	deploymentDelay    = 100 * 365 * 24 * time.Hour
)

// Claim marks a namespace as a deployment's unless it is marked already, and returns the
// id of the deployment that owns it. If several processes race, one wins, because a workflow id is
// unique. It makes at most three calls and retries none.
func Claim(ctx context.Context, service workflowservice.WorkflowServiceClient,
	namespace, deployment string,
) (owner string, err error) {
	if owner, err = namespaceOwner(ctx, service, namespace); err != nil || owner != "" {
		return owner, err
	}
	id, err := converter.GetDefaultDataConverter().ToPayload(deployment)
	if err != nil {
		return "", fmt.Errorf("mark namespace %q: %w", namespace, err)
	}
	summary, err := converter.GetDefaultDataConverter().ToPayload(
		"Says in its memo which deployment this namespace belongs to; leave it alone")
	if err != nil {
		return "", fmt.Errorf("mark namespace %q: %w", namespace, err)
	}
	_, err = service.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: DeploymentWorkflow, RequestId: uuid.NewString(),
		WorkflowType: &common.WorkflowType{Name: DeploymentWorkflow}, TaskQueue: &taskqueue.TaskQueue{
			Name: DeploymentWorkflow,
		},
		WorkflowIdReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIdConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowStartDelay:       durationpb.New(deploymentDelay),
		Memo:                     &common.Memo{Fields: map[string]*common.Payload{deploymentMemo: id}},
		UserMetadata:             &sdk.UserMetadata{Summary: summary},
	})
	if _, raced := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); raced {
		return namespaceOwner(ctx, service, namespace)
	}
	if err != nil {
		return "", fmt.Errorf("mark namespace %q: %w", namespace, err)
	}
	return deployment, nil
}

// namespaceOwner reads the mark; empty when there is none or somebody terminated it.
func namespaceOwner(ctx context.Context, service workflowservice.WorkflowServiceClient,
	namespace string,
) (string, error) {
	found, err := service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &common.WorkflowExecution{WorkflowId: DeploymentWorkflow},
	})
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read whose namespace %q is: %w", namespace, err)
	}
	info := found.GetWorkflowExecutionInfo()
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return "", nil
	}
	var owner string
	if err := converter.GetDefaultDataConverter().FromPayload(info.GetMemo().GetFields()[deploymentMemo],
		&owner); err != nil || owner == "" {
		return "", fmt.Errorf("workflow %s of namespace %q does not say whose it is: terminate it, and start again",
			DeploymentWorkflow, namespace)
	}
	return owner, nil
}

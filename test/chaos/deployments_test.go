package chaos_test

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/workflows/namespace"
)

// onNamespace configures a site's Temporal namespace.
func (s *site) onNamespace(server *testkit.TemporalServer) *site {
	return s.on("TEMPORAL_ADDRESS", server.Address).on("TEMPORAL_NAMESPACE", server.Namespace)
}

// opensRedis are commands that use the meter.
var opensRedis = [][]string{
	{"serve"},
	{"worker"},
	{"ops", "account", "show", "0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11"},
	{"ops", "account", "suspend", "0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11", "--reason", "why"},
}

func TestDeployments_NeverShareARedis(t *testing.T) {
	t.Parallel()
	one, other := newSite(t), newSite(t)
	other.on("REDIS_URL", one.env["REDIS_URL"])
	api := one.begin("serve")
	for _, args := range opensRedis {
		other.refused("another deployment's Redis", args, "REDIS_URL", "belongs to another deployment",
			"give each a Redis of its own")
	}
	// Another database of the same server counts as another Redis.
	other.on("REDIS_URL", strings.TrimSuffix(one.env["REDIS_URL"], "/0")+"/1")
	other.stop(other.begin("serve"))
	one.stop(api)
	one.stop(one.begin("serve"))
}

func TestDeployments_NeverShareANamespace(t *testing.T) {
	t.Parallel()
	server := testkit.Temporal(t)
	temporal := server.Dial(t)
	one, other := newSite(t).onNamespace(server), newSite(t).onNamespace(server)
	roles := []*role{one.begin("serve"), one.begin("worker")}
	testkit.Eventually(t, patience, func() bool { return owner(t, temporal) != "" }, "the namespace is marked")
	mark := owner(t, temporal)
	for _, args := range opensRedis[:2] {
		other.refused("another deployment's namespace", args, "TEMPORAL_NAMESPACE", "belongs to another deployment",
			"temporal operator namespace create")
	}
	if now := owner(t, temporal); now != mark {
		t.Errorf("the namespace was %q's and is %q's", mark, now)
	}

	// Temporal loses the mark, and another deployment claims the namespace first: the earlier
	// processes exit.
	testkit.Eventually(t, patience, func() bool {
		// the error is ignored: not found when the namespace is not marked
		_ = temporal.TerminateWorkflow(t.Context(), namespace.DeploymentWorkflow, "", "by hand")
		now, err := namespace.Claim(t.Context(), temporal.WorkflowService(), server.Namespace, "another")
		return err == nil && now == "another"
	}, "another deployment marks the namespace")
	for _, p := range roles {
		testkit.Eventually(t, patience, func() bool {
			select {
			case <-p.Exited():
				return true
			default:
				return false
			}
		}, "%s ends", p.name)
		if last := p.Tail(1); !strings.Contains(last, "TEMPORAL_NAMESPACE") ||
			!strings.Contains(last, "belongs to another deployment") {
			t.Errorf("%s ended with %q", p.name, last)
		}
	}
}

// owner returns the id of the deployment that a namespace is marked with; empty when it is not
// marked.
func owner(t *testing.T, c client.Client) string {
	t.Helper()
	found, err := c.DescribeWorkflowExecution(t.Context(), namespace.DeploymentWorkflow, "")
	if err != nil {
		return ""
	}
	return string(found.GetWorkflowExecutionInfo().GetMemo().GetFields()["deployment"].GetData())
}

package namespace_test

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/workflows/namespace"
)

func TestClaimNamespace_IsWonOnce(t *testing.T) {
	t.Parallel()
	server := testkit.Temporal(t)
	c := server.Dial(t)
	claim := func(id string) string {
		owner, err := namespace.Claim(t.Context(), c.WorkflowService(), server.Namespace, id)
		if err != nil {
			t.Error(err)
		}
		return owner
	}
	owners := make([]string, 8)
	var all errgroup.Group
	for i := range owners {
		all.Go(func() error {
			owners[i] = claim(string(rune('a' + i)))
			return nil
		})
	}
	_ = all.Wait()
	for i, owner := range owners {
		if owner == "" || owner != owners[0] {
			t.Errorf("claim %d says that the namespace is %q's, the first that it is %q's", i, owner, owners[0])
		}
	}
	if err := c.TerminateWorkflow(t.Context(), namespace.DeploymentWorkflow, "", "by hand"); err != nil {
		t.Fatal(err)
	}
	if owner := claim("z"); owner != "z" {
		t.Errorf("without its mark the namespace is %q's", owner)
	}
}

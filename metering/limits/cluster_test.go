package limits_test

import (
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestCluster_LimitsAreLoadedChangedAndSeeded(t *testing.T) {
	t.Parallel()
	cluster := testkit.RedisCluster(t)
	b := setupOn(t, cluster.URL)
	other := b.another(t)
	holders := make([]*holder, 9) // enough to meet every node
	for i := range holders {
		h := b.holder(t, plan.Free, account.Unlimited)
		holders[i] = h
		if a := b.admit(t, b.identify(t, h), charge(plan.Unit)); !a.Admitted {
			t.Fatalf("the first call: %+v", a)
		}
		if _, err := b.limits.ConfigureKey(b.ctx, h.key.ID, settings(t, `{"monthly_request_cap":2}`),
			author); err != nil {
			t.Fatal(err)
		}
		if a := other.admit(t, other.identify(t, h), charge(2*plan.Unit)); a.Refused != "key_budget" {
			t.Errorf("past a cap that another process answered: %+v", a)
		}
	}
	b.flushAll(t)
	for _, n := range cluster.Nodes {
		n.Do(t, "flushall")
	}
	for _, h := range holders {
		s := other.identify(t, h)
		if a := other.admit(t, s, charge(2*plan.Unit)); a.Refused != "key_budget" {
			t.Errorf("past the cap when the cluster lost everything: %+v", a)
		}
		if a := other.admit(t, s, charge(plan.Unit)); !a.Admitted {
			t.Errorf("what the cap has left: %+v", a)
		}
	}
	b.flushAll(t)
	for i, h := range holders {
		if n, units := b.recorded(t, h); n != 2 || units != 2*plan.Unit {
			t.Errorf("PostgreSQL has %d calls and %s units of holder %d, want 2", n, units, i)
		}
	}
}

package limits_test

import (
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

// drain admits calls until one is refused, and returns how many and the limit of the window.
func (b *bundle) drain(t *testing.T, h *holder) (admitted, limit int64) {
	t.Helper()
	s := b.identify(t, h)
	for admitted < 1000 {
		a := b.admit(t, s, charge(0))
		if !a.Admitted {
			return admitted, a.Limit
		}
		admitted++
	}
	return admitted, 0
}

// A client may use a window's requests at once. The window may turn over while the test runs.
func TestWindow_AdmitsItsRequestsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for key, want := range map[string]int64{plan.WalletBound: 100, plan.Builder: 300, plan.Free: 100} {
		t.Run(key, func(t *testing.T) {
			admitted, limit := b.drain(t, b.holder(t, key, account.Unlimited))
			in := expect.In(t, "%s", key)
			expect.Equal(in, limit, want)
			expect.Between(in, admitted, want, 2*want)
		})
	}
}

// What an older program put in force has windows of a second. It is loaded again at the next call,
// whatever its version.
func TestWindow_OfAnOlderProgramIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.WalletBound, account.Unlimited)
	b.admit(t, b.identify(t, h), charge(0))
	names, err := b.meter.Client().Keys(b.ctx, "*:cfg:"+h.account.ID.String()).Result()
	if err != nil || len(names) != 1 {
		t.Fatalf("projections %q, %v", names, err)
	}
	pipe := b.meter.Client().Pipeline()
	pipe.HDel(b.ctx, names[0], "pw")
	pipe.HSet(b.ctx, names[0], "rl", 5, "rw", 1000)
	if _, err := pipe.Exec(b.ctx); err != nil {
		t.Fatal(err)
	}
	if a := b.admit(t, b.identify(t, h), charge(0)); !a.Admitted || a.Limit != 100 {
		t.Errorf("admitted: %t by a window of %d, want 100", a.Admitted, a.Limit)
	}
	if got := b.meter.Client().HGet(b.ctx, names[0], "pl").Val(); got == "" {
		t.Error("an older program finds no projection")
	}
}

package audit_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/usagedb"
)

// recordCalls writes records of charged calls that began at an instant.
func (b *bundle) recordCalls(t *testing.T, h *holder, n int, at time.Time) {
	t.Helper()
	calls := make([]usagedb.Call, n)
	for i := range calls {
		calls[i] = usagedb.Call{
			RequestID: uuid.Must(uuid.NewV7()), StartedAt: at, Account: h.Account, Key: h.Key, Chain: "eth_mainnet",
			Service: "rpc", Method: "eth_call", Class: "standard", Tier: "balanced", Outcome: "ok", HTTPStatus: 200,
			Units: plan.Unit,
		}
	}
	if err := b.store.CopyCalls(b.ctx, calls); err != nil {
		t.Fatal(err)
	}
}

// chargeAt writes usage of n charges at an instant, and a watermark of now.
func (b *bundle) chargeAt(t *testing.T, h *holder, n int64, at time.Time, outcome string) {
	t.Helper()
	period, _ := plan.CalendarMonth(at)
	err := b.store.CommitUsage(b.ctx,
		[]account.UsageBucket{{
			Slot: at.Truncate(10 * time.Second), Account: h.Account, Generation: uuid.NewString(),
			Lines: []account.UsageLine{{
				Period: period.Format(time.DateOnly), Key: h.Key, Chain: "eth_mainnet", Service: "rpc",
				Method: "eth_call", Class: "standard", Tier: "balanced", Outcome: outcome, Source: account.SourcePlan,
				Requests: n, Units: plan.Units(n) * plan.Unit,
			}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	marks := map[int]time.Time{}
	for shard := range account.Shards {
		marks[shard] = time.Now()
	}
	if err := b.store.SaveWatermarks(b.ctx, marks); err != nil {
		t.Fatal(err)
	}
}

// anHour returns the middle of an hour that is over.
func anHour() time.Time { return time.Now().UTC().Truncate(time.Hour).Add(-90 * time.Minute) }

func TestAudit_NamesCallsThatWereServedAndNotBilled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, 100*plan.Unit)
	const charges = 3
	at := anHour()
	b.chargeAt(t, h, charges, at, "ok")
	b.chargeAt(t, h, charges, at.Add(-time.Hour), "ok") // does not hide another hour's
	b.recordCalls(t, h, charges, at)
	b.recordCalls(t, h, charges, at.Add(-time.Hour))
	if _, told := b.audit(t, audit.Options{}); len(told) != 0 {
		t.Fatalf("with a record of every charge: %v", told)
	}
	b.recordCalls(t, h, 2, at) // as when Redis evicted a bucket
	b.chargeAt(t, h, 2, at.Add(-time.Hour), "ok")
	_, told := b.audit(t, audit.Options{})
	in := expect.In(t, "with two calls that were not billed")
	require.Len(in, told, 1)
	expect.Equal(in, told[0].Identity, audit.Calls)
	expect.Equal(in, told[0].Left.Figure, audit.Count(charges+2))
	expect.Equal(in, told[0].Right.Figure, audit.Count(charges))
}

func TestAudit_NamesChargesWithoutARecordOfTheCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, 100*plan.Unit)
	at := anHour()
	b.chargeAt(t, h, 4, at, "ok")
	b.chargeAt(t, h, -1, at, "refund")
	b.recordCalls(t, h, 2, at)
	b.spoil(t, `INSERT INTO lost_calls (nonce, account_id, units, key_id, service, line, mark, not_after)
VALUES ('lost', gen_random_uuid(), 0, gen_random_uuid(), 'rpc', '', 'mark', now())`)
	var named []audit.UnrecordedCharges
	s, told := b.audit(t, audit.Options{Unrecorded: func(u audit.UnrecordedCharges) { named = append(named, u) }})
	in := expect.In(t, "one charge without a record, one lost call and no difference")
	expect.Empty(in, told)
	expect.Equal(in, s.Unrecorded, 1)
	expect.Equal(in, s.LostCalls, 1)
	if want := (audit.UnrecordedCharges{
		Account: h.Account, Key: h.Key, Hour: at.Truncate(time.Hour), Charges: 1,
	}); len(named) != 1 || named[0] != want {
		t.Errorf("named %v, want %v", named, want)
	}
}

package worker_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

// ListUnconfirmed returns nothing.
func (o *outside) ListUnconfirmed(context.Context, time.Duration, time.Duration, *paymentdb.Settlement,
	int,
) ([]paymentdb.Settlement, error) {
	return nil, nil
}

func TestSettlements_GrantedAndUnwatchedAreLookedAt(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), testkit.Postgres(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	record, err := store.Open(ctx, url)
	must(err)
	t.Cleanup(record.Close)
	counters, err := meter.Open(ctx, testkit.Redis(t).URL)
	must(err)
	t.Cleanup(func() { _ = counters.Close() })
	hasher, err := account.NewHasher(bytes.Repeat([]byte("pepper"), 8))
	must(err)
	db, err := pgx.Connect(ctx, url)
	must(err)
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	f := limits.New(record, counters, hasher, time.Now)
	// grant returns a settlement that was granted some time ago, and is final or not.
	grant := func(n byte, ago time.Duration, finality x402.Finality) x402.ID {
		id := x402.ID{Chain: 8453, Tx: x402.TxHash{n}, Payer: wallet.Address{0xa1}}
		sold, _ := plan.FindPerCallTier(plan.Balanced)
		deal, _ := x402.Price(90_000, sold, "US")
		_, err := f.GrantSettlement(ctx, paymentdb.Grant{
			ID: id, Deal: deal, Found: x402.Finding{Paid: 90_000}, Origin: "facilitator",
			Credential: paymentdb.Credential{
				Key: account.NewKeyID(), Digest: account.Digest{n},
				Prefix: "cagx_1234567",
			},
		})
		must(err)
		_, err = db.Exec(ctx,
			"UPDATE settlements SET redeemed_at = redeemed_at - $2::interval, window_ends = window_ends - "+
				"$2::interval, finality = $3 WHERE tx_hash = $1", id.Tx[:], ago, string(finality))
		must(err)
		return id
	}
	fresh := grant(1, 30*time.Minute, x402.FinalityWaiting)
	final := grant(2, 2*time.Hour, x402.FinalityFinal)
	given := grant(3, 31*24*time.Hour, x402.FinalityWaiting)
	late := grant(4, 50*time.Minute, x402.FinalityWaiting)

	server := testkit.Temporal(t)
	c, o := server.Dial(t), &outside{}
	w := o.worker(t, c, server.Namespace, func(options *worker.Options) {
		options.Store, options.NoticeInterval = record, 20*time.Millisecond
	})
	start(t, w)
	ready(t, w)
	watched := func(id x402.ID) bool {
		_, err := c.DescribeWorkflowExecution(ctx, workflows.SettlementID(id), "")
		return err == nil
	}
	testkit.Eventually(t, testTimeout, func() bool { return watched(late) }, "it is looked at")
	// Older ones come first, so these had their turn.
	for what, id := range map[string]x402.ID{"final": final, "given up": given} {
		if watched(id) {
			t.Errorf("one that is %s is looked at", what)
		}
	}
	due, err := record.ListUnconfirmed(ctx, 40*time.Minute, x402.MaxAge, nil, 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	expect.Equal(t, due[0].ID, late)
	all, err := record.ListUnconfirmed(ctx, 0, 2*x402.MaxAge, nil, 2)
	in := expect.In(t, "the first page")
	require.NoError(in, err)
	require.Len(in, all, 2)
	require.Equal(in, all[0].ID, given)
	require.Equal(in, all[1].ID, late)
	rest, err := record.ListUnconfirmed(ctx, 0, 2*x402.MaxAge, &all[1], 2)
	in = expect.In(t, "the second page")
	require.NoError(in, err)
	require.Len(in, rest, 1)
	expect.Equal(in, rest[0].ID, fresh)
}

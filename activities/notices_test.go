package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

const november = "2026-11-01"

// letters is a messenger that keeps its messages.
type letters struct {
	sent []activities.UsageMessage
	err  error
}

func (l *letters) UsageReached(_ context.Context, m activities.UsageMessage) error {
	if l.err == nil {
		l.sent = append(l.sent, m)
	}
	return l.err
}

// noticing is a database with an account on the Free plan, and the activities over it.
type noticing struct {
	store   *store.Store
	account account.ID
	letters letters
	env     *testsuite.TestActivityEnvironment
	notices *activities.Notices
	log     strings.Builder
}

func setupNotices(t *testing.T) (context.Context, *noticing) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	n := &noticing{
		store: s, account: account.NewID(), env: (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment(),
	}
	if _, err := s.CreateAccount(ctx, accountdb.NewAccount{
		ID: n.account, Kind: accountdb.KindOwner, Plan: plan.Free,
	}); err != nil {
		t.Fatal(err)
	}
	n.notices = &activities.Notices{Store: s, Messenger: &n.letters, Logger: slog.New(slog.NewTextHandler(&n.log, nil))}
	n.env.RegisterActivity(n.notices)
	return ctx, n
}

// use books units to the plan.
func (n *noticing) use(ctx context.Context, t *testing.T, generation string, units plan.Units) {
	t.Helper()
	err := n.store.CommitUsage(ctx, []account.UsageBucket{{
		Slot: time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC), Account: n.account, Generation: generation,
		Lines: []account.UsageLine{{
			Period: november, Key: account.NewKeyID(), Outcome: "ok", Source: account.SourcePlan, Requests: 1,
			Units: units,
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func (n *noticing) ref(percent int) activities.NoticeRef {
	return activities.NoticeRef{Account: n.account, Period: november, Percent: percent}
}

// deliver runs the activity some times and verifies that the result is the same.
func (n *noticing) deliver(t *testing.T, percent, times int, want string) {
	t.Helper()
	for range times {
		value, err := n.env.ExecuteActivity(n.notices.DeliverNotice, n.ref(percent))
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := value.Get(&got); err != nil || got != want {
			t.Errorf("the notice of %d percent ended with %q, %v, want %q", percent, got, err, want)
		}
	}
}

func (n *noticing) row(ctx context.Context, t *testing.T, percent int) usagedb.UsageNotice {
	t.Helper()
	row, err := n.store.FindNotice(ctx, usagedb.NoticeID{
		UsagePeriod: usagedb.UsagePeriod{Account: n.account, Period: november}, Percent: percent,
	})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestNotice_IsDeliveredOnceWithTheFiguresOfItsPeriod(t *testing.T) {
	t.Parallel()
	ctx, n := setupNotices(t)
	free := plan.Must(plan.Free).Included
	n.use(ctx, t, "a", free*4/5)
	n.use(ctx, t, "b", plan.Unit)
	n.deliver(t, 80, 3, activities.NoticeDelivered)
	if len(n.letters.sent) != 1 {
		t.Fatalf("%d messages were sent, want one", len(n.letters.sent))
	}
	got := n.letters.sent[0]
	expect.Equal(t, got.Notice.Account, n.account)
	expect.Equal(t, got.Notice.Percent, 80)
	expect.Equal(t, got.Account.Plan, plan.Free)
	expect.Equal(t, got.Allowance, free)
	expect.Equal(t, got.Totals.PlanUnits, free*4/5+plan.Unit)
	expect.Equal(t, got.Totals.Requests, 2)
	if row := n.row(ctx, t, 80); row.Result != activities.NoticeDelivered || row.DeliveredAt.IsZero() {
		t.Errorf("the row is %+v", row)
	}
}

func TestNotice_SaysWhenAnAccountHasNoRecipient(t *testing.T) {
	t.Parallel()
	ctx, n := setupNotices(t)
	n.notices.Messenger = activities.NoRecipients{}
	n.use(ctx, t, "a", plan.Must(plan.Free).Included)
	n.deliver(t, 100, 2, activities.NoticeNoRecipient)
	if row := n.row(ctx, t, 100); row.Result != activities.NoticeNoRecipient || !row.DeliveredAt.IsZero() {
		t.Errorf("the row is %+v, want one that was not delivered", row)
	}
}

func TestNotice_SkipsAShareOfAnAllowanceThatIsUsedUp(t *testing.T) {
	t.Parallel()
	ctx, n := setupNotices(t)
	n.use(ctx, t, "a", plan.Must(plan.Free).Included)
	n.deliver(t, 80, 1, activities.NoticeSuperseded)
	n.deliver(t, 100, 1, activities.NoticeDelivered)
	if len(n.letters.sent) != 1 || n.letters.sent[0].Notice.Percent != 100 {
		t.Errorf("sent %+v, want the notice of 100 percent alone", n.letters.sent)
	}
}

func TestNotice_FailedDeliveryStaysOpenAndKeepsItsCauseOutOfTheHistory(t *testing.T) {
	t.Parallel()
	ctx, n := setupNotices(t)
	n.use(ctx, t, "a", plan.Must(plan.Free).Included*4/5)
	const cause = "smtp.example refused a@b.example"
	n.letters.err = errors.New(cause)
	_, err := n.env.ExecuteActivity(n.notices.DeliverNotice, n.ref(80))
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	in := expect.In(t, "a retryable error without the cause")
	require.True(in, ok)
	expect.Equal(in, failed.Type(), activities.ErrNoticeUndelivered)
	expect.False(in, failed.NonRetryable())
	expect.NotContains(in, err.Error(), "example")
	if !strings.Contains(n.log.String(), cause) {
		t.Errorf("the log is %q, want the cause in it", n.log.String())
	}
	if row := n.row(ctx, t, 80); row.Result != "" {
		t.Errorf("the row is %+v, want it open", row)
	}
	// Once given up it has a result, and a late attempt changes nothing.
	value, err := n.env.ExecuteActivity(n.notices.EndNotice, activities.NoticeEnd{
		NoticeRef: n.ref(80), Result: activities.NoticeFailed,
	})
	if err != nil {
		t.Fatal(err)
	}
	var ended string
	if err := value.Get(&ended); err != nil || ended != activities.NoticeFailed {
		t.Errorf("ended with %q, %v", ended, err)
	}
	n.letters.err = nil
	n.deliver(t, 80, 1, activities.NoticeFailed)
	if len(n.letters.sent) != 0 {
		t.Error("a notice that was given up was sent")
	}
}

func TestNotice_WithoutARowIsNotRetried(t *testing.T) {
	t.Parallel()
	_, n := setupNotices(t)
	_, err := n.env.ExecuteActivity(n.notices.DeliverNotice, n.ref(80))
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	in := expect.In(t, "a final error")
	require.True(in, ok, err)
	expect.Equal(in, failed.Type(), activities.ErrNoticeMissing)
	expect.True(in, failed.NonRetryable())
}

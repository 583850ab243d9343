package activities_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// Addresses that nobody confirmed are not kept for long. Confirmed ones, those under discussion and
// open ones stay.
func TestUpkeep_DeletesUnconfirmedEntriesAndDeclinedWishes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clock := testkit.NewClock(time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	enter := func(address string, at time.Time) account.Email {
		t.Helper()
		email, refusal := account.ParseEmail(address)
		if refusal != nil {
			t.Fatal(refusal)
		}
		_, err := s.JoinWaitlist(ctx, supportdb.Waiting{Email: email, Qualifier: "developer", Channel: "api", At: at},
			account.Digest{}, nil)
		must(err)
		return email
	}
	wish := func(status string) supportdb.WishID {
		t.Helper()
		w := supportdb.Wish{
			ID: supportdb.NewWishID(), Items: "A node", Email: enter("wishes@buyer.example", clock.Now()),
			Channel: "api", At: clock.Now(),
		}
		_, err := s.JoinWishlist(ctx, w, nil, nil)
		must(err)
		if status != "new" {
			_, err = s.AnswerWish(ctx, w.ID, supportdb.Answer{
				Status: status, By: accountdb.Author{Actor: "op@host", Origin: "ops"}, At: clock.Now(),
			}, nil)
			must(err)
		}
		return w.ID
	}
	enter("waiting@buyer.example", clock.Now())
	confirmed := enter("confirmed@buyer.example", clock.Now())
	_, err = s.ConfirmWaiting(ctx, supportdb.Waiting{
		Email: confirmed, Qualifier: "developer", Channel: "link", At: clock.Now(),
	}, account.Digest{})
	must(err)
	for _, status := range supportdb.WishAnswers() {
		wish(status)
	}
	partitions := &activities.Partitions{Store: s, Now: clock.Now}
	keep := func(days int) int64 {
		t.Helper()
		report, err := partitions.KeepPartitions(ctx, activities.PartitionUpkeep{
			KeepCallDays: 30, KeepLedgerDays: 35, KeepEntryDays: days,
		})
		must(err)
		return report.EntriesDeleted
	}
	late := wish("new")
	clock.Advance(30 * 24 * time.Hour)
	_, err = s.AnswerWish(ctx, late, supportdb.Answer{
		Status: "declined", By: accountdb.Author{Actor: "op@host", Origin: "ops"}, At: clock.Now(),
	}, nil)
	must(err)
	if n := keep(30); n != 0 {
		t.Errorf("%d entries were deleted within thirty days", n)
	}
	clock.Advance(time.Second)
	enter("late@buyer.example", clock.Now())
	if n := keep(0); n != 0 { // input of a schedule from before this setting
		t.Errorf("%d entries were deleted by a schedule that does not say for how long to keep them", n)
	}
	if n := keep(30); n != 3 { // two unconfirmed addresses and the old declined wish
		t.Errorf("%d entries were deleted, want 3", n)
	}
	on, err := s.ListWaitlist(ctx, supportdb.WaitlistStatuses(), nil, 10)
	must(err)
	in := expect.In(t, "on the waitlist")
	require.Len(in, on, 2)
	expect.Equal(in, on[0].Email.Address(), "late@buyer.example")
	expect.Equal(in, on[1].Status, "confirmed")
	wishes, err := s.ListWishes(ctx, supportdb.WishStatuses(), supportdb.WishID{}, 10)
	must(err)
	left := map[string]int{}
	for _, w := range wishes {
		left[w.Status]++
	}
	if !maps.Equal(left, map[string]int{"new": 1, "talking": 1, "agreed": 1, "declined": 1}) {
		t.Errorf("the wishes that are left: %v", left)
	}
}

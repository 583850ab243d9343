package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/store"
)

// Nobody proved that these addresses are theirs, so they are not kept for long; what somebody confirmed or talks about is.
func TestUpkeepDeletesEntriesThatNobodyConfirmedOrTookUp(t *testing.T) {
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
		_, err := s.JoinWaitlist(ctx, store.Waiting{Email: email, Qualifier: "developer", Channel: "api", At: at}, account.Digest{}, nil)
		must(err)
		return email
	}
	wish := func(status string) {
		t.Helper()
		w := store.Wish{ID: store.NewWishID(), Items: "A node", Email: enter("wishes@buyer.example", clock.Now()), Channel: "api", At: clock.Now()}
		_, err := s.JoinWishlist(ctx, w, nil, nil)
		must(err)
		if status != "new" {
			_, err = s.AnswerWish(ctx, w.ID, store.Answer{Status: status, By: store.Author{Actor: "op@host", Origin: "ops"}, At: clock.Now()}, nil)
			must(err)
		}
	}
	enter("waiting@buyer.example", clock.Now())
	confirmed := enter("confirmed@buyer.example", clock.Now())
	_, err = s.ConfirmWaiting(ctx, store.Waiting{Email: confirmed, Qualifier: "developer", Channel: "link", At: clock.Now()}, account.Digest{})
	must(err)
	for _, status := range store.WishAnswers() {
		wish(status)
	}
	partitions := &activities.Partitions{Store: s, Now: clock.Now}
	keep := func(days int) int64 {
		t.Helper()
		report, err := partitions.KeepPartitions(ctx, activities.PartitionUpkeep{KeepCallDays: 30, KeepLedgerDays: 35, KeepEntryDays: days})
		must(err)
		return report.EntriesDeleted
	}
	clock.Advance(30 * 24 * time.Hour)
	if n := keep(30); n != 0 {
		t.Errorf("%d entries were deleted within thirty days", n)
	}
	clock.Advance(time.Second)
	enter("late@buyer.example", clock.Now())
	if n := keep(0); n != 0 { // a schedule of before entries
		t.Errorf("%d entries were deleted by a schedule that does not say for how long to keep them", n)
	}
	if n := keep(30); n != 4 { // two addresses that wait, a new wish and one that was declined
		t.Errorf("%d entries were deleted, want 4", n)
	}
	on, err := s.ListWaitlist(ctx, store.WaitlistStatuses(), nil, 10)
	must(err)
	if len(on) != 2 || on[0].Email.Address() != "late@buyer.example" || on[1].Status != "confirmed" {
		t.Errorf("on the waitlist are %+v", on)
	}
	wishes, err := s.ListWishes(ctx, store.WishStatuses(), store.WishID{}, 10)
	must(err)
	if len(wishes) != 2 || wishes[0].Status != "agreed" || wishes[1].Status != "talking" {
		t.Errorf("wishes are %+v", wishes)
	}
}

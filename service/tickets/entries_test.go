package tickets_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/store/supportdb"
)

func TestWaitlist_AddressIsConfirmedByTheLinkOfItsMail(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	link := o.Enter(t, "ann@buyer.example")
	for range 3 { // as mail scanners open links
		shown := servicetest.Must[tickets.ShownEntry](t)(o.ShowEntry.Invoke(o.Ctx, servicetest.Browser(""),
			tickets.EntryInput{Token: link}))
		require.Equal(t, shown.Status, "waiting")
		require.Equal(t, shown.Email, "ann@buyer.example")
		require.True(t, shown.ProductUpdates)
	}
	for range 2 {
		done := servicetest.Must[tickets.ShownEntry](t)(o.ConfirmEntry.Invoke(o.Ctx, servicetest.Browser(""),
			tickets.ConfirmEntryInput{Token: link, ProductUpdates: true}))
		if done.Status != "confirmed" || !done.ProductUpdates {
			t.Errorf("confirmed is %+v", done)
		}
	}
	list, err := o.Store.ListWaitlist(o.Ctx, []string{"confirmed"}, nil, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	expect.False(t, list[0].ConfirmedAt.IsZero())
	expect.Equal(t, list[0].Qualifier, "developer")
}

func TestWaitlist_AddressEnteredByOthersIsRemovedForGood(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	link := o.Enter(t, "ann@buyer.example")
	for range 2 {
		if done := servicetest.Must[tickets.ShownEntry](t)(o.LeaveEntry.Invoke(o.Ctx, servicetest.Browser(""),
			tickets.EntryInput{Token: link})); done.Status != "left" {
			t.Errorf("leaving gives %+v", done)
		}
	}
	again := servicetest.Must[tickets.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.Ctx, servicetest.Browser(""),
		tickets.JoinWaitlistInput{EmailAddress: "Ann@buyer.example", Qualifier: "curious"}))
	if again.Joined || again.AlreadyOnList {
		t.Errorf("entered again: %+v", again)
	}
	list, err := o.Store.ListWaitlist(o.Ctx, supportdb.WaitlistStatuses(), nil, 10)
	require.NoError(t, err)
	expect.Empty(t, list)
	expect.Equal(t, o.Waiting(t)["waitlist_joined"], 1)
	if back := servicetest.Must[tickets.ShownEntry](t)(o.ConfirmEntry.Invoke(o.Ctx, servicetest.Browser(""),
		tickets.ConfirmEntryInput{Token: link})); back.Status != "confirmed" || back.ProductUpdates {
		t.Errorf("put back by its reader: %+v", back)
	}
}

func TestWish_IsWithdrawnByTheLinkOfItsMail(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	for range 2 {
		servicetest.Must[tickets.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.Ctx, servicetest.Browser(""),
			tickets.JoinWishlistInput{
				Items: "A node", Email: "ann@buyer.example",
			}))
	}
	//nolint:errcheck // an empty link fails below
	mail, _ := o.Mails["wish_received ann@buyer.example"].(notify.WishReceived)
	link := servicetest.Token(t, mail.Link)
	if shown := servicetest.Must[tickets.ShownEntry](t)(o.ShowEntry.Invoke(o.Ctx, servicetest.Browser(""),
		tickets.EntryInput{Token: link})); shown.Status != "asked" || shown.Wishes != 2 {
		t.Errorf("the link shows %+v", shown)
	}
	if _, refusal := o.ConfirmEntry.Invoke(o.Ctx, servicetest.Browser(""), tickets.ConfirmEntryInput{
		Token: link,
	}); refusal == nil || refusal.Reason != fault.FieldRefused {
		t.Errorf("a wish is confirmed: %v", refusal)
	}
	for range 2 {
		if done := servicetest.Must[tickets.ShownEntry](t)(o.LeaveEntry.Invoke(o.Ctx, servicetest.Browser(""),
			tickets.EntryInput{Token: link})); done.Status != "withdrawn" {
			t.Errorf("withdrawing gives %+v", done)
		}
	}
	if list, err := o.Store.ListWishes(o.Ctx, supportdb.WishAnswers(), supportdb.WishID{}, 10); err != nil ||
		len(list) != 0 {
		t.Errorf("wishes stand: %+v, %v", list, err)
	}
}

func TestEntryLink_InvalidOneDoesNothing(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	link := o.Enter(t, "ann@buyer.example")
	content := []byte(`{"about":"waitlist","email":"ann@buyer.example","qualifier":"curious"}`)
	over := o.SealLink("what an address was entered for", content, time.Now().Add(-time.Second))
	foreign, err := outbox.New(o.Store, notify.Site{}, []byte(strings.Repeat("peppar", 8)), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{
		"over": over, "cut": link[:len(link)-2], "changed": "A" + link[1:], "empty": "",
		"foreign":        foreign.SealLink("what an address was entered for", content, time.Now().Add(time.Hour)),
		"of another use": o.SealLink("something else", content, time.Now().Add(time.Hour)),
	}
	if bad["changed"] == link {
		bad["changed"] = "B" + link[1:]
	}
	for what, text := range bad {
		t.Run(what, func(t *testing.T) {
			_, shown := o.ShowEntry.Invoke(o.Ctx, servicetest.Browser(""), tickets.EntryInput{Token: text})
			_, confirmed := o.ConfirmEntry.Invoke(o.Ctx, servicetest.Browser(""),
				tickets.ConfirmEntryInput{Token: text})
			_, left := o.LeaveEntry.Invoke(o.Ctx, servicetest.Browser(""), tickets.EntryInput{Token: text})
			for _, refusal := range []*fault.Error{shown, confirmed, left} {
				in := expect.In(t, "%s", what)
				require.NotNil(in, refusal)
				expect.Equal(in, refusal.Reason, fault.FieldRefused)
				expect.Equal(in, strings.Contains(refusal.Message, "is over"), what == "over")
			}
		})
	}
	w, err := o.Store.ListWaitlist(o.Ctx, []string{"waiting"}, nil, 10)
	if err != nil || len(w) != 1 {
		t.Errorf("the list is %+v, %v", w, err)
	}
}

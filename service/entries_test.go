package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/supportdb"
)

// enter puts an address on the waitlist and returns the token of its confirmation mail.
func (o *office) enter(t *testing.T, address string) string {
	t.Helper()
	must[service.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.ctx, browser(""), service.JoinWaitlistInput{
		EmailAddress: address, Qualifier: "developer", ProductUpdates: true,
	}))
	//nolint:errcheck // an empty link fails below
	mail, _ := o.mails["waitlist_joined "+address].(notify.WaitlistJoined)
	if !strings.HasPrefix(mail.Link, "https://gateway.example"+support.EntryPath+"?token=") ||
		strings.Contains(mail.Link, "ann") {
		t.Fatalf("the mail leads to %q", mail.Link)
	}
	return token(t, mail.Link)
}

func TestWaitlist_AddressIsConfirmedByTheLinkOfItsMail(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	link := o.enter(t, "ann@buyer.example")
	for range 3 { // as mail scanners open links
		shown := must[service.ShownEntry](t)(o.ShowEntry.Invoke(o.ctx, browser(""), service.EntryInput{Token: link}))
		if shown.Status != "waiting" || shown.Email != "ann@buyer.example" || !shown.ProductUpdates {
			t.Fatalf("the link shows %+v", shown)
		}
	}
	for range 2 {
		done := must[service.ShownEntry](t)(o.ConfirmEntry.Invoke(o.ctx, browser(""),
			service.ConfirmEntryInput{Token: link, ProductUpdates: true}))
		if done.Status != "confirmed" || !done.ProductUpdates {
			t.Errorf("confirmed is %+v", done)
		}
	}
	list, err := o.store.ListWaitlist(o.ctx, []string{"confirmed"}, nil, 10)
	if err != nil || len(list) != 1 || list[0].ConfirmedAt.IsZero() || list[0].Qualifier != "developer" {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

func TestWaitlist_AddressEnteredByOthersIsRemovedForGood(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	link := o.enter(t, "ann@buyer.example")
	for range 2 {
		if done := must[service.ShownEntry](t)(o.LeaveEntry.Invoke(o.ctx, browser(""),
			service.EntryInput{Token: link})); done.Status != "left" {
			t.Errorf("leaving gives %+v", done)
		}
	}
	again := must[service.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.ctx, browser(""),
		service.JoinWaitlistInput{EmailAddress: "Ann@buyer.example", Qualifier: "curious"}))
	if again.Joined || again.AlreadyOnList {
		t.Errorf("entered again: %+v", again)
	}
	if list, err := o.store.ListWaitlist(o.ctx, supportdb.WaitlistStatuses(), nil, 10); err != nil || len(list) != 0 ||
		o.waiting(t)["waitlist_joined"] != 1 {
		t.Errorf("the list is %+v, %v; mails: %v", list, err, o.waiting(t))
	}
	if back := must[service.ShownEntry](t)(o.ConfirmEntry.Invoke(o.ctx, browser(""),
		service.ConfirmEntryInput{Token: link})); back.Status != "confirmed" || back.ProductUpdates {
		t.Errorf("put back by its reader: %+v", back)
	}
}

func TestWish_IsWithdrawnByTheLinkOfItsMail(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for range 2 {
		must[service.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.ctx, browser(""), service.JoinWishlistInput{
			Items: "A node", Email: "ann@buyer.example",
		}))
	}
	//nolint:errcheck // an empty link fails below
	mail, _ := o.mails["wish_received ann@buyer.example"].(notify.WishReceived)
	link := token(t, mail.Link)
	if shown := must[service.ShownEntry](t)(o.ShowEntry.Invoke(o.ctx, browser(""),
		service.EntryInput{Token: link})); shown.Status != "asked" || shown.Wishes != 2 {
		t.Errorf("the link shows %+v", shown)
	}
	if _, refusal := o.ConfirmEntry.Invoke(o.ctx, browser(""), service.ConfirmEntryInput{
		Token: link,
	}); refusal == nil || refusal.Reason != fault.FieldRefused {
		t.Errorf("a wish is confirmed: %v", refusal)
	}
	for range 2 {
		if done := must[service.ShownEntry](t)(o.LeaveEntry.Invoke(o.ctx, browser(""),
			service.EntryInput{Token: link})); done.Status != "withdrawn" {
			t.Errorf("withdrawing gives %+v", done)
		}
	}
	if list, err := o.store.ListWishes(o.ctx, supportdb.WishAnswers(), supportdb.WishID{}, 10); err != nil ||
		len(list) != 0 {
		t.Errorf("wishes stand: %+v, %v", list, err)
	}
}

func TestEntryLink_InvalidOneDoesNothing(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	link := o.enter(t, "ann@buyer.example")
	content := []byte(`{"about":"waitlist","email":"ann@buyer.example","qualifier":"curious"}`)
	over := o.SealLink("what an address was entered for", content, time.Now().Add(-time.Second))
	foreign, err := outbox.New(o.store, notify.Site{}, []byte(strings.Repeat("peppar", 8)), time.Now)
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
		_, shown := o.ShowEntry.Invoke(o.ctx, browser(""), service.EntryInput{Token: text})
		_, confirmed := o.ConfirmEntry.Invoke(o.ctx, browser(""), service.ConfirmEntryInput{Token: text})
		_, left := o.LeaveEntry.Invoke(o.ctx, browser(""), service.EntryInput{Token: text})
		for _, refusal := range []*fault.Error{shown, confirmed, left} {
			if refusal == nil || refusal.Reason != fault.FieldRefused ||
				strings.Contains(refusal.Message, "is over") != (what == "over") {
				t.Errorf("%s: %v", what, refusal)
			}
		}
	}
	w, err := o.store.ListWaitlist(o.ctx, []string{"waiting"}, nil, 10)
	if err != nil || len(w) != 1 {
		t.Errorf("the list is %+v, %v", w, err)
	}
}

package service_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

func TestFeedback_IsKeptForItsAccountAndAnswered(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann, eve := browser(o.signIn(t, "ann@buyer.example")), browser(o.signIn(t, "eve@other.example"))
	of, _ := account.ParseID(o.whoIs(t, ann.Session).AccountID)
	agentKey, _ := o.agentKey(t, of)
	given := must[service.FeedbackView](t)(o.SubmitFeedback.Invoke(o.ctx, ann, service.SubmitFeedbackInput{
		Kind: "chain", Title: "<b>Sonic</b>", Body: "Please.\nSoon.", Chain: "base_mainnet",
	}))
	if given.Status != "new" || given.Title != "<b>Sonic</b>" || given.Body != "Please.\nSoon." || given.Reply != nil ||
		given.Chain != "base_mainnet" {
		t.Errorf("given is %+v", given)
	}
	agents := must[service.FeedbackView](t)(o.SubmitFeedback.Invoke(o.ctx, holder(agentKey),
		service.SubmitFeedbackInput{Kind: "praise", Title: "Fast"}))
	first := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, ann, service.ListFeedbackInput{Limit: 1}))
	if len(first.Feedback) != 1 || first.Feedback[0].ID != agents.ID || first.NextCursor != agents.ID {
		t.Errorf("the first page is %+v", first)
	}
	second := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, ann, service.ListFeedbackInput{
		Limit: 1, Cursor: first.NextCursor,
	}))
	if len(second.Feedback) != 1 || second.Feedback[0].ID != given.ID || second.NextCursor != "" {
		t.Errorf("the second page is %+v", second)
	}
	if own := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, holder(agentKey),
		service.ListFeedbackInput{})); len(own.Feedback) != 1 || own.Feedback[0].ID != agents.ID {
		t.Errorf("the agent sees %+v", own)
	}
	if none := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, eve,
		service.ListFeedbackInput{})); none.Feedback == nil || len(none.Feedback) != 0 {
		t.Errorf("eve sees %+v", none)
	}
	stored, err := o.store.ListFeedback(o.ctx, supportdb.FeedbackFilter{Account: of, Limit: 10})
	if err != nil || len(stored) != 2 {
		t.Fatal(stored, err)
	}
	if _, err := o.store.AnswerFeedback(o.ctx, stored[1].ID, supportdb.Answer{
		Status: "planned", Reply: "In spring.", By: accountdb.Author{Actor: "op@host", Origin: "ops"}, At: time.Now(),
	}, nil); err != nil {
		t.Fatal(err)
	}
	planned := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, ann, service.ListFeedbackInput{
		Status: "planned",
	}))
	if len(planned.Feedback) != 1 || planned.Feedback[0].Reply == nil || *planned.Feedback[0].Reply != "In spring." {
		t.Errorf("planned is %+v", planned)
	}
	o.refuses(t, o.SubmitFeedback, browser(""), map[string]any{"kind": "other", "title": "x"}, fault.KeyInvalid)
	o.refuses(t, o.ListFeedback, ann, map[string]any{"status": "lost"}, fault.FieldRefused)
}

func onNetwork(prefix string) *service.Caller {
	c := browser("")
	c.Network = netip.MustParsePrefix(prefix)
	return c
}

// Entering somebody else's address sends one mail there ever, without the caller's text. The text
// goes to the operator, limited per network and in total.
func TestWish_IsMailedToTheOperatorAndConfirmedOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	in := service.JoinWishlistInput{Items: "A node\nof <our> own", Email: "victim@third.example"}
	one := onNetwork("192.0.2.44/32")
	for range 5 {
		got := must[service.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.ctx, one, in))
		if !got.Sent || got.Contact != "support@gateway.example" {
			t.Errorf("it is %+v", got)
		}
	}
	if _, refusal := o.JoinWishlist.Invoke(o.ctx, one, in); refusal == nil || refusal.Reason != fault.RateWindow ||
		refusal.RetryAfter <= 0 {
		t.Errorf("the sixth of a network: %v", refusal)
	}
	mail, ok := o.mails["enterprise_wish support@gateway.example"].(notify.EnterpriseWish)
	if !ok || mail.Wanted != "A node\nof <our> own" || mail.ID == "" {
		t.Errorf("the operator is told %+v", mail)
	}
	// The operator gets thirty mails a day; further requests are only recorded.
	sent := 5
	for network := range 6 {
		for range 5 {
			if must[service.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.ctx,
				onNetwork(fmt.Sprintf("198.51.%d.1/32", network)), in)).Sent {
				sent++
			}
		}
	}
	if sent != 30 {
		t.Errorf("%d mails are on their way", sent)
	}
	if got := o.waiting(t); got["wish_received"] != 1 || got["enterprise_wish"] != 30 || len(got) != 2 {
		t.Errorf("mails that wait: %v", got)
	}
	for _, wrong := range []map[string]any{
		{"email": "a@b.example"},
		{"items": "x"},
		{"items": " ", "email": "a@b.example"},
		{"items": "x\x07", "email": "a@b.example"},
		{"items": strings.Repeat("x", 1001), "email": "a@b.example"},
		{"items": "x", "email": "a@b.example, c@d.example"},
		{"items": "x", "email": "a@b.example\r\nBcc: c@d.example"},
		{"items": "x", "email": "a@localhost"},
		{"items": "x", "email": "a@b.example", "to": "c@d.example"},
	} {
		o.refuses(t, o.JoinWishlist, onNetwork("203.0.113.9/32"), wrong, fault.FieldRefused)
	}
}

func TestWaitlist_TakesAnAddressOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	join := func(network int, email, qualifier string) service.JoinedWaitlist {
		t.Helper()
		return must[service.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.ctx,
			onNetwork(fmt.Sprintf("192.0.2.%d/32", network)), service.JoinWaitlistInput{
				EmailAddress: email, Qualifier: qualifier,
			}))
	}
	if got := join(1, "Ann@Buyer.example", "developer"); !got.Joined || got.AlreadyOnList {
		t.Errorf("at first: %+v", got)
	}
	if got := join(2, " ann@buyer.example ", "investor"); !got.Joined || !got.AlreadyOnList {
		t.Errorf("again: %+v", got)
	}
	for i := range 19 {
		join(1, fmt.Sprintf("a%d@buyer.example", i), "curious")
	}
	if _, refusal := o.JoinWaitlist.Invoke(o.ctx, onNetwork("192.0.2.1/32"), service.JoinWaitlistInput{
		EmailAddress: "b@buyer.example", Qualifier: "curious",
	}); refusal == nil || refusal.Reason != fault.RateWindow {
		t.Errorf("the 21st of a network: %v", refusal)
	}
	if got := o.waiting(t); got["waitlist_joined"] != 20 || len(got) != 1 {
		t.Errorf("mails that wait: %v", got)
	}
	for _, wrong := range []map[string]any{
		{"email_address": "x", "qualifier": "curious"},
		{"email_address": "a@b.example"},
		{"email_address": "a@b.example", "qualifier": "rich"},
		{"email_address": "a@b.example", "qualifier": "curious", "source": "a\nb"},
		{"email_address": "a@b.example", "qualifier": "curious", "product_updates": "yes"},
	} {
		o.refuses(t, o.JoinWaitlist, onNetwork("203.0.113.9/32"), wrong, fault.FieldRefused)
	}
}

package tickets_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

func TestFeedback_IsKeptForItsAccountAndAnswered(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann, eve := servicetest.Browser(o.SignIn(t, "ann@buyer.example")),
		servicetest.Browser(o.SignIn(t, "eve@other.example"))
	of, _ := account.ParseID(o.WhoIs(t, ann.Session).AccountID)
	agentKey, _ := o.AgentKey(t, of)
	given := servicetest.Must[tickets.FeedbackView](t)(o.SubmitFeedback.Invoke(o.Ctx, ann, tickets.SubmitFeedbackInput{
		Kind: "chain", Title: "<b>Sonic</b>", Body: "Please.\nSoon.", Chain: "base_mainnet",
	}))
	expect.Equal(t, given.Status, "new")
	expect.Equal(t, given.Title, "<b>Sonic</b>")
	expect.Equal(t, given.Body, "Please.\nSoon.")
	expect.Nil(t, given.Reply)
	expect.Equal(t, given.Chain, "base_mainnet")
	agents := servicetest.Must[tickets.FeedbackView](t)(o.SubmitFeedback.Invoke(o.Ctx, servicetest.Holder(agentKey),
		tickets.SubmitFeedbackInput{Kind: "praise", Title: "Fast"}))
	first := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, ann,
		tickets.ListFeedbackInput{Limit: 1}))
	in := expect.In(t, "the first page")
	require.Len(in, first.Feedback, 1)
	expect.Equal(in, first.Feedback[0].ID, agents.ID)
	expect.Equal(in, first.NextCursor, agents.ID)
	second := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, ann, tickets.ListFeedbackInput{
		Limit: 1, Cursor: first.NextCursor,
	}))
	in = expect.In(t, "the second page")
	require.Len(in, second.Feedback, 1)
	expect.Equal(in, second.Feedback[0].ID, given.ID)
	expect.Equal(in, second.NextCursor, "")
	if own := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, servicetest.Holder(agentKey),
		tickets.ListFeedbackInput{})); len(own.Feedback) != 1 || own.Feedback[0].ID != agents.ID {
		t.Errorf("the agent sees %+v", own)
	}
	if none := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, eve,
		tickets.ListFeedbackInput{})); none.Feedback == nil || len(none.Feedback) != 0 {
		t.Errorf("eve sees %+v", none)
	}
	stored, err := o.Store.ListFeedback(o.Ctx, supportdb.FeedbackFilter{Account: of, Limit: 10})
	if err != nil || len(stored) != 2 {
		t.Fatal(stored, err)
	}
	if _, err := o.Store.AnswerFeedback(o.Ctx, stored[1].ID, supportdb.Answer{
		Status: "planned", Reply: "In spring.", By: accountdb.Author{Actor: "op@host", Origin: "ops"}, At: time.Now(),
	}, nil); err != nil {
		t.Fatal(err)
	}
	planned := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, ann, tickets.ListFeedbackInput{
		Status: "planned",
	}))
	require.Len(t, planned.Feedback, 1)
	require.NotNil(t, planned.Feedback[0].Reply)
	expect.Equal(t, *planned.Feedback[0].Reply, "In spring.")
	o.Refuses(t, o.SubmitFeedback, servicetest.Browser(""), map[string]any{"kind": "other", "title": "x"},
		fault.KeyInvalid)
	o.Refuses(t, o.ListFeedback, ann, map[string]any{"status": "lost"}, fault.FieldRefused)
}

// Entering somebody else's address sends one mail there ever, without the caller's text. The text
// goes to the operator, limited per network and in total.
func TestWish_IsMailedToTheOperatorAndConfirmedOnce(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	in := tickets.JoinWishlistInput{Items: "A node\nof <our> own", Email: "victim@third.example"}
	one := servicetest.OnNetwork("192.0.2.44/32")
	for range 5 {
		got := servicetest.Must[tickets.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.Ctx, one, in))
		if !got.Sent || got.Contact != "support@gateway.example" {
			t.Errorf("it is %+v", got)
		}
	}
	_, refusal := o.JoinWishlist.Invoke(o.Ctx, one, in)
	at := expect.In(t, "the sixth of a network")
	require.NotNil(at, refusal)
	expect.Equal(at, refusal.Reason, fault.RateWindow)
	expect.Greater(at, refusal.RetryAfter, 0)
	mail, ok := o.Mails["enterprise_wish support@gateway.example"].(notify.EnterpriseWish)
	require.True(t, ok)
	expect.Equal(t, mail.Wanted, "A node\nof <our> own")
	expect.NotEqual(t, mail.ID, "")
	// The operator gets thirty mails a day; further requests are only recorded.
	sent := 5
	for network := range 6 {
		for range 5 {
			if servicetest.Must[tickets.JoinedWishlist](t)(o.JoinWishlist.Invoke(o.Ctx,
				servicetest.OnNetwork(fmt.Sprintf("198.51.%d.1/32", network)), in)).Sent {
				sent++
			}
		}
	}
	if sent != 30 {
		t.Errorf("%d mails are on their way", sent)
	}
	got := o.Waiting(t)
	at = expect.In(t, "mails that wait")
	expect.Equal(at, got["wish_received"], 1)
	expect.Equal(at, got["enterprise_wish"], 30)
	expect.Len(at, got, 2)
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
		o.Refuses(t, o.JoinWishlist, servicetest.OnNetwork("203.0.113.9/32"), wrong, fault.FieldRefused)
	}
}

func TestWaitlist_TakesAnAddressOnce(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	join := func(network int, email, qualifier string) tickets.JoinedWaitlist {
		t.Helper()
		return servicetest.Must[tickets.JoinedWaitlist](t)(o.JoinWaitlist.Invoke(o.Ctx,
			servicetest.OnNetwork(fmt.Sprintf("192.0.2.%d/32", network)), tickets.JoinWaitlistInput{
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
	if _, refusal := o.JoinWaitlist.Invoke(o.Ctx, servicetest.OnNetwork("192.0.2.1/32"), tickets.JoinWaitlistInput{
		EmailAddress: "b@buyer.example", Qualifier: "curious",
	}); refusal == nil || refusal.Reason != fault.RateWindow {
		t.Errorf("the 21st of a network: %v", refusal)
	}
	if got := o.Waiting(t); got["waitlist_joined"] != 20 || len(got) != 1 {
		t.Errorf("mails that wait: %v", got)
	}
	for _, wrong := range []map[string]any{
		{"email_address": "x", "qualifier": "curious"},
		{"email_address": "a@b.example"},
		{"email_address": "a@b.example", "qualifier": "rich"},
		{"email_address": "a@b.example", "qualifier": "curious", "source": "a\nb"},
		{"email_address": "a@b.example", "qualifier": "curious", "product_updates": "yes"},
	} {
		o.Refuses(t, o.JoinWaitlist, servicetest.OnNetwork("203.0.113.9/32"), wrong, fault.FieldRefused)
	}
}

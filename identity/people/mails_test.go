package people_test

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store/peopledb"
)

// catches is a mail server that accepts every mail and sends its content on the channel.
type catches chan notify.Content

//nolint:gocritic // the signature is the package's
func (c catches) Deliver(_ context.Context, p notify.Message) error {
	c <- p.Content
	return nil
}

// stopLink sends a user a mail that can be unsubscribed from, and returns the token of its link.
func (b *bundle) stopLink(t *testing.T, s *peopledb.Session, topic account.Topic) string {
	t.Helper()
	err := b.outbox.Queue(b.ctx, outbox.Mail{
		Reason: "test/" + string(topic) + "/" + s.User.String(), To: s.Email.Address(), Topic: topic, User: s.User,
		Expires: time.Now().Add(time.Hour), Mail: notify.IncidentBegan{
			Account: "Buyer", Chain: "Ethereum", Began: time.Now(), Link: "https://gateway.example/overview",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	caught := make(catches, 100)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.outbox.NewSender(b.store, caught, outbox.SenderOptions{Interval: 10 * time.Millisecond}).Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	for {
		select {
		case <-b.ctx.Done():
			t.Fatal("no mail came that can be stopped")
		case c := <-caught:
			if c.Unsubscribe == "" {
				continue // the sign-in mail
			}
			link, err := url.Parse(c.Unsubscribe)
			if err != nil {
				t.Fatal(err)
			}
			return link.Query().Get("token")
		}
	}
}

func TestUnsubscribeLink_StopsItsTopicForItsReaderUntilReversed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	_, bob := b.signIn(t, "bob@buyer.example")
	token := b.stopLink(t, &ann, account.TopicPacks)
	wants := func(when string, s *peopledb.Session, want ...account.Topic) {
		t.Helper()
		got, err := b.people.WantedTopics(b.ctx, s)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, %s wants %v, %v; want %v", when, s.Email.Address(), got, err, want)
		}
	}
	shown, err := b.people.ShowUnsubscribe(b.ctx, token)
	require.NoError(t, err)
	require.Equal(t, shown.Email.Address(), "ann@buyer.example")
	require.Equal(t, shown.Topic, account.TopicPacks)
	wants("after a look", &ann, account.Topics()...)
	for range 2 {
		if stopped, err := b.people.Unsubscribe(b.ctx, token); err != nil || stopped != shown {
			t.Fatalf("it stopped %+v, %v", stopped, err)
		}
	}
	wants("stopped", &ann, account.TopicUsage, account.TopicIncidents)
	wants("stopped", &bob, account.Topics()...)
	if out, err := b.store.ListOptedOut(b.ctx, ann.Account, account.TopicPacks); err != nil ||
		!slices.Equal(out, []account.UserID{ann.User}) {
		t.Errorf("of the account, %v want no mails about packs, %v", out, err)
	}
	if err := b.people.ChooseTopics(b.ctx, &ann, []account.Topic{account.TopicPacks}); err != nil {
		t.Fatal(err)
	}
	wants("chosen", &ann, account.TopicPacks)
	refused(t, b.people.ChooseTopics(b.ctx, &ann, []account.Topic{"weather"}), fault.FieldRefused)
	wants("after a wrong choice", &ann, account.TopicPacks)
}

func TestUnsubscribeLink_ForgedOneStopsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, ann := b.signIn(t, "ann@buyer.example")
	token := b.stopLink(t, &ann, account.TopicUsage)
	for _, wrong := range []string{"", "x", token[:len(token)-2] + "AA", token + token, ann.User.String()} {
		_, err := b.people.ShowUnsubscribe(b.ctx, wrong)
		if f := refused(t, err, fault.FieldRefused); f.Data["field"] != "token" {
			t.Errorf("%q is refused with %v", wrong, f.Data)
		}
		_, err = b.people.Unsubscribe(b.ctx, wrong)
		refused(t, err, fault.FieldRefused)
	}
	if n := b.number(t, "SELECT count(*) FROM mail_opt_outs"); n != 0 {
		t.Errorf("%d mails were stopped", n)
	}
}

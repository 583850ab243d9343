package outbox_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/mailbox"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
)

// incident returns a mail that can be stopped.
func incident(user account.UserID) outbox.Mail {
	return outbox.Mail{
		Reason: "incident/1/began/" + user.String(), To: address, Topic: account.TopicIncidents, User: user,
		Mail: notify.IncidentBegan{
			Account: "Buyer", Chain: "Ethereum", Began: time.Now(), Link: site.URL + "/overview",
		},
	}
}

// stopToken returns the token of the link in a received mail.
func stopToken(t *testing.T, m *mailbox.Mail) string {
	t.Helper()
	link, err := url.Parse(strings.Trim(m.Header("List-Unsubscribe"), "<>"))
	require.NoError(t, err)
	require.Contains(t, m.Text, link.String())
	require.Equal(t, link.Path, outbox.UnsubscribePath)
	return link.Query().Get("token")
}

func TestUnsubscribeLink_NamesReaderAndTopicAndCannotBeForged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := catcher(t, mailbox.Options{})
	run(t, b.outbox.NewSender(b.store, sender(t, box.Address()), impatient()))
	user := account.NewUserID()
	b.queue(t, incident(user))
	m, err := box.Await(b.ctx, address, 1)
	if err != nil {
		t.Fatal(err)
	}
	token := stopToken(t, &m)
	got, topic, ok := b.outbox.ReadUnsubscribe(token)
	require.True(t, ok)
	require.Equal(t, got, user)
	require.Equal(t, topic, account.TopicIncidents)
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for place := range raw {
		changed := append([]byte(nil), raw...)
		changed[place] ^= 1
		if user, topic, ok := b.outbox.ReadUnsubscribe(base64.RawURLEncoding.EncodeToString(changed)); ok {
			t.Errorf("with byte %d changed it is read as %s, %s", place, user, topic)
		}
	}
	other, err := outbox.New(b.store, site, []byte(secret+"x"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := other.ReadUnsubscribe(token); ok {
		t.Error("an outbox with another secret takes it")
	}
	for _, text := range []string{
		"", "x", token + "A", token[:len(token)-1], token + "\n", " " + token, strings.Repeat("A", 1<<20),
		uuid.NewString(),
	} {
		if _, _, ok := b.outbox.ReadUnsubscribe(text); ok {
			t.Errorf("%.60q is taken", text)
		}
	}
}

func TestLetter_ThatCanBeStoppedNamesItsReader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	nobody, unknown := incident(account.UserID{}), incident(account.NewUserID())
	unknown.Topic = "weather"
	for _, l := range []outbox.Mail{nobody, unknown} {
		if _, err := b.outbox.Prepare(l); err == nil {
			t.Errorf("%s of %s was prepared", l.Topic, l.User)
		}
	}
}

package people

import (
	"context"
	"slices"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/peopledb"
)

// Stopped is a user's address and the topic that the user unsubscribes from.
type Stopped struct {
	Email account.Email
	Topic account.Topic
}

// ShowUnsubscribe returns what the link of a mail would stop, and stops nothing: mail scanners
// follow links.
func (p *People) ShowUnsubscribe(ctx context.Context, token string) (Stopped, error) {
	user, topic, ok := p.o.Outbox.ReadUnsubscribe(token)
	if !ok {
		return Stopped{}, badStop()
	}
	email, err := p.o.Store.UserEmail(ctx, user)
	return Stopped{email, topic}, toFault(err, badStop())
}

// Unsubscribe stops the mails of a link until the user chooses them again. It is idempotent. It has
// no rate limit: large mail providers unsubscribe all of their readers from a few networks, and a
// link that is not ours costs nothing.
func (p *People) Unsubscribe(ctx context.Context, token string) (Stopped, error) {
	stopped, err := p.ShowUnsubscribe(ctx, token)
	if err != nil {
		return Stopped{}, err
	}
	user, topic, _ := p.o.Outbox.ReadUnsubscribe(token)
	if err := p.o.Store.OptOut(ctx, user, topic); err != nil {
		return Stopped{}, toFault(err, badStop())
	}
	return stopped, nil
}

func badStop() *fault.Error {
	return fault.New(fault.FieldRefused,
		"This link is not complete. Copy all of it from the mail, or sign in and choose your mails in the "+
			"settings.").With("field", "token")
}

// WantedTopics returns the topics that the session's user gets mails about, in all accounts.
func (p *People) WantedTopics(ctx context.Context, s *peopledb.Session) ([]account.Topic, error) {
	out, err := p.o.Store.ListOptOuts(ctx, s.User)
	if err != nil {
		return nil, toFault(err, nil)
	}
	return slices.DeleteFunc(account.Topics(), func(t account.Topic) bool { return slices.Contains(out, t) }), nil
}

// ChooseTopics sets the topics that the session's user gets mails about.
func (p *People) ChooseTopics(ctx context.Context, s *peopledb.Session, wanted []account.Topic) error {
	all := map[account.Topic]bool{}
	for _, t := range wanted {
		if !t.Known() {
			return fault.New(fault.FieldRefused, "topics takes usage, incidents and packs.").With("field", "topics")
		}
		all[t] = true
	}
	return toFault(p.o.Store.ChooseTopics(ctx, s.User, all), nil)
}

package people

import (
	"context"
	"slices"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store"
)

// Stopped is who stops which mails.
type Stopped struct {
	Email account.Email
	Topic account.Topic
}

// ShowUnsubscribe says what the link of a mail would stop, and stops nothing: programs that look at
// mails follow links.
func (p *People) ShowUnsubscribe(ctx context.Context, token string) (Stopped, error) {
	user, topic, ok := p.o.Outbox.ReadUnsubscribe(token)
	if !ok {
		return Stopped{}, badStop()
	}
	email, err := p.o.Store.UserEmail(ctx, user)
	return Stopped{email, topic}, toFault(err, badStop())
}

// Unsubscribe stops the mails of a link, for good or until the user wants them again. A repeat
// changes nothing more. It has no limit: large mail providers send all of their readers' from a few
// networks, and what is no link of ours costs nothing.
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

// WantedTopics are those that the session's user gets mails about, in any account.
func (p *People) WantedTopics(ctx context.Context, s *store.Session) ([]account.Topic, error) {
	out, err := p.o.Store.ListOptOuts(ctx, s.User)
	if err != nil {
		return nil, toFault(err, nil)
	}
	return slices.DeleteFunc(account.Topics(), func(t account.Topic) bool { return slices.Contains(out, t) }), nil
}

// ChooseTopics makes them those that the session's user gets mails about.
func (p *People) ChooseTopics(ctx context.Context, s *store.Session, wanted []account.Topic) error {
	all := map[account.Topic]bool{}
	for _, t := range wanted {
		if !t.Known() {
			return fault.New(fault.FieldRefused, "topics takes usage, incidents and packs.").With("field", "topics")
		}
		all[t] = true
	}
	return toFault(p.o.Store.ChooseTopics(ctx, s.User, all), nil)
}

package accounts

import (
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
)

// Mails that a user gets. These operations have no route: pages call them in process.

// UnsubscribeInput is the unsubscribe link of a mail.
type UnsubscribeInput struct {
	Token string `json:"token" maxLength:"256" doc:"the token of the link, all of it"`
}

// StoppedMails is what an unsubscribe link stops, and for whom.
type StoppedMails struct {
	Email string        `json:"email"`
	Topic account.Topic `json:"topic" enum:"usage,incidents,packs"`
}

// MailTopics are the topics that the user gets mails about.
type MailTopics struct {
	Topics []account.Topic `json:"topics" enum:"usage,incidents,packs"`
}

// ChooseMailTopicsInput is the topics that the user wants mails about.
type ChooseMailTopicsInput struct {
	Topics []account.Topic `json:"topics" maxItems:"3" enum:"usage,incidents,packs" doc:"all topics that are wanted: usage, incidents, packs; none stops all three"`
}

func (h *handlers) showUnsubscribe() *operation.Operation[UnsubscribeInput, StoppedMails] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "show_unsubscribe_link", Title: "Look at a link that stops mails", Access: operation.Everybody,
		Reads: true,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Says which mails a link would stop for whom, and stops none: programs that look at mails " +
			"follow links.",
	}, func(ctx context.Context, _ *operation.Call, in UnsubscribeInput) (StoppedMails, error) {
		return stoppedMails(h.People.ShowUnsubscribe(ctx, in.Token))
	})
}

func (h *handlers) unsubscribe() *operation.Operation[UnsubscribeInput, StoppedMails] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "unsubscribe", Title: "Stop mails", Access: operation.Everybody,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Stops the mails of a topic for the user whom a link names, in all accounts. A repeat changes " +
			"nothing more.",
	}, func(ctx context.Context, _ *operation.Call, in UnsubscribeInput) (StoppedMails, error) {
		return stoppedMails(h.People.Unsubscribe(ctx, in.Token))
	})
}

func stoppedMails(s people.Stopped, err error) (StoppedMails, error) { //nolint:gocritic // the results of a call
	if err != nil {
		return StoppedMails{}, err
	}
	return StoppedMails{s.Email.Address(), s.Topic}, nil
}

func (h *handlers) listMailTopics() *operation.Operation[operation.Nothing, MailTopics] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_mail_topics", Title: "List what the user gets mails about", Access: operation.Users, Reads: true,
		Fails:       []fault.Reason{fault.DurableUnavailable},
		Description: "Lists the topics that the user gets mails about, as far as their accounts are told of them.",
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (MailTopics, error) {
		topics, err := h.People.WantedTopics(ctx, &c.User.Session)
		return MailTopics{topics}, err
	})
}

func (h *handlers) chooseMailTopics() *operation.Operation[ChooseMailTopicsInput, MailTopics] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "choose_mail_topics", Title: "Choose what the user gets mails about", Access: operation.Users,
		OfUser: true,
		Fails:  []fault.Reason{fault.DurableUnavailable},
		Description: "Makes the topics given those that the user gets mails about, in all accounts. A repeat changes " +
			"nothing more.",
	}, func(ctx context.Context, c *operation.Call, in ChooseMailTopicsInput) (MailTopics, error) {
		if err := h.People.ChooseTopics(ctx, &c.User.Session, in.Topics); err != nil {
			return MailTopics{}, err
		}
		topics, err := h.People.WantedTopics(ctx, &c.User.Session)
		return MailTopics{topics}, err
	})
}

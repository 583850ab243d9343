package service

import (
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/fault"
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

func (h *service) showUnsubscribe() *Operation[UnsubscribeInput, StoppedMails] {
	return define(h, Meta{
		Name: "show_unsubscribe_link", Title: "Look at a link that stops mails", Access: Everybody, Reads: true,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Says which mails a link would stop for whom, and stops none: programs that look at mails " +
			"follow links.",
	}, func(ctx context.Context, _ *Call, in UnsubscribeInput) (StoppedMails, error) {
		return stoppedMails(h.People.ShowUnsubscribe(ctx, in.Token))
	})
}

func (h *service) unsubscribe() *Operation[UnsubscribeInput, StoppedMails] {
	return define(h, Meta{
		Name: "unsubscribe", Title: "Stop mails", Access: Everybody, Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Stops the mails of a topic for the user whom a link names, in all accounts. A repeat changes " +
			"nothing more.",
	}, func(ctx context.Context, _ *Call, in UnsubscribeInput) (StoppedMails, error) {
		return stoppedMails(h.People.Unsubscribe(ctx, in.Token))
	})
}

func stoppedMails(s people.Stopped, err error) (StoppedMails, error) { //nolint:gocritic // the results of a call
	if err != nil {
		return StoppedMails{}, err
	}
	return StoppedMails{s.Email.Address(), s.Topic}, nil
}

func (h *service) listMailTopics() *Operation[Nothing, MailTopics] {
	return define(h, Meta{
		Name: "list_mail_topics", Title: "List what the user gets mails about", Access: Users, Reads: true,
		Fails:       []fault.Reason{fault.DurableUnavailable},
		Description: "Lists the topics that the user gets mails about, as far as their accounts are told of them.",
	}, func(ctx context.Context, c *Call, _ Nothing) (MailTopics, error) {
		topics, err := h.People.WantedTopics(ctx, &c.User.session)
		return MailTopics{topics}, err
	})
}

func (h *service) chooseMailTopics() *Operation[ChooseMailTopicsInput, MailTopics] {
	return define(h, Meta{
		Name: "choose_mail_topics", Title: "Choose what the user gets mails about", Access: Users, OfUser: true,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Makes the topics given those that the user gets mails about, in all accounts. A repeat changes " +
			"nothing more.",
	}, func(ctx context.Context, c *Call, in ChooseMailTopicsInput) (MailTopics, error) {
		if err := h.People.ChooseTopics(ctx, &c.User.session, in.Topics); err != nil {
			return MailTopics{}, err
		}
		topics, err := h.People.WantedTopics(ctx, &c.User.session)
		return MailTopics{topics}, err
	})
}

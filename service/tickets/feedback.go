package tickets

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/supportdb"
)

// SubmitFeedbackInput is feedback on the service.
type SubmitFeedbackInput struct {
	Kind  string `json:"kind" enum:"feature,chain,praise,complaint,other" doc:"feature: something to build; chain: a chain to serve; praise; complaint; other"`
	Title string `json:"title" minLength:"1" maxLength:"140" doc:"in one line of 1 to 140 characters" example:"WebSocket subscriptions"`
	Body  string `json:"body,omitempty" maxLength:"5000" doc:"more of it, up to 5,000 characters" example:"We follow new heads and would rather not poll."`
	Chain string `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"the served chain that it is about; absent for none"`
	Form  string `json:"form,omitempty" format:"uuid" doc:"an id that you make, a UUID: for one entry: the same sent again with it is not recorded again, anything else with it is refused; absent for none" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

// FeedbackView is feedback as shown to its author (docs/interface.md, 2.2).
type FeedbackView struct {
	ID        string    `json:"id" format:"uuid"`
	Kind      string    `json:"kind" enum:"feature,chain,praise,complaint,other"`
	Title     string    `json:"title"`
	Body      string    `json:"body,omitempty" doc:"as it was written"`
	Chain     chain.ID  `json:"chain,omitempty"`
	Status    string    `json:"status" enum:"new,reviewed,planned,shipped,declined"`
	Reply     *string   `json:"reply" nullable:"true" doc:"what the service says to it; null while it says nothing"`
	CreatedAt time.Time `json:"created_at"`
}

// ListFeedbackInput selects a page of feedback.
type ListFeedbackInput struct {
	Status string `json:"status,omitempty" enum:"new,reviewed,planned,shipped,declined" doc:"only that with this status; absent for all"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"how many, newest first; 1 to 100" example:"20"`
	Cursor string `json:"cursor,omitempty" format:"uuid" doc:"next_cursor of the page before, a UUID; absent for the first" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

// FeedbackList is a page of feedback, newest first.
type FeedbackList struct {
	Feedback   []FeedbackView `json:"feedback"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last one"`
}

func (h *handlers) submitFeedback() *operation.Operation[SubmitFeedbackInput, FeedbackView] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "submit_feedback", Title: "Give feedback", Access: operation.Holders, OfUser: true,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Records a wish, praise or a complaint for those who build the service; what becomes of it " +
			"stands in list_feedback. For something that fails file a ticket instead. Each repeat records it again, " +
			"up to 1,000 times for an account, unless it comes with the id of the same form. It costs nothing.",
	}, h.runSubmitFeedback)
}

func (h *handlers) runSubmitFeedback(ctx context.Context, c *operation.Call,
	in SubmitFeedbackInput,
) (FeedbackView, error) {
	if refusal := prose("title", in.Title, false); refusal != nil {
		return FeedbackView{}, refusal
	}
	if in.Body != "" {
		if refusal := prose("body", in.Body, true); refusal != nil {
			return FeedbackView{}, refusal
		}
	}
	form, refusal := formOf(in.Form)
	if refusal != nil {
		return FeedbackView{}, refusal
	}
	by := writerOf(c)
	by.Form = form
	f, err := h.support.SubmitFeedback(ctx, by, supportdb.Feedback{
		ID: supportdb.NewFeedbackID(), Kind: in.Kind, Title: in.Title, Body: in.Body, Chain: chain.ID(in.Chain),
		CreatedAt: h.Now(),
	})
	if errors.Is(err, supportdb.ErrTooMuchFeedback) {
		return FeedbackView{}, fault.New(fault.FieldRefused,
			"The account has given feedback %d times, as often as it may. Write to %s instead.", supportdb.MaxFeedback,
			h.Contact)
	}
	if err != nil {
		return FeedbackView{}, toldOfTickets(err)
	}
	return feedbackView(&f), nil
}

func (h *handlers) listFeedback() *operation.Operation[ListFeedbackInput, FeedbackList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_feedback", Title: "List feedback", Access: operation.Holders, Reads: true, OfUser: true,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Lists the account's feedback with its status and what the service replied, newest first, by " +
			"pages. An agent's key sees its agent's, one that was adopted or has no owner its own. It costs nothing.",
	}, h.runListFeedback)
}

func (h *handlers) runListFeedback(ctx context.Context, c *operation.Call, in ListFeedbackInput) (FeedbackList, error) {
	if in.Limit == 0 {
		in.Limit = defaultTickets
	}
	filter := supportdb.FeedbackFilter{Account: c.Account.ID, Scope: c.Scope(), Status: in.Status, Limit: in.Limit + 1}
	if in.Cursor != "" {
		id, err := uuid.Parse(in.Cursor)
		if err != nil {
			return FeedbackList{}, fault.New(fault.FieldRefused, "cursor takes next_cursor of the page before.")
		}
		filter.Before = supportdb.FeedbackID{UUID: id}
	}
	all, err := h.Store.ListFeedback(ctx, filter)
	if err != nil {
		return FeedbackList{}, operation.ToFault(err, "feedback")
	}
	list := FeedbackList{Feedback: []FeedbackView{}}
	for i := range all[:min(len(all), in.Limit)] {
		list.Feedback = append(list.Feedback, feedbackView(&all[i]))
	}
	if len(all) > in.Limit {
		list.NextCursor = all[in.Limit-1].ID.String()
	}
	return list, nil
}

func feedbackView(f *supportdb.Feedback) FeedbackView {
	v := FeedbackView{
		ID: f.ID.String(), Kind: f.Kind, Title: f.Title, Body: f.Body, Chain: f.Chain, Status: f.Status,
		CreatedAt: f.CreatedAt,
	}
	if f.Reply != "" {
		v.Reply = &f.Reply
	}
	return v
}

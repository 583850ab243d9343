package tickets

import (
	"context"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/supportdb"
)

// DeskReplyInput is a reply of staff to a ticket, or a change of its state.
type DeskReplyInput struct {
	Reference string `json:"reference" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"a ticket: CAG- and its number" example:"CAG-1001"`
	Message   string `json:"message,omitempty" maxLength:"5000" doc:"what the customer is answered, up to 5,000 characters; may be absent when you resolve or reopen" example:"The second upstream is back. Does it work now?"`
	Resolve   bool   `json:"resolve,omitempty" doc:"true says that nothing is left to do; it closes after seven days" example:"false"`
	Reopen    bool   `json:"reopen,omitempty" doc:"true opens a resolved or closed ticket again" example:"false"`
	Seen      int    `json:"seen" minimum:"1" maximum:"201" doc:"how many messages the ticket had when you read it, 1 to 201: refused when others came since" example:"3"`
	Form      string `json:"form,omitempty" format:"uuid" doc:"an id that you make, a UUID: for one reply: the same sent again with it is not taken again, anything else with it is refused; absent for none" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

func (h *handlers) deskReplyTicket() *operation.Operation[DeskReplyInput, TicketView] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "desk_reply_ticket", Title: "Answer a ticket", Access: operation.Staff, OfUser: true, Fails: deskFails,
		Description: "Answers a ticket of whichever account, resolves it or opens it again, and mails what was " +
			"written to whoever filed it, or to the owners of the account. Refused when somebody wrote that the " +
			"writer has not seen.",
	}, h.runDeskReplyTicket)
}

func (h *handlers) runDeskReplyTicket(ctx context.Context, c *operation.Call, in DeskReplyInput) (TicketView, error) {
	number, ok := ticket.ParseReference(in.Reference)
	if !ok {
		return TicketView{}, noDeskTicket()
	}
	if in.Message != "" {
		if refusal := prose("message", in.Message, true); refusal != nil {
			return TicketView{}, refusal
		}
	}
	form, refusal := formOf(in.Form)
	if refusal != nil {
		return TicketView{}, refusal
	}
	by := c.Author("")
	t, verdict, err := h.support.ReplyTicket(ctx, supportdb.TicketReply{
		Number: number, By: ticket.Operator, Actor: by.Actor, Origin: by.Origin, Text: in.Message, Resolve: in.Resolve,
		Reopen: in.Reopen, Seen: &in.Seen, Form: form, At: h.Now(),
	})
	if err != nil {
		return TicketView{}, toldOfDesk(err)
	}
	if refusal := unmoved(verdict, t.Status); refusal != nil {
		return TicketView{}, refusal
	}
	h.tellTicket(ctx, &t)
	return h.deskView(&t), nil
}

// DeskFeedbackInput selects a page of feedback of all accounts.
type DeskFeedbackInput struct {
	Status string `json:"status,omitempty" enum:"new,reviewed,planned,shipped,declined,all" default:"new" doc:"which feedback; new (default) is what nobody answered"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"how many, newest first; 1 to 100" example:"20"`
	Cursor string `json:"cursor,omitempty" format:"uuid" doc:"next_cursor of the page before, a UUID; absent for the first" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

// DeskFeedback is feedback as the desk sees it.
type DeskFeedback struct {
	FeedbackView

	AccountID string `json:"account_id" format:"uuid"`
	Account   string `json:"account" doc:"what the account is called; may be empty"`
	Plan      string `json:"plan" doc:"key of the account's plan"`
	Answers   int    `json:"answers" doc:"how often it was answered"`
}

// DeskFeedbackList is a page of feedback of all accounts, newest first.
type DeskFeedbackList struct {
	Feedback   []DeskFeedback `json:"feedback"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last one"`
}

func (h *handlers) deskListFeedback() *operation.Operation[DeskFeedbackInput, DeskFeedbackList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "desk_list_feedback", Title: "List feedback of all accounts", Access: operation.Staff, Reads: true,
		Fails: deskFails,
		Description: "Lists the feedback of all accounts, newest first, by pages; what nobody answered unless a " +
			"status is named.",
	}, h.runDeskListFeedback)
}

func (h *handlers) runDeskListFeedback(ctx context.Context, _ *operation.Call,
	in DeskFeedbackInput,
) (DeskFeedbackList, error) {
	if in.Limit == 0 {
		in.Limit = defaultTickets
	}
	statuses, before := []string{in.Status}, supportdb.FeedbackID{}
	switch in.Status {
	case "":
		statuses = []string{"new"}
	case "all":
		statuses = supportdb.FeedbackStatuses()
	}
	if in.Cursor != "" {
		id, err := uuid.Parse(in.Cursor)
		if err != nil {
			return DeskFeedbackList{}, fault.New(fault.FieldRefused, "cursor takes next_cursor of the page before.")
		}
		before.UUID = id
	}
	all, err := h.Store.ListDeskFeedback(ctx, statuses, before, in.Limit+1)
	if err != nil {
		return DeskFeedbackList{}, operation.ToFault(err, "feedback")
	}
	list := DeskFeedbackList{Feedback: []DeskFeedback{}}
	for i := range all[:min(len(all), in.Limit)] {
		f := &all[i]
		list.Feedback = append(list.Feedback, DeskFeedback{
			feedbackView(&f.Feedback), f.Account.String(), f.AccountName, f.Plan, f.Answers,
		})
	}
	if len(all) > in.Limit {
		list.NextCursor = all[in.Limit-1].ID.String()
	}
	return list, nil
}

// AnswerFeedbackInput is the answer to feedback, and its new status.
type AnswerFeedbackInput struct {
	ID     string `json:"id" format:"uuid" doc:"of the feedback, a UUID" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
	Status string `json:"status" enum:"new,reviewed,planned,shipped,declined" doc:"what becomes of it"`
	Reply  string `json:"reply,omitempty" maxLength:"5000" doc:"what its giver is told, up to 5,000 characters; absent for nothing" example:"We build it in spring."`
	Seen   int    `json:"seen" minimum:"0" maximum:"1000000" doc:"how often it was answered when you read it: refused when somebody answered since" example:"0"`
}

func (h *handlers) deskAnswerFeedback() *operation.Operation[AnswerFeedbackInput, FeedbackView] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "desk_answer_feedback", Title: "Answer feedback", Access: operation.Staff, OfUser: true, Fails: deskFails,
		Description: "Says what becomes of feedback, and mails it to whoever gave it, or to the owners of the " +
			"account. The same answer again changes nothing.",
	}, h.runDeskAnswerFeedback)
}

func (h *handlers) runDeskAnswerFeedback(ctx context.Context, c *operation.Call,
	in AnswerFeedbackInput,
) (FeedbackView, error) {
	if in.Reply != "" {
		if refusal := prose("reply", in.Reply, true); refusal != nil {
			return FeedbackView{}, refusal
		}
	}
	id, err := uuid.Parse(in.ID)
	if err != nil {
		return FeedbackView{}, noFeedback()
	}
	f, err := h.support.AnswerFeedback(ctx, supportdb.FeedbackID{UUID: id}, supportdb.Answer{
		Status: in.Status, Reply: in.Reply, By: c.Author(""), Seen: &in.Seen, At: h.Now(),
	})
	if err != nil {
		refusal := toldOfDesk(err)
		if fault.From(refusal).Reason == fault.NotYours {
			return FeedbackView{}, noFeedback()
		}
		return FeedbackView{}, refusal
	}
	return feedbackView(&f), nil
}

func noFeedback() *fault.Error {
	return fault.New(fault.NotYours, "No feedback has this id. List it to see what there is.")
}

package tickets

import (
	"context"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
)

// PreviewTicketInput names the call of a ticket that is not filed yet.
type PreviewTicketInput struct {
	RequestID string `json:"request_id,omitempty" format:"uuid" doc:"the call that the ticket would be about: data.request_id of its error, a UUID; absent for none" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

// TicketPreview is what a ticket would contain if it were filed now.
type TicketPreview struct {
	Evidence       ticket.Evidence `json:"evidence" doc:"what would be attached"`
	Category       ticket.Category `json:"category" enum:"incident,question,billing,other" doc:"what the evidence says that it is about"`
	SuggestedPaths []ticket.Path   `json:"suggested_paths" doc:"what to try first"`
}

func (h *handlers) previewTicket() *operation.Operation[PreviewTicketInput, TicketPreview] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "preview_ticket", Title: "Preview a ticket", Access: operation.Holders, Reads: true, OfUser: true,
		Fails: ticketFails,
		Description: "Shows what create_ticket would attach: the call, the refusals of the last 24 hours, the fences " +
			"and the state of the chain. It files nothing and costs nothing.",
	}, h.runPreviewTicket)
}

func (h *handlers) runPreviewTicket(ctx context.Context, c *operation.Call,
	in PreviewTicketInput,
) (TicketPreview, error) {
	request, refusal := requestID(in.RequestID)
	if refusal != nil {
		return TicketPreview{}, refusal
	}
	e, err := h.evidence(ctx, c, request)
	if err != nil {
		return TicketPreview{}, err
	}
	return TicketPreview{Evidence: evidenceFor(c, e), Category: e.Category(), SuggestedPaths: e.Paths()}, nil
}

// requestID parses a request id. An empty text is uuid.Nil.
func requestID(text string) (uuid.UUID, *fault.Error) {
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, fault.New(fault.FieldRefused,
			"request_id takes a UUID, as data.request_id of an error gives it.")
	}
	return id, nil
}

// evidenceFor returns the evidence as the caller may see it. Only callers who manage the account
// see its caps.
func evidenceFor(c *operation.Call, e ticket.Evidence) ticket.Evidence {
	if !c.Manages() {
		e.Fences.Account.Caps = map[string]plan.Units{}
	}
	return e
}

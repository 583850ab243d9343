// Package tickets has the operations of support: tickets with their evidence, feedback, the
// lists that addresses are entered on, and the desk of the staff.
package tickets

import (
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store     *store.Store
	Hasher    *account.Hasher
	Pool      *upstream.Pool // which chains are served
	Flows     *workflows.Client
	PublicURL string // without a trailing slash
	Now       func() time.Time
	Contact   string // an e-mail address, for problems that only people can solve
	Mails     Mailer
	Logger    *slog.Logger
	Usage     *usage.Reader
}

// Operations are the operations of this package.
type Operations struct {
	CreateTicket       *operation.Operation[CreateTicketInput, CreatedTicket]
	PreviewTicket      *operation.Operation[PreviewTicketInput, TicketPreview]
	ListTickets        *operation.Operation[ListTicketsInput, TicketList]
	GetTicket          *operation.Operation[TicketInput, TicketDetail]
	ReplyTicket        *operation.Operation[ReplyTicketInput, TicketView]
	SubmitFeedback     *operation.Operation[SubmitFeedbackInput, FeedbackView]
	ListFeedback       *operation.Operation[ListFeedbackInput, FeedbackList]
	JoinWishlist       *operation.Operation[JoinWishlistInput, JoinedWishlist]
	JoinWaitlist       *operation.Operation[JoinWaitlistInput, JoinedWaitlist]
	ShowEntry          *operation.Operation[EntryInput, ShownEntry]
	ConfirmEntry       *operation.Operation[ConfirmEntryInput, ShownEntry]
	LeaveEntry         *operation.Operation[EntryInput, ShownEntry]
	DeskListTickets    *operation.Operation[DeskTicketsInput, DeskTickets]
	DeskGetTicket      *operation.Operation[DeskTicketInput, DeskTicketDetail]
	DeskReplyTicket    *operation.Operation[DeskReplyInput, TicketView]
	DeskListFeedback   *operation.Operation[DeskFeedbackInput, DeskFeedbackList]
	DeskAnswerFeedback *operation.Operation[AnswerFeedbackInput, FeedbackView]
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner

	support  *support.Service
	failures *telemetry.LogLimit[fault.Reason]
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{
		Dependencies: d, Runner: r,
		support: &support.Service{
			Store: d.Store, Mails: d.Mails, Hasher: d.Hasher, PublicURL: d.PublicURL,
			Contact: d.Contact,
		},
		failures: telemetry.NewLogLimit[fault.Reason](telemetry.LinesPerKind, telemetry.LogInterval, d.Now),
	}
	return &Operations{
		CreateTicket:       h.createTicket(),
		PreviewTicket:      h.previewTicket(),
		ListTickets:        h.listTickets(),
		GetTicket:          h.getTicket(),
		ReplyTicket:        h.replyTicket(),
		SubmitFeedback:     h.submitFeedback(),
		ListFeedback:       h.listFeedback(),
		JoinWishlist:       h.joinWishlist(),
		JoinWaitlist:       h.joinWaitlist(),
		ShowEntry:          h.showEntry(),
		ConfirmEntry:       h.confirmEntry(),
		LeaveEntry:         h.leaveEntry(),
		DeskListTickets:    h.deskListTickets(),
		DeskGetTicket:      h.deskGetTicket(),
		DeskReplyTicket:    h.deskReplyTicket(),
		DeskListFeedback:   h.deskListFeedback(),
		DeskAnswerFeedback: h.deskAnswerFeedback(),
	}
}

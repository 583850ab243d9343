package site

import (
	"context"
	"slices"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/service/statements"
	"github.com/chainaccess/gateway/service/status"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/service/usage"
)

// Call runs one operation in process.
type Call[In, Out any] func(context.Context, *operation.Caller, In) (Out, *fault.Error)

// Calls are the operations that the pages use. CallsOf fills it.
type Calls struct {
	StartSignIn  Call[accounts.StartSignInInput, accounts.StartedSignIn]
	ShowLink     Call[accounts.SignInLinkInput, accounts.ShownSignIn]
	FinishByLink Call[accounts.SignInLinkInput, accounts.Entered]
	FinishByCode Call[accounts.SignInCodeInput, accounts.Entered]

	ShowSession       Call[operation.Nothing, accounts.CurrentSession]
	SignOut           Call[operation.Nothing, operation.Nothing]
	SignOutEverywhere Call[operation.Nothing, accounts.EndedSessions]
	ListSessions      Call[operation.Nothing, accounts.SessionList]
	EndSession        Call[accounts.EndSessionInput, operation.Nothing]
	ListAccounts      Call[operation.Nothing, accounts.AccountChoice]
	SwitchAccount     Call[accounts.SwitchAccountInput, operation.Nothing]

	ListMembers      Call[operation.Nothing, accounts.MemberList]
	InviteMember     Call[accounts.InviteMemberInput, accounts.Invitation]
	RevokeInvitation Call[accounts.InvitationInput, operation.Nothing]
	ShowInvitation   Call[accounts.InvitationLinkInput, accounts.Invitation]
	AcceptInvitation Call[accounts.InvitationLinkInput, accounts.Entered]
	ChangeMember     Call[accounts.ChangeMemberInput, operation.Nothing]
	RemoveMember     Call[accounts.RemoveMemberInput, operation.Nothing]

	BillingStatus  Call[operation.Nothing, billing.BillingStatus]
	PriceLadder    Call[operation.Nothing, billing.PriceLadder]
	StartCheckout  Call[billing.StartCheckoutInput, billing.StartedCheckout]
	FinishCheckout Call[billing.FinishCheckoutInput, billing.FinishedCheckout]
	ChangePlan     Call[billing.ChangePlanInput, billing.PlanChange]
	CancelPlan     Call[operation.Nothing, billing.PlanChange]
	ResumePlan     Call[operation.Nothing, billing.PlanChange]
	OpenPortal     Call[operation.Nothing, billing.Portal]
	ListInvoices   Call[billing.ListInvoicesInput, billing.InvoiceList]
	ShowInvoice    Call[billing.ShowInvoiceInput, billing.InvoicePage]

	ListStatements  Call[operation.Nothing, statements.StatementList]
	GetStatement    Call[statements.StatementInput, statement.Statement]
	ExportStatement Call[statements.ExportStatementInput, statements.StatementTable]

	ShowUnsubscribe  Call[accounts.UnsubscribeInput, accounts.StoppedMails]
	Unsubscribe      Call[accounts.UnsubscribeInput, accounts.StoppedMails]
	ListMailTopics   Call[operation.Nothing, accounts.MailTopics]
	ChooseMailTopics Call[accounts.ChooseMailTopicsInput, accounts.MailTopics]

	ShowEntry    Call[tickets.EntryInput, tickets.ShownEntry]
	ConfirmEntry Call[tickets.ConfirmEntryInput, tickets.ShownEntry]
	LeaveEntry   Call[tickets.EntryInput, tickets.ShownEntry]

	UsageByDay        Call[usage.UsageByDayInput, usage.UsageByDay]
	ExploreUsage      Call[usage.ExploreUsageInput, usage.ExploredUsage]
	ExportUsage       Call[usage.ExploreUsageInput, usage.UsageTable]
	GetInsights       Call[operation.Nothing, advice.UsageInsights]
	CreateKey         Call[keys.CreateKeyInput, keys.CreatedKey]
	ListKeys          Call[keys.ListKeysInput, keys.KeyList]
	ConfigureKey      Call[keys.ConfigureKeyInput, keys.ConfiguredKey]
	RevokeKey         Call[keys.RevokeKeyInput, keys.RevokedKey]
	ConfigureServices Call[keys.ConfigureServicesInput, keys.ConfiguredServices]
	UpdateAccount     Call[accounts.UpdateAccountInput, accounts.AccountSettings]
	NameAccount       Call[accounts.NameAccountInput, accounts.NamedAccount]
	ListAudit         Call[accounts.ListAuditInput, accounts.AuditLog]
	ListAgents        Call[operation.Nothing, agents.AgentList]
	AdoptKey          Call[agents.AdoptKeyInput, agents.AdoptedKey]

	ClaimAgentStart    Call[agents.ClaimAgentStartInput, agents.Challenged]
	ClaimAgentComplete Call[agents.ClaimAgentInput, agents.ClaimedAgent]

	GetStatus      Call[operation.Nothing, status.Status]
	PreviewTicket  Call[tickets.PreviewTicketInput, tickets.TicketPreview]
	CreateTicket   Call[tickets.CreateTicketInput, tickets.CreatedTicket]
	ListTickets    Call[tickets.ListTicketsInput, tickets.TicketList]
	GetTicket      Call[tickets.TicketInput, tickets.TicketDetail]
	ReplyTicket    Call[tickets.ReplyTicketInput, tickets.TicketView]
	SubmitFeedback Call[tickets.SubmitFeedbackInput, tickets.FeedbackView]
	ListFeedback   Call[tickets.ListFeedbackInput, tickets.FeedbackList]

	// The desk, for staff.
	DeskListTickets    Call[tickets.DeskTicketsInput, tickets.DeskTickets]
	DeskGetTicket      Call[tickets.DeskTicketInput, tickets.DeskTicketDetail]
	DeskReplyTicket    Call[tickets.DeskReplyInput, tickets.TicketView]
	DeskListFeedback   Call[tickets.DeskFeedbackInput, tickets.DeskFeedbackList]
	DeskAnswerFeedback Call[tickets.AnswerFeedbackInput, tickets.FeedbackView]

	GetReceipt Call[payments.ReceiptInput, payments.Receipt]

	// For public pages.
	GetKey      Call[keys.GetKeyInput, keys.Welcome]
	ListPlans   Call[operation.Nothing, advice.PlanList]
	PriceVolume Call[advice.PriceVolumeInput, billing.PriceLadder]

	// Tools are the metered operations, which visitors may use on the toolbox page. Their forms are
	// generated from their schemas.
	Tools []operation.Definition
}

// CallsOf returns the operations that the pages use.
func CallsOf(c *service.Registry) Calls {
	return Calls{
		StartSignIn: c.StartSignIn.Invoke, ShowLink: c.ShowSignInLink.Invoke, FinishByLink: c.FinishSignInByLink.Invoke,
		FinishByCode: c.FinishSignInByCode.Invoke, ShowSession: c.ShowSession.Invoke, SignOut: c.SignOut.Invoke,
		SignOutEverywhere: c.SignOutEverywhere.Invoke, ListSessions: c.ListSessions.Invoke,
		EndSession: c.EndSession.Invoke, ListAccounts: c.ListAccounts.Invoke, SwitchAccount: c.SwitchAccount.Invoke,
		ListMembers: c.ListMembers.Invoke, InviteMember: c.InviteMember.Invoke,
		RevokeInvitation: c.RevokeInvitation.Invoke, ShowInvitation: c.ShowInvitation.Invoke,
		AcceptInvitation: c.AcceptInvitation.Invoke, ChangeMember: c.ChangeMember.Invoke,
		RemoveMember: c.RemoveMember.Invoke, ExploreUsage: c.ExploreUsage.Invoke, ExportUsage: c.ExportUsage.Invoke,
		GetInsights: c.GetInsights.Invoke, UsageByDay: c.UsageByDay.Invoke, CreateKey: c.CreateKey.Invoke,
		ListKeys: c.ListKeys.Invoke, ConfigureKey: c.ConfigureKey.Invoke, RevokeKey: c.RevokeKey.Invoke,
		ConfigureServices: c.ConfigureServices.Invoke, UpdateAccount: c.UpdateAccount.Invoke,
		NameAccount: c.NameAccount.Invoke, ListAudit: c.ListAudit.Invoke, ListAgents: c.ListAgents.Invoke,
		AdoptKey: c.AdoptKey.Invoke, ClaimAgentStart: c.ClaimAgentStart.Invoke,
		ClaimAgentComplete: c.ClaimAgentComplete.Invoke, BillingStatus: c.BillingStatus.Invoke,
		PriceLadder: c.PriceLadder.Invoke, StartCheckout: c.StartCheckout.Invoke,
		FinishCheckout: c.FinishCheckout.Invoke, ChangePlan: c.ChangePlan.Invoke, CancelPlan: c.CancelPlan.Invoke,
		ResumePlan: c.ResumePlan.Invoke, OpenPortal: c.OpenPortal.Invoke, ListInvoices: c.ListInvoices.Invoke,
		ShowInvoice: c.ShowInvoice.Invoke, ListStatements: c.ListStatements.Invoke, GetStatement: c.GetStatement.Invoke,
		ExportStatement: c.ExportStatement.Invoke, ShowUnsubscribe: c.ShowUnsubscribe.Invoke,
		Unsubscribe: c.Unsubscribe.Invoke, ListMailTopics: c.ListMailTopics.Invoke,
		ChooseMailTopics: c.ChooseMailTopics.Invoke, ShowEntry: c.ShowEntry.Invoke, ConfirmEntry: c.ConfirmEntry.Invoke,
		LeaveEntry: c.LeaveEntry.Invoke, GetKey: c.GetKey.Invoke, ListPlans: c.ListPlans.Invoke,
		PriceVolume: c.PriceVolume.Invoke, PreviewTicket: c.PreviewTicket.Invoke, CreateTicket: c.CreateTicket.Invoke,
		ListTickets: c.ListTickets.Invoke, GetTicket: c.GetTicket.Invoke, ReplyTicket: c.ReplyTicket.Invoke,
		SubmitFeedback: c.SubmitFeedback.Invoke, ListFeedback: c.ListFeedback.Invoke,
		DeskListTickets: c.DeskListTickets.Invoke, DeskGetTicket: c.DeskGetTicket.Invoke,
		DeskReplyTicket: c.DeskReplyTicket.Invoke, DeskListFeedback: c.DeskListFeedback.Invoke,
		DeskAnswerFeedback: c.DeskAnswerFeedback.Invoke, GetStatus: c.GetStatus.Invoke, GetReceipt: c.GetReceipt.Invoke,
		Tools: toolsOf(c.All()),
	}
}

// toolsOf returns the metered operations that have a route.
func toolsOf(all []operation.Definition) []operation.Definition {
	return slices.DeleteFunc(all, func(c operation.Definition) bool {
		meta := c.Meta()
		return !meta.Metered() || meta.Route.Path == ""
	})
}

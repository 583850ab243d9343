package site

import (
	"context"
	"slices"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service"
)

// Call runs one operation in process.
type Call[In, Out any] func(context.Context, *service.Caller, In) (Out, *fault.Error)

// Calls are the operations that the pages use. CallsOf fills it.
type Calls struct {
	StartSignIn  Call[service.StartSignInInput, service.StartedSignIn]
	ShowLink     Call[service.SignInLinkInput, service.ShownSignIn]
	FinishByLink Call[service.SignInLinkInput, service.Entered]
	FinishByCode Call[service.SignInCodeInput, service.Entered]

	ShowSession       Call[service.Nothing, service.CurrentSession]
	SignOut           Call[service.Nothing, service.Nothing]
	SignOutEverywhere Call[service.Nothing, service.EndedSessions]
	ListSessions      Call[service.Nothing, service.SessionList]
	EndSession        Call[service.EndSessionInput, service.Nothing]
	ListAccounts      Call[service.Nothing, service.AccountChoice]
	SwitchAccount     Call[service.SwitchAccountInput, service.Nothing]

	ListMembers      Call[service.Nothing, service.MemberList]
	InviteMember     Call[service.InviteMemberInput, service.Invitation]
	RevokeInvitation Call[service.InvitationInput, service.Nothing]
	ShowInvitation   Call[service.InvitationLinkInput, service.Invitation]
	AcceptInvitation Call[service.InvitationLinkInput, service.Entered]
	ChangeMember     Call[service.ChangeMemberInput, service.Nothing]
	RemoveMember     Call[service.RemoveMemberInput, service.Nothing]

	BillingStatus  Call[service.Nothing, service.BillingStatus]
	PriceLadder    Call[service.Nothing, service.PriceLadder]
	StartCheckout  Call[service.StartCheckoutInput, service.StartedCheckout]
	FinishCheckout Call[service.FinishCheckoutInput, service.FinishedCheckout]
	ChangePlan     Call[service.ChangePlanInput, service.PlanChange]
	CancelPlan     Call[service.Nothing, service.PlanChange]
	ResumePlan     Call[service.Nothing, service.PlanChange]
	OpenPortal     Call[service.Nothing, service.Portal]
	ListInvoices   Call[service.ListInvoicesInput, service.InvoiceList]
	ShowInvoice    Call[service.ShowInvoiceInput, service.InvoicePage]

	ListStatements  Call[service.Nothing, service.StatementList]
	GetStatement    Call[service.StatementInput, statement.Statement]
	ExportStatement Call[service.ExportStatementInput, service.StatementTable]

	ShowUnsubscribe  Call[service.UnsubscribeInput, service.StoppedMails]
	Unsubscribe      Call[service.UnsubscribeInput, service.StoppedMails]
	ListMailTopics   Call[service.Nothing, service.MailTopics]
	ChooseMailTopics Call[service.ChooseMailTopicsInput, service.MailTopics]

	ShowEntry    Call[service.EntryInput, service.ShownEntry]
	ConfirmEntry Call[service.ConfirmEntryInput, service.ShownEntry]
	LeaveEntry   Call[service.EntryInput, service.ShownEntry]

	UsageByDay        Call[service.UsageByDayInput, service.UsageByDay]
	ExploreUsage      Call[service.ExploreUsageInput, service.ExploredUsage]
	ExportUsage       Call[service.ExploreUsageInput, service.UsageTable]
	GetInsights       Call[service.Nothing, service.UsageInsights]
	CreateKey         Call[service.CreateKeyInput, service.CreatedKey]
	ListKeys          Call[service.ListKeysInput, service.KeyList]
	ConfigureKey      Call[service.ConfigureKeyInput, service.ConfiguredKey]
	RevokeKey         Call[service.RevokeKeyInput, service.RevokedKey]
	ConfigureServices Call[service.ConfigureServicesInput, service.ConfiguredServices]
	UpdateAccount     Call[service.UpdateAccountInput, service.AccountSettings]
	NameAccount       Call[service.NameAccountInput, service.NamedAccount]
	ListAudit         Call[service.ListAuditInput, service.AuditLog]
	ListAgents        Call[service.Nothing, service.AgentList]
	AdoptKey          Call[service.AdoptKeyInput, service.AdoptedKey]

	ClaimAgentStart    Call[service.ClaimAgentStartInput, service.Challenged]
	ClaimAgentComplete Call[service.ClaimAgentInput, service.ClaimedAgent]

	GetStatus      Call[service.Nothing, service.Status]
	PreviewTicket  Call[service.PreviewTicketInput, service.TicketPreview]
	CreateTicket   Call[service.CreateTicketInput, service.CreatedTicket]
	ListTickets    Call[service.ListTicketsInput, service.TicketList]
	GetTicket      Call[service.TicketInput, service.TicketDetail]
	ReplyTicket    Call[service.ReplyTicketInput, service.TicketView]
	SubmitFeedback Call[service.SubmitFeedbackInput, service.FeedbackView]
	ListFeedback   Call[service.ListFeedbackInput, service.FeedbackList]

	// The desk, for staff.
	DeskListTickets    Call[service.DeskTicketsInput, service.DeskTickets]
	DeskGetTicket      Call[service.DeskTicketInput, service.DeskTicketDetail]
	DeskReplyTicket    Call[service.DeskReplyInput, service.TicketView]
	DeskListFeedback   Call[service.DeskFeedbackInput, service.DeskFeedbackList]
	DeskAnswerFeedback Call[service.AnswerFeedbackInput, service.FeedbackView]

	GetReceipt Call[service.ReceiptInput, service.Receipt]

	// For public pages.
	GetKey      Call[service.GetKeyInput, service.Welcome]
	ListPlans   Call[service.Nothing, service.PlanList]
	PriceVolume Call[service.PriceVolumeInput, service.PriceLadder]

	// Tools are the metered operations, which visitors may use on the toolbox page. Their forms are
	// generated from their schemas.
	Tools []service.Definition
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
func toolsOf(all []service.Definition) []service.Definition {
	return slices.DeleteFunc(all, func(c service.Definition) bool {
		meta := c.Meta()
		return !meta.Metered() || meta.Route.Path == ""
	})
}

package dashboard

import (
	"context"
	"slices"

	"github.com/chainaccess/gateway/capability"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/statement"
)

// Call runs one capability, in process.
type Call[In, Out any] func(context.Context, *capability.Caller, In) (Out, *fault.Error)

// Calls is everything that the pages ask for. CallsOf fills it.
type Calls struct {
	StartSignIn  Call[capability.StartSignInInput, capability.StartedSignIn]
	ShowLink     Call[capability.SignInLinkInput, capability.ShownSignIn]
	FinishByLink Call[capability.SignInLinkInput, capability.Entered]
	FinishByCode Call[capability.SignInCodeInput, capability.Entered]

	ShowSession       Call[capability.Nothing, capability.CurrentSession]
	SignOut           Call[capability.Nothing, capability.Nothing]
	SignOutEverywhere Call[capability.Nothing, capability.EndedSessions]
	ListSessions      Call[capability.Nothing, capability.SessionList]
	EndSession        Call[capability.EndSessionInput, capability.Nothing]
	ListAccounts      Call[capability.Nothing, capability.AccountChoice]
	SwitchAccount     Call[capability.SwitchAccountInput, capability.Nothing]

	ListMembers      Call[capability.Nothing, capability.MemberList]
	InviteMember     Call[capability.InviteMemberInput, capability.Invitation]
	RevokeInvitation Call[capability.InvitationInput, capability.Nothing]
	ShowInvitation   Call[capability.InvitationLinkInput, capability.Invitation]
	AcceptInvitation Call[capability.InvitationLinkInput, capability.Entered]
	ChangeMember     Call[capability.ChangeMemberInput, capability.Nothing]
	RemoveMember     Call[capability.RemoveMemberInput, capability.Nothing]

	BillingStatus  Call[capability.Nothing, capability.BillingStatus]
	PriceLadder    Call[capability.Nothing, capability.PriceLadder]
	StartCheckout  Call[capability.StartCheckoutInput, capability.StartedCheckout]
	FinishCheckout Call[capability.FinishCheckoutInput, capability.FinishedCheckout]
	ChangePlan     Call[capability.ChangePlanInput, capability.PlanChange]
	CancelPlan     Call[capability.Nothing, capability.PlanChange]
	ResumePlan     Call[capability.Nothing, capability.PlanChange]
	OpenPortal     Call[capability.Nothing, capability.Portal]
	ListInvoices   Call[capability.ListInvoicesInput, capability.InvoiceList]
	ShowInvoice    Call[capability.ShowInvoiceInput, capability.InvoicePage]

	ListStatements  Call[capability.Nothing, capability.StatementList]
	GetStatement    Call[capability.StatementInput, statement.Statement]
	ExportStatement Call[capability.ExportStatementInput, capability.StatementTable]

	ShowUnsubscribe  Call[capability.UnsubscribeInput, capability.StoppedMails]
	Unsubscribe      Call[capability.UnsubscribeInput, capability.StoppedMails]
	ListMailTopics   Call[capability.Nothing, capability.MailTopics]
	ChooseMailTopics Call[capability.ChooseMailTopicsInput, capability.MailTopics]

	ShowEntry    Call[capability.EntryInput, capability.ShownEntry]
	ConfirmEntry Call[capability.ConfirmEntryInput, capability.ShownEntry]
	LeaveEntry   Call[capability.EntryInput, capability.ShownEntry]

	UsageByDay        Call[capability.UsageByDayInput, capability.UsageByDay]
	ExploreUsage      Call[capability.ExploreUsageInput, capability.ExploredUsage]
	ExportUsage       Call[capability.ExploreUsageInput, capability.UsageTable]
	GetInsights       Call[capability.Nothing, capability.UsageInsights]
	CreateKey         Call[capability.CreateKeyInput, capability.CreatedKey]
	ListKeys          Call[capability.ListKeysInput, capability.KeyList]
	ConfigureKey      Call[capability.ConfigureKeyInput, capability.ConfiguredKey]
	RevokeKey         Call[capability.RevokeKeyInput, capability.RevokedKey]
	ConfigureServices Call[capability.ConfigureServicesInput, capability.ConfiguredServices]
	UpdateAccount     Call[capability.UpdateAccountInput, capability.AccountSettings]
	NameAccount       Call[capability.NameAccountInput, capability.NamedAccount]
	ListAudit         Call[capability.ListAuditInput, capability.AuditLog]
	ListAgents        Call[capability.Nothing, capability.AgentList]
	AdoptKey          Call[capability.AdoptKeyInput, capability.AdoptedKey]

	ClaimAgentStart    Call[capability.ClaimAgentStartInput, capability.Challenged]
	ClaimAgentComplete Call[capability.ClaimAgentInput, capability.ClaimedAgent]

	GetStatus      Call[capability.Nothing, capability.Status]
	PreviewTicket  Call[capability.PreviewTicketInput, capability.TicketPreview]
	CreateTicket   Call[capability.CreateTicketInput, capability.CreatedTicket]
	ListTickets    Call[capability.ListTicketsInput, capability.TicketList]
	GetTicket      Call[capability.TicketInput, capability.TicketDetail]
	ReplyTicket    Call[capability.ReplyTicketInput, capability.TicketView]
	SubmitFeedback Call[capability.SubmitFeedbackInput, capability.FeedbackView]
	ListFeedback   Call[capability.ListFeedbackInput, capability.FeedbackList]

	// The desk, for staff.
	DeskListTickets    Call[capability.DeskTicketsInput, capability.DeskTickets]
	DeskGetTicket      Call[capability.DeskTicketInput, capability.DeskTicketDetail]
	DeskReplyTicket    Call[capability.DeskReplyInput, capability.TicketView]
	DeskListFeedback   Call[capability.DeskFeedbackInput, capability.DeskFeedbackList]
	DeskAnswerFeedback Call[capability.AnswerFeedbackInput, capability.FeedbackView]

	GetReceipt Call[capability.ReceiptInput, capability.Receipt]

	// What public pages show and make.
	GetKey      Call[capability.GetKeyInput, capability.Welcome]
	ListPlans   Call[capability.Nothing, capability.PlanList]
	PriceVolume Call[capability.PriceVolumeInput, capability.PriceLadder]

	// Tools are the metered capabilities, which visitors may use on the toolbox page. Their forms follow from their schemas.
	Tools []capability.Capability
}

// CallsOf takes what the pages ask for out of the catalogue.
func CallsOf(c *capability.Catalogue) Calls {
	return Calls{
		StartSignIn: c.StartSignIn.Invoke, ShowLink: c.ShowSignInLink.Invoke, FinishByLink: c.FinishSignInByLink.Invoke, FinishByCode: c.FinishSignInByCode.Invoke,
		ShowSession: c.ShowSession.Invoke, SignOut: c.SignOut.Invoke, SignOutEverywhere: c.SignOutEverywhere.Invoke,
		ListSessions: c.ListSessions.Invoke, EndSession: c.EndSession.Invoke, ListAccounts: c.ListAccounts.Invoke, SwitchAccount: c.SwitchAccount.Invoke,
		ListMembers: c.ListMembers.Invoke, InviteMember: c.InviteMember.Invoke, RevokeInvitation: c.RevokeInvitation.Invoke,
		ShowInvitation: c.ShowInvitation.Invoke, AcceptInvitation: c.AcceptInvitation.Invoke, ChangeMember: c.ChangeMember.Invoke, RemoveMember: c.RemoveMember.Invoke,
		ExploreUsage: c.ExploreUsage.Invoke, ExportUsage: c.ExportUsage.Invoke, GetInsights: c.GetInsights.Invoke,
		UsageByDay: c.UsageByDay.Invoke, CreateKey: c.CreateKey.Invoke, ListKeys: c.ListKeys.Invoke, ConfigureKey: c.ConfigureKey.Invoke,
		RevokeKey: c.RevokeKey.Invoke, ConfigureServices: c.ConfigureServices.Invoke, UpdateAccount: c.UpdateAccount.Invoke, NameAccount: c.NameAccount.Invoke, ListAudit: c.ListAudit.Invoke,
		ListAgents: c.ListAgents.Invoke, AdoptKey: c.AdoptKey.Invoke, ClaimAgentStart: c.ClaimAgentStart.Invoke, ClaimAgentComplete: c.ClaimAgentComplete.Invoke,
		BillingStatus: c.BillingStatus.Invoke, PriceLadder: c.PriceLadder.Invoke, StartCheckout: c.StartCheckout.Invoke, FinishCheckout: c.FinishCheckout.Invoke,
		ChangePlan: c.ChangePlan.Invoke, CancelPlan: c.CancelPlan.Invoke, ResumePlan: c.ResumePlan.Invoke, OpenPortal: c.OpenPortal.Invoke,
		ListInvoices: c.ListInvoices.Invoke, ShowInvoice: c.ShowInvoice.Invoke,
		ListStatements: c.ListStatements.Invoke, GetStatement: c.GetStatement.Invoke, ExportStatement: c.ExportStatement.Invoke,
		ShowUnsubscribe: c.ShowUnsubscribe.Invoke, Unsubscribe: c.Unsubscribe.Invoke, ListMailTopics: c.ListMailTopics.Invoke, ChooseMailTopics: c.ChooseMailTopics.Invoke,
		ShowEntry: c.ShowEntry.Invoke, ConfirmEntry: c.ConfirmEntry.Invoke, LeaveEntry: c.LeaveEntry.Invoke,
		GetKey: c.GetKey.Invoke, ListPlans: c.ListPlans.Invoke, PriceVolume: c.PriceVolume.Invoke,
		PreviewTicket: c.PreviewTicket.Invoke, CreateTicket: c.CreateTicket.Invoke, ListTickets: c.ListTickets.Invoke, GetTicket: c.GetTicket.Invoke,
		ReplyTicket: c.ReplyTicket.Invoke, SubmitFeedback: c.SubmitFeedback.Invoke, ListFeedback: c.ListFeedback.Invoke,
		DeskListTickets: c.DeskListTickets.Invoke, DeskGetTicket: c.DeskGetTicket.Invoke, DeskReplyTicket: c.DeskReplyTicket.Invoke,
		DeskListFeedback: c.DeskListFeedback.Invoke, DeskAnswerFeedback: c.DeskAnswerFeedback.Invoke,
		GetStatus: c.GetStatus.Invoke, GetReceipt: c.GetReceipt.Invoke, Tools: toolsOf(c.All()),
	}
}

// toolsOf are the capabilities that are metered and have a route.
func toolsOf(all []capability.Capability) []capability.Capability {
	return slices.DeleteFunc(all, func(c capability.Capability) bool {
		meta := c.Meta()
		return !meta.Metered() || meta.Route.Path == ""
	})
}

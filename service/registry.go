package service

import (
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/metering/admission"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/ens"
	"github.com/chainaccess/gateway/toolbox/offline"
	"github.com/chainaccess/gateway/workflows"
)

// Options are the dependencies of the operations. The caller owns them.
type Options struct {
	Store     *store.Store
	Limits    *limits.Limits
	Meter     *meter.Meter
	Networks  *netlimit.Limits // limits per network; nil for the defaults, over Meter
	People    *people.People
	Hasher    *account.Hasher
	Pool      *upstream.Pool // which chains are served
	Links     chain.Links
	Recorder  *usagedb.Recorder
	Flows     *workflows.Client // Temporal workflows
	PublicURL string            // without a trailing slash
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader in production
	Terms     x402.Terms
	// StockClients enables POST /x402/rpc/{chain} for stock x402 clients.
	StockClients bool
	// Payments reads payments; nil disables redeeming. FinalityDelay is how long after a redeem the
	// transaction is read again; 0 for the workflow's default.
	Payments      Payments
	FinalityDelay time.Duration
	// Stripe sells plans and packs; nil sells none. WebhookSecret verifies webhooks. Purchases is
	// signalled after changes at Stripe; nil for Flows.
	Stripe        *billing.Stripe
	WebhookSecret string
	Contact       string // an e-mail address, for problems that only people can solve
	Purchases     Purchases
	Mails         Mailer // for mails of the support operations
	Logger        *slog.Logger
	Metrics       *telemetry.Operations // nil: nothing is counted
	// Additional dependencies of metered operations.
	Toolbox   Toolbox
	Answers   *cache.Cache      // nil disables caching
	Latencies *meter.Latencies  // nil: latencies are not measured
	Refunds   *telemetry.Calls  // nil: refunds are not counted
	Tracer    *telemetry.Tracer // nil: nothing is traced
}

// service is shared by all operations.
type service struct {
	Options

	gate       admission.Gate
	support    *support.Service
	statements *statement.Book
	flights    cache.Group[cache.Key, useResult] // uses that share a run
	failures   *telemetry.LogLimit[failureKind]
	redeems    cache.Group[redeemKey, redeemResult]
	payers     cache.Group[payerKey, redeemResult]
	lookers    cache.Group[x402.TxHash, lookResult]
	contracts  cache.Group[wallet.Address, bool]
	looks      *cache.Cache // readings of the chain: Answers, or an in-process cache
	reports    *ReportCache
	Prices     *Prices
	Doorways   *Doorways
	Challenges *Challenges
	Status     *statusReader
	Usage      *usageReader
	maxLines   int                         // maximum number of lines in a usage table
	exporting  sync.Map                    // account.ID of each account whose table is being made
	strangers  *telemetry.LogLimit[string] // webhooks of no account or another API version
	schemas    huma.Registry
	named      map[string]bool
	all        []Definition
	readers    chan struct{} // semaphore of texts that are being read
}

// Registry holds every operation besides relaying.
type Registry struct {
	GetKey            *Operation[GetKeyInput, Welcome]
	CreateKey         *Operation[CreateKeyInput, CreatedKey]
	ListKeys          *Operation[ListKeysInput, KeyList]
	ConfigureKey      *Operation[ConfigureKeyInput, ConfiguredKey]
	RevokeKey         *Operation[RevokeKeyInput, RevokedKey]
	ConfigureServices *Operation[ConfigureServicesInput, ConfiguredServices]
	UpdateAccount     *Operation[UpdateAccountInput, AccountSettings]
	NameAccount       *Operation[NameAccountInput, NamedAccount]
	ListAudit         *Operation[ListAuditInput, AuditLog]
	UsageByDay        *Operation[UsageByDayInput, UsageByDay]

	// Usage in three views, and what a caller can do.
	UsageReport *Operation[UsageReportInput, UsageReport]
	UsageStats  *Operation[UsageStatsInput, UsageStats]
	UsageVolume *Operation[UsageVolumeInput, UsageVolume]
	WhatCanIDo  *Operation[Nothing, WhatICanDo]
	// The same for people: a whole range at once, also as a table, and what follows from it.
	ExploreUsage *Operation[ExploreUsageInput, ExploredUsage]
	ExportUsage  *Operation[ExploreUsageInput, UsageTable]
	GetInsights  *Operation[Nothing, UsageInsights]

	// Statements of billing periods.
	ListStatements  *Operation[Nothing, StatementList]
	GetStatement    *Operation[StatementInput, statement.Statement]
	ExportStatement *Operation[ExportStatementInput, StatementTable]

	// Support, feedback and the lists that addresses are entered on.
	CreateTicket   *Operation[CreateTicketInput, CreatedTicket]
	PreviewTicket  *Operation[PreviewTicketInput, TicketPreview]
	ListTickets    *Operation[ListTicketsInput, TicketList]
	GetTicket      *Operation[TicketInput, TicketDetail]
	ReplyTicket    *Operation[ReplyTicketInput, TicketView]
	SubmitFeedback *Operation[SubmitFeedbackInput, FeedbackView]
	ListFeedback   *Operation[ListFeedbackInput, FeedbackList]
	JoinWishlist   *Operation[JoinWishlistInput, JoinedWishlist]
	JoinWaitlist   *Operation[JoinWaitlistInput, JoinedWaitlist]
	ShowEntry      *Operation[EntryInput, ShownEntry]
	ConfirmEntry   *Operation[ConfirmEntryInput, ShownEntry]
	LeaveEntry     *Operation[EntryInput, ShownEntry]

	// The desk, for staff.
	DeskListTickets    *Operation[DeskTicketsInput, DeskTickets]
	DeskGetTicket      *Operation[DeskTicketInput, DeskTicketDetail]
	DeskReplyTicket    *Operation[DeskReplyInput, TicketView]
	DeskListFeedback   *Operation[DeskFeedbackInput, DeskFeedbackList]
	DeskAnswerFeedback *Operation[AnswerFeedbackInput, FeedbackView]

	// Signing in, and sessions.
	StartSignIn        *Operation[StartSignInInput, StartedSignIn]
	ShowSignInLink     *Operation[SignInLinkInput, ShownSignIn]
	FinishSignInByLink *Operation[SignInLinkInput, Entered]
	FinishSignInByCode *Operation[SignInCodeInput, Entered]
	ShowSession        *Operation[Nothing, CurrentSession]
	SignOut            *Operation[Nothing, Nothing]
	SignOutEverywhere  *Operation[Nothing, EndedSessions]
	ListSessions       *Operation[Nothing, SessionList]
	EndSession         *Operation[EndSessionInput, Nothing]

	// Mails that a user gets.
	ShowUnsubscribe  *Operation[UnsubscribeInput, StoppedMails]
	Unsubscribe      *Operation[UnsubscribeInput, StoppedMails]
	ListMailTopics   *Operation[Nothing, MailTopics]
	ChooseMailTopics *Operation[ChooseMailTopicsInput, MailTopics]

	// Members of an account.
	ListAccounts     *Operation[Nothing, AccountChoice]
	SwitchAccount    *Operation[SwitchAccountInput, Nothing]
	ListMembers      *Operation[Nothing, MemberList]
	InviteMember     *Operation[InviteMemberInput, Invitation]
	RevokeInvitation *Operation[InvitationInput, Nothing]
	ShowInvitation   *Operation[InvitationLinkInput, Invitation]
	AcceptInvitation *Operation[InvitationLinkInput, Entered]
	ChangeMember     *Operation[ChangeMemberInput, Nothing]
	RemoveMember     *Operation[RemoveMemberInput, Nothing]

	// Doors: binding a key to a wallet, adopting it, and keys of agents.
	BindKeyStart       *Operation[BindStartInput, Challenged]
	BindKeyComplete    *Operation[BindInput, Welcome]
	AdoptKey           *Operation[AdoptKeyInput, AdoptedKey]
	ClaimAgentStart    *Operation[ClaimAgentStartInput, Challenged]
	ClaimAgentComplete *Operation[ClaimAgentInput, ClaimedAgent]
	ListAgents         *Operation[Nothing, AgentList]

	// Paying per call.
	GetMenu       *Operation[Nothing, Menu]
	GetReceipt    *Operation[ReceiptInput, Receipt]
	GetManifest   *Operation[Nothing, Manifest]
	RedeemPayment *Operation[RedeemInput, Redeemed]

	// Buying plans and packs.
	BillingStatus  *Operation[Nothing, BillingStatus]
	PriceLadder    *Operation[Nothing, PriceLadder]
	StartCheckout  *Operation[StartCheckoutInput, StartedCheckout]
	BuyPack        *Operation[BuyPackInput, PackCheckout]
	FinishCheckout *Operation[FinishCheckoutInput, FinishedCheckout]
	ChangePlan     *Operation[ChangePlanInput, PlanChange]
	CancelPlan     *Operation[Nothing, PlanChange]
	ResumePlan     *Operation[Nothing, PlanChange]
	OpenPortal     *Operation[Nothing, Portal]
	ListInvoices   *Operation[ListInvoicesInput, InvoiceList]
	ShowInvoice    *Operation[ShowInvoiceInput, InvoicePage]

	// Advice without a key: what calls cost, what codes mean, what to choose.
	GetQuote       *Operation[QuoteInput, Quote]
	ExplainError   *Operation[ExplainInput, Explanation]
	ListPlans      *Operation[Nothing, PlanList]
	PriceVolume    *Operation[PriceVolumeInput, PriceLadder]
	RecommendChain *Operation[RecommendChainInput, RecommendedChain]
	RecommendRoute *Operation[RecommendRouteInput, RecommendedRoute]
	Migrate        *Operation[MigrateInput, Migration]

	// The state of the chains, now and in the past.
	GetStatus *Operation[Nothing, Status]

	// Toolbox and data: answers instead of raw calls.
	GetGas         *Operation[GasInput, toolbox.Gas]
	GetTxStatus    *Operation[TxStatusInput, toolbox.TxStatus]
	GetPrices      *Operation[PricesInput, toolbox.Prices]
	ResolveENS     *Operation[ResolveENSInput, ens.Forward]
	ReverseENS     *Operation[ReverseENSInput, ens.Reverse]
	GetBalances    *Operation[BalancesInput, toolbox.Balances]
	GetHistory     *Operation[HistoryInput, toolbox.History]
	GetABI         *Operation[ABIInput, contracts.ABI]
	DecodeCalldata *Operation[DecodeInput, contracts.Decoded]

	// EVM utilities.
	ChecksumAddress *Operation[ChecksumInput, offline.CheckedAddress]
	ConvertUnits    *Operation[ConvertInput, offline.Conversion]
	ComputeSelector *Operation[SelectorInput, offline.Selector]
	HashKeccak      *Operation[KeccakInput, offline.Digest]
	VerifySignature *Operation[VerifySignatureInput, offline.SignatureVerdict]
	VerifySIWE      *Operation[VerifySIWEInput, offline.SignInVerdict]

	house *service
}

// New returns the registry with all operations.
func New(o Options) *Registry {
	if o.Purchases == nil {
		o.Purchases = flowPurchases{o.Flows}
	}
	if o.Networks == nil {
		o.Networks = netlimit.New(o.Meter, netlimit.Defaults(), o.Now)
	}
	h := &service{
		Options: o, gate: admission.Gate{
			Limits: o.Limits, Meter: o.Meter, Logger: o.Logger, Metrics: o.Refunds, Tracer: o.Tracer,
		},
		failures:  telemetry.NewLogLimit[failureKind](telemetry.LinesPerKind, telemetry.LogInterval, o.Now),
		strangers: telemetry.NewLogLimit[string](1, time.Hour, o.Now),
		schemas:   newRegistry(), named: map[string]bool{}, readers: make(chan struct{}, maxReaders()),
		reports: NewReportCache(o.Now), maxLines: maxLines, statements: &statement.Book{Store: o.Store, Now: o.Now},
		support: &support.Service{
			Store: o.Store, Mails: o.Mails, Hasher: o.Hasher, PublicURL: o.PublicURL, Contact: o.Contact,
		},
	}
	h.Prices = NewPrices(o.Store, o.Terms, o.Stripe != nil, o.Now)
	h.Doorways = NewDoorways(o.PublicURL, o.Terms.Open(), o.Stripe != nil, o.Now)
	h.Challenges = NewChallenges(o.PublicURL, o.Toolbox.Node, o.Now)
	h.Status = newStatusReader(o.Store, o.Pool, o.Logger, o.Now)
	h.Usage = newUsageReader(o.Store, o.Limits, h.unitsOf, o.Now)
	if h.looks = o.Answers; h.looks == nil {
		h.looks = newLooks(o.Now)
	}
	c := &Registry{
		GetKey:            h.getKey(),
		CreateKey:         h.createKey(),
		ListKeys:          h.listKeys(),
		ConfigureKey:      h.configureKey(),
		RevokeKey:         h.revokeKey(),
		ConfigureServices: h.configureServices(),
		UpdateAccount:     h.updateAccount(),
		NameAccount:       h.nameAccount(),
		ListAudit:         h.listAudit(),
		UsageByDay:        h.usageByDay(),
		house:             h,
		GetMenu:           h.getMenu(),
		GetManifest:       h.getManifest(),
		GetReceipt:        h.getReceipt(),
		RedeemPayment:     h.redeemPayment(),
		ListStatements:    h.listStatements(),
		GetStatement:      h.getStatement(),
		ExportStatement:   h.exportStatement(),
	}
	c.addPeople(h)
	c.addDoors(h)
	c.addToolbox(h)
	c.addUtils(h)
	c.addBilling(h)
	c.addAdvice(h)
	c.addUsage(h)
	c.addSupport(h)
	return c
}

// addSupport adds the operations of support and of its desk.
func (c *Registry) addSupport(h *service) {
	c.CreateTicket = h.createTicket()
	c.PreviewTicket = h.previewTicket()
	c.ListTickets = h.listTickets()
	c.GetTicket = h.getTicket()
	c.ReplyTicket = h.replyTicket()
	c.SubmitFeedback = h.submitFeedback()
	c.ListFeedback = h.listFeedback()
	c.JoinWishlist = h.joinWishlist()
	c.JoinWaitlist = h.joinWaitlist()
	c.ShowEntry = h.showEntry()
	c.ConfirmEntry = h.confirmEntry()
	c.LeaveEntry = h.leaveEntry()
	c.DeskListTickets = h.deskListTickets()
	c.DeskGetTicket = h.deskGetTicket()
	c.DeskReplyTicket = h.deskReplyTicket()
	c.DeskListFeedback = h.deskListFeedback()
	c.DeskAnswerFeedback = h.deskAnswerFeedback()
}

// addAdvice adds the operations that explain how to use the service.
func (c *Registry) addAdvice(h *service) {
	c.GetQuote = h.getQuote()
	c.ExplainError = h.explainError()
	c.ListPlans = h.listPlans()
	c.PriceVolume = h.priceVolume()
	c.RecommendChain = h.recommendChain()
	c.RecommendRoute = h.recommendRoute()
	c.Migrate = h.migrate()
	c.GetStatus = h.getStatus()
}

// addUsage adds the operations that report usage.
func (c *Registry) addUsage(h *service) {
	c.UsageReport = h.usageReport()
	c.UsageStats = h.usageStats()
	c.UsageVolume = h.usageVolume()
	c.WhatCanIDo = h.whatCanIDo()
	c.ExploreUsage = h.exploreUsage()
	c.ExportUsage = h.exportUsage()
	c.GetInsights = h.getInsights()
}

// addToolbox adds the metered operations.
func (c *Registry) addToolbox(h *service) {
	c.GetGas = h.getGas()
	c.GetTxStatus = h.getTxStatus()
	c.GetPrices = h.getPrices()
	c.ResolveENS = h.resolveENS()
	c.ReverseENS = h.reverseENS()
	c.GetBalances = h.getBalances()
	c.GetHistory = h.getHistory()
	c.GetABI = h.getABI()
	c.DecodeCalldata = h.decodeCalldata()
}

// addBilling adds the operations of buying plans and packs.
func (c *Registry) addBilling(h *service) {
	c.BillingStatus = h.billingStatus()
	c.PriceLadder = h.priceLadder()
	c.StartCheckout = h.startCheckout()
	c.BuyPack = h.buyPack()
	c.FinishCheckout = h.finishCheckout()
	c.ChangePlan = h.changePlan()
	c.CancelPlan = h.cancelPlan()
	c.ResumePlan = h.resumePlan()
	c.OpenPortal = h.openPortal()
	c.ListInvoices = h.listInvoices()
	c.ShowInvoice = h.showInvoice()
}

// addUtils adds the EVM utilities.
func (c *Registry) addUtils(h *service) {
	c.ChecksumAddress = h.checksumAddress()
	c.ConvertUnits = h.convertUnits()
	c.ComputeSelector = h.computeSelector()
	c.HashKeccak = h.hashKeccak()
	c.VerifySignature = h.verifySignature()
	c.VerifySIWE = h.verifySIWE()
}

// addDoors adds the operations of binding, adopting and claiming.
func (c *Registry) addDoors(h *service) {
	c.BindKeyStart = h.bindKeyStart()
	c.BindKeyComplete = h.bindKeyComplete()
	c.AdoptKey = h.adoptKey()
	c.ClaimAgentStart = h.claimAgentStart()
	c.ClaimAgentComplete = h.claimAgentComplete()
	c.ListAgents = h.listAgents()
}

// addPeople adds the operations of sign-in, sessions and members.
func (c *Registry) addPeople(h *service) {
	c.StartSignIn = h.startSignIn()
	c.ShowSignInLink = h.showSignInLink()
	c.FinishSignInByLink = h.finishSignInByLink()
	c.FinishSignInByCode = h.finishSignInByCode()
	c.ShowSession = h.showSession()
	c.SignOut = h.signOut()
	c.SignOutEverywhere = h.signOutEverywhere()
	c.ListSessions = h.listSessions()
	c.EndSession = h.endSession()
	c.ListAccounts = h.listAccounts()
	c.SwitchAccount = h.switchAccount()
	c.ListMembers = h.listMembers()
	c.InviteMember = h.inviteMember()
	c.RevokeInvitation = h.revokeInvitation()
	c.ShowInvitation = h.showInvitation()
	c.AcceptInvitation = h.acceptInvitation()
	c.ChangeMember = h.changeMember()
	c.RemoveMember = h.removeMember()
	c.ShowUnsubscribe = h.showUnsubscribe()
	c.Unsubscribe = h.unsubscribe()
	c.ListMailTopics = h.listMailTopics()
	c.ChooseMailTopics = h.chooseMailTopics()
}

// unitsOf returns the cost of a use of an operation, or 0 if there is none of this name.
func (h *service) unitsOf(operation string) plan.Units {
	for _, op := range h.all {
		if m := op.Meta(); m.Name == operation {
			return m.Units
		}
	}
	return 0
}

// All returns the operations in the order of the registry.
func (c *Registry) All() []Definition { return slices.Clone(c.house.all) }

// Schemas returns the types that inputs and outputs refer to, for an API description.
func (c *Registry) Schemas() huma.Registry { return c.house.schemas }

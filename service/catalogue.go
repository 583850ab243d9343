package service

import (
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/metering/admission"
	"github.com/chainaccess/gateway/metering/fences"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/toolbox"
	"github.com/chainaccess/gateway/toolbox/contracts"
	"github.com/chainaccess/gateway/toolbox/ens"
	"github.com/chainaccess/gateway/toolbox/node"
	"github.com/chainaccess/gateway/toolbox/offline"
	"github.com/chainaccess/gateway/workflows"
)

// Options are what capabilities work with. They own none of it.
type Options struct {
	Store     *store.Store
	Fences    *fences.Fences
	Meter     *meter.Meter
	Networks  *netlimit.Limits // of strangers; nil for the defaults, over Meter
	People    *people.People
	Hasher    *account.Hasher
	Pool      *upstream.Pool // says which chains there are
	Links     chain.Links
	Recorder  *store.Recorder
	Flows     *workflows.Client // durable flows
	PublicURL string            // without a slash at its end
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader
	Terms     x402.Terms
	// StockClients says that stock x402 clients pay at /x402/rpc/{chain}.
	StockClients bool
	// Payments reads what was paid; nil where nothing can be redeemed. FinalityDelay is how long
	// after a redeem its transaction is looked at again; 0 for the flow's own.
	Payments      Payments
	FinalityDelay time.Duration
	// Stripe sells plans and packs; nil sells none. WebhookSecret proves that webhooks are its.
	// Purchases are told of what was changed there; nil for Flows.
	Stripe        *billing.Stripe
	WebhookSecret string
	Contact       string // an e-mail address, for what only people can mend
	Purchases     Purchases
	Mails         Mailer // to the operator
	Logger        *slog.Logger
	Metrics       *telemetry.Operations // nil: nothing is counted
	// What metered capabilities take besides.
	Toolbox   Toolbox
	Answers   *cache.Cache      // nil keeps none
	Latencies *meter.Latencies  // nil counts none
	Refunds   *telemetry.Calls  // nil: refunds are not counted
	Tracer    *telemetry.Tracer // nil: nothing is traced
}

// Toolbox is what metered capabilities answer from.
type Toolbox struct {
	Node         *node.Reader
	Gas          *toolbox.GasOracle
	Transactions *toolbox.TxTracker
	Prices       *toolbox.PriceReader
	ENS          *ens.Names
	Ledger       *toolbox.Ledger
	Contracts    *contracts.Service
}

// house is what all capabilities share.
type house struct {
	Options

	gate         admission.Gate
	support      *support.Desk
	statements   *statement.Book
	flights      cache.Group[cache.Key, landed] // uses that share a run
	failures     *telemetry.LogLimit[failureKind]
	redeems      cache.Group[redeemKey, redeemLanding]
	payers       cache.Group[payerKey, redeemLanding]
	lookers      cache.Group[x402.TxHash, lookLanding]
	contracts    cache.Group[wallet.Address, bool]
	looks        *cache.Cache // of looks at the chain: Answers, or one of our own
	usageKept    *lru.Cache[usageAsk, usageMade]
	usageFlights cache.Group[usageAsk, usageMade]
	maxLines     int                         // of a table of usage
	exporting    sync.Map                    // account.ID of each account of which a table of usage is being made here
	strangers    *telemetry.LogLimit[string] // webhooks that are of no account or of another version
	registry     huma.Registry
	named        map[string]bool
	all          []Capability
	seats        seatCount
	readers      chan struct{} // holds one for each text that is being read
}

// Catalogue is everything that the service can do, besides relaying.
type Catalogue struct {
	GetKey            *Op[GetKeyInput, Welcome]
	CreateKey         *Op[CreateKeyInput, CreatedKey]
	ListKeys          *Op[ListKeysInput, KeyList]
	ConfigureKey      *Op[ConfigureKeyInput, ConfiguredKey]
	RevokeKey         *Op[RevokeKeyInput, RevokedKey]
	ConfigureServices *Op[ConfigureServicesInput, ConfiguredServices]
	UpdateAccount     *Op[UpdateAccountInput, AccountSettings]
	NameAccount       *Op[NameAccountInput, NamedAccount]
	ListAudit         *Op[ListAuditInput, AuditLog]
	UsageByDay        *Op[UsageByDayInput, UsageByDay]

	// What was used, in three views, and what a caller can do.
	UsageReport *Op[UsageReportInput, UsageReport]
	UsageStats  *Op[UsageStatsInput, UsageStats]
	UsageVolume *Op[UsageVolumeInput, UsageVolume]
	WhatCanIDo  *Op[Nothing, WhatICanDo]
	// The same for people: all of a range at once, as a table too, and what follows from it.
	ExploreUsage *Op[ExploreUsageInput, ExploredUsage]
	ExportUsage  *Op[ExploreUsageInput, UsageTable]
	GetInsights  *Op[Nothing, UsageInsights]

	// What an account is told of its billing periods.
	ListStatements  *Op[Nothing, StatementList]
	GetStatement    *Op[StatementInput, statement.Statement]
	ExportStatement *Op[ExportStatementInput, StatementTable]

	// Asking those who run the service, and telling them.
	CreateTicket   *Op[CreateTicketInput, CreatedTicket]
	PreviewTicket  *Op[PreviewTicketInput, TicketPreview]
	ListTickets    *Op[ListTicketsInput, TicketList]
	GetTicket      *Op[TicketInput, TicketDetail]
	ReplyTicket    *Op[ReplyTicketInput, TicketView]
	SubmitFeedback *Op[SubmitFeedbackInput, FeedbackView]
	ListFeedback   *Op[ListFeedbackInput, FeedbackList]
	JoinWishlist   *Op[JoinWishlistInput, JoinedWishlist]
	JoinWaitlist   *Op[JoinWaitlistInput, JoinedWaitlist]
	ShowEntry      *Op[EntryInput, ShownEntry]
	ConfirmEntry   *Op[ConfirmEntryInput, ShownEntry]
	LeaveEntry     *Op[EntryInput, ShownEntry]

	// Answering them, for staff.
	DeskListTickets    *Op[DeskTicketsInput, DeskTickets]
	DeskGetTicket      *Op[DeskTicketInput, DeskTicketDetail]
	DeskReplyTicket    *Op[DeskReplyInput, TicketView]
	DeskListFeedback   *Op[DeskFeedbackInput, DeskFeedbackList]
	DeskAnswerFeedback *Op[AnswerFeedbackInput, FeedbackView]

	// How people come in, and where they are signed in.
	StartSignIn        *Op[StartSignInInput, StartedSignIn]
	ShowSignInLink     *Op[SignInLinkInput, ShownSignIn]
	FinishSignInByLink *Op[SignInLinkInput, Entered]
	FinishSignInByCode *Op[SignInCodeInput, Entered]
	ShowSession        *Op[Nothing, CurrentSession]
	SignOut            *Op[Nothing, Nothing]
	SignOutEverywhere  *Op[Nothing, EndedSessions]
	ListSessions       *Op[Nothing, SessionList]
	EndSession         *Op[EndSessionInput, Nothing]

	// Which mails a user gets.
	ShowUnsubscribe  *Op[UnsubscribeInput, StoppedMails]
	Unsubscribe      *Op[UnsubscribeInput, StoppedMails]
	ListMailTopics   *Op[Nothing, MailTopics]
	ChooseMailTopics *Op[ChooseMailTopicsInput, MailTopics]

	// Who belongs to an account.
	ListAccounts     *Op[Nothing, AccountChoice]
	SwitchAccount    *Op[SwitchAccountInput, Nothing]
	ListMembers      *Op[Nothing, MemberList]
	InviteMember     *Op[InviteMemberInput, Invitation]
	RevokeInvitation *Op[InvitationInput, Nothing]
	ShowInvitation   *Op[InvitationLinkInput, Invitation]
	AcceptInvitation *Op[InvitationLinkInput, Entered]
	ChangeMember     *Op[ChangeMemberInput, Nothing]
	RemoveMember     *Op[RemoveMemberInput, Nothing]

	// Doors: how a key comes to a wallet, to an owner, and to an agent.
	BindKeyStart       *Op[BindStartInput, Challenged]
	BindKeyComplete    *Op[BindInput, Welcome]
	AdoptKey           *Op[AdoptKeyInput, AdoptedKey]
	ClaimAgentStart    *Op[ClaimAgentStartInput, Challenged]
	ClaimAgentComplete *Op[ClaimAgentInput, ClaimedAgent]
	ListAgents         *Op[Nothing, AgentList]

	// Paying per call.
	GetMenu       *Op[Nothing, Menu]
	GetReceipt    *Op[ReceiptInput, Receipt]
	GetManifest   *Op[Nothing, Manifest]
	RedeemPayment *Op[RedeemInput, Redeemed]

	// Buying plans and packs.
	BillingStatus  *Op[Nothing, BillingStatus]
	PriceLadder    *Op[Nothing, PriceLadder]
	StartCheckout  *Op[StartCheckoutInput, StartedCheckout]
	BuyPack        *Op[BuyPackInput, PackCheckout]
	FinishCheckout *Op[FinishCheckoutInput, FinishedCheckout]
	ChangePlan     *Op[ChangePlanInput, PlanChange]
	CancelPlan     *Op[Nothing, PlanChange]
	ResumePlan     *Op[Nothing, PlanChange]
	OpenPortal     *Op[Nothing, Portal]
	ListInvoices   *Op[ListInvoicesInput, InvoiceList]
	ShowInvoice    *Op[ShowInvoiceInput, InvoicePage]

	// Advice: what calls cost, what codes mean, what to choose. It needs no key.
	GetQuote       *Op[QuoteInput, Quote]
	ExplainError   *Op[ExplainInput, Explanation]
	ListPlans      *Op[Nothing, PlanList]
	PriceVolume    *Op[PriceVolumeInput, PriceLadder]
	RecommendChain *Op[RecommendChainInput, RecommendedChain]
	RecommendRoute *Op[RecommendRouteInput, RecommendedRoute]
	Migrate        *Op[MigrateInput, Migration]

	// How the chains stand, and stood.
	GetStatus *Op[Nothing, Status]

	// Toolbox and data: answers instead of raw calls.
	GetGas         *Op[GasInput, toolbox.Gas]
	GetTxStatus    *Op[TxStatusInput, toolbox.TxStatus]
	GetPrices      *Op[PricesInput, toolbox.Prices]
	ResolveENS     *Op[ResolveENSInput, ens.Forward]
	ReverseENS     *Op[ReverseENSInput, ens.Reverse]
	GetBalances    *Op[BalancesInput, toolbox.Balances]
	GetHistory     *Op[HistoryInput, toolbox.History]
	GetABI         *Op[ABIInput, contracts.ABI]
	DecodeCalldata *Op[DecodeInput, contracts.Decoded]

	// EVM utilities.
	ChecksumAddress *Op[ChecksumInput, offline.CheckedAddress]
	ConvertUnits    *Op[ConvertInput, offline.Conversion]
	ComputeSelector *Op[SelectorInput, offline.Selector]
	HashKeccak      *Op[KeccakInput, offline.Digest]
	VerifySignature *Op[VerifySignatureInput, offline.SignatureVerdict]
	VerifySIWE      *Op[VerifySIWEInput, offline.SignInVerdict]

	house *house
}

// New makes the catalogue.
func New(o Options) *Catalogue {
	if o.Purchases == nil {
		o.Purchases = flowPurchases{o.Flows}
	}
	if o.Networks == nil {
		o.Networks = netlimit.New(o.Meter, netlimit.Defaults(), o.Now)
	}
	h := &house{
		Options: o, gate: admission.Gate{Fences: o.Fences, Meter: o.Meter, Logger: o.Logger, Metrics: o.Refunds, Tracer: o.Tracer},
		failures:  telemetry.NewLogLimit[failureKind](telemetry.LinesPerKind, telemetry.LogInterval, o.Now),
		strangers: telemetry.NewLogLimit[string](1, time.Hour, o.Now),
		registry:  newRegistry(), named: map[string]bool{}, readers: make(chan struct{}, maxReaders()), usageKept: newUsageKept(), maxLines: maxLines,
		statements: &statement.Book{Store: o.Store, Now: o.Now},
		support:    &support.Desk{Store: o.Store, Mails: o.Mails, Hasher: o.Hasher, PublicURL: o.PublicURL, Contact: o.Contact},
	}
	if h.looks = o.Answers; h.looks == nil {
		h.looks = newLooks(o.Now)
	}
	c := &Catalogue{
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

// addSupport adds what is asked of people, and told them.
func (c *Catalogue) addSupport(h *house) {
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

// addAdvice adds what tells how to use the service.
func (c *Catalogue) addAdvice(h *house) {
	c.GetQuote = h.getQuote()
	c.ExplainError = h.explainError()
	c.ListPlans = h.listPlans()
	c.PriceVolume = h.priceVolume()
	c.RecommendChain = h.recommendChain()
	c.RecommendRoute = h.recommendRoute()
	c.Migrate = h.migrate()
	c.GetStatus = h.getStatus()
}

// addUsage adds what tells of usage.
func (c *Catalogue) addUsage(h *house) {
	c.UsageReport = h.usageReport()
	c.UsageStats = h.usageStats()
	c.UsageVolume = h.usageVolume()
	c.WhatCanIDo = h.whatCanIDo()
	c.ExploreUsage = h.exploreUsage()
	c.ExportUsage = h.exportUsage()
	c.GetInsights = h.getInsights()
}

// addToolbox adds what is metered.
func (c *Catalogue) addToolbox(h *house) {
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

// addBilling adds what plans and packs are bought with.
func (c *Catalogue) addBilling(h *house) {
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
func (c *Catalogue) addUtils(h *house) {
	c.ChecksumAddress = h.checksumAddress()
	c.ConvertUnits = h.convertUnits()
	c.ComputeSelector = h.computeSelector()
	c.HashKeccak = h.hashKeccak()
	c.VerifySignature = h.verifySignature()
	c.VerifySIWE = h.verifySIWE()
}

// addDoors adds the ways of keys.
func (c *Catalogue) addDoors(h *house) {
	c.BindKeyStart = h.bindKeyStart()
	c.BindKeyComplete = h.bindKeyComplete()
	c.AdoptKey = h.adoptKey()
	c.ClaimAgentStart = h.claimAgentStart()
	c.ClaimAgentComplete = h.claimAgentComplete()
	c.ListAgents = h.listAgents()
}

// addPeople adds what pages need of people.
func (c *Catalogue) addPeople(h *house) {
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

// All lists the capabilities in the order of the catalogue.
func (c *Catalogue) All() []Capability { return slices.Clone(c.house.all) }

// Schemas are the types that inputs and outputs refer to, for a document that describes them.
func (c *Catalogue) Schemas() huma.Registry { return c.house.registry }

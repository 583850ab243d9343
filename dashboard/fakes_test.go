package dashboard

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/capability"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/statement"
)

// house stands in for the capabilities: it answers as told, and remembers what changed something.
type house struct {
	mu      sync.Mutex // guards what follows
	changes []any      // inputs of calls that change something, in order

	session  capability.CurrentSession
	accounts []capability.Membership
	keys     []capability.KeyView
	services []capability.ServiceFence
	settings capability.AccountSettings
	members  capability.MemberList
	sessions []capability.ListedSession
	agents   []capability.AgentView
	log      []capability.AuditLine
	status   capability.BillingStatus
	ladder   capability.PriceLadder
	invoices capability.InvoiceList
	periods  capability.StatementList
	stated   statement.Statement
	checkout capability.FinishedCheckout
	usage    capability.UsageByDay
	explored capability.ExploredUsage
	desk     fakeDesk
	// statusRefused answers whoever asks for the status.
	statusRefused *fault.Error
	statusAsked   int // how often it was asked for
	insights      capability.UsageInsights
	// refusal answers every change.
	refusal *fault.Error
	// link answers whoever looks at a link of a mail; nil while it works.
	link *fault.Error
}

const (
	keyOne    = "019a9f2e-1111-7000-8000-000000000001"
	keyOld    = "019a9f2e-1111-7000-8000-000000000002"
	keyTwo    = "019a9f2e-1111-7000-8000-000000000003"
	plaintext = "cag_aHCrXoRO8jJkkpA0AmJRr2oWWKCKkKJlfPaMzyJtGR334ZJfk"
)

func newHouse() *house {
	allowance, limit := 1_000_000*plan.Unit, 500_000*plan.Unit
	used, revoked := sampleNow.Add(-time.Hour), sampleNow.Add(-2*time.Hour)
	h := &house{
		session: capability.CurrentSession{
			SessionID: "s1", UserID: "u1", Email: "mira@studio-north.example", Role: roleOwner, AccountID: "a1", AccountName: "Studio North",
			Plan: plan.Free, PlanTitle: "Free", PeriodStart: time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC),
			PeriodEnd: time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC), TimeZone: "Europe/Berlin", Status: account.Active,
		},
		accounts: []capability.Membership{{AccountID: "a1", Name: "Studio North", Role: roleOwner, Current: true}, {AccountID: "a2", Name: "Personal", Role: roleOwner}},
		keys: []capability.KeyView{
			{
				ID: keyOne, Name: "indexer", Prefix: "cag_aHCrXoRO", Door: account.DoorAccount, Status: account.Active, MonthlyRequestCap: &limit,
				CreatedAt: sampleNow.Add(-100 * time.Hour), LastUsedAt: &used,
			},
			{ID: keyOld, Name: "old", Prefix: "cag_9d2LkqPz", Door: account.DoorAdopted, Status: account.Revoked, CreatedAt: sampleNow.Add(-200 * time.Hour), RevokedAt: &revoked},
		},
		settings: capability.AccountSettings{NotifyUsage80: true, TimeZone: "Europe/Berlin"},
		members: capability.MemberList{
			Members: []capability.Member{
				{UserID: "u1", Email: "mira@studio-north.example", Role: roleOwner, Current: true, JoinedAt: sampleNow.Add(-900 * time.Hour)},
				{UserID: "u2", Email: "jo@studio-north.example", Role: roleMember, JoinedAt: sampleNow.Add(-90 * time.Hour)},
			},
			Invitations: []capability.Invitation{{ID: "i1", Email: "kim@studio-north.example", Role: roleMember, ExpiresAt: sampleNow.Add(48 * time.Hour)}},
		},
		sessions: []capability.ListedSession{
			{ID: "s1", Current: true, UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", Network: "203.0.113.0/24", BeganAt: sampleNow, SeenAt: sampleNow},
			{ID: "s2", UserAgent: "curl/8.0", BeganAt: sampleNow, SeenAt: sampleNow},
		},
		agents: []capability.AgentView{
			{ID: "g1", Name: "trader-7", Address: "0x00000000219ab540356cBB839Cbe05303d7705Fa", ClaimedVia: "wallet", ClaimedAt: sampleNow.Add(-time.Hour), KeyID: keyOne, KeyPrefix: "cag_aHCrXoRO"},
			{ID: "g2", Name: "scout", Address: "0x00000000219ab540356cBB839Cbe05303d7705Fb", ClaimedVia: "wallet", ClaimedAt: sampleNow.Add(-time.Hour), ServicesOff: []account.Service{account.Data}},
		},
		log: []capability.AuditLine{{
			At: sampleNow.Add(-time.Minute), Actor: "user u1", ActorEmail: "mira@studio-north.example", Origin: "console", Action: "configure_key", Reason: "configured", KeyID: keyOne,
			Before: []byte(`{"monthly_cap":null,"caps":{}}`), After: []byte(`{"monthly_cap":500000,"caps":{"rpc":7}}`),
		}},
		usage: capability.UsageByDay{
			Plan: plan.Free, PlanTitle: "Free", Used: 812_340_500, Allowance: &allowance, Refuses: true,
			PeriodEnd: time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC),
			Days:      []capability.DayUsage{{Day: "2026-11-19", Requests: 5, Hits: 2, Refused: 1, Standard: 3 * plan.Unit}, {Day: "2026-11-20", Heavy: 4 * plan.Unit}},
		},
	}
	h.status, h.ladder, h.invoices = sampleBilling()
	h.explored, h.insights = sampleExplored("indexer"), sampleInsights()
	h.periods, h.stated = sampleStatements(sampleNow, "indexer")
	h.checkout = capability.FinishedCheckout{CheckoutID: checkoutOne, Item: "scale_monthly", Title: "Scale by the month", State: "paid", Tier: plan.Scale, Note: "It is paid, and what was bought is in force."}
	h.desk = sampleDesk("The message.")
	for _, s := range account.Services() {
		h.services = append(h.services, capability.ServiceFence{Service: s, Enabled: true})
	}
	return h
}

// stoppedPacks is what the link of a mail about packs stops.
var stoppedPacks = capability.StoppedMails{Email: "mira@studio-north.example", Topic: account.TopicPacks}

// reads answers without a change.
func reads[In, Out any](answer func() Out) Call[In, Out] {
	return func(_ context.Context, c *capability.Caller, _ In) (Out, *fault.Error) {
		if c.Session == "" && c.Bearer == "" {
			var none Out
			return none, fault.New(fault.KeyInvalid, "")
		}
		return answer(), nil
	}
}

// refuses answers with a reason.
func refuses[In, Out any](reason fault.Reason) Call[In, Out] {
	return func(context.Context, *capability.Caller, In) (Out, *fault.Error) {
		var none Out
		return none, fault.New(reason, "")
	}
}

// changes remembers the input, or refuses.
func changes[In, Out any](h *house, answer Out) Call[In, Out] {
	return func(_ context.Context, _ *capability.Caller, in In) (Out, *fault.Error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.refusal != nil {
			return answer, h.refusal
		}
		h.changes = append(h.changes, in)
		return answer, nil
	}
}

// mixed reads when the input is empty but for an id, and changes otherwise.
func mixed[In comparable, Out any](h *house, answer func() Out, empty func(In) bool) Call[In, Out] {
	return func(ctx context.Context, c *capability.Caller, in In) (Out, *fault.Error) {
		if empty(in) {
			return reads[In](answer)(ctx, c, in)
		}
		return changes[In](h, answer())(ctx, c, in)
	}
}

// none answers a change that gives nothing back.
func none[In any](h *house) Call[In, capability.Nothing] {
	return changes[In](h, capability.Nothing{})
}

func (h *house) calls() Calls {
	entered := capability.Entered{SessionToken: "cags_new", Email: "mira@studio-north.example", ReturnTo: "/keys"}
	fences := func() []capability.ServiceFence { return append([]capability.ServiceFence{}, h.services...) }
	return h.staffCalls(h.claimCalls(h.deskCalls(Calls{
		StartSignIn: changes[capability.StartSignInInput](h, capability.StartedSignIn{BrowserToken: "cagb_browser"}),
		ShowLink: func(context.Context, *capability.Caller, capability.SignInLinkInput) (capability.ShownSignIn, *fault.Error) {
			return capability.ShownSignIn{Email: "mira@studio-north.example"}, h.link
		},
		FinishByLink: changes[capability.SignInLinkInput](h, entered),
		FinishByCode: changes[capability.SignInCodeInput](h, entered),
		ShowSession:  reads[capability.Nothing](func() capability.CurrentSession { return h.session }),
		SignOut:      none[capability.Nothing](h), SignOutEverywhere: changes[capability.Nothing](h, capability.EndedSessions{Ended: 2}),
		ListSessions:     reads[capability.Nothing](func() capability.SessionList { return capability.SessionList{Sessions: h.sessions} }),
		EndSession:       none[capability.EndSessionInput](h),
		ListAccounts:     reads[capability.Nothing](func() capability.AccountChoice { return capability.AccountChoice{Accounts: h.accounts} }),
		SwitchAccount:    none[capability.SwitchAccountInput](h),
		ListMembers:      reads[capability.Nothing](func() capability.MemberList { return h.members }),
		InviteMember:     changes[capability.InviteMemberInput](h, capability.Invitation{Email: "new@studio-north.example", Role: roleMember}),
		RevokeInvitation: none[capability.InvitationInput](h),
		ShowInvitation: func(context.Context, *capability.Caller, capability.InvitationLinkInput) (capability.Invitation, *fault.Error) {
			return capability.Invitation{Email: "kim@studio-north.example", Role: roleMember, InvitedBy: "mira@studio-north.example", AccountName: "Studio North"}, h.link
		},
		AcceptInvitation: changes[capability.InvitationLinkInput](h, entered),
		ChangeMember:     none[capability.ChangeMemberInput](h), RemoveMember: none[capability.RemoveMemberInput](h),
		ExploreUsage: reads[capability.ExploreUsageInput](func() capability.ExploredUsage { return h.explored }),
		GetInsights:  reads[capability.Nothing](func() capability.UsageInsights { return h.insights }),
		ExportUsage: reads[capability.ExploreUsageInput](func() capability.UsageTable {
			return capability.UsageTable{FileName: "usage-7d-2026-11-20.csv", Media: "text/csv; charset=utf-8; header=present", Text: "key\r\n"}
		}),
		UsageByDay: reads[capability.UsageByDayInput](func() capability.UsageByDay { return h.usage }),
		CreateKey:  changes[capability.CreateKeyInput](h, capability.CreatedKey{ID: keyOne, Name: "indexer", Prefix: "cag_aHCrXoRO", PlaintextToken: plaintext}),
		ListKeys:   reads[capability.ListKeysInput](func() capability.KeyList { return capability.KeyList{Keys: h.keys} }),
		ConfigureKey: mixed(h, func() capability.ConfiguredKey { return capability.ConfiguredKey{Services: fences()} },
			func(in capability.ConfigureKeyInput) bool { return in == capability.ConfigureKeyInput{ID: in.ID} }),
		NameAccount: changes[capability.NameAccountInput](h, capability.NamedAccount{Name: "Studio"}),
		RevokeKey:   changes[capability.RevokeKeyInput](h, capability.RevokedKey{Name: "indexer"}),
		ConfigureServices: mixed(h, func() capability.ConfiguredServices { return capability.ConfiguredServices{Services: fences()} },
			func(in capability.ConfigureServicesInput) bool { return in == capability.ConfigureServicesInput{} }),
		UpdateAccount: mixed(h, func() capability.AccountSettings { return h.settings },
			func(in capability.UpdateAccountInput) bool { return in == capability.UpdateAccountInput{} }),
		ListAgents: reads[capability.Nothing](func() capability.AgentList { return capability.AgentList{Agents: h.agents} }),
		AdoptKey:   changes[capability.AdoptKeyInput](h, capability.AdoptedKey{ID: keyTwo, Prefix: "cag_00aTz81b"}),
		GetStatus: func(context.Context, *capability.Caller, capability.Nothing) (capability.Status, *fault.Error) {
			h.statusAsked++
			return sampleStatus("Ethereum"), h.statusRefused
		},
		GetReceipt: func(_ context.Context, _ *capability.Caller, in capability.ReceiptInput) (capability.Receipt, *fault.Error) {
			if in.TxHash != receiptOf.TxHash {
				return capability.Receipt{}, fault.New(fault.NotYours, "No settlement has this hash.")
			}
			return receiptOf, nil
		},
		ShowUnsubscribe: func(context.Context, *capability.Caller, capability.UnsubscribeInput) (capability.StoppedMails, *fault.Error) {
			return stoppedPacks, nil
		},
		Unsubscribe: changes[capability.UnsubscribeInput](h, stoppedPacks),
		ShowEntry: func(context.Context, *capability.Caller, capability.EntryInput) (capability.ShownEntry, *fault.Error) {
			return waitingEntry, h.refusal
		},
		ConfirmEntry: changes[capability.ConfirmEntryInput](h, entryOf("confirmed")),
		LeaveEntry:   changes[capability.EntryInput](h, entryOf("left")),
		ListMailTopics: reads[capability.Nothing](func() capability.MailTopics {
			return capability.MailTopics{Topics: []account.Topic{account.TopicPacks}}
		}),
		ChooseMailTopics: changes[capability.ChooseMailTopicsInput](h, capability.MailTopics{}),
		BillingStatus:    reads[capability.Nothing](func() capability.BillingStatus { return h.status }),
		PriceLadder:      reads[capability.Nothing](func() capability.PriceLadder { return h.ladder }),
		StartCheckout:    changes[capability.StartCheckoutInput](h, capability.StartedCheckout{URL: checkoutURL}),
		FinishCheckout:   reads[capability.FinishCheckoutInput](func() capability.FinishedCheckout { return h.checkout }),
		ChangePlan:       changes[capability.ChangePlanInput](h, capability.PlanChange{Note: "The new plan is in force.", InForce: true}),
		CancelPlan:       changes[capability.Nothing](h, capability.PlanChange{Note: "It ends with its period."}),
		ResumePlan:       changes[capability.Nothing](h, capability.PlanChange{Note: "The subscription goes on.", InForce: true}),
		OpenPortal:       changes[capability.Nothing](h, capability.Portal{URL: "https://billing.stripe.example/p/1"}),
		ListInvoices:     reads[capability.ListInvoicesInput](func() capability.InvoiceList { return h.invoices }),
		ShowInvoice:      changes[capability.ShowInvoiceInput](h, capability.InvoicePage{URL: "https://invoice.stripe.example/i/1"}),
		ListStatements:   reads[capability.Nothing](func() capability.StatementList { return h.periods }),
		GetStatement:     reads[capability.StatementInput](func() statement.Statement { return h.stated }),
		ExportStatement: reads[capability.ExportStatementInput](func() capability.StatementTable {
			return capability.StatementTable{FileName: "statement-2026-11-01.csv", Media: "text/csv; charset=utf-8; header=present", Text: "key\r\n"}
		}),
		GetKey: changes[capability.GetKeyInput](h, sampleWelcome()),
		ListPlans: func(context.Context, *capability.Caller, capability.Nothing) (capability.PlanList, *fault.Error) {
			return samplePlans(), nil
		},
		PriceVolume: func(_ context.Context, _ *capability.Caller, in capability.PriceVolumeInput) (capability.PriceLadder, *fault.Error) {
			if in.Units > mostVolume {
				return capability.PriceLadder{}, fault.New(fault.FieldRefused, "units: takes at most 1,000,000,000,000.").With("field", "units")
			}
			l := h.ladder
			l.Volume, l.Current = plan.Units(in.Units)*plan.Unit, ""
			return l, nil
		},
		ListAudit: reads[capability.ListAuditInput](func() capability.AuditLog { return capability.AuditLog{Lines: h.log} }),
	})))
}

// lastChange is the input of the newest change, of the type that is asked for.
func lastChange[In any](t *testing.T, h *house) In {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.changes) == 0 {
		t.Fatal("nothing was changed")
	}
	in, ok := h.changes[len(h.changes)-1].(In)
	if !ok {
		t.Fatalf("the newest change is %T", h.changes[len(h.changes)-1])
	}
	return in
}

func (h *house) changed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.changes)
}

// browser is somebody's: it keeps cookies, and sends forms with the token of its pages.
type browser struct {
	t       *testing.T
	pages   *Pages
	cookies map[string]string
}

const sessionValue = "cags_of-the-test"

// visitorOf is a browser that is not signed in.
func visitorOf(t *testing.T, h *house) *browser {
	t.Helper()
	p := newPages(t, "https://gateway.example")
	p.Calls = h.calls()
	p.Network = func(*http.Request) netip.Prefix { return netip.MustParsePrefix("203.0.113.7/32") }
	return &browser{t: t, pages: p, cookies: map[string]string{}}
}

// personOf is a browser that is signed in.
func personOf(t *testing.T, h *house) *browser {
	t.Helper()
	b := visitorOf(t, h)
	b.cookies["__Host-"+sessionCookie] = sessionValue
	return b
}

func (b *browser) send(method, path string, form url.Values) answer {
	b.t.Helper()
	header := map[string]string{"Origin": "https://gateway.example", "Sec-Fetch-Site": "same-origin"}
	for name, value := range b.cookies {
		header["Cookie"] += name + "=" + value + "; "
	}
	got := send(b.t, b.pages, method, path, form, header)
	for _, c := range got.cookies {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c.Value
		}
	}
	return got
}

func (b *browser) get(path string) answer { b.t.Helper(); return b.send(http.MethodGet, path, nil) }

// post sends a form with the token that a page of this browser would have.
func (b *browser) post(path string, form url.Values) answer {
	b.t.Helper()
	bearing, account := b.cookies["__Host-"+sessionCookie], "a1"
	if bearing == "" {
		bearing, account = b.cookies["__Host-"+visitorCookie], ""
	}
	with := url.Values{tokenField: {forgeryToken(bearing, account)}}
	maps.Copy(with, form)
	return b.send(http.MethodPost, path, with)
}

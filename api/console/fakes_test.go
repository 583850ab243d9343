package console

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// house fakes the operations: its answers are scripted, and it records the inputs of changes.
type house struct {
	mu      sync.Mutex // guards the following fields
	changes []any      // inputs of changes, in order

	session  service.CurrentSession
	accounts []service.Membership
	keys     []service.KeyView
	services []service.ServiceFence
	settings service.AccountSettings
	members  service.MemberList
	sessions []service.ListedSession
	agents   []service.AgentView
	log      []service.AuditLine
	status   service.BillingStatus
	ladder   service.PriceLadder
	invoices service.InvoiceList
	periods  service.StatementList
	stated   statement.Statement
	checkout service.FinishedCheckout
	usage    service.UsageByDay
	explored service.ExploredUsage
	desk     fakeDesk
	// statusRefused is the answer to requests for the status; nil for success.
	statusRefused *fault.Error
	statusAsked   atomic.Int64 // number of requests for the status
	insights      service.UsageInsights
	// refusal is the answer to every change; nil for success.
	refusal *fault.Error
	// link is the answer about a link in a mail; nil while it works.
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
		session: service.CurrentSession{
			SessionID: "s1", UserID: "u1", Email: "mira@studio-north.example", Role: roleOwner, AccountID: "a1",
			AccountName: "Studio North", Plan: plan.Free, PlanTitle: "Free",
			PeriodStart: time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC),
			PeriodEnd:   time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC), TimeZone: "Europe/Berlin",
			Status: account.Active,
		},
		accounts: []service.Membership{
			{AccountID: "a1", Name: "Studio North", Role: roleOwner, Current: true},
			{AccountID: "a2", Name: "Personal", Role: roleOwner},
		},
		keys: []service.KeyView{
			{
				ID: keyOne, Name: "indexer", Prefix: "cag_aHCrXoRO", Door: account.DoorAccount, Status: account.Active,
				MonthlyRequestCap: &limit, CreatedAt: sampleNow.Add(-100 * time.Hour), LastUsedAt: &used,
			},
			{
				ID: keyOld, Name: "old", Prefix: "cag_9d2LkqPz", Door: account.DoorAdopted, Status: account.Revoked,
				CreatedAt: sampleNow.Add(-200 * time.Hour), RevokedAt: &revoked,
			},
		},
		settings: service.AccountSettings{NotifyUsage80: true, TimeZone: "Europe/Berlin"},
		members: service.MemberList{
			Members: []service.Member{
				{
					UserID: "u1", Email: "mira@studio-north.example", Role: roleOwner, Current: true,
					JoinedAt: sampleNow.Add(-900 * time.Hour),
				},
				{
					UserID: "u2", Email: "jo@studio-north.example", Role: roleMember,
					JoinedAt: sampleNow.Add(-90 * time.Hour),
				},
			},
			Invitations: []service.Invitation{
				{
					ID: "i1", Email: "kim@studio-north.example", Role: roleMember,
					ExpiresAt: sampleNow.Add(48 * time.Hour),
				},
			},
		},
		sessions: []service.ListedSession{
			{
				ID: "s1", Current: true,
				UserAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
				Network:   "203.0.113.0/24", BeganAt: sampleNow, SeenAt: sampleNow,
			},
			{ID: "s2", UserAgent: "curl/8.0", BeganAt: sampleNow, SeenAt: sampleNow},
		},
		agents: []service.AgentView{
			{
				ID: "g1", Name: "trader-7", Address: "0x00000000219ab540356cBB839Cbe05303d7705Fa", ClaimedVia: "wallet",
				ClaimedAt: sampleNow.Add(-time.Hour), KeyID: keyOne, KeyPrefix: "cag_aHCrXoRO",
			},
			{
				ID: "g2", Name: "scout", Address: "0x00000000219ab540356cBB839Cbe05303d7705Fb", ClaimedVia: "wallet",
				ClaimedAt: sampleNow.Add(-time.Hour), ServicesOff: []account.Service{account.Data},
			},
		},
		log: []service.AuditLine{{
			At: sampleNow.Add(-time.Minute), Actor: "user u1", ActorEmail: "mira@studio-north.example",
			Origin: "console", Action: "configure_key", Reason: "configured", KeyID: keyOne,
			Before: []byte(`{"monthly_cap":null,"caps":{}}`), After: []byte(`{"monthly_cap":500000,"caps":{"rpc":7}}`),
		}},
		usage: service.UsageByDay{
			Plan: plan.Free, PlanTitle: "Free", Used: 812_340_500, Allowance: &allowance, Refuses: true,
			PeriodEnd: time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC),
			Days: []service.DayUsage{
				{Day: "2026-11-19", Requests: 5, Hits: 2, Refused: 1, Standard: 3 * plan.Unit},
				{Day: "2026-11-20", Heavy: 4 * plan.Unit},
			},
		},
	}
	h.status, h.ladder, h.invoices = sampleBilling()
	h.explored, h.insights = sampleExplored("indexer"), sampleInsights()
	h.periods, h.stated = sampleStatements(sampleNow, "indexer")
	h.checkout = service.FinishedCheckout{
		CheckoutID: checkoutOne, Item: "scale_monthly", Title: "Scale by the month",
		State: "paid", Tier: plan.Scale, Note: "It is paid, and what was bought is in force.",
	}
	h.desk = sampleDesk("The message.")
	for _, s := range account.Services() {
		h.services = append(h.services, service.ServiceFence{Service: s, Enabled: true})
	}
	return h
}

// stoppedPacks is what the link in a mail about packs stops.
var stoppedPacks = service.StoppedMails{Email: "mira@studio-north.example", Topic: account.TopicPacks}

// reads returns a call that answers without a change.
func reads[In, Out any](answer func() Out) Call[In, Out] {
	return func(_ context.Context, c *service.Caller, _ In) (Out, *fault.Error) {
		if c.Session == "" && c.Bearer == "" {
			var none Out
			return none, fault.New(fault.KeyInvalid, "")
		}
		return answer(), nil
	}
}

// refuses returns a call that refuses with a reason.
func refuses[In, Out any](reason fault.Reason) Call[In, Out] {
	return func(context.Context, *service.Caller, In) (Out, *fault.Error) {
		var none Out
		return none, fault.New(reason, "")
	}
}

// changes returns a call that records its input, or refuses.
func changes[In, Out any](h *house, answer Out) Call[In, Out] {
	return func(_ context.Context, _ *service.Caller, in In) (Out, *fault.Error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.refusal != nil {
			return answer, h.refusal
		}
		h.changes = append(h.changes, in)
		return answer, nil
	}
}

// mixed returns a call that reads when its input is empty except for an id, and changes otherwise.
func mixed[In comparable, Out any](h *house, answer func() Out, empty func(In) bool) Call[In, Out] {
	return func(ctx context.Context, c *service.Caller, in In) (Out, *fault.Error) {
		if empty(in) {
			return reads[In](answer)(ctx, c, in)
		}
		return changes[In](h, answer())(ctx, c, in)
	}
}

// none returns a change without an output.
func none[In any](h *house) Call[In, service.Nothing] {
	return changes[In](h, service.Nothing{})
}

func (h *house) calls() Calls {
	entered := service.Entered{SessionToken: "cags_new", Email: "mira@studio-north.example", ReturnTo: "/keys"}
	fences := func() []service.ServiceFence { return append([]service.ServiceFence{}, h.services...) }
	return h.staffCalls(h.claimCalls(h.deskCalls(Calls{
		StartSignIn: changes[service.StartSignInInput](h, service.StartedSignIn{BrowserToken: "cagb_browser"}),
		ShowLink: func(context.Context, *service.Caller, service.SignInLinkInput) (service.ShownSignIn, *fault.Error) {
			return service.ShownSignIn{Email: "mira@studio-north.example"}, h.link
		},
		FinishByLink:      changes[service.SignInLinkInput](h, entered),
		FinishByCode:      changes[service.SignInCodeInput](h, entered),
		ShowSession:       reads[service.Nothing](func() service.CurrentSession { return h.session }),
		SignOut:           none[service.Nothing](h),
		SignOutEverywhere: changes[service.Nothing](h, service.EndedSessions{Ended: 2}),
		ListSessions: reads[service.Nothing](func() service.SessionList {
			return service.SessionList{Sessions: h.sessions}
		}),
		EndSession: none[service.EndSessionInput](h),
		ListAccounts: reads[service.Nothing](func() service.AccountChoice {
			return service.AccountChoice{Accounts: h.accounts}
		}),
		SwitchAccount: none[service.SwitchAccountInput](h),
		ListMembers:   reads[service.Nothing](func() service.MemberList { return h.members }),
		InviteMember: changes[service.InviteMemberInput](h, service.Invitation{
			Email: "new@studio-north.example", Role: roleMember,
		}),
		RevokeInvitation: none[service.InvitationInput](h),
		ShowInvitation: func(context.Context, *service.Caller,
			service.InvitationLinkInput,
		) (service.Invitation, *fault.Error) {
			return service.Invitation{
				Email: "kim@studio-north.example", Role: roleMember, InvitedBy: "mira@studio-north.example",
				AccountName: "Studio North",
			}, h.link
		},
		AcceptInvitation: changes[service.InvitationLinkInput](h, entered),
		ChangeMember:     none[service.ChangeMemberInput](h), RemoveMember: none[service.RemoveMemberInput](h),
		ExploreUsage: reads[service.ExploreUsageInput](func() service.ExploredUsage { return h.explored }),
		GetInsights:  reads[service.Nothing](func() service.UsageInsights { return h.insights }),
		ExportUsage: reads[service.ExploreUsageInput](func() service.UsageTable {
			return service.UsageTable{
				FileName: "usage-7d-2026-11-20.csv", Media: "text/csv; charset=utf-8; header=present", Text: "key\r\n",
			}
		}),
		UsageByDay: reads[service.UsageByDayInput](func() service.UsageByDay { return h.usage }),
		CreateKey: changes[service.CreateKeyInput](h, service.CreatedKey{
			ID: keyOne, Name: "indexer", Prefix: "cag_aHCrXoRO", PlaintextToken: plaintext,
		}),
		ListKeys: reads[service.ListKeysInput](func() service.KeyList { return service.KeyList{Keys: h.keys} }),
		ConfigureKey: mixed(h, func() service.ConfiguredKey { return service.ConfiguredKey{Services: fences()} },
			func(in service.ConfigureKeyInput) bool { return in == service.ConfigureKeyInput{ID: in.ID} }),
		NameAccount: changes[service.NameAccountInput](h, service.NamedAccount{Name: "Studio"}),
		RevokeKey:   changes[service.RevokeKeyInput](h, service.RevokedKey{Name: "indexer"}),
		ConfigureServices: mixed(h, func() service.ConfiguredServices {
			return service.ConfiguredServices{Services: fences()}
		},
			func(in service.ConfigureServicesInput) bool { return in == service.ConfigureServicesInput{} }),
		UpdateAccount: mixed(h, func() service.AccountSettings { return h.settings },
			func(in service.UpdateAccountInput) bool { return in == service.UpdateAccountInput{} }),
		ListAgents: reads[service.Nothing](func() service.AgentList { return service.AgentList{Agents: h.agents} }),
		AdoptKey:   changes[service.AdoptKeyInput](h, service.AdoptedKey{ID: keyTwo, Prefix: "cag_00aTz81b"}),
		GetStatus: func(context.Context, *service.Caller, service.Nothing) (service.Status, *fault.Error) {
			h.statusAsked.Add(1)
			return sampleStatus("Ethereum"), h.statusRefused
		},
		GetReceipt: func(_ context.Context, _ *service.Caller,
			in service.ReceiptInput,
		) (service.Receipt, *fault.Error) {
			if in.TxHash != receiptOf.TxHash {
				return service.Receipt{}, fault.New(fault.NotYours, "No settlement has this hash.")
			}
			return receiptOf, nil
		},
		ShowUnsubscribe: func(context.Context, *service.Caller,
			service.UnsubscribeInput,
		) (service.StoppedMails, *fault.Error) {
			return stoppedPacks, nil
		},
		Unsubscribe: changes[service.UnsubscribeInput](h, stoppedPacks),
		ShowEntry: func(context.Context, *service.Caller, service.EntryInput) (service.ShownEntry, *fault.Error) {
			return waitingEntry, h.refusal
		},
		ConfirmEntry: changes[service.ConfirmEntryInput](h, entryOf("confirmed")),
		LeaveEntry:   changes[service.EntryInput](h, entryOf("left")),
		ListMailTopics: reads[service.Nothing](func() service.MailTopics {
			return service.MailTopics{Topics: []account.Topic{account.TopicPacks}}
		}),
		ChooseMailTopics: changes[service.ChooseMailTopicsInput](h, service.MailTopics{}),
		BillingStatus:    reads[service.Nothing](func() service.BillingStatus { return h.status }),
		PriceLadder:      reads[service.Nothing](func() service.PriceLadder { return h.ladder }),
		StartCheckout:    changes[service.StartCheckoutInput](h, service.StartedCheckout{URL: checkoutURL}),
		FinishCheckout:   reads[service.FinishCheckoutInput](func() service.FinishedCheckout { return h.checkout }),
		ChangePlan: changes[service.ChangePlanInput](h, service.PlanChange{
			Note: "The new plan is in force.", InForce: true,
		}),
		CancelPlan: changes[service.Nothing](h, service.PlanChange{Note: "It ends with its period."}),
		ResumePlan: changes[service.Nothing](h, service.PlanChange{
			Note: "The subscription goes on.", InForce: true,
		}),
		OpenPortal:   changes[service.Nothing](h, service.Portal{URL: "https://billing.stripe.example/p/1"}),
		ListInvoices: reads[service.ListInvoicesInput](func() service.InvoiceList { return h.invoices }),
		ShowInvoice: changes[service.ShowInvoiceInput](h, service.InvoicePage{
			URL: "https://invoice.stripe.example/i/1",
		}),
		ListStatements: reads[service.Nothing](func() service.StatementList { return h.periods }),
		GetStatement:   reads[service.StatementInput](func() statement.Statement { return h.stated }),
		ExportStatement: reads[service.ExportStatementInput](func() service.StatementTable {
			return service.StatementTable{
				FileName: "statement-2026-11-01.csv", Media: "text/csv; charset=utf-8; header=present", Text: "key\r\n",
			}
		}),
		GetKey: changes[service.GetKeyInput](h, sampleWelcome()),
		ListPlans: func(context.Context, *service.Caller, service.Nothing) (service.PlanList, *fault.Error) {
			return samplePlans(), nil
		},
		PriceVolume: func(_ context.Context, _ *service.Caller,
			in service.PriceVolumeInput,
		) (service.PriceLadder, *fault.Error) {
			if in.Units > maxVolume {
				return service.PriceLadder{}, fault.New(fault.FieldRefused,
					"units: takes at most 1,000,000,000,000.").With("field", "units")
			}
			l := h.ladder
			l.Volume, l.Current = plan.Units(in.Units)*plan.Unit, ""
			return l, nil
		},
		ListAudit: reads[service.ListAuditInput](func() service.AuditLog { return service.AuditLog{Lines: h.log} }),
	})))
}

// lastChange returns the input of the last change, which must be an In.
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

// browser keeps cookies, and sends forms with the CSRF token of its pages.
type browser struct {
	t       *testing.T
	pages   *Pages
	cookies map[string]string
}

const sessionValue = "cags_of-the-test"

// visitorOf returns a browser that is not signed in.
func visitorOf(t *testing.T, h *house) *browser {
	t.Helper()
	p := newPages(t, "https://gateway.example")
	p.Calls = h.calls()
	p.Network = func(*http.Request) netip.Prefix { return netip.MustParsePrefix("203.0.113.7/32") }
	return &browser{t: t, pages: p, cookies: map[string]string{}}
}

// personOf returns a browser that is signed in.
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

// post sends a form with the CSRF token of a page of this browser.
func (b *browser) post(path string, form url.Values) answer {
	b.t.Helper()
	bearing, account := b.cookies["__Host-"+sessionCookie], "a1"
	if bearing == "" {
		bearing, account = b.cookies["__Host-"+visitorCookie], ""
	}
	with := url.Values{tokenField: {csrfToken(bearing, account)}}
	maps.Copy(with, form)
	return b.send(http.MethodPost, path, with)
}

package tickets_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// withChain adds a chain with two upstreams to the environment. Probes found one of them usable.
func withChain(t *testing.T) func(*service.Options) {
	t.Helper()
	pool, err := upstream.NewPool(
		config.Upstreams{Chains: map[string]config.ChainUpstreams{"eth_mainnet": {Upstreams: []config.Upstream{
			{Name: "first", URL: "http://127.0.0.1:1", Supply: "public"}, {
				Name: "second", URL: "http://127.0.0.1:2", Supply: "public",
			},
		}}}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	on, _ := pool.Chain(chain.EthMainnet)
	on.Apply(upstream.Snapshot{
		Chain: chain.EthMainnet, MeasuredAt: time.Now(), Head: 23_000_000, HeadKnown: true,
		Upstreams: []upstream.UpstreamState{
			{Name: "first", Fingerprint: on.Fingerprint("first"), Usable: true, ChainIDOK: true},
			{Name: "second", Fingerprint: on.Fingerprint("second"), Reason: "unreachable"},
		},
	})
	return func(o *service.Options) { o.Pool = pool }
}

func TestTicket_CarriesWhatIsKnownOfItsMatter(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t, withChain(t))
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	limit := int64(40)
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{
		Name: "indexer", MonthlyRequestCap: &limit,
	}))
	if _, refusal := servicetest.Serve(o, o.ConfigureKey, ann, map[string]any{
		"id": key.ID, "enabled": []any{"rpc", "gas"}, "caps": map[string]any{"rpc": 30.0},
	}); refusal != nil {
		t.Fatal(refusal)
	}
	of, _ := account.ParseID(o.WhoIs(t, ann.Session).AccountID)
	slot := time.Now().Add(-time.Hour).UTC().Truncate(10 * time.Second)
	err := o.Store.CommitUsage(o.Ctx,
		[]account.UsageBucket{{
			Shard: account.Shard(of), Slot: slot, Account: of, Generation: "g",
			Lines: []account.UsageLine{
				{
					Period: slot.Format("2006-01") + "-01", Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
					Class: "standard", Outcome: "service_cap", Requests: 7,
				},
			},
		}})
	if err != nil {
		t.Fatal(err)
	}
	failed := usagedb.Call{Outcome: "upstream_failed", HTTPStatus: 502, Attempts: 2, Duration: 1500 * time.Millisecond}
	request := o.Call(t, key.PlaintextToken, usagedb.Call{Units: plan.Unit}, failed)
	made := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx,
		servicetest.Holder(key.PlaintextToken),
		tickets.CreateTicketInput{
			Subject: "Calls fail", Message: "Since noon.", RequestID: request,
		}))
	expect.False(t, made.Joined)
	expect.Equal(t, made.Status, ticket.Open)
	expect.Equal(t, made.Category, ticket.Incident)
	expect.Equal(t, made.Priority, ticket.Normal)
	expect.Equal(t, made.Channel, operation.DoorAPI)
	expect.Equal(t, made.URL, "https://gateway.example/tickets/"+made.Reference)
	expect.HasPrefix(t, made.Reference, "CAG-")
	got, refusal := servicetest.Serve(o, o.GetTicket, ann, map[string]any{"reference": made.Reference})
	if refusal != nil {
		t.Fatal(refusal)
	}
	text := fmt.Sprint(got)
	for _, want := range []string{
		"batch_size:2", "code:-32022", "index:1", "attempts:2", "duration_ms:1500", "reason:service_cap", "count:7",
		"monthly_request_cap:40", "caps:map[rpc:30]", "state:degraded", "usable_upstreams:1", "head:2.3e+07",
		"request_id:" + request, "author:customer", "key_prefix:" + key.Prefix,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the ticket lacks %s: %s", want, text)
		}
	}
	if strings.Contains(text, key.PlaintextToken) || strings.Contains(text, "first") {
		t.Errorf("the ticket tells too much: %s", text)
	}
	detail := servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, ann, tickets.TicketInput{
		Reference: made.Reference,
	}))
	var reasons []string
	for _, p := range detail.SuggestedPaths {
		reasons = append(reasons, p.Reason)
	}
	if got := strings.Join(reasons, " "); got != "chain_degraded upstream_failed service_cap" {
		t.Errorf("the paths are %s", got)
	}
	// A repeat joins the ticket. By a user, with another category and without a call, it is another
	// ticket.
	again := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
		Subject: "Again", Message: "Once more.", RequestID: request,
	}))
	expect.True(t, again.Joined)
	expect.Equal(t, again.Reference, made.Reference)
	expect.Equal(t, again.Subject, "Calls fail")
	detail = servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, ann, tickets.TicketInput{
		Reference: made.Reference,
	}))
	if got := detail.Messages[1].Message; got != "Subject: Again\n\nOnce more." {
		t.Errorf("what joined says %q", got)
	}
	other := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
		Subject: "An invoice", Message: "Which one?", Category: "billing",
	}))
	expect.False(t, other.Joined)
	expect.Equal(t, other.Category, ticket.Billing)
	expect.Equal(t, other.Channel, operation.DoorConsole)
	expect.NotEmpty(t, other.SuggestedPaths)
}

func TestTicket_IsFoundByItsAccountAndItsAgentAlone(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann, eve := servicetest.Browser(o.SignIn(t, "ann@buyer.example")),
		servicetest.Browser(o.SignIn(t, "eve@other.example"))
	own := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	door := servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, servicetest.Browser(""), keys.GetKeyInput{}))
	way := door.Doorways["ticket"]
	expect.True(t, way.Open)
	expect.Contains(t, way.Do, "manage_tickets")
	expect.Equal(t, way.At, "https://gateway.example/mcp")
	of, _ := account.ParseID(o.WhoIs(t, ann.Session).AccountID)
	agentKey, _ := o.AgentKey(t, of)
	agents := servicetest.Holder(agentKey)
	adoptedKey := o.AdoptedKey(t, of)
	adopted := servicetest.Holder(adoptedKey)
	if _, refusal := servicetest.Serve(o, o.ConfigureServices, ann, map[string]any{
		"caps": map[string]any{"rpc": 30.0},
	}); refusal != nil {
		t.Fatal(refusal)
	}
	file := func(who *operation.Caller, in tickets.CreateTicketInput) string {
		t.Helper()
		in.Subject, in.Message = "s", "m"
		return servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, who, in)).Reference
	}
	request := o.Call(t, own.PlaintextToken, usagedb.Call{Outcome: "rate_window"})
	anns, byKey := file(ann, tickets.CreateTicketInput{RequestID: request}),
		file(servicetest.Holder(own.PlaintextToken),
			tickets.CreateTicketInput{})
	byAgent, atDoor := file(agents, tickets.CreateTicketInput{}),
		file(servicetest.Holder(door.Key), tickets.CreateTicketInput{})
	byAdopted := file(adopted, tickets.CreateTicketInput{
		RequestID: o.Call(t, adoptedKey, usagedb.Call{Outcome: "rate_window"}),
	})
	for who, c := range map[string]struct {
		caller *operation.Caller
		finds  []string
	}{
		"ann": {ann, []string{byAdopted, byAgent, byKey, anns}}, "her key": {
			servicetest.Holder(own.PlaintextToken), []string{byAdopted, byAgent, byKey, anns},
		},
		"her agent": {agents, []string{byAgent}}, "eve": {eve, nil},
		"a door key":     {servicetest.Holder(door.Key), []string{atDoor}},
		"an adopted key": {adopted, []string{byAdopted}},
	} {
		t.Run(who, func(t *testing.T) {
			list := servicetest.Must[tickets.TicketList](t)(o.ListTickets.Invoke(o.Ctx, c.caller,
				tickets.ListTicketsInput{}))
			var found []string
			for _, one := range list.Tickets {
				found = append(found, one.Reference)
			}
			if fmt.Sprint(found) != fmt.Sprint(c.finds) {
				t.Errorf("%s finds %v, want %v", who, found, c.finds)
			}
			for _, one := range []string{anns, byKey, byAgent, atDoor, byAdopted} {
				if strings.Contains(strings.Join(c.finds, " ")+" ", one+" ") {
					continue
				}
				theirs := o.Refuses(t, o.GetTicket, c.caller, map[string]any{"reference": one}, fault.NotYours)
				nobodys := o.Refuses(t, o.GetTicket, c.caller, map[string]any{"reference": "CAG-999999999"},
					fault.NotYours)
				if theirs.Message != nobodys.Message {
					t.Errorf("another's is told from nobody's: %q, %q", theirs.Message, nobodys.Message)
				}
				o.Refuses(t, o.ReplyTicket, c.caller, map[string]any{"reference": one, "message": "x", "resolve": true},
					fault.NotYours)
			}
		})
	}
	// A cap of the account is shown only to callers who manage it.
	for who, c := range map[*operation.Caller]int{ann: 1, agents: 0} {
		detail := servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, who,
			tickets.TicketInput{Reference: byAgent}))
		if got := detail.Evidence.Fences.Account.Caps; got == nil || len(got) != c {
			t.Errorf("the caps of the account are shown as %v", got)
		}
	}
	servicetest.Must[tickets.FeedbackView](t)(o.SubmitFeedback.Invoke(o.Ctx, ann, tickets.SubmitFeedbackInput{
		Kind: "other", Title: "x",
	}))
	if list := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, adopted,
		tickets.ListFeedbackInput{})); len(
		list.Feedback) != 0 {
		t.Errorf("an adopted key sees the feedback %+v", list)
	}
	// An agent and an adopted key cannot name a call of the account that they did not make.
	o.Refuses(t, o.CreateTicket, adopted, map[string]any{"subject": "x", "message": "x", "request_id": request},
		fault.NotYours)
	o.Refuses(t, o.CreateTicket, agents, map[string]any{"subject": "x", "message": "x", "request_id": request},
		fault.NotYours)
	o.Refuses(t, o.CreateTicket, servicetest.Browser(""), map[string]any{"subject": "x", "message": "x"},
		fault.KeyInvalid)
}

func TestTicket_IsAnsweredResolvedAndReopened(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	made := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
		Subject: "s", Message: "m",
	}))
	number, _ := ticket.ParseReference(made.Reference)
	reply := func(in tickets.ReplyTicketInput) ticket.Status {
		t.Helper()
		in.Reference = made.Reference
		return servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, ann, in)).Status
	}
	if got := reply(tickets.ReplyTicketInput{Resolve: true}); got != ticket.Resolved {
		t.Errorf("resolved it is %s", got)
	}
	if got := reply(tickets.ReplyTicketInput{Resolve: true}); got != ticket.Resolved {
		t.Errorf("resolved again it is %s", got)
	}
	detail := servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, ann, tickets.TicketInput{
		Reference: made.Reference,
	}))
	in := expect.In(t, "it is to close")
	require.NotNil(in, detail.ClosesAt)
	expect.Equal(in, detail.ClosesAt.Sub(detail.LastActivityAt), 7*24*time.Hour)
	expect.NotNil(in, detail.ResolvedAt)
	if got := reply(tickets.ReplyTicketInput{Message: "Not yet."}); got != ticket.WaitingUs {
		t.Errorf("a reply makes it %s", got)
	}
	for _, wrong := range []map[string]any{
		{},
		{"message": " \n "},
		{"message": "x", "resolve": true, "reopen": true},
		{"reopen": true},
		{"message": "a\x00b"},
		{"message": "my key is " + key.PlaintextToken},
		{"message": "a\u202eb"},
		{"message": "\x1b[31m"},
		{"message": strings.Repeat("é", 5001)},
	} {
		wrong["reference"] = made.Reference
		o.Refuses(t, o.ReplyTicket, ann, wrong, fault.FieldRefused)
	}
	reply(tickets.ReplyTicketInput{Resolve: true})
	if _, err := o.Store.CloseTicket(o.Ctx, number, time.Now().Add(8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := o.Refuses(t, o.ReplyTicket, ann, map[string]any{"reference": made.Reference, "message": "Still there?"},
		fault.FieldRefused); !strings.Contains(got.Message, "reopen") {
		t.Errorf("a closed one says %q", got.Message)
	}
	if list := servicetest.Must[tickets.TicketList](t)(o.ListTickets.Invoke(o.Ctx, ann,
		tickets.ListTicketsInput{})); len(
		list.Tickets) != 0 {
		t.Errorf("unresolved are %+v", list)
	}
	if list := servicetest.Must[tickets.TicketList](t)(o.ListTickets.Invoke(o.Ctx, ann, tickets.ListTicketsInput{
		Status: "closed",
	})); len(list.Tickets) != 1 {
		t.Errorf("closed are %+v", list)
	}
	if got := reply(tickets.ReplyTicketInput{Reopen: true}); got != ticket.WaitingUs {
		t.Errorf("reopened it is %s", got)
	}
	o.Refuses(t, o.ListTickets, ann, map[string]any{"status": "lost"}, fault.FieldRefused)
}

func TestTicket_TextsOfCustomersAreStoredAndReturnedVerbatim(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	const subject, message = `<img src=x onerror=alert(1)> & {{.}} 'ß' 👩‍💻`, "one\n\n\ttwo <script>\r\nthree " +
		"مرحبا\u200f"
	made := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
		Subject: subject, Message: message,
	}))
	detail := servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, ann, tickets.TicketInput{
		Reference: made.Reference,
	}))
	if made.Subject != subject || detail.Messages[0].Message != message {
		t.Errorf("kept are %q and %q", made.Subject, detail.Messages[0].Message)
	}
	for _, wrong := range []string{"two\nlines", "\u2028", "a\u2066b", "\ufeff", " ", strings.Repeat("é", 141)} {
		o.Refuses(t, o.CreateTicket, ann, map[string]any{"subject": wrong, "message": "x"}, fault.FieldRefused)
		o.Refuses(t, o.SubmitFeedback, ann, map[string]any{"kind": "other", "title": wrong}, fault.FieldRefused)
	}
}

func TestTickets_AreListedByPages(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	want := map[string]bool{}
	for range 7 {
		want[servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, ann, tickets.CreateTicketInput{
			Subject: "s", Message: "m",
		})).Reference] = true
	}
	in, pages := tickets.ListTicketsInput{Limit: 3}, 0
	for {
		list := servicetest.Must[tickets.TicketList](t)(o.ListTickets.Invoke(o.Ctx, ann, in))
		pages++
		for _, one := range list.Tickets {
			if !want[one.Reference] {
				t.Errorf("%s is listed twice", one.Reference)
			}
			delete(want, one.Reference)
		}
		if in.Cursor = list.NextCursor; in.Cursor == "" {
			break
		}
	}
	if pages != 3 || len(want) != 0 {
		t.Errorf("%d pages leave %v out", pages, want)
	}
}

// Users of a suspended account learn the reason from support.
func TestTicket_SuspendedAccountReachesSupport(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	of, _ := account.ParseID(o.WhoIs(t, ann.Session).AccountID)
	if _, err := o.Limits.SetStatus(o.Ctx, of, account.Suspended, accountdb.Author{
		Actor: "operator", Origin: "ops", Reason: "abuse",
	}); err != nil {
		t.Fatal(err)
	}
	for _, who := range []*operation.Caller{ann, servicetest.Holder(key.PlaintextToken)} {
		made := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, who, tickets.CreateTicketInput{
			Subject: "Why", Message: "Why?",
		}))
		detail := servicetest.Must[tickets.TicketDetail](t)(o.GetTicket.Invoke(o.Ctx, who, tickets.TicketInput{
			Reference: made.Reference,
		}))
		if detail.Evidence.Fences.Status != "suspended" {
			t.Errorf("the evidence is %+v", detail.Evidence.Fences)
		}
		given := servicetest.Must[tickets.FeedbackView](t)(o.SubmitFeedback.Invoke(o.Ctx, who,
			tickets.SubmitFeedbackInput{Kind: "complaint", Title: "Why"}))
		list := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, who,
			tickets.ListFeedbackInput{Limit: 1}))
		if list.Feedback[0].ID != given.ID {
			t.Errorf("the feedback is %+v", list)
		}
		o.Refuses(t, o.CreateKey, who, map[string]any{"name": "x"}, fault.AccountSuspended)
	}
}

func TestTicket_DailyBoundHoldsUntilTheFirstIsADayOld(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	door := servicetest.Must[keys.Welcome](t)(o.GetKey.Invoke(o.Ctx, servicetest.Browser(""), keys.GetKeyInput{}))
	for range ticket.MaxDailyAtDoors {
		made := servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, servicetest.Holder(door.Key),
			tickets.CreateTicketInput{Subject: "s", Message: "m"}))
		servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, servicetest.Holder(door.Key),
			tickets.ReplyTicketInput{
				Reference: made.Reference, Resolve: true,
			}))
	}
	got := o.Refuses(t, o.CreateTicket, servicetest.Holder(door.Key), map[string]any{"subject": "s", "message": "m"},
		fault.RateWindow)
	if got.RetryAfter <= 23*time.Hour || got.RetryAfter > 24*time.Hour {
		t.Errorf("it may be tried again in %s", got.RetryAfter)
	}
}

// The preview of a ticket shows what the ticket then contains.
func TestTicket_PreviewShowsWhatItWillCarryAndFilesNothing(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t, withChain(t))
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	key := servicetest.Must[keys.CreatedKey](t)(o.CreateKey.Invoke(o.Ctx, ann, keys.CreateKeyInput{Name: "indexer"}))
	request := o.Call(t, key.PlaintextToken, usagedb.Call{Outcome: "upstream_failed", HTTPStatus: 502, Attempts: 2})
	for name, caller := range map[string]*operation.Caller{
		"a user": ann,
		"a key":  servicetest.Holder(key.PlaintextToken),
	} {
		shown := servicetest.Must[tickets.TicketPreview](t)(o.PreviewTicket.Invoke(o.Ctx, caller,
			tickets.PreviewTicketInput{RequestID: request}))
		e := shown.Evidence
		in := expect.In(t, "%s", name)
		require.NotNil(in, e.Call)
		expect.Equal(in, e.Call.Code, -32022)
		expect.Equal(in, e.Chain.State, ticket.ChainDegraded)
		expect.Equal(in, e.Fences.Key.Prefix, key.Prefix)
		expect.Equal(in, shown.Category, ticket.Incident)
		bare := servicetest.Must[tickets.TicketPreview](t)(o.PreviewTicket.Invoke(o.Ctx, caller,
			tickets.PreviewTicketInput{}))
		in = expect.In(t, "%s is shown without a call", name)
		expect.Nil(in, bare.Evidence.Call)
		expect.Nil(in, bare.Evidence.Chain)
		expect.NotEqual(in, bare.Evidence.Fences.Plan, "")
	}
	all := servicetest.Must[tickets.TicketList](t)(o.ListTickets.Invoke(o.Ctx, ann,
		tickets.ListTicketsInput{Status: "all"}))
	if len(all.Tickets) != 0 {
		t.Errorf("a preview filed %+v", all.Tickets)
	}
}

func TestTicket_OfAKeyGoesWithItToItsOwner(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenDoors(t)
	key, left := o.DoorKey(t), o.DoorKey(t)
	form := uuid.NewString() // used by two accounts: ids of different accounts may collide
	file := func(key string) string {
		t.Helper()
		return servicetest.Must[tickets.CreatedTicket](t)(o.CreateTicket.Invoke(o.Ctx, servicetest.Holder(key),
			tickets.CreateTicketInput{Subject: "s", Message: "m", Form: form})).Reference
	}
	moves, stays := file(key.Key), file(left.Key)
	servicetest.Must[tickets.FeedbackView](t)(o.SubmitFeedback.Invoke(o.Ctx, servicetest.Holder(key.Key),
		tickets.SubmitFeedbackInput{
			Kind: "praise", Title: "Fast",
		}))
	subject, refusal := o.Limits.Identify(o.Ctx, key.Key, servicetest.Browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	// as identified before the adoption
	before := supportdb.Writer{Account: subject.Account, Key: subject.Key, Channel: "api"}
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	servicetest.Must[agents.AdoptedKey](t)(o.AdoptKey.Invoke(o.Ctx, ann, agents.AdoptKeyInput{
		ClaimCode: key.Doorways["adopt"].ClaimCode,
	}))
	if _, _, err := o.Store.CreateTicket(o.Ctx, supportdb.NewTicket{
		Writer: before, Subject: "s", Message: "m", Category: ticket.Other, Priority: ticket.Low, At: time.Now(),
	}); err == nil {
		t.Error("a ticket is filed in the account that the key has left")
	}
	if _, err := o.Store.SubmitFeedback(o.Ctx, before, supportdb.Feedback{
		ID: supportdb.NewFeedbackID(), Kind: "praise", Title: "x", CreatedAt: time.Now(),
	}, nil); err == nil {
		t.Error("feedback is given in the account that the key has left")
	}
	for _, who := range []*operation.Caller{ann, servicetest.Holder(key.Key)} {
		list := servicetest.Must[tickets.TicketList](t)(o.ListTickets.Invoke(o.Ctx, who, tickets.ListTicketsInput{}))
		if len(list.Tickets) != 1 || list.Tickets[0].Reference != moves {
			t.Errorf("found is %+v", list)
		}
		servicetest.Must[tickets.TicketView](t)(o.ReplyTicket.Invoke(o.Ctx, who, tickets.ReplyTicketInput{
			Reference: moves, Message: "More.",
		}))
		o.Refuses(t, o.GetTicket, who, map[string]any{"reference": stays}, fault.NotYours)
		if given := servicetest.Must[tickets.FeedbackList](t)(o.ListFeedback.Invoke(o.Ctx, who,
			tickets.ListFeedbackInput{})); len(
			given.Feedback) != 1 {
			t.Errorf("the feedback is %+v", given)
		}
	}
	servicetest.Must[agents.AdoptedKey](t)(o.AdoptKey.Invoke(o.Ctx, ann, agents.AdoptKeyInput{
		ClaimCode: left.Doorways["adopt"].ClaimCode,
	}))
	for _, reference := range []string{moves, stays} {
		lines, err := o.Store.ListDeskLines(o.Ctx, reference)
		if err != nil || len(lines) == 0 {
			t.Fatalf("what was done about %s: %d lines, %v", reference, len(lines), err)
		}
		for _, l := range lines {
			if l.Account.UUID != lines[0].Account.UUID || l.Account.UUID == before.Account.UUID {
				t.Errorf("%s was done at %s for the account that the key has left", l.Action, reference)
			}
		}
	}
}

package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// withChain adds a chain with two upstreams to the office. Probes found one of them usable.
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

// call records a call of a key and returns its request id.
func (o *office) call(t *testing.T, key string, items ...usagedb.Call) string {
	t.Helper()
	s, refusal := o.limits.Identify(o.ctx, key, browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	id := uuid.Must(uuid.NewV7())
	for i := range items {
		c := &items[i]
		c.RequestID, c.Index, c.StartedAt, c.Account, c.Key = id, i, time.Now(), s.Account, s.Key
		c.Chain, c.Service, c.Method, c.Class, c.Tier = chain.EthMainnet, "rpc", "eth_call", "standard", "balanced"
		if c.Outcome == "" {
			c.Outcome = "ok"
		}
	}
	if err := o.store.CopyCalls(o.ctx, items); err != nil {
		t.Fatal(err)
	}
	return id.String()
}

func TestTicket_CarriesWhatIsKnownOfItsMatter(t *testing.T) {
	t.Parallel()
	o := openOffice(t, withChain(t))
	ann := browser(o.signIn(t, "ann@buyer.example"))
	limit := int64(40)
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{
		Name: "indexer", MonthlyRequestCap: &limit,
	}))
	if _, refusal := serve(o, o.ConfigureKey, ann, map[string]any{
		"id": key.ID, "enabled": []any{"rpc", "gas"}, "caps": map[string]any{"rpc": 30.0},
	}); refusal != nil {
		t.Fatal(refusal)
	}
	of, _ := account.ParseID(o.whoIs(t, ann.Session).AccountID)
	slot := time.Now().Add(-time.Hour).UTC().Truncate(10 * time.Second)
	err := o.store.CommitUsage(o.ctx,
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
	request := o.call(t, key.PlaintextToken, usagedb.Call{Units: plan.Unit}, failed)
	made := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, holder(key.PlaintextToken),
		service.CreateTicketInput{
			Subject: "Calls fail", Message: "Since noon.", RequestID: request,
		}))
	if made.Joined || made.Status != ticket.Open || made.Category != ticket.Incident ||
		made.Priority != ticket.Normal || made.Channel != service.DoorAPI ||
		made.URL != "https://gateway.example/tickets/"+made.Reference || !strings.HasPrefix(made.Reference, "CAG-") {
		t.Errorf("made is %+v", made)
	}
	got, refusal := serve(o, o.GetTicket, ann, map[string]any{"reference": made.Reference})
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
	detail := must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, ann, service.TicketInput{
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
	again := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
		Subject: "Again", Message: "Once more.", RequestID: request,
	}))
	if !again.Joined || again.Reference != made.Reference || again.Subject != "Calls fail" {
		t.Errorf("again is %+v", again)
	}
	detail = must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, ann, service.TicketInput{
		Reference: made.Reference,
	}))
	if got := detail.Messages[1].Message; got != "Subject: Again\n\nOnce more." {
		t.Errorf("what joined says %q", got)
	}
	other := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
		Subject: "An invoice", Message: "Which one?", Category: "billing",
	}))
	if other.Joined || other.Category != ticket.Billing || other.Channel != service.DoorConsole ||
		len(other.SuggestedPaths) == 0 {
		t.Errorf("the other is %+v", other)
	}
}

func TestTicket_IsFoundByItsAccountAndItsAgentAlone(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann, eve := browser(o.signIn(t, "ann@buyer.example")), browser(o.signIn(t, "eve@other.example"))
	own := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	door := must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
	if way := door.Doorways["ticket"]; !way.Open || !strings.Contains(way.Do, "manage_tickets") ||
		way.At != "https://gateway.example/mcp" {
		t.Errorf("the doorway is %+v", way)
	}
	of, _ := account.ParseID(o.whoIs(t, ann.Session).AccountID)
	agentKey, _ := o.agentKey(t, of)
	agents := holder(agentKey)
	adoptedKey := o.adoptedKey(t, of)
	adopted := holder(adoptedKey)
	if _, refusal := serve(o, o.ConfigureServices, ann, map[string]any{
		"caps": map[string]any{"rpc": 30.0},
	}); refusal != nil {
		t.Fatal(refusal)
	}
	file := func(who *service.Caller, in service.CreateTicketInput) string {
		t.Helper()
		in.Subject, in.Message = "s", "m"
		return must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, who, in)).Reference
	}
	request := o.call(t, own.PlaintextToken, usagedb.Call{Outcome: "rate_window"})
	anns, byKey := file(ann, service.CreateTicketInput{RequestID: request}), file(holder(own.PlaintextToken),
		service.CreateTicketInput{})
	byAgent, atDoor := file(agents, service.CreateTicketInput{}), file(holder(door.Key), service.CreateTicketInput{})
	byAdopted := file(adopted, service.CreateTicketInput{
		RequestID: o.call(t, adoptedKey, usagedb.Call{Outcome: "rate_window"}),
	})
	for who, c := range map[string]struct {
		caller *service.Caller
		finds  []string
	}{
		"ann": {ann, []string{byAdopted, byAgent, byKey, anns}}, "her key": {
			holder(own.PlaintextToken), []string{byAdopted, byAgent, byKey, anns},
		},
		"her agent": {agents, []string{byAgent}}, "eve": {eve, nil}, "a door key": {holder(door.Key), []string{atDoor}},
		"an adopted key": {adopted, []string{byAdopted}},
	} {
		list := must[service.TicketList](t)(o.ListTickets.Invoke(o.ctx, c.caller, service.ListTicketsInput{}))
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
			theirs := o.refuses(t, o.GetTicket, c.caller, map[string]any{"reference": one}, fault.NotYours)
			nobodys := o.refuses(t, o.GetTicket, c.caller, map[string]any{"reference": "CAG-999999999"}, fault.NotYours)
			if theirs.Message != nobodys.Message {
				t.Errorf("another's is told from nobody's: %q, %q", theirs.Message, nobodys.Message)
			}
			o.refuses(t, o.ReplyTicket, c.caller, map[string]any{"reference": one, "message": "x", "resolve": true},
				fault.NotYours)
		}
	}
	// A cap of the account is shown only to callers who manage it.
	for who, c := range map[*service.Caller]int{ann: 1, agents: 0} {
		detail := must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, who, service.TicketInput{Reference: byAgent}))
		if got := detail.Evidence.Fences.Account.Caps; got == nil || len(got) != c {
			t.Errorf("the caps of the account are shown as %v", got)
		}
	}
	must[service.FeedbackView](t)(o.SubmitFeedback.Invoke(o.ctx, ann, service.SubmitFeedbackInput{
		Kind: "other", Title: "x",
	}))
	if list := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, adopted, service.ListFeedbackInput{})); len(
		list.Feedback) != 0 {
		t.Errorf("an adopted key sees the feedback %+v", list)
	}
	// An agent and an adopted key cannot name a call of the account that they did not make.
	o.refuses(t, o.CreateTicket, adopted, map[string]any{"subject": "x", "message": "x", "request_id": request},
		fault.NotYours)
	o.refuses(t, o.CreateTicket, agents, map[string]any{"subject": "x", "message": "x", "request_id": request},
		fault.NotYours)
	o.refuses(t, o.CreateTicket, browser(""), map[string]any{"subject": "x", "message": "x"}, fault.KeyInvalid)
}

func TestTicket_IsAnsweredResolvedAndReopened(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	made := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
		Subject: "s", Message: "m",
	}))
	number, _ := ticket.ParseReference(made.Reference)
	reply := func(in service.ReplyTicketInput) ticket.Status {
		t.Helper()
		in.Reference = made.Reference
		return must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, ann, in)).Status
	}
	if got := reply(service.ReplyTicketInput{Resolve: true}); got != ticket.Resolved {
		t.Errorf("resolved it is %s", got)
	}
	if got := reply(service.ReplyTicketInput{Resolve: true}); got != ticket.Resolved {
		t.Errorf("resolved again it is %s", got)
	}
	detail := must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, ann, service.TicketInput{
		Reference: made.Reference,
	}))
	if detail.ClosesAt == nil || detail.ClosesAt.Sub(detail.LastActivityAt) != 7*24*time.Hour ||
		detail.ResolvedAt == nil {
		t.Errorf("it is to close: %+v", detail)
	}
	if got := reply(service.ReplyTicketInput{Message: "Not yet."}); got != ticket.WaitingUs {
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
		o.refuses(t, o.ReplyTicket, ann, wrong, fault.FieldRefused)
	}
	reply(service.ReplyTicketInput{Resolve: true})
	if _, err := o.store.CloseTicket(o.ctx, number, time.Now().Add(8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := o.refuses(t, o.ReplyTicket, ann, map[string]any{"reference": made.Reference, "message": "Still there?"},
		fault.FieldRefused); !strings.Contains(got.Message, "reopen") {
		t.Errorf("a closed one says %q", got.Message)
	}
	if list := must[service.TicketList](t)(o.ListTickets.Invoke(o.ctx, ann, service.ListTicketsInput{})); len(
		list.Tickets) != 0 {
		t.Errorf("unresolved are %+v", list)
	}
	if list := must[service.TicketList](t)(o.ListTickets.Invoke(o.ctx, ann, service.ListTicketsInput{
		Status: "closed",
	})); len(list.Tickets) != 1 {
		t.Errorf("closed are %+v", list)
	}
	if got := reply(service.ReplyTicketInput{Reopen: true}); got != ticket.WaitingUs {
		t.Errorf("reopened it is %s", got)
	}
	o.refuses(t, o.ListTickets, ann, map[string]any{"status": "lost"}, fault.FieldRefused)
}

func TestTicket_TextsOfCustomersAreStoredAndReturnedVerbatim(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	const subject, message = `<img src=x onerror=alert(1)> & {{.}} 'ß' 👩‍💻`, "one\n\n\ttwo <script>\r\nthree " +
		"مرحبا\u200f"
	made := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
		Subject: subject, Message: message,
	}))
	detail := must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, ann, service.TicketInput{
		Reference: made.Reference,
	}))
	if made.Subject != subject || detail.Messages[0].Message != message {
		t.Errorf("kept are %q and %q", made.Subject, detail.Messages[0].Message)
	}
	for _, wrong := range []string{"two\nlines", "\u2028", "a\u2066b", "\ufeff", " ", strings.Repeat("é", 141)} {
		o.refuses(t, o.CreateTicket, ann, map[string]any{"subject": wrong, "message": "x"}, fault.FieldRefused)
		o.refuses(t, o.SubmitFeedback, ann, map[string]any{"kind": "other", "title": wrong}, fault.FieldRefused)
	}
}

func TestTickets_AreListedByPages(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	want := map[string]bool{}
	for range 7 {
		want[must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, ann, service.CreateTicketInput{
			Subject: "s", Message: "m",
		})).Reference] = true
	}
	in, pages := service.ListTicketsInput{Limit: 3}, 0
	for {
		list := must[service.TicketList](t)(o.ListTickets.Invoke(o.ctx, ann, in))
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
	o := openOffice(t)
	ann := browser(o.signIn(t, "ann@buyer.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	of, _ := account.ParseID(o.whoIs(t, ann.Session).AccountID)
	if _, err := o.limits.SetStatus(o.ctx, of, account.Suspended, accountdb.Author{
		Actor: "operator", Origin: "ops", Reason: "abuse",
	}); err != nil {
		t.Fatal(err)
	}
	for _, who := range []*service.Caller{ann, holder(key.PlaintextToken)} {
		made := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, who, service.CreateTicketInput{
			Subject: "Why", Message: "Why?",
		}))
		detail := must[service.TicketDetail](t)(o.GetTicket.Invoke(o.ctx, who, service.TicketInput{
			Reference: made.Reference,
		}))
		if detail.Evidence.Fences.Status != "suspended" {
			t.Errorf("the evidence is %+v", detail.Evidence.Fences)
		}
		given := must[service.FeedbackView](t)(o.SubmitFeedback.Invoke(o.ctx, who,
			service.SubmitFeedbackInput{Kind: "complaint", Title: "Why"}))
		list := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, who, service.ListFeedbackInput{Limit: 1}))
		if list.Feedback[0].ID != given.ID {
			t.Errorf("the feedback is %+v", list)
		}
		o.refuses(t, o.CreateKey, who, map[string]any{"name": "x"}, fault.AccountSuspended)
	}
}

func TestTicket_DailyBoundHoldsUntilTheFirstIsADayOld(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	door := must[service.Welcome](t)(o.GetKey.Invoke(o.ctx, browser(""), service.GetKeyInput{}))
	for range ticket.MaxDailyAtDoors {
		made := must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, holder(door.Key),
			service.CreateTicketInput{Subject: "s", Message: "m"}))
		must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, holder(door.Key), service.ReplyTicketInput{
			Reference: made.Reference, Resolve: true,
		}))
	}
	got := o.refuses(t, o.CreateTicket, holder(door.Key), map[string]any{"subject": "s", "message": "m"},
		fault.RateWindow)
	if got.RetryAfter <= 23*time.Hour || got.RetryAfter > 24*time.Hour {
		t.Errorf("it may be tried again in %s", got.RetryAfter)
	}
}

// The preview of a ticket shows what the ticket then contains.
func TestTicket_PreviewShowsWhatItWillCarryAndFilesNothing(t *testing.T) {
	t.Parallel()
	o := openOffice(t, withChain(t))
	ann := browser(o.signIn(t, "ann@buyer.example"))
	key := must[service.CreatedKey](t)(o.CreateKey.Invoke(o.ctx, ann, service.CreateKeyInput{Name: "indexer"}))
	request := o.call(t, key.PlaintextToken, usagedb.Call{Outcome: "upstream_failed", HTTPStatus: 502, Attempts: 2})
	for name, caller := range map[string]*service.Caller{"a user": ann, "a key": holder(key.PlaintextToken)} {
		shown := must[service.TicketPreview](t)(o.PreviewTicket.Invoke(o.ctx, caller,
			service.PreviewTicketInput{RequestID: request}))
		if e := shown.Evidence; e.Call == nil || e.Call.Code != -32022 || e.Chain.State != ticket.ChainDegraded ||
			e.Fences.Key.Prefix != key.Prefix || shown.Category != ticket.Incident {
			t.Errorf("%s is shown %+v", name, shown)
		}
		bare := must[service.TicketPreview](t)(o.PreviewTicket.Invoke(o.ctx, caller, service.PreviewTicketInput{}))
		if bare.Evidence.Call != nil || bare.Evidence.Chain != nil || bare.Evidence.Fences.Plan == "" {
			t.Errorf("%s is shown without a call %+v", name, bare)
		}
	}
	all := must[service.TicketList](t)(o.ListTickets.Invoke(o.ctx, ann, service.ListTicketsInput{Status: "all"}))
	if len(all.Tickets) != 0 {
		t.Errorf("a preview filed %+v", all.Tickets)
	}
}

func TestTicket_OfAKeyGoesWithItToItsOwner(t *testing.T) {
	t.Parallel()
	o := openDoors(t)
	key, left := o.doorKey(t), o.doorKey(t)
	form := uuid.NewString() // used by two accounts: ids of different accounts may collide
	file := func(key string) string {
		t.Helper()
		return must[service.CreatedTicket](t)(o.CreateTicket.Invoke(o.ctx, holder(key),
			service.CreateTicketInput{Subject: "s", Message: "m", Form: form})).Reference
	}
	moves, stays := file(key.Key), file(left.Key)
	must[service.FeedbackView](t)(o.SubmitFeedback.Invoke(o.ctx, holder(key.Key), service.SubmitFeedbackInput{
		Kind: "praise", Title: "Fast",
	}))
	subject, refusal := o.limits.Identify(o.ctx, key.Key, browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	// as identified before the adoption
	before := supportdb.Writer{Account: subject.Account, Key: subject.Key, Channel: "api"}
	ann := browser(o.signIn(t, "ann@buyer.example"))
	must[service.AdoptedKey](t)(o.AdoptKey.Invoke(o.ctx, ann, service.AdoptKeyInput{
		ClaimCode: key.Doorways["adopt"].ClaimCode,
	}))
	if _, _, err := o.store.CreateTicket(o.ctx, supportdb.NewTicket{
		Writer: before, Subject: "s", Message: "m", Category: ticket.Other, Priority: ticket.Low, At: time.Now(),
	}); err == nil {
		t.Error("a ticket is filed in the account that the key has left")
	}
	if _, err := o.store.SubmitFeedback(o.ctx, before, supportdb.Feedback{
		ID: supportdb.NewFeedbackID(), Kind: "praise", Title: "x", CreatedAt: time.Now(),
	}, nil); err == nil {
		t.Error("feedback is given in the account that the key has left")
	}
	for _, who := range []*service.Caller{ann, holder(key.Key)} {
		list := must[service.TicketList](t)(o.ListTickets.Invoke(o.ctx, who, service.ListTicketsInput{}))
		if len(list.Tickets) != 1 || list.Tickets[0].Reference != moves {
			t.Errorf("found is %+v", list)
		}
		must[service.TicketView](t)(o.ReplyTicket.Invoke(o.ctx, who, service.ReplyTicketInput{
			Reference: moves, Message: "More.",
		}))
		o.refuses(t, o.GetTicket, who, map[string]any{"reference": stays}, fault.NotYours)
		if given := must[service.FeedbackList](t)(o.ListFeedback.Invoke(o.ctx, who, service.ListFeedbackInput{})); len(
			given.Feedback) != 1 {
			t.Errorf("the feedback is %+v", given)
		}
	}
	must[service.AdoptedKey](t)(o.AdoptKey.Invoke(o.ctx, ann, service.AdoptKeyInput{
		ClaimCode: left.Doorways["adopt"].ClaimCode,
	}))
	for _, reference := range []string{moves, stays} {
		lines, err := o.store.ListDeskLines(o.ctx, reference)
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

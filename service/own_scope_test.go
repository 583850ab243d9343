package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// reader is a caller who may read usage or money, and the marks of its own data.
type reader struct {
	*service.Caller

	key   account.KeyID
	marks []string // as they appear in responses
}

// openFamily returns an account that pays and has a key, an agent and an adopted key. Each used a
// method of its own and has a failed call.
func openFamily(t *testing.T) (d *till, b *books, owner, agent, adopted reader) {
	t.Helper()
	d = openTill(t)
	d.buy(t, "pro_yearly", stripe.Visa)
	b = &books{office: d.office, id: d.id, ann: browser(d.owner), period: "2026-11-01"}
	made := must[service.CreatedKey](t)(d.CreateKey.Invoke(d.ctx, b.ann, service.CreateKeyInput{Name: "indexer"}))
	agentKey, _ := d.agentKey(t, d.id)
	door := d.doorKey(t)
	d.adopted(t, door, d.owner)
	must[service.ConfiguredServices](t)(d.ConfigureServices.Invoke(d.ctx, b.ann, service.ConfigureServicesInput{
		Caps: &map[string]int64{"rpc": 12_777_777},
	}))
	pack := account.Pack{ID: account.NewPackID(), Units: 1_200_000 * plan.Unit, Expires: time.Now().AddDate(1, 0, 0)}
	if _, _, err := d.limits.GrantPack(d.ctx, accountdb.Pack{
		Pack: pack, Account: d.id, Kind: "pack_s", Origin: "test", GrantedAt: opened,
	}, accountdb.Author{Actor: "test", Origin: "ops"}); err != nil {
		t.Fatal(err)
	}
	of := func(secret, method string, requests int64, others ...string) reader {
		s, refusal := d.limits.Identify(d.ctx, secret, browser("").Network)
		if refusal != nil {
			t.Fatal(refusal)
		}
		b.commit(t, opened.Add(-time.Minute), []account.LatencyLine{
			took(s.Key, "polygon_pos", "ok", 10*time.Millisecond, requests),
		},
			b.written(s.Key, "polygon_pos", method, "standard", "ok", requests, plan.Units(requests)*plan.Unit),
			b.written(s.Key, "polygon_pos", method, "standard", "rate_window", 1, 0))
		failed := usagedb.Call{
			RequestID: uuid.Must(uuid.NewV7()), StartedAt: opened.Add(-time.Minute), Account: d.id, Key: s.Key,
			Chain: "polygon_pos", Service: "rpc", Method: method, Class: "standard", Tier: "balanced",
			Outcome: "rate_window", HTTPStatus: 429,
		}
		if err := d.store.CopyCalls(d.ctx, []usagedb.Call{failed}); err != nil {
			t.Fatal(err)
		}
		return reader{
			holder(secret), s.Key, append(others, s.Key.String(), secret[:12], method, failed.RequestID.String()),
		}
	}
	invoice := d.invoices(t)[0]
	owner = of(made.PlaintextToken, "eth_getProof", 7_654_321, "indexer", "7654321", "12777777", pack.ID.String(),
		invoice.ID, invoice.Number)
	agent = of(agentKey, "eth_feeHistory", 90, "scout")
	adopted = of(door.Key, "eth_getCode", 5)
	return d, b, owner, agent, adopted
}

// askAll calls every operation about usage, money and support that any key may call, and returns
// the responses by call.
func (d *till) askAll(t *testing.T, who *reader) map[string]string {
	t.Helper()
	filed := must[service.CreatedTicket](t)(d.CreateTicket.Invoke(d.ctx, who.Caller,
		service.CreateTicketInput{Subject: "s", Message: "m"}))
	list := map[string][]map[string]any{
		"get_statement": {{}, {"period": "2026-11-01"}}, "list_statements": {
			{},
		}, "export_statement": {{"period": "2026-11-01"}},
		"get_usage_report": {{}, {"hours": 48.0, "chain": "polygon_pos"}}, "get_usage_volume": {
			{}, {"window": "30d", "chain": "polygon_pos"},
		},
		"get_usage_stats": {{"report": "latency"}, {"report": "errors"}, {"report": "spend"}, {"report": "cache"}},
		"what_can_i_do":   {{}}, "preview_ticket": {{}}, "get_ticket": {{"reference": filed.Reference}},
		"list_tickets": {{}}, "list_feedback": {{}},
	}
	answers := map[string]string{}
	for _, op := range d.All() {
		m := op.Meta()
		if m.Access != service.Holders || !m.Reads {
			continue
		}
		if len(list[m.Name]) == 0 {
			t.Errorf("say how %s is asked, so that it is known to tell nobody of others", m.Name)
		}
		for _, in := range list[m.Name] {
			out, refusal := serve(d.office, op, who.Caller, in)
			if refusal != nil {
				t.Fatalf("%s with %v: %v", m.Name, in, refusal)
			}
			answers[m.Name+" "+textOf(t, in)] = textOf(t, out)
		}
	}
	return answers
}

// A key that does not manage the account learns nothing about the usage and payments of others. The
// owner asks first, so that a cached response would be found.
func TestOwnScope_UnprivilegedKeyLearnsNothingOfOthersUsageAndMoney(t *testing.T) {
	t.Parallel()
	d, _, owner, agent, adopted := openFamily(t)
	var shown strings.Builder
	for _, text := range d.askAll(t, &owner) {
		shown.WriteString(text)
	}
	for _, mark := range append(append(owner.marks, agent.marks...), adopted.marks...) {
		if !strings.Contains(shown.String(), mark) {
			t.Errorf("the account's own key is not shown %s, so its absence proves nothing", mark)
		}
	}
	for what, c := range map[string]struct {
		who    reader
		others []reader
	}{"an agent's key": {agent, []reader{owner, adopted}}, "an adopted key": {adopted, []reader{owner, agent}}} {
		shown.Reset()
		for asked, text := range d.askAll(t, &c.who) {
			shown.WriteString(text)
			for _, other := range c.others {
				for _, mark := range other.marks {
					if strings.Contains(text, mark) {
						t.Errorf("%s is shown %s by %s: %s", what, mark, asked, text)
					}
				}
			}
		}
		for _, mark := range c.who.marks {
			if !strings.Contains(shown.String(), mark) {
				t.Errorf("%s is not shown %s of its own", what, mark)
			}
		}
	}
}

func TestOwnScope_AdoptedKeySeesItsOwnUseInFull(t *testing.T) {
	t.Parallel()
	d, b, owner, _, adopted := openFamily(t)
	month := must[service.UsageReport](t)(d.UsageReport.Invoke(d.ctx, adopted.Caller, service.UsageReportInput{}))
	if month.Scope != "key" || month.TotalRequests != 6 || month.WeightedUnits != 5*plan.Unit ||
		len(month.ByKey) != 1 || month.ByKey[0].KeyID != adopted.key.String() || month.P50.Value == nil {
		t.Errorf("its report is %+v", month)
	}
	s, err := d.GetStatement.Invoke(d.ctx, adopted.Caller, service.StatementInput{})
	if err != nil || s.Scope != "key" || s.Totals.Requests != 6 || s.Totals.Units != 5*plan.Unit || len(s.Keys) != 1 ||
		len(s.Invoices) != 0 || s.Keys[0].Door != string(account.DoorAdopted) {
		t.Errorf("its statement is %+v, %v", s, err)
	}
	if list := must[service.StatementList](t)(d.ListStatements.Invoke(d.ctx, adopted.Caller,
		service.Nothing{})); list.Scope != "key" || len(list.Periods) == 0 {
		t.Errorf("its periods are %+v", list)
	}
	can := d.can(t, adopted.Caller)
	if can.You.Scope != "key" || can.Volume != 5*plan.Unit || len(can.Budgets) != 0 ||
		len(adviceOf(&can, "pack_expires")) != 0 {
		t.Errorf("it can do %+v at %s units with %+v", can.You, can.Volume, can.Budgets)
	}
	// Its own cap is its budget. What is left of the plan and of packs is not shown.
	limit := int64(1000)
	must[service.ConfiguredKey](t)(d.ConfigureKey.Invoke(d.ctx, owner.Caller, service.ConfigureKeyInput{
		ID: adopted.key.String(), MonthlyRequestCap: &limit,
	}))
	can = d.can(t, adopted.Caller)
	if len(can.Budgets) != 1 || can.Budgets[0].Kind != service.BudgetKey || can.Budgets[0].Used != 5*plan.Unit {
		t.Errorf("with a cap its budgets are %+v", can.Budgets)
	}
	if spend := stats(t, b, adopted.Caller, "spend", "7d").Summary.Spend; spend.Used != 5*plan.Unit ||
		*spend.Limit != 1000*plan.Unit || spend.Packs != 0 {
		t.Errorf("its spend is %+v", spend)
	}
	if way := fenceNamed(t, &can, "key_cap").Ways["raise"]; way.Open || !strings.Contains(way.Do, "owner") {
		t.Errorf("past its cap leads %+v", way)
	}
}

// Past the soft ceiling every key of the account is slowed down, including one that does not see
// the account's usage.
func TestOwnScope_KeyIsToldItsRate(t *testing.T) {
	t.Parallel()
	d := openTill(t)
	d.buy(t, "builder", stripe.Visa)
	b := &books{office: d.office, id: d.id, ann: browser(d.owner), period: "2026-11-01"}
	door := d.doorKey(t)
	d.adopted(t, door, d.owner)
	rates := func() [2]int64 {
		return [2]int64{d.can(t, b.ann).You.Rate.Requests, d.can(t, holder(door.Key)).You.Rate.Requests}
	}
	if got := rates(); got != [2]int64{30, 30} {
		t.Errorf("before it, they are told %v requests a second", got)
	}
	b.commit(t, opened.Add(time.Minute), nil, b.written(account.NewKeyID(), "eth_mainnet", "eth_call", "standard", "ok",
		20_000_000, 20_000_000*plan.Unit))
	if got := rates(); got != [2]int64{10, 10} {
		t.Errorf("past it, they are told %v requests a second", got)
	}
	can := d.can(t, b.ann)
	if fence := fenceNamed(t, &can, "requests"); !strings.HasPrefix(fence.Limit, "100 requests in any 10s") {
		t.Errorf("past it, the fence is %q", fence.Limit)
	}
}

// Calls of every key draw from packs, which have premium supply. Only the owner learns where the
// account is billed.
func TestOwnScope_AdoptedKeySeesPremiumSupplyAndNotItsOwnersBilling(t *testing.T) {
	t.Parallel()
	d := openTill(t)
	door := d.doorKey(t)
	d.adopted(t, door, d.owner)
	adopted := holder(door.Key)
	if can := d.can(t, adopted); can.Features.Premium {
		t.Error("premium supply without a pack")
	}
	pack := account.Pack{ID: account.NewPackID(), Units: 1_200_000 * plan.Unit, Expires: time.Now().AddDate(1, 0, 0)}
	if _, _, err := d.limits.GrantPack(d.ctx, accountdb.Pack{
		Pack: pack, Account: d.id, Kind: "pack_s", Origin: "test", GrantedAt: opened,
	}, accountdb.Author{Actor: "test", Origin: "ops"}); err != nil {
		t.Fatal(err)
	}
	if can := d.can(t, adopted); !can.Features.Premium {
		t.Error("no premium supply with a pack")
	}
	if sold := must[service.PackCheckout](t)(d.BuyPack.Invoke(d.ctx, browser(d.owner),
		service.BuyPackInput{Size: "s"})); !strings.Contains(sold.Note, "VAT of 20 % is added") {
		t.Errorf("the owner is told %q", sold.Note)
	}
	if sold := must[service.PackCheckout](t)(d.BuyPack.Invoke(d.ctx, adopted,
		service.BuyPackInput{Size: "s"})); strings.Contains(sold.Note, "VAT of 20 % is added") ||
		!strings.Contains(sold.Note, "customers in the EU") {
		t.Errorf("the adopted key is told %q", sold.Note)
	}
}

// The holder of a door key is the only one of its account and sees all of it.
func TestOwnScope_UnadoptedDoorKeySeesItsAccount(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	door := o.doorKey(t)
	s, refusal := o.limits.Identify(o.ctx, door.Key, browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	o.use(t, s.Account, s.Key, "", 4)
	report := must[service.UsageReport](t)(o.UsageReport.Invoke(o.ctx, holder(door.Key),
		service.UsageReportInput{Hours: 48}))
	can := o.can(t, holder(door.Key))
	if report.Scope != "account" || report.TotalRequests != 4 || can.You.Scope != "account" ||
		can.Volume != 4*plan.Unit || len(can.Budgets) != 1 || can.Budgets[0].Kind != service.BudgetKeyDay {
		t.Errorf("it is told %+v and %+v", report, can)
	}
}

package usage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/statements"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// openFamily returns an account that pays and has a key, an agent and an adopted key. Each used a
// method of its own and has a failed call.
func openFamily(
	t *testing.T,
) (d *servicetest.BillingEnv, b *servicetest.UsageEnv, owner, agent, adopted servicetest.Reader) {
	t.Helper()
	d = servicetest.OpenBillingEnv(t)
	d.Buy(t, "pro_yearly", stripe.Visa)
	b = &servicetest.UsageEnv{
		Env: d.Env, AccountID: d.AccountID, Ann: servicetest.Browser(d.Owner),
		Period: "2026-11-01",
	}
	made := servicetest.Must[keys.CreatedKey](t)(d.CreateKey.Invoke(d.Ctx, b.Ann, keys.CreateKeyInput{Name: "indexer"}))
	agentKey, _ := d.AgentKey(t, d.AccountID)
	door := d.DoorKey(t)
	d.Adopted(t, door, d.Owner)
	servicetest.Must[keys.ConfiguredServices](t)(d.ConfigureServices.Invoke(d.Ctx, b.Ann, keys.ConfigureServicesInput{
		Caps: &map[string]int64{"rpc": 12_777_777},
	}))
	pack := account.Pack{ID: account.NewPackID(), Units: 1_200_000 * plan.Unit, Expires: time.Now().AddDate(1, 0, 0)}
	if _, _, err := d.Limits.GrantPack(d.Ctx, accountdb.Pack{
		Pack: pack, Account: d.AccountID, Kind: "pack_s", Origin: "test", GrantedAt: servicetest.Opened,
	}, accountdb.Author{Actor: "test", Origin: "ops"}); err != nil {
		t.Fatal(err)
	}
	of := func(secret, method string, requests int64, others ...string) servicetest.Reader {
		s, refusal := d.Limits.Identify(d.Ctx, secret, servicetest.Browser("").Network)
		if refusal != nil {
			t.Fatal(refusal)
		}
		b.Commit(t, servicetest.Opened.Add(-time.Minute), []account.LatencyLine{
			took(s.Key, "polygon_pos", "ok", 10*time.Millisecond, requests),
		},
			b.Written(s.Key, "polygon_pos", method, "standard", "ok", requests, plan.Units(requests)*plan.Unit),
			b.Written(s.Key, "polygon_pos", method, "standard", "rate_window", 1, 0))
		failed := usagedb.Call{
			RequestID: uuid.Must(uuid.NewV7()), StartedAt: servicetest.Opened.Add(-time.Minute), Account: d.AccountID,
			Key:   s.Key,
			Chain: "polygon_pos", Service: "rpc", Method: method, Class: "standard", Tier: "balanced",
			Outcome: "rate_window", HTTPStatus: 429,
		}
		if err := d.Store.CopyCalls(d.Ctx, []usagedb.Call{failed}); err != nil {
			t.Fatal(err)
		}
		return servicetest.Reader{
			Caller: servicetest.Holder(secret), Key: s.Key,
			Marks: append(others, s.Key.String(), secret[:12], method, failed.RequestID.String()),
		}
	}
	invoice := d.Invoices(t)[0]
	owner = of(made.PlaintextToken, "eth_getProof", 7_654_321, "indexer", "7654321", "12777777", pack.ID.String(),
		invoice.ID, invoice.Number)
	agent = of(agentKey, "eth_feeHistory", 90, "scout")
	adopted = of(door.Key, "eth_getCode", 5)
	return d, b, owner, agent, adopted
}

// A key that does not manage the account learns nothing about the usage and payments of others. The
// owner asks first, so that a cached response would be found.
func TestOwnScope_UnprivilegedKeyLearnsNothingOfOthersUsageAndMoney(t *testing.T) {
	t.Parallel()
	d, _, owner, agent, adopted := openFamily(t)
	var shown strings.Builder
	for _, text := range d.AskAll(t, &owner) {
		shown.WriteString(text)
	}
	for _, mark := range append(append(owner.Marks, agent.Marks...), adopted.Marks...) {
		if !strings.Contains(shown.String(), mark) {
			t.Errorf("the account's own key is not shown %s, so its absence proves nothing", mark)
		}
	}
	for what, c := range map[string]struct {
		who    servicetest.Reader
		others []servicetest.Reader
	}{
		"an agent's key": {agent, []servicetest.Reader{owner, adopted}},
		"an adopted key": {adopted, []servicetest.Reader{owner, agent}},
	} {
		shown.Reset()
		for asked, text := range d.AskAll(t, &c.who) {
			shown.WriteString(text)
			for _, other := range c.others {
				for _, mark := range other.Marks {
					if strings.Contains(text, mark) {
						t.Errorf("%s is shown %s by %s: %s", what, mark, asked, text)
					}
				}
			}
		}
		for _, mark := range c.who.Marks {
			if !strings.Contains(shown.String(), mark) {
				t.Errorf("%s is not shown %s of its own", what, mark)
			}
		}
	}
}

func TestOwnScope_AdoptedKeySeesItsOwnUseInFull(t *testing.T) {
	t.Parallel()
	d, b, owner, _, adopted := openFamily(t)
	month := servicetest.Must[usage.UsageReport](t)(d.UsageReport.Invoke(d.Ctx, adopted.Caller,
		usage.UsageReportInput{}))
	expect.Equal(t, month.Scope, "key")
	expect.Equal(t, month.TotalRequests, 6)
	expect.Equal(t, month.WeightedUnits, 5*plan.Unit)
	require.Len(t, month.ByKey, 1)
	expect.Equal(t, month.ByKey[0].KeyID, adopted.Key.String())
	expect.NotNil(t, month.P50.Value)
	s, err := d.GetStatement.Invoke(d.Ctx, adopted.Caller, statements.StatementInput{})
	require.Nil(t, err)
	expect.Equal(t, s.Scope, "key")
	expect.Equal(t, s.Totals.Requests, 6)
	expect.Equal(t, s.Totals.Units, 5*plan.Unit)
	require.Len(t, s.Keys, 1)
	expect.Empty(t, s.Invoices)
	expect.Equal(t, s.Keys[0].Door, string(account.DoorAdopted))
	if list := servicetest.Must[statements.StatementList](t)(d.ListStatements.Invoke(d.Ctx, adopted.Caller,
		operation.Nothing{})); list.Scope != "key" || len(list.Periods) == 0 {
		t.Errorf("its periods are %+v", list)
	}
	can := d.Can(t, adopted.Caller)
	in := expect.In(t, "it can do")
	expect.Equal(in, can.You.Scope, "key")
	expect.Equal(in, can.Volume, 5*plan.Unit)
	expect.Empty(in, can.Budgets)
	expect.Empty(in, servicetest.AdviceOf(&can, "pack_expires"))
	// Its own cap is its budget. What is left of the plan and of packs is not shown.
	limit := int64(1000)
	servicetest.Must[keys.ConfiguredKey](t)(d.ConfigureKey.Invoke(d.Ctx, owner.Caller, keys.ConfigureKeyInput{
		ID: adopted.Key.String(), MonthlyRequestCap: &limit,
	}))
	can = d.Can(t, adopted.Caller)
	in = expect.In(t, "with a cap its budgets")
	require.Len(in, can.Budgets, 1)
	expect.Equal(in, can.Budgets[0].Kind, usage.BudgetKey)
	expect.Equal(in, can.Budgets[0].Used, 5*plan.Unit)
	spend := servicetest.Stats(t, b, adopted.Caller, "spend", "7d").Summary.Spend
	expect.Equal(t, spend.Used, 5*plan.Unit)
	expect.Equal(t, *spend.Limit, 1000*plan.Unit)
	expect.Equal(t, spend.Packs, 0)
	if way := servicetest.LimitNamed(t, &can, "key_cap").Ways["raise"]; way.Open || !strings.Contains(way.Do, "owner") {
		t.Errorf("past its cap leads %+v", way)
	}
}

// Past the soft ceiling every key of the account is slowed down, including one that does not see
// the account's usage.
func TestOwnScope_KeyIsToldItsRate(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Buy(t, "builder", stripe.Visa)
	b := &servicetest.UsageEnv{
		Env: d.Env, AccountID: d.AccountID, Ann: servicetest.Browser(d.Owner),
		Period: "2026-11-01",
	}
	door := d.DoorKey(t)
	d.Adopted(t, door, d.Owner)
	rates := func() [2]int64 {
		return [2]int64{d.Can(t, b.Ann).You.Rate.Requests, d.Can(t, servicetest.Holder(door.Key)).You.Rate.Requests}
	}
	if got := rates(); got != [2]int64{30, 30} {
		t.Errorf("before it, they are told %v requests a second", got)
	}
	b.Commit(t, servicetest.Opened.Add(time.Minute), nil,
		b.Written(account.NewKeyID(), "eth_mainnet", "eth_call", "standard", "ok",
			20_000_000, 20_000_000*plan.Unit))
	if got := rates(); got != [2]int64{10, 10} {
		t.Errorf("past it, they are told %v requests a second", got)
	}
	can := d.Can(t, b.Ann)
	if limit := servicetest.LimitNamed(t, &can, "requests"); !strings.HasPrefix(limit.Limit,
		"100 requests in any 10s") {
		t.Errorf("past it, the limit is %q", limit.Limit)
	}
}

// Calls of every key draw from packs, which have premium supply. Only the owner learns where the
// account is billed.
func TestOwnScope_AdoptedKeySeesPremiumSupplyAndNotItsOwnersBilling(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	door := d.DoorKey(t)
	d.Adopted(t, door, d.Owner)
	adopted := servicetest.Holder(door.Key)
	if can := d.Can(t, adopted); can.Features.Premium {
		t.Error("premium supply without a pack")
	}
	pack := account.Pack{ID: account.NewPackID(), Units: 1_200_000 * plan.Unit, Expires: time.Now().AddDate(1, 0, 0)}
	if _, _, err := d.Limits.GrantPack(d.Ctx, accountdb.Pack{
		Pack: pack, Account: d.AccountID, Kind: "pack_s", Origin: "test", GrantedAt: servicetest.Opened,
	}, accountdb.Author{Actor: "test", Origin: "ops"}); err != nil {
		t.Fatal(err)
	}
	if can := d.Can(t, adopted); !can.Features.Premium {
		t.Error("no premium supply with a pack")
	}
	if sold := servicetest.Must[billing.PackCheckout](t)(d.BuyPack.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.BuyPackInput{Size: "s"})); !strings.Contains(sold.Note, "VAT of 20 % is added") {
		t.Errorf("the owner is told %q", sold.Note)
	}
	if sold := servicetest.Must[billing.PackCheckout](t)(d.BuyPack.Invoke(d.Ctx, adopted,
		billing.BuyPackInput{Size: "s"})); strings.Contains(sold.Note, "VAT of 20 % is added") ||
		!strings.Contains(sold.Note, "customers in the EU") {
		t.Errorf("the adopted key is told %q", sold.Note)
	}
}

// The holder of a door key is the only one of its account and sees all of it.
func TestOwnScope_UnadoptedDoorKeySeesItsAccount(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	door := o.DoorKey(t)
	s, refusal := o.Limits.Identify(o.Ctx, door.Key, servicetest.Browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	o.Use(t, s.Account, s.Key, "", 4)
	report := servicetest.Must[usage.UsageReport](t)(o.UsageReport.Invoke(o.Ctx, servicetest.Holder(door.Key),
		usage.UsageReportInput{Hours: 48}))
	can := o.Can(t, servicetest.Holder(door.Key))
	expect.Equal(t, report.Scope, "account")
	expect.Equal(t, report.TotalRequests, 4)
	expect.Equal(t, can.You.Scope, "account")
	expect.Equal(t, can.Volume, 4*plan.Unit)
	require.Len(t, can.Budgets, 1)
	expect.Equal(t, can.Budgets[0].Kind, usage.BudgetKeyDay)
}

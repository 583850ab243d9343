package advice

import (
	"context"
	"slices"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/accountdb"
)

// WhatICanDo is the state of a caller and what it can do next (docs/interface.md, 2.4).
type WhatICanDo struct {
	You            You                  `json:"you" doc:"who the service takes the caller for"`
	Budgets        []usage.Budget       `json:"budgets" doc:"each counter that a limit goes by, as the meter counts it now; in the scopes agent and key those of the key alone"`
	Doorways       []FenceDoorways      `json:"fences_as_doorways" doc:"each limit of the caller with the ways past it"`
	Volume         plan.Units           `json:"volume_30d_units" doc:"weighted units of the last 30 UTC days, today so far included, as recorded, of you.scope"`
	Ladder         []billing.LadderRung `json:"ladder_at_your_volume" doc:"every way to buy units, with what volume_30d_units would cost on it"`
	BreakEven      string               `json:"break_even" doc:"one sentence: from which volume the next lane is cheaper than the recommended one"`
	Recommendation Recommendation       `json:"recommendation" doc:"the cheapest way that covers volume_30d_units"`
	Advice         []Advice             `json:"active_advice" doc:"what the account's own last days suggest; empty when nothing does"`
	Features       Features             `json:"account_features"`
	Doors          []Door               `json:"doors" doc:"the ways to get keys or units"`
	Pricing        Pricing              `json:"pricing"`
	AsOf           *time.Time           `json:"as_of" nullable:"true" doc:"all usage before this instant is recorded, which volume_30d_units and active_advice go by; null while nothing is known to be"`
}

// You is the caller as the service identified it.
type You struct {
	AccountID string                `json:"account_id" format:"uuid"`
	Kind      accountdb.AccountKind `json:"account_kind" enum:"door,wallet,owner" doc:"door: one anonymous key; wallet: a verified wallet; owner: people who sign in"`
	Plan      string                `json:"plan" doc:"key of the plan in force"`
	PlanTitle string                `json:"plan_title"`
	Door      account.Door          `json:"door,omitempty" enum:"public,wallet_bound,owner_adopted,account" doc:"how the key came about; absent for somebody who signed in"`
	KeyID     string                `json:"key_id,omitempty" format:"uuid" doc:"absent for somebody who signed in"`
	KeyPrefix string                `json:"key_prefix,omitempty" doc:"first 12 characters of the key"`
	KeyName   string                `json:"key_name,omitempty"`
	Agent     string                `json:"agent,omitempty" format:"uuid" doc:"the agent whose key it is"`
	Scope     statement.Scope       `json:"scope" enum:"account,agent,key" doc:"whose usage and budgets the caller sees: the account's, its agent's or, with a key that an owner adopted, the key's"`
	Manages   bool                  `json:"manages_account" doc:"whether the caller may make and change keys and services"`
	Supply    plan.Supply           `json:"supply" enum:"public,wholesale,premium" doc:"class of upstreams that serves the caller; a call drawn from a pack has premium"`
	Rate      RateOffer             `json:"rate" doc:"requests in a sliding window, hits of the cache included, all keys of the account together"`
}

// Features are the features of the account.
type Features struct {
	Services     []ServiceSwitch `json:"services" doc:"which services the caller may use"`
	Data         bool            `json:"data_available" doc:"whether balances and history come with the plan, and are switched on"`
	Premium      bool            `json:"premium_supply" doc:"whether calls can have premium upstreams, by the plan or by a pack"`
	PaymentsLive bool            `json:"payments_live" doc:"whether plans and packs can be bought here by card now"`
	Agents       AgentFeature    `json:"agents"`
}

// ServiceSwitch reports whether a service is on.
type ServiceSwitch struct {
	Service account.Service `json:"service"`
	On      bool            `json:"on" doc:"on the account and on the key"`
}

// AgentFeature is what the caller can do with agents.
type AgentFeature struct {
	MayClaim bool   `json:"may_claim" doc:"whether the caller can give agents keys of their own"`
	Tool     string `json:"tool"`
}

// Door is a way to get a key, or units without one.
type Door struct {
	Name string `json:"name" enum:"public_key,wallet_bound,owner_adopted,account_key,agent_key,pay_per_call"`
	Open *bool  `json:"open,omitempty" doc:"whether this caller can go through it today; absent for public_key, which counts by network address and says so when it is tried"`
	Do   string `json:"do"`
	Tool string `json:"tool,omitempty"`
	At   string `json:"at" doc:"path or address"`
}

// Pricing is where to find prices.
type Pricing struct {
	URL  string `json:"url" format:"uri"`
	Tool string `json:"tool"`
	Tax  string `json:"tax"`
}

func (h *handlers) whatCanIDo() *operation.Operation[operation.Nothing, WhatICanDo] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "what_can_i_do", Title: "Where you stand and what you can do", Access: operation.Holders, Reads: true,
		Description: "Tells a caller what is left of each budget and when it comes back, the way past each of its " +
			"limits, what its last 30 days would cost on every way to buy units, which is the cheapest and from when " +
			"another one is, and what its own last days suggest. It costs nothing.",
		Fails: []fault.Reason{fault.MeterUnreachable, fault.DurableUnavailable},
	}, h.runWhatCanIDo)
}

// callerState holds what the parts of the response are built from.
type callerState struct {
	*usage.State

	recent usage.Recent
	ladder billing.PriceLadder
}

func (h *handlers) runWhatCanIDo(ctx context.Context, c *operation.Call, _ operation.Nothing) (WhatICanDo, error) {
	state, err := h.Usage.State(ctx, c)
	if err != nil {
		return WhatICanDo{}, err
	}
	s := &callerState{State: state}
	if s.recent, err = h.Usage.Recent(ctx, c); err != nil {
		return WhatICanDo{}, err
	}
	can := WhatICanDo{Budgets: s.Budgets, AsOf: s.recent.AsOf, Volume: s.recent.Volume}
	if s.ladder, err = h.Prices.LadderAt(ctx, c, can.Volume); err != nil {
		return WhatICanDo{}, err
	}
	can.You = h.youOf(s, s.recent.Scope)
	can.Ladder, can.Doorways, can.Features, can.Doors = s.ladder.Rungs, h.limitDoorways(s), h.featuresOf(s),
		h.doorsFor(s)
	can.Recommendation, can.BreakEven = h.recommendLane(s), breakEven(&s.ladder)
	can.Advice = h.adviseOn(s)
	can.Pricing = Pricing{URL: h.PublicURL + "/pricing", Tool: "list_plans", Tax: h.planTax(ctx, c)}
	return can, nil
}

func (h *handlers) youOf(s *callerState, scope statement.Scope) You {
	rate := s.rate()
	you := You{
		AccountID: s.Account.ID.String(), Kind: s.Account.Kind, Plan: s.Terms.Plan.Key, PlanTitle: s.Terms.Plan.Title,
		Scope: scope, Manages: s.Manages(), Supply: s.Terms.Plan.Supply, Rate: RateOffer{
			rate.Limit, int64(rate.Per / time.Second),
		},
	}
	if !s.Key.ID.IsZero() {
		you.Door, you.KeyID, you.KeyPrefix, you.KeyName = s.Key.Door, s.Key.ID.String(), s.Key.Prefix, s.Key.Name
	}
	if !s.Key.Agent.IsZero() {
		you.Agent = s.Key.Agent.String()
	}
	return you
}

// slowed reports whether the account is past its soft ceiling. It applies to every key of the
// account, even one that does not see that budget.
func (s *callerState) slowed() bool {
	//nolint:gocritic // few
	return s.Terms.Quota() == account.Unlimited && slices.ContainsFunc(s.States.Counters,
		func(n limits.CounterState) bool {
			return n.Source == account.SourcePlan && n.Period == s.States.Period.Key() && n.ShouldBe >= n.Limit
		})
}

// rate returns the current rate limit, which all keys of the account share.
func (s *callerState) rate() account.RateWindow {
	if s.slowed() {
		return s.Terms.Plan.SoftRate
	}
	return s.Terms.Rate()
}

func (s *callerState) offOnAccount(service account.Service) bool {
	return slices.Contains(s.Account.Services.Off, service)
}

func (s *callerState) offOnKey(service account.Service) bool {
	return slices.Contains(s.Key.Services.Off, service)
}

// isOff reports whether a service is switched off for the caller, on the account or on its key.
func (s *callerState) isOff(service account.Service) bool {
	return s.offOnAccount(service) || s.offOnKey(service)
}

func (h *handlers) featuresOf(s *callerState) Features {
	f := Features{
		Premium: s.Terms.Plan.Supply == plan.Premium || s.DrawsPack, PaymentsLive: h.Stripe != nil,
		Data: s.Terms.Plan.Data && !s.isOff(account.Data), Agents: AgentFeature{
			MayClaim: s.Manages(), Tool: "claim_agent_start",
		},
	}
	for _, service := range account.Services() {
		f.Services = append(f.Services, ServiceSwitch{service, !s.isOff(service)})
	}
	return f
}

// doorsFor returns the ways to get a key, and whether they are open to this caller.
func (h *handlers) doorsFor(s *callerState) []Door {
	open := func(is bool) *bool { return &is }
	public, wallet := s.Key.Door == account.DoorPublic, s.Key.Door == account.DoorWallet
	return []Door{
		{
			Name: "public_key", Tool: "get_key", At: "POST /keys",
			Do: "Make an anonymous key without sign-up; three a UTC day for a network address, after which get_key " +
				"refuses.",
		},
		{
			Name: "wallet_bound", Open: open(public), Tool: "bind_key_start", At: "POST /keys/bind/start",
			Do: "Bind an anonymous key to a wallet by a signature.",
		},
		{
			Name: "owner_adopted", Open: open((public || wallet) && s.Key.Adoptable), At: h.PublicURL + "/agents",
			Do: "Give your owner the claim code; the key then has the account's plan, packs and fences.",
		},
		{
			Name: "account_key", Open: open(s.Manages()), Tool: "create_api_key", At: h.PublicURL + "/keys",
			Do: "Make a further key of the account.",
		},
		{
			Name: "agent_key", Open: open(s.Manages()), Tool: "claim_agent_start", At: h.PublicURL + "/agents",
			Do: "Give an agent with a wallet a key of its own, with a cap.",
		},
		{
			Name: "pay_per_call", Open: open(h.Terms.Open()), At: h.PublicURL + x402.MenuPath,
			Do: "Pay for units in USDC, without an account.",
		},
	}
}

// planTax explains what is added to the prices of plans and packs. Only callers who manage the
// account learn where it is billed.
func (h *handlers) planTax(ctx context.Context, c *operation.Call) string {
	if !c.Manages() {
		return billing.TaxRule
	}
	customer, err := h.Store.FindCustomer(ctx, c.Account.ID)
	switch {
	case err != nil || customer.Place().Country == "": // the rule applies in any case
		return billing.TaxRule
	case plan.VATApplies(customer.Place().Country):
		return billing.TaxRule + " This account is billed in " + customer.Place().Country + ", so it is added."
	}
	return billing.TaxRule + " This account is billed in " + customer.Place().Country + ", so none is added."
}

package advice

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
)

// PlanList is every source of units: plans, packs and paying per call.
type PlanList struct {
	Plans        []PlanOffer     `json:"plans" doc:"from the smallest to the largest, those without sign-up first"`
	Packs        []PackOffer     `json:"packs" doc:"prepaid units, drawn after a plan's"`
	PerCall      PerCallOffer    `json:"per_call" doc:"paying per call without an account"`
	Founding     FoundingOffer   `json:"founding_offer"`
	Tiers        []TierOffer     `json:"route_tiers" doc:"what each route tier multiplies units with, on every plan"`
	Enterprise   EnterpriseOffer `json:"enterprise"`
	SignupURL    string          `json:"signup_url" format:"uri" doc:"where a person signs up by mail, without a card"`
	PaymentsLive bool            `json:"payments_live" doc:"whether plans and packs can be bought here by card now"`
	Currency     string          `json:"currency" enum:"USD"`
	Note         string          `json:"note"`
}

// PlanOffer is a plan with its price.
type PlanOffer struct {
	Key           string             `json:"key"`
	Name          string             `json:"name"`
	Kind          plan.Kind          `json:"kind" enum:"subscription,flat,free"`
	PriceCents    int64              `json:"price_cents" doc:"US cents, net, per interval; 0 for a free plan"`
	Interval      string             `json:"interval" enum:"month,none" doc:"how often it is paid; none for a free plan"`
	YearlyCents   *int64             `json:"yearly_price_cents" nullable:"true" doc:"US cents, net, for a year paid at once; null where it is not sold so"`
	Included      plan.Units         `json:"included_units" doc:"weighted units in included_period"`
	Period        plan.PeriodKind    `json:"included_period" enum:"day,month"`
	Rate          RateOffer          `json:"rate_limit"`
	SoftCeiling   *plan.Units        `json:"soft_ceiling_units" nullable:"true" doc:"units of a month after which rate_limit_past_ceiling replaces rate_limit, instead of a refusal and without further cost; null where the quota refuses"`
	SoftRate      *RateOffer         `json:"rate_limit_past_ceiling,omitempty"`
	Supply        plan.Supply        `json:"supply" enum:"public,wholesale,premium" doc:"upstreams that may serve it"`
	Data          bool               `json:"data_service" doc:"whether balances and history come with it"`
	FastShare     int64              `json:"fast_share_percent" doc:"share of calls that the fast tier is meant to serve"`
	PerMillion    operation.Dollars  `json:"usd_per_million_units" doc:"at the included volume, paid by the month"`
	YearlyMillion *operation.Dollars `json:"usd_per_million_units_yearly" nullable:"true"`
	Live          bool               `json:"live" doc:"whether it is given or on sale"`
	HowToGet      string             `json:"how_to_get" doc:"which tool or page"`
}

// RateOffer is a rate limit.
type RateOffer struct {
	Requests   int64 `json:"requests"`
	PerSeconds int64 `json:"per_seconds" doc:"length of the sliding window"`
}

// PackOffer is a pack with its price.
type PackOffer struct {
	Key         string            `json:"key"`
	Size        string            `json:"size" enum:"s,m,l" doc:"what buy_pack takes"`
	PriceCents  int64             `json:"price_cents" doc:"US cents, net, once"`
	Units       plan.Units        `json:"units"`
	ValidMonths int               `json:"valid_months"`
	Supply      plan.Supply       `json:"supply" enum:"premium"`
	PerMillion  operation.Dollars `json:"usd_per_million_units"`
}

// PerCallOffer is where to find the menu, and its tiers.
type PerCallOffer struct {
	Menu  string        `json:"menu" format:"uri" doc:"GET it for how to pay"`
	Live  bool          `json:"live" doc:"whether it is open and on the main network"`
	Tiers []PerCallTier `json:"tiers"`
}

// PerCallTier is the price of a tier of the menu.
type PerCallTier struct {
	Tier       plan.Tier         `json:"tier" enum:"cheap,balanced,fast"`
	PerMillion operation.Dollars `json:"usd_per_million_units"`
	Supply     plan.Supply       `json:"supply" enum:"public,wholesale,premium"`
}

// FoundingOffer is a reduced price for the first customers.
type FoundingOffer struct {
	Key          string    `json:"key"`
	Plan         string    `json:"plan" doc:"key of the plan"`
	PriceCents   int64     `json:"price_cents" doc:"US cents, net, per month"`
	LockedMonths int       `json:"locked_months" doc:"how long the price holds"`
	Seats        int       `json:"seats"`
	SeatsLeft    int       `json:"seats_left" doc:"neither sold nor held by an open checkout"`
	EndsAt       time.Time `json:"ends_at" doc:"the first instant at which it is no longer offered"`
	Open         bool      `json:"open" doc:"whether it can be taken now"`
}

// TierOffer is a route tier and its multiplier.
type TierOffer struct {
	Tier       plan.Tier `json:"tier" enum:"cheap,balanced,fast"`
	Multiplier factor    `json:"multiplier"`
}

// EnterpriseOffer is the plan without a list price.
type EnterpriseOffer struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Text    string `json:"text"`
	Contact string `json:"contact"`
	Tool    string `json:"tool" doc:"the tool that takes wishes"`
}

func (h *handlers) listPlans() *operation.Operation[operation.Nothing, PlanList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_plans", Title: "List plans and prices", Access: operation.Everybody, PerNetwork: true, Reads: true,
		Description: "Lists plans, packs, paying per call and the founding offer with prices, included units, rate " +
			"limits and supply. It costs nothing and changes nothing.",
	}, h.runListPlans)
}

func (h *handlers) runListPlans(ctx context.Context, _ *operation.Call, _ operation.Nothing) (PlanList, error) {
	taken, seatsKnown := h.Prices.SeatsTaken(ctx)
	l := PlanList{
		PaymentsLive: h.Stripe != nil, SignupURL: h.PublicURL + "/sign-in", Currency: "USD",
		Enterprise: EnterpriseOffer{
			Key: plan.Enterprise, Name: plan.Must(plan.Enterprise).Title, Contact: h.Links.Contact,
			Tool: "join_enterprise_wishlist", Text: "Custom volume, rate and dedicated capacity, by contract.",
		},
		PerCall: PerCallOffer{Menu: h.PublicURL + x402.MenuPath, Live: h.Prices.SellsPerCall()},
		Note: fmt.Sprintf(
			"Prices are net: %d%% VAT is added for customers in the EU or without a country. A standard call takes 1 "+
				"unit and a heavy one 2, times the route tier's multiplier; data takes 10, a tool of the toolbox 1 "+
				"or 2, a cache hit 0. Weights are the same on every plan. get_quote prices a single method.",
			plan.VATPercent),
	}
	if !l.PaymentsLive {
		l.Note += " Nothing can be bought by card here now: payments_live is false."
	}
	for _, p := range plan.All() {
		if p.Kind != plan.Custom {
			l.Plans = append(l.Plans, planOffer(&p))
		}
	}
	rungs := map[string]plan.Rung{}
	for _, r := range plan.Ladder() {
		rungs[r.Key] = r
	}
	for _, p := range plan.Packs() {
		l.Packs = append(l.Packs, PackOffer{
			Key: p.Key, Size: p.Size, PriceCents: int64(p.Price), Units: p.Units, ValidMonths: plan.PackMonths,
			Supply: p.Supply, PerMillion: operation.Dollars(rungs[p.Key].CentsPerMillion()),
		})
	}
	for _, t := range plan.PerCallTiers() {
		l.PerCall.Tiers = append(l.PerCall.Tiers, PerCallTier{t.Tier, operation.Dollars(t.CentsPerMillion()), t.Supply})
	}
	for _, t := range plan.Tiers() {
		l.Tiers = append(l.Tiers, TierOffer{t, factor(t.Multiplier())})
	}
	o := plan.Founding()
	l.Founding = FoundingOffer{
		Key: o.Key, Plan: o.Plan, PriceCents: int64(o.Price), LockedMonths: o.LockedMonths, Seats: o.Seats,
		SeatsLeft: max(0, o.Seats-taken), EndsAt: o.Ends, Open: seatsKnown && o.Open(h.Now(), taken) && l.PaymentsLive,
	}
	if !seatsKnown {
		l.Founding.SeatsLeft = 0
		l.Note += " " + billing.SeatsUnknown
	}
	return l, nil
}

func planOffer(p *plan.Plan) PlanOffer {
	o := PlanOffer{
		Key: p.Key, Name: p.Title, Kind: p.Kind, PriceCents: int64(p.MonthlyPrice), Interval: "none",
		Included: p.Included, Period: p.Period, Rate: rateOffer(p.Rate), Supply: p.Supply, Data: p.Data,
		// the ladder does not sell door keys, but everybody can get one
		FastShare: p.FastShare.Percent(), HowToGet: howToGet(p), Live: p.Live || p.Key == plan.Door1,
	}
	if p.MonthlyPrice > 0 {
		o.Interval = string(plan.ByMonth)
	}
	if p.YearlyPrice > 0 {
		cents := int64(p.YearlyPrice)
		o.YearlyCents = &cents
	}
	if ceiling := p.SoftCeiling(); ceiling != plan.Unlimited {
		rate := rateOffer(p.SoftRate)
		o.SoftCeiling, o.SoftRate = &ceiling, &rate
	}
	for _, r := range plan.Ladder() {
		switch r.Key {
		case p.Key, p.Key + "_monthly":
			o.PerMillion = operation.Dollars(r.CentsPerMillion())
		case p.Key + "_yearly":
			price := operation.Dollars(r.CentsPerMillion())
			o.YearlyMillion = &price
		}
	}
	return o
}

func rateOffer(w plan.RateWindow) RateOffer { return RateOffer{w.Limit, int64(w.Per / time.Second)} }

// howToGet returns how to get on a plan.
func howToGet(p *plan.Plan) string {
	switch {
	case p.Key == plan.Door1:
		return "get_key or POST /keys: no sign-up, three keys a day for each network address"
	case p.Key == plan.WalletBound:
		return "bind_key_start and bind_key_complete with a key from get_key: a wallet signs a message, no transaction"
	case p.MonthlyPrice == 0:
		return "sign up at signup_url: by mail, without a card"
	default:
		return "sign up at signup_url and choose it on the billing page"
	}
}

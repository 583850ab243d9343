package advice

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
)

// QuoteInput is a call of the relay.
type QuoteInput struct {
	Chain  chain.ID  `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"chain that the call goes to" example:"eth_mainnet"`
	Method string    `json:"method" minLength:"1" maxLength:"80" pattern:"^[ -~]+$" patternDescription:"printable ASCII" doc:"JSON-RPC method, exact and case-sensitive; printable ASCII, up to 80 characters" example:"eth_getLogs"`
	Tier   plan.Tier `json:"tier,omitempty" enum:"cheap,balanced,fast" default:"balanced" doc:"route tier, which multiplies the units: cheap by 0.5, balanced by 1, fast by 2"`
}

// Quote is the cost of a call on every way to pay for it.
type Quote struct {
	Chain      chain.ID     `json:"chain"`
	Method     string       `json:"method" doc:"as it was asked for"`
	Offered    bool         `json:"offered" doc:"whether the method can be called on this chain now"`
	Units      *plan.Units  `json:"units" nullable:"true" doc:"weighted units of a call that its parameters do not make heavier, times the tier's multiplier; null when not offered"`
	HeavyUnits *plan.Units  `json:"units_when_heavy,omitempty" doc:"units of a call that its parameters make heavier; absent where none do. note says which"`
	HitUnits   plan.Units   `json:"units_of_a_cache_hit" doc:"always 0: an answer from the cache is free"`
	Class      chain.Class  `json:"weight_class,omitempty" enum:"standard,heavy" doc:"absent when not offered"`
	Tier       plan.Tier    `json:"tier" enum:"cheap,balanced,fast"`
	Multiplier factor       `json:"multiplier" doc:"of the tier"`
	Cache      string       `json:"cache,omitempty" enum:"never,local,short,final" doc:"never; local: the gateway answers by itself; short: for some seconds; final: once the block is 64 deep. Absent when not offered"`
	CacheFor   int64        `json:"cache_seconds" doc:"how long an answer may be served again; 0 for never"`
	Lanes      []QuotedLane `json:"lanes" doc:"every rung of the price ladder"`
	Suggestion string       `json:"suggestion,omitempty" doc:"the method whose name comes close, when this one is not offered"`
	Contact    string       `json:"contact,omitempty" doc:"who to ask for a method that is not offered"`
	Docs       string       `json:"docs,omitempty" doc:"where the catalog is, when the method is not offered"`
	Note       string       `json:"note" doc:"what decides the weight, what is refused, or what to do instead"`
}

// QuotedLane is the cost of such calls on one rung of the price ladder.
type QuotedLane struct {
	Key        string            `json:"key"`
	Title      string            `json:"title"`
	Kind       plan.Kind         `json:"kind" enum:"subscription,pack,per_call,flat,free"`
	PerMillion operation.Dollars `json:"usd_per_million_units" doc:"US dollars for a million units, net; of per_call that of the tier"`
	PerCall    *plan.Units       `json:"units_per_call" nullable:"true" doc:"what one call takes; on per_call the tier's price carries the multiplier already"`
	Thousand   *micros           `json:"usd_per_1000_calls" nullable:"true" doc:"net, to the millionth of a dollar, at the price of a unit; null when not offered"`
	Million    *micros           `json:"usd_per_million_calls" nullable:"true" doc:"the same for 1,000,000 calls"`
	Supply     plan.Supply       `json:"supply" enum:"public,wholesale,premium"`
	Live       bool              `json:"live" doc:"whether it is given or sold now"`
}

// factor is a multiplier, written as a JSON number.
type factor plan.Thousandths

// MarshalJSON writes 0.5, 1 and 2.
func (f factor) MarshalJSON() ([]byte, error) { return plan.Units(f).MarshalJSON() }

// Schema returns the schema of a number.
func (factor) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

// micros is an amount in millionths of a dollar. It is a JSON number of dollars with up to six
// decimals.
type micros plan.Micros

// MarshalJSON writes 9.0 and 0.00415.
func (m micros) MarshalJSON() ([]byte, error) { return plan.Micros(m).MarshalJSON() }

// Schema returns the schema of a number.
func (micros) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

func (h *handlers) getQuote() *operation.Operation[QuoteInput, Quote] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_quote", Title: "Quote a call", Access: operation.Everybody, PerNetwork: true, Reads: true,
		Description: "Tells whether a method is offered on a chain, how many weighted units a call takes, what its " +
			"parameters change about that, and what such calls cost on every rung of the price ladder. It costs " +
			"nothing and changes nothing.",
	}, h.runGetQuote)
}

func (h *handlers) runGetQuote(ctx context.Context, _ *operation.Call, in QuoteInput) (Quote, error) {
	tier, _ := plan.ParseTier(string(in.Tier)) // the schema checked the tier
	q := Quote{Chain: in.Chain, Method: in.Method, Tier: tier, Multiplier: factor(tier.Multiplier())}
	taken, seatsKnown := h.Prices.SeatsTaken(ctx)
	o := h.offerOf(in.Chain, in.Method)
	q.Offered, q.Note = o.offered, o.note
	weight := 0
	if q.Offered {
		weight = q.describe(o.method, tier)
	} else {
		q.Suggestion, q.Contact, q.Docs = o.suggestion, h.Links.Contact, h.Links.Docs
	}
	for _, r := range plan.Ladder() {
		q.Lanes = append(q.Lanes, h.laneOf(&r, &q, weight, seatsKnown && plan.Founding().Open(h.Now(), taken)))
	}
	if !seatsKnown {
		q.Note += " " + billing.SeatsUnknown
	}
	return q, nil
}

// describe fills in the catalog's entry of an offered method. It returns the method's weight in
// whole units.
func (q *Quote) describe(m *chain.Method, tier plan.Tier) (weight int) {
	weight = weightOf(m)
	units := plan.Cost(weight, tier)
	q.Units, q.Class, q.Cache, q.CacheFor = &units, m.Class, m.Cache.String(), int64(m.TTL/time.Second)
	if m.Terms().Heavy != "" {
		heavy := plan.Cost(2*weight, tier)
		q.HeavyUnits = &heavy
	}
	return weight
}

// weightOf returns the weight of a call without heavy parameters. It is 0 if the gateway answers
// the method itself.
func weightOf(m *chain.Method) int {
	if m.Cache == chain.Local {
		return 0
	}
	return m.Weight
}

func (h *handlers) laneOf(r *plan.Rung, q *Quote, weight int, founding bool) QuotedLane {
	lane := QuotedLane{
		Key: r.Key, Title: r.Title(), Kind: r.Kind, PerMillion: operation.Dollars(r.CentsPerMillion()),
		Supply: r.Supply,
		Live:   r.Live && (r.Key != plan.Founding().Key || founding),
	}
	perCall, isPerCall := plan.FindPerCallTier(q.Tier)
	if isPerCall = isPerCall && r.Kind == plan.PerCall; isPerCall {
		lane.PerMillion, lane.Supply = operation.Dollars(perCall.CentsPerMillion()), perCall.Supply
		lane.Live = h.Prices.SellsPerCall()
	}
	if !q.Offered {
		return lane
	}
	const thousand, million = 1_000, 1_000_000
	units := plan.Cost(weight, q.Tier)
	lane.PerCall = &units
	if isPerCall { // the price already includes the tier's multiplier
		whole := plan.Units(weight) * plan.Unit
		lane.PerCall = &whole
	}
	few, many := micros(r.PriceOf(units*thousand)), micros(r.PriceOf(units*million))
	lane.Thousand, lane.Million = &few, &many
	return lane
}

// offering describes whether a method can be called on a chain.
type offering struct {
	method     *chain.Method // nil if it is not in the catalog
	offered    bool
	note       string
	suggestion string
}

// offerOf looks a method up in the catalog, then checks that the chain's upstreams support it.
func (h *handlers) offerOf(id chain.ID, name string) offering {
	known, ok := h.Pool.Known().Lookup(string(id))
	if !ok { // the schema checked the chain
		return offering{note: "This chain is not served."}
	}
	m, ok := known.Method([]byte(name))
	if !ok {
		refusal := known.Refuse(name, h.Links)
		near, _ := refusal.Data["suggestion"].(string) //nolint:errcheck // absent is empty
		// A quote has these links as fields of its own.
		return offering{
			note: strings.NewReplacer("at data.docs", "at docs", "at data.contact",
				"at contact").Replace(refusal.Message), suggestion: near,
		}
	}
	here, ok := h.Pool.Chain(id)
	if !ok {
		return offering{
			method: m, note: fmt.Sprintf(
				"This gateway has no upstream for %s. Use one of its other chains, or ask at contact.", id),
		}
	}
	if m.Needs == chain.Plain {
		return offering{method: m, offered: true, note: noteOf(m)}
	}
	switch here.Availability(m.Needs) {
	case upstream.Absent:
		return offering{
			method: m, note: fmt.Sprintf(
				"%s is in the catalog, but no upstream of %s serves it now: a call is refused with -32601 and costs "+
					"nothing. Ask at contact.", name, id),
		}
	case upstream.Away:
		return offering{
			method: m, offered: true,
			note: noteOf(m) +
				" No upstream that serves it can be used at this moment; a call that fails for that costs nothing.",
		}
	case upstream.Unmeasured:
		return offering{
			method: m, offered: true,
			note: noteOf(m) +
				" It is not known yet whether an upstream serves it: where none does, a call is refused with -32601 " +
				"and costs nothing.",
		}
	default:
		return offering{method: m, offered: true, note: noteOf(m)}
	}
}

// noteOf explains what determines the cost of a call of the method.
func noteOf(m *chain.Method) string {
	terms := m.Terms()
	var parts []string
	switch {
	case m.Cache == chain.Local:
		parts = append(parts, "The gateway answers it by itself, which counts as a cache hit and costs 0.")
	case terms.Heavy != "":
		parts = append(parts, fmt.Sprintf("It weighs 1, and 2 when %s.", terms.Heavy))
	default:
		parts = append(parts, fmt.Sprintf("It weighs %d whatever its parameters are.", m.Weight))
	}
	if terms.Cap != "" {
		parts = append(parts, terms.Cap)
	}
	switch m.Cache {
	case chain.Short:
		parts = append(parts, fmt.Sprintf("The same call within %d s is a cache hit and costs 0.",
			int64(m.TTL/time.Second)))
	case chain.Final:
		parts = append(parts,
			fmt.Sprintf("Once its block is %d below the head, the same call is a cache hit and costs 0.",
				chain.FinalDepth))
	case chain.Never, chain.Local:
	}
	if m.Write {
		parts = append(parts, "A submission goes to one upstream and is never sent again by the gateway.")
	}
	return strings.Join(parts, " ")
}

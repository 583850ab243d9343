// Package statement compiles the statement of an account's billing period from recorded usage and
// invoices, freezes it once the period is over, and renders it. A frozen statement never changes;
// usage that is recorded later is an adjustment on the statement that closes next. It does not wait
// for periods to end (workflows do) and charges nothing.
package statement

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Scope is whose usage a statement shows.
type Scope string

// The scopes: the whole account, one agent, or one key.
const (
	OfAccount Scope = "account"
	OfAgent   Scope = "agent"
	OfKey     Scope = "key"
)

// Status is the status of a period.
type Status string

// The statuses. A period is open until it ends, then closing until all its usage is recorded, and
// then closed for good.
const (
	Open    Status = "open"
	Closing Status = "closing"
	Closed  Status = "closed"
)

// Statement is what an account used and was invoiced in one billing period. The figures of groups
// always add up to those above them. A frozen statement that was decoded renders to exactly the
// frozen bytes.
type Statement struct {
	Account     string       `json:"account" format:"uuid"`
	Period      string       `json:"period" format:"date" doc:"the period's name: the date on which it began"`
	Scope       Scope        `json:"scope" enum:"account,agent,key" doc:"agent: only what the agent of the asking key used; key: only what the asking key used, which an owner adopted"`
	Status      Status       `json:"status" enum:"open,closing,closed" doc:"open: the period goes on; closing: it is over, and its last usage is being recorded; closed: it never changes again"`
	StartsAt    time.Time    `json:"starts_at"`
	EndsAt      time.Time    `json:"ends_at" doc:"the first instant after the period; of one that a change of plan cut short, what was used until the change was in force is in it too"`
	Plan        string       `json:"plan" doc:"key of the plan at the period's end, or now while it is open"`
	Invoices    []Invoice    `json:"invoices" doc:"created in the period, oldest first, and earlier ones that became known after their period was closed; none but of the scope account"`
	Totals      Totals       `json:"totals" doc:"of the period; adjustments are not in it"`
	AtTheLimit  []Limit      `json:"at_the_limit" doc:"refusals that a limit caused, the service's or the customer's own, by reason; they are among the refusals of the totals"`
	Keys        []Key        `json:"keys" doc:"usage by API key, each with its agent if it is one's, by chain and by method class"`
	Adjustments []Adjustment `json:"adjustments" doc:"what was recorded of earlier periods after their statements were closed, each told once; figures may be negative, for refunds"`
	AsOf        *time.Time   `json:"as_of" nullable:"true" doc:"all usage before this instant is in it; null while nothing is known to be"`
	GeneratedAt time.Time    `json:"generated_at"`
	ContentHash string       `json:"content_hash,omitempty" doc:"of a closed one: sha256: and the hexadecimal SHA-256 of the account's statement as it was frozen, which is its JSON without this last member; one of another scope is cut out of it"`

	frozen []byte // the bytes that were hashed; nil when it is not frozen, or only a part
}

// Invoice is an invoice as it was known when the statement was made. Net + VAT = Total.
type Invoice struct {
	ID          string     `json:"id"`
	Number      string     `json:"number" doc:"as printed on it"`
	Status      string     `json:"status" enum:"open,paid,void,uncollectible"`
	Reason      string     `json:"reason" doc:"why it was made, in the word of the payment provider"`
	Currency    string     `json:"currency" example:"usd"`
	NetCents    plan.Cents `json:"net_cents"`
	VATCents    plan.Cents `json:"vat_cents"`
	TotalCents  plan.Cents `json:"total_cents"`
	PaidCents   plan.Cents `json:"paid_cents"`
	CreatedAt   time.Time  `json:"created_at"`
	PaidAt      *time.Time `json:"paid_at" nullable:"true" doc:"null while it is not paid"`
	PeriodStart time.Time  `json:"period_start" doc:"what it is for begins"`
	PeriodEnd   time.Time  `json:"period_end"`
}

// Totals are the figures of a group. Requests = Billable + CacheHits + Refusals; Units = PlanUnits
// + PackUnits. A refunded call counts in Refusals, and also in Refunded.
type Totals struct {
	Requests  int64      `json:"requests" doc:"calls that came: billable + cache_hits + refusals"`
	Billable  int64      `json:"billable" doc:"calls that were answered and charged"`
	Units     plan.Units `json:"units" doc:"weighted units charged: plan_units + pack_units"`
	PlanUnits plan.Units `json:"plan_units"`
	PackUnits plan.Units `json:"pack_units"`
	CacheHits int64      `json:"cache_hits" doc:"calls answered from the cache, which cost nothing"`
	Refusals  int64      `json:"refusals" doc:"calls that were refused, or given back because the service failed; they cost nothing"`
	Refunded  int64      `json:"refunded" doc:"of the refusals: charged first and given back"`
}

// Limit counts the refusals of one reason.
type Limit struct {
	Reason   string `json:"reason" example:"plan_quota"`
	Code     int    `json:"code" example:"-32007" doc:"JSON-RPC code of the refusal"`
	Requests int64  `json:"requests"`
}

// Key is what one API key used.
type Key struct {
	ID         string  `json:"id" format:"uuid"`
	Prefix     string  `json:"prefix" doc:"the first characters of the key; empty when it is another account's now"`
	Name       string  `json:"name" doc:"empty when it has none, or is another account's now"`
	Door       string  `json:"door" doc:"how the key came to be; empty when it is another account's now"`
	Agent      *Agent  `json:"agent,omitempty" doc:"whose key it is; absent for keys that are no agent's"`
	Totals     Totals  `json:"totals"`
	AtTheLimit []Limit `json:"at_the_limit"`
	Chains     []Chain `json:"chains"`
}

// Agent is a program of the account that holds a key of its own.
type Agent struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name"`
}

// Chain is what a key used on one chain.
type Chain struct {
	Chain   string  `json:"chain" doc:"empty for calls that concern none, such as EVM utilities"`
	Totals  Totals  `json:"totals"`
	Classes []Class `json:"classes"`
}

// Class is what a key used of one class of methods on a chain. Its figures are those of Totals.
type Class struct {
	Class     string     `json:"class" doc:"standard and heavy are relayed calls by weight; toolbox and data are answers that take several; empty for calls refused before their method was known"`
	Requests  int64      `json:"requests"`
	Billable  int64      `json:"billable"`
	Units     plan.Units `json:"units"`
	PlanUnits plan.Units `json:"plan_units"`
	PackUnits plan.Units `json:"pack_units"`
	CacheHits int64      `json:"cache_hits"`
	Refusals  int64      `json:"refusals"`
	Refunded  int64      `json:"refunded"`
}

// Totals returns the figures of a class.
func (c Class) Totals() Totals {
	return Totals{c.Requests, c.Billable, c.Units, c.PlanUnits, c.PackUnits, c.CacheHits, c.Refusals, c.Refunded}
}

// Adjustment is usage of a closed period that was recorded after it was frozen and is on no earlier
// statement.
type Adjustment struct {
	Period string `json:"period" format:"date" doc:"the closed period that it is of"`
	Totals Totals `json:"totals"`
	Keys   []Key  `json:"keys"`
}

// plain is a Statement without MarshalJSON.
type plain Statement

// MarshalJSON renders a frozen statement as the frozen bytes, with their hash as the last member.
func (s Statement) MarshalJSON() ([]byte, error) { //nolint:gocritic // the way of json.Marshaler
	if s.frozen == nil {
		return json.Marshal(plain(s))
	}
	hash, err := json.Marshal(s.ContentHash)
	if err != nil {
		return nil, err
	}
	end := len(s.frozen) - 1 // before the brace
	text := make([]byte, 0, len(s.frozen)+len(hash)+len(hashMember)+1)
	text = append(append(text, s.frozen[:end]...), hashMember...)
	return append(append(text, hash...), '}'), nil
}

const hashMember = `,"content_hash":`

// freeze returns the bytes of a statement that are stored and hashed: its JSON. It contains only
// structs and lists, no maps, so the same statement always has the same bytes.
func freeze(s *Statement) ([]byte, error) {
	s.ContentHash, s.frozen = "", nil
	content, err := json.Marshal(plain(*s))
	if err != nil {
		return nil, fmt.Errorf("freeze the statement of account %s, period %s: %w", s.Account, s.Period, err)
	}
	return content, nil
}

// thaw parses a frozen statement.
func thaw(content []byte, hash [32]byte) (Statement, error) {
	var s plain
	if err := json.Unmarshal(content, &s); err != nil {
		return Statement{}, fmt.Errorf("read a frozen statement: %w", err)
	}
	s.ContentHash, s.frozen = fmt.Sprintf("sha256:%x", hash), content
	return Statement(s), nil
}

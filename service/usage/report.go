package usage

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// UsageReportInput selects a look-back and a chain.
type UsageReportInput struct {
	Hours int      `json:"hours,omitempty" minimum:"1" maximum:"720" default:"24" doc:"look-back in hours, 1 to 720; the report begins with the hour that holds its first instant" example:"24"`
	Chain chain.ID `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"only calls on this chain; absent for all calls, those that concern no chain included" example:"base_mainnet"`
}

// UsageReport is recent usage, as recorded.
type UsageReport struct {
	Scope         statement.Scope `json:"scope" enum:"account,agent,key" doc:"agent: only what the agent of the asking key used; key: only what the asking key used, which an owner adopted"`
	Hours         int             `json:"hours"`
	Chain         chain.ID        `json:"chain,omitempty" doc:"absent for all"`
	Since         time.Time       `json:"since" doc:"the first hour of the report; it goes on until now"`
	AsOf          *time.Time      `json:"as_of" nullable:"true" doc:"all usage before this instant is in it, later usage in part: the record is some seconds late; null while nothing is known to be"`
	TotalRequests int64           `json:"total_requests" doc:"calls that came; answered from upstreams, from the cache, and refused ones"`
	WeightedUnits plan.Units      `json:"weighted_units" doc:"units charged"`
	CacheHits     int64           `json:"cache_hits" doc:"calls answered from the cache, which cost nothing"`
	Refusals      int64           `json:"refusals" doc:"calls that were refused, or given back because the service failed; they cost nothing"`
	SuccessRate   MaybeFigure     `json:"success_rate" doc:"share of the requests that were answered, reverts included, from 0 to 1, rounded down to a thousandth; null without requests"`
	P50           MaybeFigure     `json:"p50_duration_ms" doc:"milliseconds that half of the answered calls did not exceed; null without any"`
	P95           MaybeFigure     `json:"p95_duration_ms" doc:"milliseconds that 95 of 100 answered calls did not exceed; null without any"`
	ByClass       []UsageEntry    `json:"by_class" doc:"standard and heavy are relayed calls by weight; toolbox and data are answers that take several; empty for calls refused before their method was known"`
	ByKey         []UsageEntry    `json:"by_key"`
	ByMethod      []UsageEntry    `json:"by_method"`
	ByChain       []UsageEntry    `json:"by_chain"`
}

// UsageEntry is the usage of one class, key, method or chain. A list has at most maxEntries of
// them, the largest first, and a last one for the rest.
type UsageEntry struct {
	Name      string     `json:"name" doc:"the class, method or chain, or the key's name; empty for calls that have none"`
	KeyID     string     `json:"key_id,omitempty" format:"uuid"`
	KeyPrefix string     `json:"key_prefix,omitempty" doc:"first characters of the key; absent when it is another account's now"`
	Agent     string     `json:"agent,omitempty" doc:"name of the agent whose key it is"`
	Requests  int64      `json:"requests"`
	Units     plan.Units `json:"weighted_units"`
	CacheHits int64      `json:"cache_hits"`
	Refusals  int64      `json:"refusals"`
	Rest      int64      `json:"rest,omitempty" doc:"how many further ones this last entry adds up; absent on all others"`
}

// maxEntries is the number of groups in a list of usage, not counting the rest.
const maxEntries = 20

func (h *handlers) usageReport() *operation.Operation[UsageReportInput, UsageReport] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_usage_report", Title: "Usage of the last hours", Access: operation.Holders, Reads: true,
		Description: "Adds up what was used in the last hours, 24 unless said otherwise: requests, units, cache " +
			"hits, success rate, p50 and p95, and the same by class, key, method and chain. An agent's key sees its " +
			"agent's usage only, an adopted key its own. It comes from the record, which is some seconds late; as_of " +
			"says how far it is. A repeat within 10 seconds gives the same. It costs nothing.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runUsageReport)
}

const defaultHours = 24

func (h *handlers) runUsageReport(ctx context.Context, c *operation.Call, in UsageReportInput) (UsageReport, error) {
	if in.Hours == 0 {
		in.Hours = defaultHours
	}
	return operation.Cached(ctx, h.reports, c.ReportKey("report", in), func(ctx context.Context) (UsageReport, error) {
		return h.makeUsageReport(ctx, c, in)
	})
}

func (h *handlers) makeUsageReport(ctx context.Context, c *operation.Call, in UsageReportInput) (UsageReport, error) {
	now := h.Now()
	w, scope, err := h.Usage.Window(ctx, c, now.Add(-time.Duration(in.Hours)*time.Hour).UTC().Truncate(time.Hour))
	if err != nil {
		return UsageReport{}, err
	}
	w.Chain = string(in.Chain)
	report := UsageReport{Scope: scope, Hours: in.Hours, Chain: in.Chain, Since: w.Since}
	if report.AsOf, err = h.Usage.AsOf(ctx, c); err != nil { // before the figures, which may include later usage
		return UsageReport{}, err
	}
	sums, err := h.Store.ReportUsage(ctx, &w, maxEntries)
	if err != nil {
		return UsageReport{}, operation.ToFault(err, "usage")
	}
	whole := &sums.Whole
	report.TotalRequests, report.WeightedUnits, report.CacheHits, report.Refusals = whole.Requests, whole.Units,
		whole.Hits, whole.Refused()
	report.SuccessRate = share(whole.Billable+whole.Hits, whole.Requests)
	if err := h.durations(ctx, &w, now, &report); err != nil {
		return UsageReport{}, err
	}
	named := func(name func(*usagedb.UsageGroup) string) func(*usagedb.UsageGroup) UsageEntry {
		return func(g *usagedb.UsageGroup) UsageEntry { return UsageEntry{Name: name(g)} }
	}
	report.ByClass = entriesOf(&sums.ByClass, whole, named(func(g *usagedb.UsageGroup) string { return g.Class }))
	report.ByMethod = entriesOf(&sums.ByMethod, whole, named(func(g *usagedb.UsageGroup) string { return g.Method }))
	report.ByChain = entriesOf(&sums.ByChain, whole, named(func(g *usagedb.UsageGroup) string { return g.Chain }))
	keys, err := h.keysOf(ctx, sums.ByKey.Groups)
	if err != nil {
		return UsageReport{}, err
	}
	report.ByKey = entriesOf(&sums.ByKey, whole, func(g *usagedb.UsageGroup) UsageEntry {
		return keyEntry(c.Account.ID, g.Key, keys)
	})
	return report, nil
}

// durations sets the latency quantiles of answered calls.
func (h *handlers) durations(ctx context.Context, w *usagedb.UsageWindow, now time.Time, report *UsageReport) error {
	figures, err := h.Store.Latency(ctx, usagedb.LatencyQuery{
		Account: w.Account, Since: w.Since, Until: now, Keys: w.Keys, Chain: w.Chain,
	})
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	var all account.Latency
	for i := range figures {
		answered := figures[i].Answered()
		all.Add(&answered)
	}
	report.P50, report.P95 = millis(&all, median), millis(&all, high)
	return nil
}

// entriesOf returns an entry for each group, and a last one for the rest of the whole.
func entriesOf(groups *usagedb.UsageGroups, whole *usagedb.UsageSums,
	entry func(*usagedb.UsageGroup) UsageEntry,
) []UsageEntry {
	entries := []UsageEntry{}
	rest := *whole
	for i := range groups.Groups {
		g := &groups.Groups[i]
		e := entry(g)
		e.fill(&g.UsageSums)
		entries = append(entries, e)
		rest.Requests, rest.Billable, rest.Hits, rest.Units = rest.Requests-g.Requests, rest.Billable-g.Billable,
			rest.Hits-g.Hits, rest.Units-g.Units
	}
	if left := groups.All - int64(len(groups.Groups)); left > 0 {
		last := UsageEntry{Rest: left}
		last.fill(&rest)
		entries = append(entries, last)
	}
	return entries
}

func (e *UsageEntry) fill(s *usagedb.UsageSums) {
	e.Requests, e.Units, e.CacheHits, e.Refusals = s.Requests, s.Units, s.Hits, s.Refused()
}

// keysOf reads the names of the groups' keys.
func (h *handlers) keysOf(ctx context.Context,
	groups []usagedb.UsageGroup,
) (keys map[account.KeyID]billingdb.StatementKey, err error) {
	ids := make([]account.KeyID, len(groups))
	for i := range groups {
		ids[i] = groups[i].Key
	}
	err = h.Store.ReadStatements(ctx, func(b *billingdb.StatementTx) error {
		keys, err = b.Keys(ctx, ids)
		return err
	})
	return keys, operation.ToFault(err, "key")
}

// keyEntry returns an entry with the name of a key. A key that now belongs to another account is
// identified only by its id.
func keyEntry(owner account.ID, id account.KeyID, keys map[account.KeyID]billingdb.StatementKey) UsageEntry {
	e := UsageEntry{KeyID: id.String()}
	if k, known := keys[id]; known && k.Account == owner {
		e.Name, e.KeyPrefix, e.Agent = k.Name, k.Prefix, k.AgentName
	}
	return e
}

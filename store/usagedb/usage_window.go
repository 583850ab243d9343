package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/db"
)

// UsageWindow selects usage. Rows are hourly: the window starts with the whole hour of Since and
// has no end. It is read from daily rows, and from hourly ones before the first midnight and where
// hours are distinguished.
type UsageWindow struct {
	Account account.ID
	Since   time.Time
	Keys    []account.KeyID // only these keys; nil for all
	Chain   string          // only this chain; empty for all
	Period  account.Period  // only usage of this period; zero for all
}

func (w *UsageWindow) since() time.Time { return w.Since.UTC().Truncate(time.Hour) }

func (w *UsageWindow) fromDay() time.Time { return midnightFrom(w.since()) }

func (w *UsageWindow) keys() []uuid.UUID { return keyUUIDs(w.Keys) }

func (w *UsageWindow) period() pgtype.Date { return onlyPeriod(w.Period) }

// onlyPeriod returns null for the zero period, which selects every period. Usage is stored under
// the day on which its period begins.
func onlyPeriod(p account.Period) pgtype.Date {
	return pgtype.Date{Time: p.Start.UTC().Truncate(day), Valid: !p.Start.IsZero()}
}

// failed wraps err with what could not be read.
func (w *UsageWindow) failed(what string, err error) error {
	return fmt.Errorf("read %s of account %s: %w", what, w.Account, err)
}

// keyUUIDs returns nil for nil, which selects every key.
func keyUUIDs(keys []account.KeyID) []uuid.UUID {
	if keys == nil {
		return nil
	}
	ids := make([]uuid.UUID, len(keys))
	for i, k := range keys {
		ids[i] = k.UUID
	}
	return ids
}

// UsageSums are sums of usage. Calls that are neither in Billable nor in Hits were refused or
// refunded.
type UsageSums struct {
	Requests int64 // all calls, each counted once
	Billable int64 // answered and charged
	Hits     int64 // answered by the cache or the service itself
	Units    plan.Units
}

// Refused returns how many calls were refused, or refunded because the service failed.
func (s UsageSums) Refused() int64 { return s.Requests - s.Billable - s.Hits }

// UsageGroup is usage grouped by one dimension; only that dimension's field is set.
type UsageGroup struct {
	Class, Method, Chain string
	Key                  account.KeyID
	UsageSums
}

// UsageGroups are the largest groups of a dimension, most used first, and how many there are in
// all.
type UsageGroups struct {
	Groups []UsageGroup
	All    int64
}

// UsageReport is the usage of a window in total and by each dimension.
type UsageReport struct {
	Whole                             UsageSums
	ByClass, ByKey, ByMethod, ByChain UsageGroups
}

// ReportUsage sums a window, and lists up to limit groups of each dimension, all from one snapshot.
func (s *Store) ReportUsage(ctx context.Context, w *UsageWindow, limit int) (UsageReport, error) {
	var report UsageReport
	rows, err := s.pool.Sums().SumUsageGroups(ctx, db.SumUsageGroupsParams{
		Account: w.Account.UUID, Since: w.since(), FromDay: w.fromDay(), Keys: w.keys(), OnlyChain: w.Chain,
		OnlyPeriod: w.period(), MaxRows: int64(limit),
	})
	if err != nil {
		return report, w.failed("usage", err)
	}
	// The values of GROUPING(class, key_id, method, chain): a set bit means that the column is not
	// grouped by.
	dimensions := map[int32]*UsageGroups{
		0b0111: &report.ByClass, 0b1011: &report.ByKey, 0b1101: &report.ByMethod, 0b1110: &report.ByChain,
	}
	for i := range rows {
		r := &rows[i]
		sums := UsageSums{r.Requests, r.Billable, r.Hits, plan.Units(r.Units)}
		groups, ok := dimensions[r.Dimension]
		if !ok {
			report.Whole = sums
			continue
		}
		groups.All = r.Groups
		groups.Groups = append(groups.Groups, UsageGroup{
			Class: r.Class, Method: r.Method, Chain: r.Chain, Key: account.KeyID{UUID: r.KeyID}, UsageSums: sums,
		})
	}
	return report, nil
}

// UsageStep is the usage in one step of time.
type UsageStep struct {
	Start time.Time
	UsageSums
	PackUnits plan.Units // units drawn from packs
	Computed  int64      // billable calls of utilities, which have no cache
}

// UsageSteps sums a window by steps of whole hours, which start with its first hour. Steps without
// usage are omitted.
func (s *Store) UsageSteps(ctx context.Context, w *UsageWindow, step time.Duration) ([]UsageStep, error) {
	if step <= 0 || step%time.Hour != 0 {
		return nil, fmt.Errorf("read usage of account %s: a step of %s: ask for whole hours", w.Account, step)
	}
	rows, err := s.pool.Sums().SumUsageSteps(ctx, db.SumUsageStepsParams{
		Account: w.Account.UUID, Since: w.since(), FromDay: daysOfSteps(w.since(), step), Keys: w.keys(),
		OnlyChain: w.Chain, OnlyPeriod: w.period(), StepSeconds: int64(step / time.Second),
	})
	if err != nil {
		return nil, w.failed("usage", err)
	}
	steps := make([]UsageStep, len(rows))
	for i, r := range rows {
		steps[i] = UsageStep{
			r.Start.UTC(),
			UsageSums{r.Requests, r.Billable, r.Hits, plan.Units(r.Units)},
			plan.Units(r.PackUnits), r.Computed,
		}
	}
	return steps, nil
}

// AnsweredUsage is the usage of answered calls by what determines their weight.
type AnsweredUsage struct {
	Service, Method, Class, Tier string
	Billable, Hits               int64
	Units                        plan.Units
}

// AnsweredUsage reads the calls that upstreams and the cache answered in a window, groups with the
// most hits first. The catalog bounds the number of groups.
func (s *Store) AnsweredUsage(ctx context.Context, w *UsageWindow) ([]AnsweredUsage, error) {
	rows, err := s.pool.Sums().SumAnswered(ctx, db.SumAnsweredParams{
		Account: w.Account.UUID, Since: w.since(), FromDay: w.fromDay(), Keys: w.keys(), OnlyChain: w.Chain,
		OnlyPeriod: w.period(),
	})
	if err != nil {
		return nil, w.failed("answered usage", err)
	}
	answered := make([]AnsweredUsage, len(rows))
	for i, r := range rows {
		answered[i] = AnsweredUsage{r.Service, r.Method, r.Class, r.Tier, r.Billable, r.Hits, plan.Units(r.Units)}
	}
	return answered, nil
}

// Failures are the refused and failed calls of a window: the largest groups, and how many groups
// there are.
type Failures struct {
	ByReason               []FailureGroup // Reason is set
	ByMethod               []FailureGroup // Chain and Method are set
	AllReasons, AllMethods int64
}

// FailureGroup counts failures by reason, or by method and chain. An unknown method is empty.
type FailureGroup struct {
	Reason, Chain, Method string
	Requests              int64
}

// Failures sums the refused and failed calls of a window: up to limit groups of each kind, largest
// first.
func (s *Store) Failures(ctx context.Context, w *UsageWindow, limit int) (Failures, error) {
	var f Failures
	rows, err := s.pool.Sums().SumFailureGroups(ctx, db.SumFailureGroupsParams{
		Account: w.Account.UUID, Since: w.since(), FromDay: w.fromDay(), Keys: w.keys(), OnlyChain: w.Chain,
		OnlyPeriod: w.period(), MaxRows: int64(limit),
	})
	if err != nil {
		return f, w.failed("failures", err)
	}
	const reasons = 0b011 // GROUPING(outcome, chain, method)
	for _, r := range rows {
		group := FailureGroup{r.Outcome, r.Chain, r.Method, r.Requests}
		if r.Dimension == reasons {
			f.ByReason, f.AllReasons = append(f.ByReason, group), r.Groups
			continue
		}
		f.ByMethod, f.AllMethods = append(f.ByMethod, group), r.Groups
	}
	return f, nil
}

// FailureStep counts failures of a method in one step of time.
type FailureStep struct {
	Start         time.Time
	Chain, Method string
	Requests      int64
}

// FailureSteps sums the failures of the given methods and chains by steps of whole hours, which
// start with the window's first hour.
func (s *Store) FailureSteps(ctx context.Context, w *UsageWindow, step time.Duration,
	of []FailureGroup,
) ([]FailureStep, error) {
	if step <= 0 || step%time.Hour != 0 {
		return nil, fmt.Errorf("read failures of account %s: a step of %s: ask for whole hours", w.Account, step)
	}
	p := db.SumFailureStepsParams{
		Account: w.Account.UUID, Since: w.since(), FromDay: daysOfSteps(w.since(), step), Keys: w.keys(),
		OnlyChain: w.Chain, OnlyPeriod: w.period(), StepSeconds: int64(step / time.Second), Chains: []string{},
		Methods: []string{},
	}
	for _, g := range of {
		p.Chains, p.Methods = append(p.Chains, g.Chain), append(p.Methods, g.Method)
	}
	rows, err := s.pool.Sums().SumFailureSteps(ctx, p)
	if err != nil {
		return nil, w.failed("failures", err)
	}
	steps := make([]FailureStep, len(rows))
	for i, r := range rows {
		steps[i] = FailureStep{r.Start.UTC(), r.Chain, r.Method, r.Requests}
	}
	return steps, nil
}

// FailedCalls reads up to limit of the newest refused and failed calls from the window's start to
// until, without management calls. It sets only the fields that identify the call and its outcome.
func (s *Store) FailedCalls(ctx context.Context, w *UsageWindow, until time.Time, limit int) ([]Call, error) {
	var rows []db.ListFailedCallsRow
	var err error
	if bound := int32(limit); w.Keys == nil { //nolint:gosec // some dozens
		rows, err = s.pool.Queries().ListFailedCalls(ctx, db.ListFailedCallsParams{
			Account: w.Account.UUID, Since: w.since(), Until: until, MaxRows: bound,
		})
	} else {
		var of []db.ListFailedCallsOfKeysRow
		of, err = s.pool.Queries().ListFailedCallsOfKeys(ctx, db.ListFailedCallsOfKeysParams{
			Account: w.Account.UUID, Since: w.since(), Until: until, Keys: w.keys(), MaxRows: bound,
		})
		for _, r := range of {
			rows = append(rows, db.ListFailedCallsRow(r))
		}
	}
	if err != nil {
		return nil, w.failed("failed calls", err)
	}
	calls := make([]Call, len(rows))
	for i := range rows {
		r := &rows[i]
		calls[i] = Call{
			RequestID: r.RequestID, Index: int(r.BatchIndex), StartedAt: r.StartedAt.UTC(), Account: w.Account,
			Chain: chain.ID(r.Chain), Method: r.Method, Outcome: r.Outcome, HTTPStatus: int(r.HttpStatus),
			Duration: time.Duration(r.DurationUs) * time.Microsecond,
		}
	}
	return calls, nil
}

// KeysOfAgent lists the keys that an agent of an account has and had.
func (s *Store) KeysOfAgent(ctx context.Context, owner account.ID, agent account.AgentID) ([]account.KeyID, error) {
	ids, err := s.pool.Queries().ListKeysOfAgent(ctx, db.ListKeysOfAgentParams{Account: owner.UUID, Agent: agent.UUID})
	if err != nil {
		return nil, fmt.Errorf("list the keys of agent %s: %w", agent, err)
	}
	keys := make([]account.KeyID, len(ids))
	for i, id := range ids {
		keys[i] = account.KeyID{UUID: id}
	}
	return keys, nil
}

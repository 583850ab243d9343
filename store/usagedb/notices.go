package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// quotaRefusal is the outcome of calls that were refused because the period's quota was used up.
const quotaRefusal = "plan_quota"

// noticed are the percentages of a quota at which a notice is made.
var noticed = [...]int{80, 100}

// NoticeID identifies a notice: a percentage of an account's period. There is at most one notice
// for each.
type NoticeID struct {
	UsagePeriod
	Percent int
}

// UsageNotice reports that a percentage of a period's quota was used.
type UsageNotice struct {
	NoticeID
	Units     plan.Units // drawn from the plan when the notice was made
	Allowance plan.Units // the period's quota then
	NoticedAt time.Time
	StartedAt time.Time // when its delivery began; zero before
	// Result is how the delivery ended; empty before. DeliveredAt is zero when the notice reached
	// nobody.
	Result      string
	DeliveredAt time.Time
}

// notice inserts notices for the periods that reached a percentage of their quota, in the
// transaction that added their usage. It compares with the account's current terms and not with
// earlier usage, so that a smaller plan is noticed with the next call. Usage of a past period makes
// a notice only when the current terms were in force in that period.
func notice(ctx context.Context, q *db.Queries, all map[periodKey]*booking, drawn []db.AddPeriodsRow) error {
	ids := make([]uuid.UUID, len(drawn))
	for i := range drawn {
		ids[i] = drawn[i].AccountID
	}
	rows, err := q.ListAllowances(ctx, ids)
	if err != nil {
		return err
	}
	held := make(map[uuid.UUID]heldTerms, len(rows))
	for _, row := range rows {
		if terms, known := heldTermsOf(row); known {
			held[row.ID] = terms
		}
	}
	var p db.InsertNoticesParams
	for _, row := range drawn {
		period := row.Period.Format(pg.PeriodLayout)
		booked := all[periodKey{row.AccountID, period}]
		terms, known := held[row.AccountID]
		start, heldThen := terms.heldIn(period, booked.newest)
		if !known || !heldThen {
			continue
		}
		if booked.newest.After(start) {
			start = booked.newest
		}
		allowance := terms.At(start).Allowance()
		if allowance <= 0 {
			continue
		}
		for _, percent := range noticed {
			if plan.Units(row.PlanUnits) < share(allowance, percent) && !booked.exhausted {
				continue
			}
			p.Accounts, p.Periods = append(p.Accounts, row.AccountID), append(p.Periods, row.Period)
			p.Percents = append(p.Percents, int16(percent)) //nolint:gosec // at most 100
			p.Units, p.Allowances = append(p.Units, row.PlanUnits), append(p.Allowances, int64(allowance))
		}
	}
	if len(p.Accounts) == 0 {
		return nil
	}
	return q.InsertNotices(ctx, p)
}

// heldTerms is what an account has bought, and since when; a zero time means always.
type heldTerms struct {
	account.Terms
	since time.Time
}

// heldTermsOf reads the terms that quotas depend on. It reports false for a plan that this version
// does not know.
func heldTermsOf(row db.ListAllowancesRow) (heldTerms, bool) {
	held, known := plan.Lookup(row.Plan)
	terms := heldTerms{since: pg.UTCOrZero(row.TermsChangedAt), Terms: account.Terms{
		Plan: held, Cycle: plan.Cycle{Anchor: pg.UTCOrZero(row.CycleAnchor), Ends: pg.UTCOrZero(row.CycleEnds)},
	}}
	if row.CustomQuota != nil {
		terms.Custom = &account.Custom{Quota: plan.Units(*row.CustomQuota)}
	}
	if row.NextPlan != nil {
		next, ok := plan.Lookup(*row.NextPlan)
		terms.Next, terms.NextFrom, known = &next, pg.UTCOrZero(row.NextPlanFrom), known && ok
	}
	return terms, known
}

const (
	slotLength = 10 * time.Second // of the meter's buckets
	// clocksApart is the largest lag of PostgreSQL's clock, by which terms change, behind the
	// meter's, by which periods end.
	clocksApart = 2 * time.Second
)

// heldIn reports whether the terms were in force in the named period, whose newest charges are in
// the slot that begins at newest, and returns the period's start. That is so when the terms place
// the slot in that period, and when they were set before its end: a smaller plan may be set for the
// next period only.
func (t heldTerms) heldIn(name string, newest time.Time) (start time.Time, held bool) {
	if newest.IsZero() { // nothing but refunds
		return time.Time{}, false
	}
	period := t.Period(newest)
	if period.Key() != name {
		period = t.Period(newest.Add(slotLength - time.Millisecond)) // one that begins within the slot
	}
	return period.Start, period.Key() == name && t.since.Before(period.End.Add(-clocksApart))
}

// share returns percent of an allowance, rounded up to a thousandth of a unit.
func share(allowance plan.Units, percent int) plan.Units {
	const whole = 100
	p := plan.Units(percent)
	return allowance/whole*p + (allowance%whole*p+whole-1)/whole
}

// OpenNotices lists up to limit notices whose delivery has not begun, or began longer than stale
// ago and has not ended. Oldest first.
func (s *Store) OpenNotices(ctx context.Context, stale time.Duration, limit int) ([]UsageNotice, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListOpenNotices(ctx, db.ListOpenNoticesParams{
		StaleSeconds: stale.Seconds(), MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list open notices: %w", err)
	}
	notices := make([]UsageNotice, len(rows))
	for i, row := range rows {
		notices[i] = noticeOf(row)
	}
	return notices, nil
}

// FindNotice reads a notice. It returns ErrNotFound when there is none.
func (s *Store) FindNotice(ctx context.Context, id NoticeID) (UsageNotice, error) {
	start, err := time.Parse(pg.PeriodLayout, id.Period)
	if err != nil {
		return UsageNotice{}, fmt.Errorf("find a notice of account %s: period must be a date like 2026-11-01: %w",
			id.Account, err)
	}
	//nolint:gosec // a percentage
	row, err := s.pool.Queries().GetNotice(ctx, db.GetNoticeParams{
		Account: id.Account.UUID, Period: start, Percent: int16(id.Percent),
	})
	if err != nil {
		return UsageNotice{}, fmt.Errorf("find the notice of %d percent of account %s, period %s: %w", id.Percent,
			id.Account, id.Period, pg.NotFound(err))
	}
	return noticeOf(row), nil
}

// StartNotice records that the delivery of a notice has begun.
func (s *Store) StartNotice(ctx context.Context, id NoticeID) error {
	start, err := time.Parse(pg.PeriodLayout, id.Period)
	if err == nil {
		//nolint:gosec // a percentage
		err = s.pool.Queries().StartNotice(ctx, db.StartNoticeParams{
			Account: id.Account.UUID, Period: start, Percent: int16(id.Percent),
		})
	}
	if err != nil {
		return fmt.Errorf("start the notice of %d percent of account %s, period %s: %w", id.Percent, id.Account,
			id.Period, err)
	}
	return nil
}

// EndNotice records how the delivery of a notice ended. The first result is kept; EndNotice returns
// it. It returns ErrNotFound when there is no such notice.
func (s *Store) EndNotice(ctx context.Context, id NoticeID, result string, delivered bool) (string, error) {
	start, err := time.Parse(pg.PeriodLayout, id.Period)
	if err == nil {
		result, err = s.pool.Queries().EndNotice(ctx, db.EndNoticeParams{
			//nolint:gosec // a percentage
			Account: id.Account.UUID, Period: start, Percent: int16(id.Percent), Result: result, Delivered: delivered,
		})
	}
	if err != nil {
		return "", fmt.Errorf("end the notice of %d percent of account %s, period %s: %w", id.Percent, id.Account,
			id.Period, pg.NotFound(err))
	}
	return result, nil
}

func noticeOf(row db.UsageNotice) UsageNotice {
	n := UsageNotice{
		NoticeID: NoticeID{
			UsagePeriod: UsagePeriod{
				Account: account.ID{UUID: row.AccountID},
				Period:  row.Period.Format(pg.PeriodLayout),
			},
			Percent: int(row.Percent),
		},
		Units: plan.Units(row.Units), Allowance: plan.Units(row.Allowance), NoticedAt: row.NoticedAt.UTC(),
	}
	if row.StartedAt != nil {
		n.StartedAt = row.StartedAt.UTC()
	}
	if row.DeliveredAt != nil {
		n.DeliveredAt = row.DeliveredAt.UTC()
	}
	if row.Result != nil {
		n.Result = *row.Result
	}
	return n
}

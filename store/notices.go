package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
)

// quotaRefusal is the outcome of calls that were refused because the period's allowance is used up.
const quotaRefusal = "plan_quota"

// noticed are the shares of an allowance whose use is noticed, in percent.
var noticed = [...]int{80, 100}

// NoticeID names a notice: a share of an account's period that was used, once for ever.
type NoticeID struct {
	UsagePeriod
	Percent int
}

// UsageNotice says that a share of a period's allowance was used.
type UsageNotice struct {
	NoticeID
	Units     plan.Units // drawn from the plan when it was noticed
	Allowance plan.Units // what the period included then
	NoticedAt time.Time
	StartedAt time.Time // when its delivery was begun; zero before
	// Result says how the delivery ended, empty before. DeliveredAt is zero when it reached nobody.
	Result      string
	DeliveredAt time.Time
}

// notice enters those of the periods that reached a share of their allowance, in the transaction
// that added their usage. It compares with what the account's terms include now and not with what
// was used before, so that a smaller plan is noticed with the next call. What comes of a period
// that is over is noticed only when those terms are still the ones that held in it.
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
		period := row.Period.Format(periodLayout)
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

// heldTerms is what an account has bought, and since when; zero for ever.
type heldTerms struct {
	account.Terms
	since time.Time
}

// heldTermsOf reads the terms as far as allowances go. It reports false for a plan that this
// version does not know.
func heldTermsOf(row db.ListAllowancesRow) (heldTerms, bool) {
	held, known := plan.Lookup(row.Plan)
	terms := heldTerms{since: instant(row.TermsChangedAt), Terms: account.Terms{
		Plan: held, Cycle: plan.Cycle{Anchor: instant(row.CycleAnchor), Ends: instant(row.CycleEnds)},
	}}
	if row.CustomQuota != nil {
		terms.Custom = &account.Custom{Quota: plan.Units(*row.CustomQuota)}
	}
	if row.NextPlan != nil {
		next, ok := plan.Lookup(*row.NextPlan)
		terms.Next, terms.NextFrom, known = &next, instant(row.NextPlanFrom), known && ok
	}
	return terms, known
}

const (
	slotLength = 10 * time.Second // of the meter's buckets
	// clocksApart is how far PostgreSQL's clock, by which terms change, may be behind the meter's,
	// by which periods end.
	clocksApart = 2 * time.Second
)

// heldIn reports whether these are terms of the period by that name, whose charges go on into the
// slot that begins at newest: it is the period that they give for the slot, and they did not come
// only after its end, as a plan does that is smaller from the next period on. It gives that
// period's begin.
func (t heldTerms) heldIn(name string, newest time.Time) (start time.Time, held bool) {
	if newest.IsZero() { // nothing but refunds
		return time.Time{}, false
	}
	period := t.Period(newest)
	if period.Key() != name {
		period = t.Period(newest.Add(slotLength - time.Millisecond)) // which begins within the slot
	}
	return period.Start, period.Key() == name && t.since.Before(period.End.Add(-clocksApart))
}

// share is so many percent of an allowance, rounded up to a thousandth of a unit.
func share(allowance plan.Units, percent int) plan.Units {
	const whole = 100
	p := plan.Units(percent)
	return allowance/whole*p + (allowance%whole*p+whole-1)/whole
}

// OpenNotices lists up to most notices that nothing delivers yet, and those whose delivery began
// longer than stale ago and has not ended. The oldest come first.
func (s *Store) OpenNotices(ctx context.Context, stale time.Duration, limit int) ([]UsageNotice, error) {
	//nolint:gosec // bounded
	rows, err := s.queries().ListOpenNotices(ctx, db.ListOpenNoticesParams{
		StaleSeconds: stale.Seconds(), Most: int32(min(limit, maxPage)),
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

// FindNotice reads a notice, or ErrNotFound.
func (s *Store) FindNotice(ctx context.Context, id NoticeID) (UsageNotice, error) {
	start, err := time.Parse(periodLayout, id.Period)
	if err != nil {
		return UsageNotice{}, fmt.Errorf("find a notice of account %s: period must be a date like 2026-11-01: %w",
			id.Account, err)
	}
	//nolint:gosec // a percentage
	row, err := s.queries().GetNotice(ctx, db.GetNoticeParams{
		Account: id.Account.UUID, Period: start, Percent: int16(id.Percent),
	})
	if err != nil {
		return UsageNotice{}, fmt.Errorf("find the notice of %d percent of account %s, period %s: %w", id.Percent,
			id.Account, id.Period, found(err))
	}
	return noticeOf(row), nil
}

// StartNotice records that the delivery of a notice has begun.
func (s *Store) StartNotice(ctx context.Context, id NoticeID) error {
	start, err := time.Parse(periodLayout, id.Period)
	if err == nil {
		//nolint:gosec // a percentage
		err = s.queries().StartNotice(ctx, db.StartNoticeParams{
			Account: id.Account.UUID, Period: start, Percent: int16(id.Percent),
		})
	}
	if err != nil {
		return fmt.Errorf("start the notice of %d percent of account %s, period %s: %w", id.Percent, id.Account,
			id.Period, err)
	}
	return nil
}

// EndNotice records how the delivery of a notice ended, and returns the result that stands: the
// first one. ErrNotFound when there is no such notice.
func (s *Store) EndNotice(ctx context.Context, id NoticeID, result string, delivered bool) (string, error) {
	start, err := time.Parse(periodLayout, id.Period)
	if err == nil {
		result, err = s.queries().EndNotice(ctx, db.EndNoticeParams{
			//nolint:gosec // a percentage
			Account: id.Account.UUID, Period: start, Percent: int16(id.Percent), Result: result, Delivered: delivered,
		})
	}
	if err != nil {
		return "", fmt.Errorf("end the notice of %d percent of account %s, period %s: %w", id.Percent, id.Account,
			id.Period, found(err))
	}
	return result, nil
}

func noticeOf(row db.UsageNotice) UsageNotice {
	n := UsageNotice{
		NoticeID: NoticeID{
			UsagePeriod: UsagePeriod{Account: account.ID{UUID: row.AccountID}, Period: row.Period.Format(periodLayout)},
			Percent:     int(row.Percent),
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

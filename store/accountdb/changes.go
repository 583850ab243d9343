package accountdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// Author is who makes a change, from where and why, for the audit log.
type Author struct {
	Actor  string // a user, a key's prefix or an operator; never a secret
	Origin string // console, api, mcp or ops
	Reason string
	// Within is the only account that the author may change; things of other accounts are not
	// found. Zero for operators, who may change all.
	Within account.ID
	// At is the time of the change by the caller's clock; zero for PostgreSQL's.
	At time.Time
}

// within returns Within as a query parameter: nil for all accounts.
func (a Author) within() *uuid.UUID {
	if a.Within.IsZero() {
		return nil
	}
	return &a.Within.UUID
}

// OriginConsole is the origin of changes made in the console.
const OriginConsole = "console"

// CycleStep is the resolution of a cycle's instants. The meter ends periods by the millisecond, and
// stored periods must match.
const CycleStep = time.Millisecond

// ChangeAccount changes an account's limits. change gets the locked account and may change its
// plan, status, cycle, custom limits and services. The new version, an audit line and a due push
// are written in the same transaction; nothing is written when nothing changed. The new limits are
// in force once the meter has the version. An error of change rolls everything back and is
// returned.
func (s *Store) ChangeAccount(ctx context.Context, id account.ID, action string, by Author,
	change func(*Account) error,
) (Account, error) {
	var after Account
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if !by.Within.IsZero() && by.Within != id {
			return pg.ErrNotFound
		}
		row, err := q.LockAccount(ctx, id.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		after, err = withPacks(ctx, q, row)
		if err != nil {
			return err
		}
		was, before := after, accountDocument(&after)
		if err := change(&after); err != nil {
			return err
		}
		after.Cycle, after.NextPlanFrom = after.Cycle.Truncate(CycleStep), after.NextPlanFrom.Truncate(CycleStep)
		if bytes.Equal(before, accountDocument(&after)) {
			return nil
		}
		if err := endPeriod(ctx, q, &was, &after, by); err != nil {
			return err
		}
		packs := after.Packs
		if row, err = q.UpdateAccountLimits(ctx, accountRow(&after)); err != nil {
			return err
		}
		if after, err = accountOf(row); err != nil {
			return err
		}
		after.Packs = packs
		return note(ctx, q, subject{account: id, version: after.Version}, action, by, before, accountDocument(&after))
	})
	if err != nil {
		return Account{}, fmt.Errorf("change account %s: %w", id, err)
	}
	return after, nil
}

// ChangeKey changes a key's limits, as ChangeAccount does for an account. change may change the
// key's status, monthly cap and services, and gets its account with packs. It returns ErrRevoked
// when the key is revoked.
func (s *Store) ChangeKey(ctx context.Context, id account.KeyID, action string, by Author,
	change func(*Key, Account) error,
) (Key, Account, error) {
	var after Key
	var owner Account
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockKey(ctx, db.LockKeyParams{ID: id.UUID, Within: by.within()})
		if err != nil {
			return pg.NotFound(err)
		}
		if after, err = keyOf(row); err != nil {
			return err
		}
		if owner, err = LoadAccount(ctx, q, after.Account); err != nil {
			return err
		}
		before := keyDocument(&after)
		if err := change(&after, owner); err != nil {
			return err
		}
		if bytes.Equal(before, keyDocument(&after)) {
			return nil
		}
		if row.Status == string(account.Revoked) {
			return ErrRevoked
		}
		if row, err = q.UpdateKeyLimits(ctx, keyRow(&after)); err != nil {
			return err
		}
		if after, err = keyOf(row); err != nil {
			return err
		}
		return note(ctx, q, subject{after.Account, id, after.Version}, action, by, before, keyDocument(&after))
	})
	if err != nil {
		return Key{}, Account{}, fmt.Errorf("change key %s: %w", id, err)
	}
	return after, owner, nil
}

// subject is what a change applies to: a key, or the account itself.
type subject struct {
	account account.ID
	key     account.KeyID // zero for the account
	version int64
}

// note writes the audit line of a change and queues its push to the meter.
func note(ctx context.Context, q *db.Queries, of subject, action string, by Author, before, after any) error {
	if err := audit(ctx, q, of, action, by, before, after); err != nil {
		return err
	}
	return q.QueuePush(ctx, db.QueuePushParams{AccountID: of.account.UUID, KeyID: of.key.UUID, Version: of.version})
}

// audit writes the audit line of a change that does not concern the meter.
func audit(ctx context.Context, q *db.Queries, of subject, action string, by Author, before, after any) error {
	line := db.InsertAuditParams{
		AccountID: of.account.UUID, Actor: by.Actor, Origin: by.Origin, Action: action, Reason: by.Reason,
		Before: pg.JSON(before), After: pg.JSON(after),
	}
	if !of.key.IsZero() {
		line.KeyID = &of.key.UUID
	}
	return q.InsertAudit(ctx, line)
}

// accountDocument is what the audit log shows of an account's limits. ChangeAccount compares two of
// them to detect a change. Units are whole; null means no limit.
func accountDocument(a *Account) []byte {
	off, _ := servicesRow(a.Services)
	d := map[string]any{
		"plan": a.Plan, "status": a.Status, "services_off": off, "service_cap_units": capDocument(a.Services.Caps),
	}
	if a.Custom != nil {
		d["custom"] = map[string]any{
			"quota_units": unitsOrNull(a.Custom.Quota, account.Unlimited), "rate_limit": a.Custom.Rate.Limit,
			"rate_per": a.Custom.Rate.Per.String(),
		}
	}
	if !a.Cycle.Anchor.IsZero() {
		d["cycle_anchor"] = a.Cycle.Anchor.UTC().Format(time.RFC3339Nano)
	}
	if a.NextPlan != "" {
		d["next_plan"], d["next_plan_from"] = a.NextPlan, a.NextPlanFrom.UTC().Format(time.RFC3339Nano)
	}
	if !a.Cycle.Ends.IsZero() {
		d["cycle_ends"] = a.Cycle.Ends.UTC().Format(time.RFC3339Nano)
	}
	return pg.JSON(d)
}

func keyDocument(k *Key) []byte {
	off, _ := servicesRow(k.Services)
	return pg.JSON(map[string]any{
		"status": k.Status, "monthly_cap_units": unitsOrNull(k.MonthlyCap, 0), "services_off": off,
		"service_cap_units": capDocument(k.Services.Caps),
	})
}

// capDocument returns caps for a document: an empty object when there are none.
func capDocument(caps map[account.Service]plan.Units) map[account.Service]plan.Units {
	if caps == nil {
		return map[account.Service]plan.Units{}
	}
	return caps
}

// unitsOrNull returns amount for a document, or null when it equals none.
func unitsOrNull(amount, none plan.Units) any {
	if amount == none {
		return nil
	}
	return amount
}

func accountRow(a *Account) db.UpdateAccountLimitsParams {
	p := db.UpdateAccountLimitsParams{
		ID: a.ID.UUID, Plan: a.Plan, Status: string(a.Status), CycleAnchor: pg.NullableTime(a.Cycle.Anchor),
		CycleEnds: pg.NullableTime(a.Cycle.Ends),
	}
	if a.NextPlan != "" {
		p.NextPlan, p.NextPlanFrom = &a.NextPlan, pg.NullableTime(a.NextPlanFrom)
	}
	p.ServicesOff, p.ServiceCaps = servicesRow(a.Services)
	if c := a.Custom; c != nil {
		quota, limit, per := int64(c.Quota), c.Rate.Limit, c.Rate.Per.Milliseconds()
		p.CustomQuota, p.CustomRateLimit, p.CustomRateMs = &quota, &limit, &per
	}
	return p
}

func keyRow(k *Key) db.UpdateKeyLimitsParams {
	p := db.UpdateKeyLimitsParams{ID: k.ID.UUID, Status: string(k.Status)}
	p.ServicesOff, p.ServiceCaps = servicesRow(k.Services)
	if k.MonthlyCap > 0 {
		limit := int64(k.MonthlyCap)
		p.MonthlyCap = &limit
	}
	return p
}

// AuditLine is a line of the audit log.
type AuditLine struct {
	ID      int64 // ascending; the cursor of pages
	At      time.Time
	Account account.ID
	Key     account.KeyID // zero when the account itself changed
	Author
	Action        string
	Before, After json.RawMessage
}

// ListAudit reads up to limit of an account's audit lines, newest first.
func (s *Store) ListAudit(ctx context.Context, id account.ID, limit int) ([]AuditLine, error) {
	return s.ListAuditBefore(ctx, id, math.MaxInt64, limit)
}

// ListAuditBefore is ListAudit restricted to ids below before.
func (s *Store) ListAuditBefore(ctx context.Context, id account.ID, before int64, limit int) ([]AuditLine, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListAudit(ctx, db.ListAuditParams{
		Account: id.UUID, Before: before, MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list the audit log of account %s: %w", id, err)
	}
	lines := make([]AuditLine, len(rows))
	for i, row := range rows {
		lines[i] = AuditLine{
			ID: row.ID, At: row.At.UTC(), Account: account.ID{UUID: row.AccountID},
			Author: Author{Actor: row.Actor, Origin: row.Origin, Reason: row.Reason}, Action: row.Action,
			Before: row.Before, After: row.After,
		}
		if row.KeyID != nil {
			lines[i].Key = account.KeyID{UUID: *row.KeyID}
		}
	}
	return lines, nil
}

// Push is a committed change that the meter may not have yet.
type Push struct {
	Account account.ID
	Key     account.KeyID // zero for the account itself
	Version int64
	InForce bool // the meter has taken this version at least once
	Since   time.Time
}

// A version that the meter took is pushed again for some minutes: a Redis after a failover, or one
// restored from its file, may lack the last acknowledged writes.
const (
	pushAgain  = 30 * time.Second
	pushesKept = 10 * time.Minute
	pushDelay  = 10 * time.Second // of a failed push, so that others go first
)

// ListPushes reads up to limit pushes that have been due for at least dueFor, oldest first.
func (s *Store) ListPushes(ctx context.Context, dueFor time.Duration, limit int) ([]Push, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListPushes(ctx, db.ListPushesParams{
		OlderSeconds: dueFor.Seconds(), MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list pushes that are due: %w", err)
	}
	pushes := make([]Push, len(rows))
	for i, row := range rows {
		pushes[i] = Push{
			account.ID{UUID: row.AccountID},
			account.KeyID{UUID: row.KeyID},
			row.Version, row.Pushed >= row.Version,
			row.Since.UTC(),
		}
	}
	return pushes, nil
}

// ListPushesOfKey reads the pushes of a key that the meter has not taken, in the key's account and
// in the accounts that it left.
func (s *Store) ListPushesOfKey(ctx context.Context, id account.KeyID) ([]Push, error) {
	rows, err := s.pool.Queries().ListPushesOfKey(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list pushes of key %s: %w", id, err)
	}
	pushes := make([]Push, len(rows))
	for i, row := range rows {
		pushes[i] = Push{
			Account: account.ID{UUID: row.AccountID}, Key: id, Version: row.Version, Since: row.Since.UTC(),
		}
	}
	return pushes, nil
}

// DonePush records that the meter took a version; a newer one stays due.
func (s *Store) DonePush(ctx context.Context, id account.ID, key account.KeyID, version int64) error {
	p := db.DonePushParams{Account: id.UUID, Key: key.UUID, Pushed: version, AgainSeconds: pushAgain.Seconds()}
	if err := s.pool.Queries().DonePush(ctx, p); err != nil {
		return fmt.Errorf("note a push of account %s: %w", id, err)
	}
	return nil
}

// DelayPush puts off a push that failed, so that others go first.
func (s *Store) DelayPush(ctx context.Context, p Push) error {
	params := db.DelayPushParams{Account: p.Account.UUID, Key: p.Key.UUID, DelaySeconds: pushDelay.Seconds()}
	if err := s.pool.Queries().DelayPush(ctx, params); err != nil {
		return fmt.Errorf("delay a push of account %s: %w", p.Account, err)
	}
	return nil
}

// ForgetPushes deletes pushes that the meter took and that are older than pushesKept.
func (s *Store) ForgetPushes(ctx context.Context) error {
	if err := s.pool.Queries().ForgetPushes(ctx, pushesKept.Seconds()); err != nil {
		return fmt.Errorf("forget pushes: %w", err)
	}
	return nil
}

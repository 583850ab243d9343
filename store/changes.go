package store

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
)

// Author says who makes a change, from where and why, for the audit log.
type Author struct {
	Actor  string // a user, a key's prefix, an operator; never a secret
	Origin string // console, api, mcp, ops
	Reason string
	// Within is the account whose things the author may change: what belongs to another one is not
	// found. Zero for operators, who may change all.
	Within account.ID
	// At is when it is done, by the caller's clock; zero for the record's.
	At time.Time
}

// within is Within for a query: null for all.
func (a Author) within() *uuid.UUID {
	if a.Within.IsZero() {
		return nil
	}
	return &a.Within.UUID
}

// OriginConsole is the origin of what people do in pages.
const OriginConsole = "console"

// cycleStep is what instants of a cycle are cut to: the meter ends periods by the millisecond, and
// the record must name the same ones.
const cycleStep = time.Millisecond

// ChangeAccount changes fences of an account: change gets it locked, as it is, and changes plan,
// status, cycle, custom figures and services of it. The new version, a line of the audit log and an
// entry among the pushes that are due are written together. A change that changes nothing writes
// nothing. The fence is in force once the meter has the version. An error of change undoes
// everything and is returned.
func (s *Store) ChangeAccount(ctx context.Context, id account.ID, action string, by Author,
	change func(*Account) error,
) (Account, error) {
	var after Account
	err := s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if !by.Within.IsZero() && by.Within != id {
			return ErrNotFound
		}
		row, err := q.LockAccount(ctx, id.UUID)
		if err != nil {
			return found(err)
		}
		after, err = withPacks(ctx, q, row)
		if err != nil {
			return err
		}
		was, before := after, accountDocument(&after)
		if err := change(&after); err != nil {
			return err
		}
		after.Cycle, after.NextPlanFrom = after.Cycle.Truncate(cycleStep), after.NextPlanFrom.Truncate(cycleStep)
		if bytes.Equal(before, accountDocument(&after)) {
			return nil
		}
		if err := endPeriod(ctx, q, &was, &after, by); err != nil {
			return err
		}
		packs := after.Packs
		if row, err = q.UpdateAccountFences(ctx, accountRow(&after)); err != nil {
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

// ChangeKey changes fences of a key, as ChangeAccount does of an account: change may change its
// status, monthly cap and services, and sees its account with packs. A revoked key stays revoked.
func (s *Store) ChangeKey(ctx context.Context, id account.KeyID, action string, by Author,
	change func(*Key, Account) error,
) (Key, Account, error) {
	var after Key
	var owner Account
	err := s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockKey(ctx, db.LockKeyParams{ID: id.UUID, Within: by.within()})
		if err != nil {
			return found(err)
		}
		if after, err = keyOf(row); err != nil {
			return err
		}
		if owner, err = loadAccount(ctx, q, after.Account); err != nil {
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
		if row, err = q.UpdateKeyFences(ctx, keyRow(&after)); err != nil {
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

// subject is what a change is of: a key, or the account itself.
type subject struct {
	account account.ID
	key     account.KeyID // zero for the account
	version int64
}

// note writes the audit line of a change, and that its push is due.
func note(ctx context.Context, q *db.Queries, of subject, action string, by Author, before, after any) error {
	if err := audit(ctx, q, of, action, by, before, after); err != nil {
		return err
	}
	return q.QueuePush(ctx, db.QueuePushParams{AccountID: of.account.UUID, KeyID: of.key.UUID, Version: of.version})
}

// audit writes the audit line of a change that the meter need not know.
func audit(ctx context.Context, q *db.Queries, of subject, action string, by Author, before, after any) error {
	line := db.InsertAuditParams{
		AccountID: of.account.UUID, Actor: by.Actor, Origin: by.Origin, Action: action, Reason: by.Reason,
		Before: document(before), After: document(after),
	}
	if !of.key.IsZero() {
		line.KeyID = &of.key.UUID
	}
	return q.InsertAudit(ctx, line)
}

// document is a value as JSON; documents stay as they are.
func document(v any) []byte {
	if done, ok := v.([]byte); ok {
		return done
	}
	text, err := json.Marshal(v)
	if err != nil { // maps and structs of plain values
		panic(err)
	}
	return text
}

// accountDocument is what the audit log shows of an account's fences, and by which changes are told
// from no changes. All units in documents are whole ones; null stands for none.
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
	return document(d)
}

func keyDocument(k *Key) []byte {
	off, _ := servicesRow(k.Services)
	return document(map[string]any{
		"status": k.Status, "monthly_cap_units": unitsOrNull(k.MonthlyCap, 0), "services_off": off,
		"service_cap_units": capDocument(k.Services.Caps),
	})
}

// capDocument writes caps in whole units; none as an empty object.
func capDocument(caps map[account.Service]plan.Units) map[account.Service]plan.Units {
	if caps == nil {
		return map[account.Service]plan.Units{}
	}
	return caps
}

// unitsOrNull is an amount for a document, or null for the one that stands for none.
func unitsOrNull(amount, none plan.Units) any {
	if amount == none {
		return nil
	}
	return amount
}

func accountRow(a *Account) db.UpdateAccountFencesParams {
	p := db.UpdateAccountFencesParams{
		ID: a.ID.UUID, Plan: a.Plan, Status: string(a.Status), CycleAnchor: nullable(a.Cycle.Anchor),
		CycleEnds: nullable(a.Cycle.Ends),
	}
	if a.NextPlan != "" {
		p.NextPlan, p.NextPlanFrom = &a.NextPlan, nullable(a.NextPlanFrom)
	}
	p.ServicesOff, p.ServiceCaps = servicesRow(a.Services)
	if c := a.Custom; c != nil {
		quota, limit, per := int64(c.Quota), c.Rate.Limit, c.Rate.Per.Milliseconds()
		p.CustomQuota, p.CustomRateLimit, p.CustomRateMs = &quota, &limit, &per
	}
	return p
}

func keyRow(k *Key) db.UpdateKeyFencesParams {
	p := db.UpdateKeyFencesParams{ID: k.ID.UUID, Status: string(k.Status)}
	p.ServicesOff, p.ServiceCaps = servicesRow(k.Services)
	if k.MonthlyCap > 0 {
		limit := int64(k.MonthlyCap)
		p.MonthlyCap = &limit
	}
	return p
}

// AuditLine is a line of the audit log.
type AuditLine struct {
	ID      int64 // grows with time; pages go by it
	At      time.Time
	Account account.ID
	Key     account.KeyID // zero when the change was of the account
	Author
	Action        string
	Before, After json.RawMessage
}

// ListAudit reads up to limit of an account's newest audit lines, newest first.
func (s *Store) ListAudit(ctx context.Context, id account.ID, limit int) ([]AuditLine, error) {
	return s.ListAuditBefore(ctx, id, math.MaxInt64, limit)
}

// ListAuditBefore is ListAudit of the lines whose ids are below before.
func (s *Store) ListAuditBefore(ctx context.Context, id account.ID, before int64, limit int) ([]AuditLine, error) {
	//nolint:gosec // bounded
	rows, err := s.queries().ListAudit(ctx, db.ListAuditParams{
		Account: id.UUID, Before: before, Most: int32(min(limit, maxPage)),
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

// Push is a change that is committed and that the meter may not have.
type Push struct {
	Account account.ID
	Key     account.KeyID // zero for the account itself
	Version int64
	InForce bool // the meter took it once
	Since   time.Time
}

// A version that the meter took is pushed again for some minutes: a Redis that takes over from
// another, or comes back from its file, may lack what the other acknowledged last.
const (
	pushAgain  = 30 * time.Second
	pushesKept = 10 * time.Minute
	pushDelay  = 10 * time.Second // of one that failed, behind the others
)

// ListPushes reads up to limit pushes that have been due for as long, oldest first.
func (s *Store) ListPushes(ctx context.Context, dueFor time.Duration, limit int) ([]Push, error) {
	//nolint:gosec // bounded
	rows, err := s.queries().ListPushes(ctx, db.ListPushesParams{
		OlderSeconds: dueFor.Seconds(), Most: int32(min(limit, maxPage)),
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

// ListPushesOfKey reads the pushes of a key that the meter has not taken, in the account where it
// is and in those that it left.
func (s *Store) ListPushesOfKey(ctx context.Context, id account.KeyID) ([]Push, error) {
	rows, err := s.queries().ListPushesOfKey(ctx, id.UUID)
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

// DonePush notes that the meter took a version; a newer one stays due.
func (s *Store) DonePush(ctx context.Context, id account.ID, key account.KeyID, version int64) error {
	p := db.DonePushParams{Account: id.UUID, Key: key.UUID, Pushed: version, AgainSeconds: pushAgain.Seconds()}
	if err := s.queries().DonePush(ctx, p); err != nil {
		return fmt.Errorf("note a push of account %s: %w", id, err)
	}
	return nil
}

// DelayPush puts a push that failed behind the others.
func (s *Store) DelayPush(ctx context.Context, p Push) error {
	params := db.DelayPushParams{Account: p.Account.UUID, Key: p.Key.UUID, DelaySeconds: pushDelay.Seconds()}
	if err := s.queries().DelayPush(ctx, params); err != nil {
		return fmt.Errorf("delay a push of account %s: %w", p.Account, err)
	}
	return nil
}

// ForgetPushes forgets versions that the meter took long enough ago.
func (s *Store) ForgetPushes(ctx context.Context) error {
	if err := s.queries().ForgetPushes(ctx, pushesKept.Seconds()); err != nil {
		return fmt.Errorf("forget pushes: %w", err)
	}
	return nil
}

package accountdb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// NewKey is a key to create. Digest is 32 bytes; the key itself is stored nowhere.
type NewKey struct {
	ID      account.KeyID
	Account account.ID
	Digest  []byte
	Prefix  string // the part of the key that may be shown
	Name    string
	Door    account.Door
	Daily   plan.Units // allowance per UTC day; account.Unlimited for none
	// MonthlyCap applies to each period of the account; 0 for none.
	MonthlyCap plan.Units
	// Claim is the digest of the claim code with which an owner may adopt the key; empty when it
	// cannot be adopted.
	Claim []byte
	Agent account.AgentID // zero when the key is no agent's
}

// Key is a key as stored. Version grows with every change of its limits. RevokedAt is zero unless
// it was revoked. LastUsedAt is the hour of its last use, zero when never used; only ListKeys fills
// it.
type Key struct {
	ID         account.KeyID
	Account    account.ID
	Prefix     string
	Name       string
	Door       account.Door
	Status     account.Status
	Daily      plan.Units // allowance per UTC day; account.Unlimited for none
	MonthlyCap plan.Units // per period of its account; 0 for none
	Services   account.ServiceLimits
	Agent      account.AgentID // zero when the key is no agent's
	Adoptable  bool            // has a claim code that was not used
	Version    int64
	CreatedAt  time.Time
	RevokedAt  time.Time
	LastUsedAt time.Time
	Expires    time.Time // of a pay-per-call credential; zero for other keys
}

// CreateKey inserts a key of an existing account, active and at version 1. It returns ErrKeyExists
// when the id or the digest is taken, and ErrAccountMissing when there is no such account.
func (s *Store) CreateKey(ctx context.Context, k NewKey) (Key, error) {
	row, err := s.pool.Queries().InsertKey(ctx, insertKey(k))
	if err != nil {
		return Key{}, fmt.Errorf("create key %s: %w", k.ID, conflict(err))
	}
	return keyOf(row)
}

// FindIdentity finds the key and account of a key's digest. It returns ErrNotFound when there is
// none. A revoked key is found too: the meter refuses it, because a revocation reaches the meter at
// once.
func (s *Store) FindIdentity(ctx context.Context, digest []byte) (account.Identity, error) {
	row, err := s.pool.Queries().GetIdentity(ctx, digest)
	if err != nil {
		return account.Identity{}, fmt.Errorf("find identity: %w", pg.NotFound(err))
	}
	held, ok := plan.Lookup(row.Plan)
	if !ok {
		return account.Identity{}, fmt.Errorf("account %s is on plan %q, which this version does not know",
			row.AccountID, row.Plan)
	}
	id := account.Identity{
		Key: account.KeyID{UUID: row.KeyID}, Account: account.ID{UUID: row.AccountID},
		Door: account.Door(row.Door), Plan: row.Plan, Supply: held.Supply, Tier: held.Tier,
	}
	if row.AgentID != nil {
		id.Agent = account.AgentID{UUID: *row.AgentID}
	}
	return id, nil
}

// LoadKey reads a key. It returns ErrNotFound when there is none.
func (s *Store) LoadKey(ctx context.Context, id account.KeyID) (Key, error) {
	row, err := s.pool.Queries().GetKey(ctx, id.UUID)
	if err != nil {
		return Key{}, fmt.Errorf("load key %s: %w", id, pg.NotFound(err))
	}
	return keyOf(row)
}

// LoadKeyOf reads a key of an account. It returns ErrNotFound when the key belongs to another
// account.
func (s *Store) LoadKeyOf(ctx context.Context, owner account.ID, id account.KeyID) (Key, error) {
	row, err := s.pool.Queries().GetKeyOf(ctx, db.GetKeyOfParams{ID: id.UUID, Account: owner.UUID})
	if err != nil {
		return Key{}, fmt.Errorf("load key %s: %w", id, pg.NotFound(err))
	}
	return keyOf(row)
}

// MaxKeys is how many active keys an account may have, however it got them.
const MaxKeys = 1_000

// roomForKey refuses a key beyond MaxKeys. then is the message's next step once there is room. The
// caller holds the account's lock, so the count stays true.
func roomForKey(ctx context.Context, q *db.Queries, id account.ID, then string) error {
	active, err := q.CountActiveKeys(ctx, id.UUID)
	if err != nil {
		return err
	}
	if active >= MaxKeys {
		return fault.New(fault.FieldRefused,
			"The account has %d active keys, and no account has more. Revoke one that is no longer used, and %s.",
			active, then)
	}
	return nil
}

// AddKey inserts a key of an account, as CreateKey does, and writes an audit line. check gets the
// account with its packs and its number of active keys, under a lock that keeps others from adding
// one. check may change k; its error rolls everything back.
func (s *Store) AddKey(ctx context.Context, k *NewKey, by Author,
	check func(owner Account, active int64) error,
) (Key, error) {
	var made Key
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockAccount(ctx, k.Account.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		owner, err := withPacks(ctx, q, row)
		if err != nil {
			return err
		}
		active, err := q.CountActiveKeys(ctx, k.Account.UUID)
		if err != nil {
			return err
		}
		if err := check(owner, active); err != nil {
			return err
		}
		inserted, err := q.InsertKey(ctx, insertKey(*k)) // after check, which may have changed it
		if err != nil {
			return conflict(err)
		}
		if made, err = keyOf(inserted); err != nil {
			return err
		}
		after := map[string]any{
			"name": made.Name, "prefix": made.Prefix, "monthly_cap_units": unitsOrNull(made.MonthlyCap, 0),
		}
		return audit(ctx, q, subject{account: k.Account, key: k.ID}, "create_key", by, nil, after)
	})
	if err != nil {
		return Key{}, fmt.Errorf("add key %s: %w", k.ID, err)
	}
	return made, nil
}

// ListKeys reads the keys of an account, revoked ones included, oldest first.
func (s *Store) ListKeys(ctx context.Context, id account.ID) ([]Key, error) {
	rows, err := s.pool.Queries().ListKeys(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list keys of account %s: %w", id, err)
	}
	used, err := s.lastUses(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("list keys of account %s: %w", id, err)
	}
	keys := make([]Key, len(rows))
	for i, row := range rows {
		if keys[i], err = keyOf(row); err != nil {
			return nil, fmt.Errorf("list keys of account %s: %w", id, err)
		}
		keys[i].LastUsedAt = used[row.ID]
	}
	return keys, nil
}

func (s *Store) lastUses(ctx context.Context, id account.ID) (map[uuid.UUID]time.Time, error) {
	rows, err := s.pool.Queries().ListLastUses(ctx, id.UUID)
	if err != nil {
		return nil, err
	}
	used := make(map[uuid.UUID]time.Time, len(rows))
	for _, row := range rows {
		used[row.KeyID] = row.Hour.UTC()
	}
	return used, nil
}

// ListKeysByPrefix reads up to limit keys with this public prefix, oldest first.
func (s *Store) ListKeysByPrefix(ctx context.Context, prefix string, limit int) ([]Key, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListKeysByPrefix(ctx, db.ListKeysByPrefixParams{
		Prefix: prefix, MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list keys by prefix: %w", err)
	}
	keys := make([]Key, len(rows))
	for i, row := range rows {
		if keys[i], err = keyOf(row); err != nil {
			return nil, fmt.Errorf("list keys by prefix: %w", err)
		}
	}
	return keys, nil
}

func insertKey(k NewKey) db.InsertKeyParams {
	p := db.InsertKeyParams{
		ID: k.ID.UUID, AccountID: k.Account.UUID, Digest: k.Digest, Prefix: k.Prefix, Name: k.Name,
		Door: string(k.Door), ClaimDigest: k.Claim,
	}
	if k.Daily != account.Unlimited {
		daily := int64(k.Daily)
		p.DailyUnits = &daily
	}
	if k.MonthlyCap > 0 {
		limit := int64(k.MonthlyCap)
		p.MonthlyCap = &limit
	}
	if !k.Agent.IsZero() {
		p.AgentID = &k.Agent.UUID
	}
	return p
}

func keyOf(row db.Key) (Key, error) {
	k := Key{
		ID: account.KeyID{UUID: row.ID}, Account: account.ID{UUID: row.AccountID}, Prefix: row.Prefix, Name: row.Name,
		Door: account.Door(row.Door), Status: account.Status(row.Status), Daily: account.Unlimited,
		Version: row.Version, CreatedAt: row.CreatedAt.UTC(), RevokedAt: pg.UTCOrZero(row.RevokedAt),
		Expires: pg.UTCOrZero(row.ExpiresAt),
	}
	if row.DailyUnits != nil {
		k.Daily = plan.Units(*row.DailyUnits)
	}
	if row.MonthlyCap != nil {
		k.MonthlyCap = plan.Units(*row.MonthlyCap)
	}
	if row.AgentID != nil {
		k.Agent = account.AgentID{UUID: *row.AgentID}
	}
	k.Adoptable = len(row.ClaimDigest) > 0
	var err error
	k.Services, err = servicesOf(row.ServicesOff, row.ServiceCaps)
	return k, err
}

// Limits returns the key's projection.
func (k *Key) Limits() account.KeyLimits {
	return account.KeyLimits{
		Key: k.ID, Account: k.Account, Version: k.Version, Status: k.Status, Door: k.Door, Daily: k.Daily,
		MonthlyCap: k.MonthlyCap, Services: k.Services, Expires: k.Expires,
	}
}

// Revoke revokes a key of any kind. It is idempotent.
func Revoke(ctx context.Context, q *db.Queries, id account.KeyID, by Author) error {
	row, err := q.LockKey(ctx, db.LockKeyParams{ID: id.UUID})
	if err != nil {
		return pg.NotFound(err)
	}
	return revokeLocked(ctx, q, row, by)
}

// revokeLocked is revoke for a key whose row is locked.
//
//nolint:gocritic // rows go by value
func revokeLocked(ctx context.Context, q *db.Queries, row db.Key, by Author) error {
	key, err := keyOf(row)
	if err != nil || key.Status == account.Revoked {
		return err
	}
	before := keyDocument(&key)
	key.Status = account.Revoked
	if row, err = q.UpdateKeyLimits(ctx, keyRow(&key)); err != nil {
		return err
	}
	return note(ctx, q, subject{key.Account, key.ID, row.Version}, "revoke_key", by, before, keyDocument(&key))
}

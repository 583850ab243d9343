package accountdb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// AccountKind is who an account belongs to.
type AccountKind string

// The kinds of accounts. A door account has one anonymous key, a wallet account has a verified
// wallet, an owner account has users who sign in, and a settlement account holds what one x402
// payment bought.
const (
	KindDoor       AccountKind = "door"
	KindWallet     AccountKind = "wallet"
	KindOwner      AccountKind = "owner"
	KindSettlement AccountKind = "settlement"
)

// NewAccount is an account to create. Plan is the key of a plan.
type NewAccount struct {
	ID   account.ID
	Kind AccountKind
	Plan string
}

// Account is an account as stored. Version grows with every change of its limits.
type Account struct {
	ID     account.ID
	Kind   AccountKind
	Plan   string
	Custom *account.Custom // limits of a contract; nil for the plan's
	Cycle  plan.Cycle
	// NextPlan replaces Plan at NextPlanFrom; empty when no change is scheduled.
	NextPlan     string
	NextPlanFrom time.Time
	Status       account.Status
	Services     account.ServiceLimits
	Version      int64
	CreatedAt    time.Time
	// Packs lists all granted packs, expired ones included, in the order in which they are drawn.
	// Only LoadAccount and changes fill it.
	Packs []account.Pack
}

// Terms returns what the account has bought. It fails when this version does not know the plan.
func (a *Account) Terms() (account.Terms, error) {
	held, ok := plan.Lookup(a.Plan)
	if !ok {
		return account.Terms{}, fmt.Errorf("account %s is on plan %q, which this version does not know", a.ID, a.Plan)
	}
	terms := account.Terms{Plan: held, Custom: a.Custom, Cycle: a.Cycle}
	if a.NextPlan != "" {
		next, ok := plan.Lookup(a.NextPlan)
		if !ok {
			return account.Terms{}, fmt.Errorf("account %s is to have plan %q, which this version does not know", a.ID,
				a.NextPlan)
		}
		terms.Next, terms.NextFrom = &next, a.NextPlanFrom
	}
	return terms, nil
}

// Limits returns the account's projection at the given time.
func (a *Account) Limits(at time.Time) (account.AccountLimits, error) {
	terms, err := a.Terms()
	if err != nil {
		return account.AccountLimits{}, err
	}
	return terms.Limits(a.ID, a.Version, a.Status, a.Services, a.Packs, at), nil
}

// CreateAccount inserts a new account, active and at version 1. It returns ErrAccountExists when
// the id is taken.
func (s *Store) CreateAccount(ctx context.Context, a NewAccount) (Account, error) {
	row, err := s.pool.Queries().InsertAccount(ctx, AccountParams(a))
	if err != nil {
		return Account{}, fmt.Errorf("create account %s: %w", a.ID, conflict(err))
	}
	return accountOf(row)
}

// CreateDoorKey inserts an anonymous account and its key in one transaction. The key's account is
// a, whatever k.Account is.
func (s *Store) CreateDoorKey(ctx context.Context, a NewAccount, k NewKey) (Account, Key, error) {
	var (
		made Account
		key  Key
	)
	k.Account = a.ID
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		accountRow, err := q.InsertAccount(ctx, AccountParams(a))
		if err != nil {
			return err
		}
		keyRow, err := q.InsertKey(ctx, insertKey(k))
		if err != nil {
			return err
		}
		if made, err = accountOf(accountRow); err != nil {
			return err
		}
		key, err = keyOf(keyRow)
		return err
	})
	if err != nil {
		return Account{}, Key{}, fmt.Errorf("create door key %s: %w", k.ID, conflict(err))
	}
	return made, key, nil
}

// LoadAccount reads an account with its packs. It returns ErrNotFound when there is none.
func (s *Store) LoadAccount(ctx context.Context, id account.ID) (Account, error) {
	a, err := LoadAccount(ctx, s.pool.Queries(), id)
	if err != nil {
		return Account{}, fmt.Errorf("load account %s: %w", id, err)
	}
	return a, nil
}

// LoadAccount reads the account before its packs. A pack that is granted in between raises the
// version, and including it early does no harm.
func LoadAccount(ctx context.Context, q *db.Queries, id account.ID) (Account, error) {
	row, err := q.GetAccount(ctx, id.UUID)
	if err != nil {
		return Account{}, pg.NotFound(err)
	}
	return withPacks(ctx, q, row)
}

func withPacks(ctx context.Context, q *db.Queries, row db.Account) (Account, error) {
	a, err := accountOf(row)
	if err != nil {
		return Account{}, err
	}
	rows, err := q.ListPacks(ctx, row.ID)
	if err != nil {
		return Account{}, err
	}
	if len(rows) == 0 {
		return a, nil
	}
	sources := make([]string, len(rows))
	for i, p := range rows {
		sources[i] = account.PackID{UUID: p.ID}.Source()
	}
	sums, err := q.SumPacks(ctx, db.SumPacksParams{Account: row.ID, Sources: sources})
	if err != nil {
		return Account{}, err
	}
	used := make(map[string]int64, len(sums))
	for _, s := range sums {
		used[s.Source] = s.Units
	}
	for _, p := range rows {
		pack := PackOf(p).Pack
		pack.Used = plan.Units(used[pack.ID.Source()])
		a.Packs = append(a.Packs, pack)
	}
	return a, nil
}

// ListAccounts reads up to limit accounts after the given id, ordered by id, without their packs.
func (s *Store) ListAccounts(ctx context.Context, after account.ID, limit int) ([]Account, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListAccountsAfter(ctx, db.ListAccountsAfterParams{
		After: after.UUID, MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	all := make([]Account, len(rows))
	for i, row := range rows {
		if all[i], err = accountOf(row); err != nil {
			return nil, fmt.Errorf("list accounts: %w", err)
		}
	}
	return all, nil
}

// AccountParams returns a new account as the parameters of its row.
func AccountParams(a NewAccount) db.InsertAccountParams {
	return db.InsertAccountParams{ID: a.ID.UUID, Kind: string(a.Kind), Plan: a.Plan}
}

func accountOf(row db.Account) (Account, error) {
	a := Account{
		ID: account.ID{UUID: row.ID}, Kind: AccountKind(row.Kind), Plan: row.Plan,
		Status: account.Status(row.Status), Version: row.Version, CreatedAt: row.CreatedAt.UTC(),
		Cycle:        plan.Cycle{Anchor: pg.UTCOrZero(row.CycleAnchor), Ends: pg.UTCOrZero(row.CycleEnds)},
		NextPlanFrom: pg.UTCOrZero(row.NextPlanFrom),
	}
	if row.NextPlan != nil {
		a.NextPlan = *row.NextPlan
	}
	if row.CustomQuota != nil && row.CustomRateLimit != nil && row.CustomRateMs != nil {
		a.Custom = &account.Custom{
			Quota: plan.Units(*row.CustomQuota),
			Rate: account.RateWindow{
				Limit: *row.CustomRateLimit, Per: time.Duration(*row.CustomRateMs) * time.Millisecond,
			},
		}
	}
	var err error
	a.Services, err = servicesOf(row.ServicesOff, row.ServiceCaps)
	return a, err
}

// servicesOf converts the service limits of a row.
func servicesOf(off []string, caps []byte) (account.ServiceLimits, error) {
	var f account.ServiceLimits
	for _, name := range off {
		f.Off = append(f.Off, account.Service(name))
	}
	var units map[account.Service]plan.Units
	var numbers map[account.Service]int64
	if err := json.Unmarshal(caps, &numbers); err != nil {
		return f, fmt.Errorf("service_caps: %w", err)
	}
	if len(numbers) > 0 {
		units = make(map[account.Service]plan.Units, len(numbers))
		for s, n := range numbers {
			units[s] = plan.Units(n)
		}
	}
	f.Caps = units
	return f, nil
}

// servicesRow is the inverse of servicesOf.
func servicesRow(f account.ServiceLimits) (off []string, caps []byte) {
	off = []string{}
	for _, s := range f.Off {
		off = append(off, string(s))
	}
	numbers := make(map[account.Service]int64, len(f.Caps))
	for s, n := range f.Caps {
		numbers[s] = int64(n)
	}
	caps, err := json.Marshal(numbers)
	if err != nil { // cannot happen: a map of numbers
		panic(err)
	}
	return off, caps
}

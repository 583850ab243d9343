package audit_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

const patience = time.Minute

// bundle is a meter and a record for one test.
type bundle struct {
	ctx    context.Context //nolint:containedctx // a test's own
	redis  *testkit.RedisServer
	store  *store.Store
	meter  *meter.Meter
	limits *limits.Limits
	rdb    *redis.Client
	db     *pgx.Conn
	calls  atomic.Int64
}

func setup(t *testing.T) *bundle {
	t.Helper()
	testkit.RoomIn(t, 24*time.Hour, time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	b := &bundle{ctx: ctx, redis: testkit.Redis(t)}
	url := testkit.Postgres(t)
	var err error
	if b.store, err = store.Open(ctx, url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	if b.meter, err = meter.Open(ctx, b.redis.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.meter.Close() })
	b.limits = limits.New(b.store, b.meter, nil, time.Now)
	b.rdb = redis.NewClient(&redis.Options{Addr: b.redis.Addr})
	t.Cleanup(func() { _ = b.rdb.Close() })
	if b.db, err = pgx.Connect(ctx, url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.db.Close(context.Background()) })
	return b
}

// holder is an account with every kind of limit, and its one key.
type holder struct {
	*meter.Subject
	packs []account.Pack
}

var author = accountdb.Author{Actor: "somebody", Origin: "test", Reason: "a test"}

// holder records an account on a contract with that many units per period, with packs of these
// units, and with caps and a daily allowance that count and never refuse.
func (b *bundle) holder(t *testing.T, quota plan.Units, packs ...plan.Units) *holder {
	t.Helper()
	id, key := account.NewID(), account.NewKeyID()
	_, _, err := b.store.CreateDoorKey(b.ctx,
		accountdb.NewAccount{ID: id, Kind: accountdb.KindDoor, Plan: plan.Enterprise},
		accountdb.NewKey{
			ID: key, Digest: append(key.UUID[:], key.UUID[:]...), Prefix: "cag_test", Door: account.DoorPublic,
			Daily: account.MaxCap,
		})
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{
		Subject: meter.NewSubject(account.Identity{
			Key: key, Account: id, Door: account.DoorPublic, Plan: plan.Enterprise,
		}, account.Digest{}),
	}
	for i, units := range packs {
		p := account.Pack{
			ID: account.NewPackID(), Units: units, Expires: time.Now().AddDate(0, 1+i, 0).UTC().Truncate(time.Second),
		}
		if _, _, err := b.limits.GrantPack(b.ctx, accountdb.Pack{
			Pack: p, Account: id, Kind: "pack_s", Origin: p.ID.String(), GrantedAt: time.Now(),
		}, author); err != nil {
			t.Fatal(err)
		}
		h.packs = append(h.packs, p)
	}
	caps := map[account.Service]plan.Units{account.RPC: account.MaxCap}
	if _, err := b.store.ChangeAccount(b.ctx, id, "test", author, func(a *accountdb.Account) error {
		a.Custom = &account.Custom{Quota: quota, Rate: account.RateWindow{Limit: 1_000_000, Per: time.Second}}
		a.Services.Caps = caps
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.store.ChangeKey(b.ctx, key, "test", author, func(k *accountdb.Key, _ accountdb.Account) error {
		k.MonthlyCap, k.Services.Caps = account.MaxCap, caps
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return h
}

func call(mode meter.Mode, units plan.Units) *meter.Call {
	c := &meter.Call{
		Mode: mode, Units: units, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
		Tier: "balanced",
	}
	if mode == meter.WindowOnly {
		c.Reason = "method_not_served"
	}
	return c
}

// charge makes a call that must be admitted, and refunds it if refund is set.
func (b *bundle) charge(t *testing.T, h *holder, units plan.Units, refund bool) {
	t.Helper()
	c := call(meter.Charge, units)
	_, a, err := b.limits.AdmitOrLoad(b.ctx, h.Subject, c)
	if err != nil || !a.Admitted {
		t.Fatalf("admit %s units: %+v, %v", units, a, err)
	}
	if refund {
		b.refund(t, h, c, a.Receipt)
	}
}

func (b *bundle) refund(t *testing.T, h *holder, c *meter.Call, r meter.Receipt) {
	t.Helper()
	if err := b.meter.Refund(b.ctx, h.Subject, c, r, strconv.FormatInt(b.calls.Add(1), 10),
		"upstream_failed"); err != nil {
		t.Error(err)
	}
}

func (b *bundle) flushAll(t *testing.T) {
	t.Helper()
	f := flush.New(b.meter, b.store, flush.FromStore(b.store), flush.Options{Logger: slog.New(slog.DiscardHandler)})
	if err := f.FlushAll(b.ctx); err != nil && b.ctx.Err() == nil {
		t.Error(err)
	}
}

// audit runs an audit and returns the differences that it reported.
func (b *bundle) audit(t *testing.T, o audit.Options) (audit.Summary, []audit.Difference) {
	t.Helper()
	var told []audit.Difference
	s, err := audit.Run(b.ctx, b.store, b.limits, o, func(d audit.Difference) { told = append(told, d) })
	if err != nil {
		t.Fatal(err)
	}
	if s.Differences != len(told) {
		t.Errorf("%d differences counted, %d told", s.Differences, len(told))
	}
	return s, told
}

// spoil changes the record directly in SQL.
func (b *bundle) spoil(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.db.Exec(b.ctx, sql, args...); err != nil {
		t.Fatal(err)
	}
}

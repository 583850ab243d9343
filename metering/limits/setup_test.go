package limits_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

const testTimeout = time.Minute

var (
	network = netip.MustParsePrefix("192.0.2.1/32")
	pepper  = bytes.Repeat([]byte("pepper"), 8)
)

// bundle is one process' Limits over servers of the test's own.
type bundle struct {
	ctx    context.Context //nolint:containedctx // a test's own
	url    string          // of Redis
	redis  *testkit.RedisServer
	pg     string
	wire   *wire // between the store and PostgreSQL
	store  *store.Store
	meter  *meter.Meter
	limits *limits.Limits
	clock  *testkit.Clock
	rdb    *redis.Client
	db     *pgx.Conn
	hasher *account.Hasher
}

func setup(t *testing.T) *bundle {
	t.Helper()
	server := testkit.Redis(t)
	b := setupOn(t, server.URL)
	b.redis, b.rdb = server, redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = b.rdb.Close() })
	return b
}

// setupOn is setup over a Redis that runs already, which the test cannot control.
func setupOn(t *testing.T, url string) *bundle {
	t.Helper()
	testkit.RoomIn(t, 24*time.Hour, 2*time.Minute) // what the longest of these tests takes on a busy machine
	ctx, cancel := context.WithTimeout(context.Background(), 5*testTimeout)
	t.Cleanup(cancel)
	hasher, err := account.NewHasher(pepper)
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{ctx: ctx, url: url, pg: testkit.Postgres(t), hasher: hasher}
	b.wire = startWire(t, b.pg)
	b.open(t)
	if b.db, err = pgx.Connect(ctx, b.pg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.db.Close(context.Background()) })
	return b
}

// open opens the Limits of a process.
func (b *bundle) open(t *testing.T) {
	t.Helper()
	s, err := store.Open(b.ctx, b.wire.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	m, err := meter.Open(b.ctx, b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	b.store, b.meter, b.clock = s, m, testkit.NewClock(time.Now().Truncate(time.Second))
	b.limits = limits.New(s, m, b.hasher, b.clock.Now)
}

// another returns a second process over the same servers.
func (b *bundle) another(t *testing.T) *bundle {
	t.Helper()
	other := *b
	other.open(t)
	return &other
}

// holder is an account with its one key.
type holder struct {
	text    string
	account accountdb.Account
	key     accountdb.Key
}

// holder records an account on a plan with a key that has a daily allowance.
func (b *bundle) holder(t *testing.T, planKey string, daily plan.Units) *holder {
	t.Helper()
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := key.Digest(b.hasher)
	a, k, err := b.store.CreateDoorKey(b.ctx, accountdb.NewAccount{
		ID: account.NewID(), Kind: accountdb.KindDoor, Plan: planKey,
	},
		accountdb.NewKey{
			ID: account.NewKeyID(), Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorPublic, Daily: daily,
		})
	if err != nil {
		t.Fatal(err)
	}
	return &holder{key.Reveal(), a, k}
}

func (b *bundle) identify(t *testing.T, h *holder) *meter.Subject {
	t.Helper()
	s, refused := b.limits.Identify(b.ctx, h.text, network)
	if refused != nil {
		t.Fatal(refused)
	}
	return s
}

func charge(units plan.Units) *meter.Call {
	return &meter.Call{
		Mode: meter.Charge, Units: units, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
		Tier: "balanced",
	}
}

func (b *bundle) admit(t *testing.T, s *meter.Subject, call *meter.Call) meter.Admission {
	t.Helper()
	_, a, err := b.limits.AdmitOrLoad(b.ctx, s, call)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (b *bundle) flushAll(t *testing.T) {
	t.Helper()
	f := flush.New(b.meter, b.store, flush.FromStore(b.store), flush.Options{Logger: slog.New(slog.DiscardHandler)})
	if err := f.FlushAll(b.ctx); err != nil {
		t.Error(err)
	}
}

// recorded returns an account's charges in PostgreSQL.
func (b *bundle) recorded(t *testing.T, h *holder) (requests int64, units plan.Units) {
	t.Helper()
	now, err := b.meter.Now(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	start, _ := plan.CalendarMonth(now)
	hours, err := b.store.ListUsage(b.ctx, h.account.ID, start.Format(time.DateOnly))
	if err != nil {
		t.Fatal(err)
	}
	for _, hour := range hours {
		if hour.Outcome == meter.OutcomeOK {
			requests += hour.Requests
			units += hour.Units
		}
	}
	return requests, units
}

// unknownKey returns a well-formed key that belongs to nobody.
func unknownKey(t *testing.T) string {
	t.Helper()
	key, err := account.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key.Reveal()
}

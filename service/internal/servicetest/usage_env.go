package servicetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
)

// Noon is the time of these tests.
var Noon = time.Date(2026, time.November, 22, 12, 30, 0, 0, time.UTC)

// AtNoon stops the clock at Noon.
func AtNoon(o *service.Options) { o.Now = func() time.Time { return Noon } }

// UsageEnv is an account with a key of its own and one of an agent, and another account.
type UsageEnv struct {
	*Env

	AccountID          account.ID
	Ann, Key, Agent    *operation.Caller
	Eve                *operation.Caller
	KeyID, AgentKey    account.KeyID
	KeyPrefix, KeyText string
	Period             string // period of the written lines
}

// OpenUsageEnv returns a registry with recorded usage.
func OpenUsageEnv(t *testing.T, change ...func(*service.Options)) *UsageEnv {
	t.Helper()
	b := &UsageEnv{Env: OpenEnv(t, change...), Period: "2026-11-01"}
	if len(change) == 0 {
		b.Period = time.Now().UTC().Format("2006-01") + "-01"
	}
	b.Ann, b.Eve = Browser(b.SignIn(t, "ann@buyer.example")), Browser(b.SignIn(t, "eve@other.example"))
	made := Must[keys.CreatedKey](t)(b.CreateKey.Invoke(b.Ctx, b.Ann, keys.CreateKeyInput{Name: "indexer"}))
	b.Key, b.KeyText, b.KeyPrefix = Holder(made.PlaintextToken), made.PlaintextToken, made.Prefix
	var err error
	if b.KeyID, err = account.ParseKeyID(made.ID); err != nil {
		t.Fatal(err)
	}
	if b.AccountID, err = account.ParseID(b.WhoIs(t, b.Ann.Session).AccountID); err != nil {
		t.Fatal(err)
	}
	return b
}

// Claim adds an agent with three calls to the account.
func (b *UsageEnv) Claim(t *testing.T) {
	t.Helper()
	secret, id := b.Env.AgentKey(t, b.AccountID)
	b.Agent, b.AgentKey = Holder(secret), id
}

// Written returns a usage line.
func (b *UsageEnv) Written(key account.KeyID, chain, method, class, outcome string, requests int64,
	units plan.Units,
) account.UsageLine {
	l := account.UsageLine{
		Period: b.Period, Key: key, Chain: chain, Service: "rpc", Method: method, Class: class, Outcome: outcome,
		Tier: "balanced", Requests: requests, Units: units,
	}
	if units != 0 {
		l.Source = account.SourcePlan
	}
	return l
}

// Commit records usage lines and latencies of an instant.
func (b *UsageEnv) Commit(t *testing.T, at time.Time, latencies []account.LatencyLine, lines ...account.UsageLine) {
	t.Helper()
	err := b.Store.CommitUsage(b.Ctx, []account.UsageBucket{{
		Shard: account.Shard(b.AccountID), Slot: at, Account: b.AccountID, Generation: uuid.NewString(), Lines: lines,
		Latencies: latencies,
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TextOf returns a value as JSON.
func TextOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Stats returns a report of get_usage_stats.
func Stats(t *testing.T, b *UsageEnv, caller *operation.Caller, report, window string) usage.UsageStats {
	t.Helper()
	return Must[usage.UsageStats](t)(b.UsageStats.Invoke(b.Ctx, caller, usage.UsageStatsInput{
		Report: report, Window: window,
	}))
}

// Connect opens a direct connection to PostgreSQL until the test ends.
func (o *Env) Connect(t *testing.T) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(o.Ctx, o.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

// SQL executes a statement in PostgreSQL directly.
func (o *Env) SQL(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := o.Connect(t).Exec(o.Ctx, statement, args...); err != nil {
		t.Fatal(err)
	}
}

// Days records one usage line of today for each number in a range, each with a method of its own.
func (b *UsageEnv) Days(t *testing.T, key account.KeyID, from, to int) {
	t.Helper()
	b.SQL(t, `INSERT INTO usage_periods (account_id, period, requests, billable, hits, refused, refunded, units, plan_units,
			pack_units)
		VALUES ($1, $2::date, 1, 1, 0, 0, 0, 1000, 1000, 0) ON CONFLICT DO NOTHING`, b.AccountID.UUID, b.Period)
	b.SQL(t, `INSERT INTO usage_days (account_id, period, key_id, day, agent, chain, service, method, class, outcome, source,
			tier, requests, units)
		SELECT $1, $2::date, $3, $4::timestamptz, '', 'eth_mainnet', 'rpc', 'm' || n, 'standard', 'ok', 'plan',
			'balanced', 1, 1000
		FROM generate_series($5::integer, $6::integer) AS n`, b.AccountID.UUID, b.Period, key.UUID,
		Noon.Truncate(24*time.Hour), from, to)
}

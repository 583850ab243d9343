package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// accountsEnv is a database and a meter with accounts, for commands that read accounts.
type accountsEnv struct {
	ctx    context.Context //nolint:containedctx // a test's own
	env    map[string]string
	redis  *testkit.RedisServer
	store  *store.Store
	meter  *meter.Meter
	limits *limits.Limits
	rdb    *redis.Client
	db     *pgx.Conn
}

func openAccountsEnv(t *testing.T) *accountsEnv {
	t.Helper()
	testkit.RoomIn(t, time.Hour, 2*time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	b := &accountsEnv{ctx: ctx, redis: testkit.Redis(t)}
	b.env = map[string]string{"DATABASE_URL": testkit.Postgres(t), "REDIS_URL": b.redis.URL}
	var err error
	if b.store, err = store.Open(ctx, b.env["DATABASE_URL"]); err != nil {
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
	if b.db, err = pgx.Connect(ctx, b.env["DATABASE_URL"]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.db.Close(context.Background()) })
	return b
}

// customer is an account with one key, every kind of limit, and every kind of usage.
type customer struct {
	account account.ID
	key     account.KeyID
	pack    account.PackID
	period  string
	tag     string
}

// customer creates an account with 5 units a period and a pack of 100. It uses 6 units of RPC, one
// of them from the pack.
func (b *accountsEnv) customer(t *testing.T) *customer {
	t.Helper()
	c := &customer{account: account.NewID(), key: account.NewKeyID(), pack: account.NewPackID()}
	c.tag = fmt.Sprintf("{u%04d}:", account.Shard(c.account))
	by := accountdb.Author{Actor: "somebody", Origin: "test", Reason: "a test"}
	caps := map[account.Service]plan.Units{account.RPC: 1000 * plan.Unit}
	_, _, err := b.store.CreateDoorKey(b.ctx, accountdb.NewAccount{
		ID: c.account, Kind: accountdb.KindDoor, Plan: plan.Enterprise,
	},
		accountdb.NewKey{
			ID: c.key, Digest: append(c.key.UUID[:], c.key.UUID[:]...), Prefix: "cag_" + c.key.String()[28:],
			Door: account.DoorPublic, Daily: 1000 * plan.Unit,
		})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	_, _, err = b.limits.GrantPack(b.ctx, accountdb.Pack{
		Pack:    account.Pack{ID: c.pack, Units: 100 * plan.Unit, Expires: now.AddDate(1, 0, 0)},
		Account: c.account, Kind: "pack_s", Origin: c.pack.String(), GrantedAt: now,
	}, by)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.store.ChangeAccount(b.ctx, c.account, "test", by, func(a *accountdb.Account) error {
		a.Custom = &account.Custom{Quota: 5 * plan.Unit, Rate: account.RateWindow{Limit: 1000, Per: time.Second}}
		a.Services.Caps = caps
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = b.store.ChangeKey(b.ctx, c.key, "test", by, func(k *accountdb.Key, _ accountdb.Account) error {
		k.MonthlyCap, k.Services.Caps = 1000*plan.Unit, caps
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.use(t, c)
	return c
}

// use makes calls and flushes them. The third is split over plan and pack, the fourth is refunded,
// the fifth exceeds all limits.
func (b *accountsEnv) use(t *testing.T, c *customer) {
	t.Helper()
	for i, call := range []meter.Call{
		{Units: 2 * plan.Unit},
		{Units: 2 * plan.Unit},
		{Units: 2 * plan.Unit},
		{Units: 3 * plan.Unit},
		{Units: 900 * plan.Unit},
		{Mode: meter.Hit},
		{Mode: meter.WindowOnly, Reason: "method_not_served"},
	} {
		s, a := b.call(t, c, &call)
		if a.Admitted != (i != 4) {
			t.Fatalf("call %d: %+v", i, a)
		}
		if i == 0 {
			c.period = a.Receipt.Period
		}
		if i == 3 {
			if err := b.meter.Refund(b.ctx, s, &call, a.Receipt, c.account.String(), "upstream_failed"); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.flushAll(t)
}

func (b *accountsEnv) call(t *testing.T, c *customer, call *meter.Call) (*meter.Subject, meter.Admission) {
	t.Helper()
	s := meter.NewSubject(account.Identity{
		Key: c.key, Account: c.account, Door: account.DoorPublic, Plan: plan.Enterprise,
	}, account.Digest{})
	call.Chain, call.Service, call.Method, call.Class, call.Tier = "eth_mainnet", "rpc", "eth_call", "standard",
		"balanced"
	_, a, err := b.limits.AdmitOrLoad(b.ctx, s, call)
	if err != nil {
		t.Fatal(err)
	}
	return s, a
}

func (b *accountsEnv) flushAll(t *testing.T) {
	t.Helper()
	f := flush.New(b.meter, b.store, flush.FromStore(b.store), flush.Options{Logger: slog.New(slog.DiscardHandler)})
	if err := f.FlushAll(b.ctx); err != nil {
		t.Fatal(err)
	}
}

// sql returns a corruption in PostgreSQL; $1 is the account.
func sql(statement string) func(*testing.T, *accountsEnv, *customer) {
	return func(t *testing.T, b *accountsEnv, c *customer) {
		t.Helper()
		if done, err := b.db.Exec(b.ctx, statement, c.account.UUID); err != nil || done.RowsAffected() == 0 {
			t.Fatalf("%s: %v rows, %v", statement, done.RowsAffected(), err)
		}
	}
}

// count returns a corruption of an existing counter in Redis; %p is the period.
func count(name, field string, thousandths int64) func(*testing.T, *accountsEnv, *customer) {
	return func(t *testing.T, b *accountsEnv, c *customer) {
		t.Helper()
		put := strings.NewReplacer("%a", c.account.String(), "%k", c.key.String(), "%p", c.period, "%P",
			c.pack.String(), "%d", fmt.Sprint(time.Now().Unix()/86400))
		key, place := c.tag+put.Replace(name), put.Replace(field)
		var there bool
		var err error
		if place == "" {
			//nolint:staticcheck // the one that says whether it was there
			there, err = b.rdb.SetXX(b.ctx, key, thousandths, redis.KeepTTL).Result()
		} else if there, err = b.rdb.HExists(b.ctx, key, place).Result(); there {
			err = b.rdb.HSet(b.ctx, key, place, thousandths).Err()
		}
		if err != nil || !there {
			t.Fatalf("%s %s is there: %t, %v", key, place, there, err)
		}
	}
}

// Each case corrupts one figure. The audit names the broken identity, its subject, both figures and
// the difference.
func TestAuditCommand_NamesTheCorruptFigure(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	cases := []struct {
		spoil func(*testing.T, *accountsEnv, *customer)
		want  string // after account and period
	}{
		{
			sql("UPDATE usage_hours SET units = 500 WHERE account_id = $1 AND outcome = 'hit'"),
			`lines: line "hit" of key %k, rpc eth_call on eth_mainnet, hour %h: units are 0.5, can be only 0: 0.5 more`,
		},
		{
			sql("UPDATE usage_hours SET requests = 3 WHERE account_id = $1 AND outcome = 'refund'"),
			`lines: line "refund" of key %k, rpc eth_call on eth_mainnet, hour %h: requests are 3, can be at most 0: ` +
				`3 more`,
		},
		{
			sql("UPDATE usage_hours SET units = -1 WHERE account_id = $1 AND outcome = 'ok' AND source = 'plan'"),
			`lines: line "ok" of key %k, rpc eth_call on eth_mainnet, hour %h: units are -0.001, can be at least 0: ` +
				`0.001 less`,
		},
		{
			sql("UPDATE usage_periods SET requests = requests + 1 WHERE account_id = $1"),
			"requests: usage_periods: requests 8, billable + cache hits + refusals 7: 1 more",
		},
		{
			sql("UPDATE usage_periods SET plan_units = plan_units - 250 WHERE account_id = $1"),
			"sources: usage_periods: units 6, from the plan and packs 5.75: 0.25 more",
		},
		{
			sql("UPDATE usage_hours SET source = 'gift' WHERE account_id = $1 AND outcome = 'ok' AND source = 'plan'"),
			"sources: usage_hours: units by key, chain and class 6, units by source 1: 5 more",
		},
		{
			sql("UPDATE usage_hours SET source = 'pack:0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11' WHERE account_id = $1 " +
				"AND outcome IN ('ok', 'refund') AND source LIKE 'pack:%'"),
			"packs: pack:0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11, which the account was not granted: used 1, granted 0: " +
				"1 more",
		},
		{
			sql("UPDATE packs SET units = 1000 WHERE account_id = $1"),
			"packs: pack:%P: used 2, granted 1: 1 more",
		},
		{
			sql("DELETE FROM usage_hours WHERE account_id = $1 AND outcome = 'method_not_served'"),
			"double entry: requests: usage_periods 7, usage_hours 6: 1 more",
		},
		{
			sql("UPDATE usage_hours SET units = units + 1 WHERE account_id = $1 AND outcome = 'ok' AND source = " +
				"'plan'"),
			"double entry: units: usage_periods 6, usage_hours 6.001: 0.001 less",
		},
		{
			sql("UPDATE usage_periods SET hits = hits + 1, refused = refused - 1 WHERE account_id = $1"),
			"double entry: cache hits: usage_periods 2, usage_hours 1: 1 more",
		},
		{
			sql("UPDATE usage_periods SET units = units + 1234567000, pack_units = pack_units + 1234567000 WHERE " +
				"account_id = $1"),
			"double entry: units: usage_periods 1,234,573, usage_hours 6: 1,234,567 more",
		},
		{
			sql("UPDATE usage_days SET requests = requests + 1 WHERE account_id = $1 AND outcome = 'hit'"),
			`sums: usage_days of %DT00Z, line "hit" of rpc eth_call on eth_mainnet, drawn from "", key %k: requests ` +
				`2, by the hours 1: 1 more`,
		},
		{
			sql("DELETE FROM account_hours WHERE account_id = $1 AND outcome = 'method_not_served'"),
			`sums: account_hours of %h, line "method_not_served" of rpc eth_call on eth_mainnet, drawn from "": ` +
				`requests 0, by the hours 1: 1 less`,
		},
		{
			sql("UPDATE account_days SET units = units - 250 WHERE account_id = $1 AND outcome = 'ok' AND source = " +
				"'plan'"),
			`sums: account_days of %DT00Z, line "ok" of rpc eth_call on eth_mainnet, drawn from "plan": units 4.75, ` +
				`by the hours 5: 0.25 less`,
		},
		{
			sql("DELETE FROM usage_periods WHERE account_id = $1"),
			"double entry: requests: usage_periods 0, usage_hours 7: 7 less",
		},
		{
			count("ap:%a:%p", "u", 4000),
			"counters: units drawn from the plan: the meter has 4, usage lines add up to 5: 1 less",
		},
		{
			count("ap:%a:%p", "u", -1),
			"counters: units drawn from the plan: the meter has -0.001, usage lines add up to 5: 5.001 less",
		},
		{
			count("ap:%a:%p", "c:rpc", 7001),
			"counters: units of the account, service rpc: the meter has 7.001, usage lines add up to 7: 0.001 more",
		},
		{count("kp:%k:%p", "u", 0), "counters: units of key %k: the meter has 0, usage lines add up to 7: 7 less"},
		{
			count("kp:%k:%p", "c:rpc", 8000),
			"counters: units of key %k, service rpc: the meter has 8, usage lines add up to 7: 1 more",
		},
		{
			count("day:%k:%d", "", 9000),
			"counters: units of key %k, day %D: the meter has 9, usage lines add up to 7: 2 more",
		},
		{
			count("pk:%a", "%P", 1999),
			"counters: units drawn from pack:%P: the meter has 1.999, usage lines add up to 2: 0.001 less",
		},
	}
	customers := make([]*customer, len(cases))
	for i := range cases {
		customers[i] = b.customer(t)
	}
	for _, c := range customers { // one more unit from the pack, not flushed
		if _, a := b.call(t, c, &meter.Call{Units: plan.Unit}); !a.Admitted {
			t.Fatalf("%+v", a)
		}
	}
	all := fmt.Sprintf("balanced: %d accounts, %d periods, %d packs, %d counters, 0 differences\n", len(cases),
		len(cases), len(cases), 6*len(cases))
	exit, out, errs := run(t, b.env, "ops", "audit")
	in := expect.In(t, "before anything was spoiled")
	require.Equal(in, exit, 0)
	require.Equal(in, out, all)
	require.Equal(in, errs, "")
	if _, err := b.db.Exec(b.ctx,
		"ALTER TABLE usage_periods DROP CONSTRAINT usage_periods_requests_balance"); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]bool, len(cases))
	for i, tc := range cases {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			c := customers[i]
			tc.spoil(t, b, c)
			hour := time.Now().UTC().Truncate(time.Hour).Format("2006-01-02T15Z")
			line := "account " + c.account.String() + ", period " + c.period + ": " + strings.NewReplacer("%k",
				c.key.String(), "%P", c.pack.String(), "%h", hour, "%D",
				time.Now().UTC().Format(time.DateOnly)).Replace(
				tc.want)
			want[line] = true
			exit, out, errs := run(t, b.env, "ops", "audit", "--account", c.account.String())
			told, _, _ := strings.Cut(out, "\n")
			expect.Equal(t, exit, 1)
			expect.Equal(t, told, line)
			expect.Contains(t, out, "\n1 period not balanced: 1 account, 1 period, ")
			expect.HasPrefix(t, errs, "gateway: the books do not balance; docs/operations/runbooks.md")
		})
	}
	exit, out, _ = run(t, b.env, "ops", "audit")
	told := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	in = expect.In(t, "all together")
	expect.Equal(in, exit, 1, out)
	require.Len(in, told, len(cases)+1, out)
	expect.HasPrefix(in, told[len(cases)],
		fmt.Sprintf("%d periods not balanced: %d accounts, ", len(cases), len(cases)), out)
	for _, line := range told[:len(told)-1] {
		if !want[line] {
			t.Errorf("all together: told %s", line)
		}
	}
}

func TestAuditCommand_BalancesWithoutRecordsOrCalls(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	c := b.customer(t)
	for _, kind := range []string{"ap", "kp", "day", "pk"} {
		for _, name := range b.rdb.Keys(b.ctx, "{u*}:"+kind+":*").Val() {
			b.rdb.Del(b.ctx, name)
		}
	}
	exit, out, errs := run(t, b.env, "ops", "audit", "--account", c.account.String())
	in := expect.In(t, "without counters")
	expect.Equal(in, exit, 0)
	expect.Equal(in, errs, "")
	expect.Equal(in, out, "balanced: 1 account, 1 period, 1 pack, 0 counters, 0 differences\n")
	// Only the books of another period, and a counter of an account without usage.
	for _, args := range [][]string{{"--period", c.period}, {"--period", c.period, "--account", c.account.String()}} {
		if exit, out, errs := run(t, b.env, append([]string{"ops", "audit"}, args...)...); exit != 0 ||
			!strings.HasPrefix(out, "balanced: 1 account, 1 period, ") {
			t.Errorf("%v: exit code %d, %q, %q", args, exit, out, errs)
		}
	}
	idle, key := account.NewID(), account.NewKeyID()
	if _, _, err := b.store.CreateDoorKey(b.ctx,
		accountdb.NewAccount{ID: idle, Kind: accountdb.KindDoor, Plan: plan.Pro},
		accountdb.NewKey{
			ID: key, Digest: append(key.UUID[:], key.UUID[:]...), Prefix: "cag_idle", Door: account.DoorPublic,
			Daily: account.Unlimited,
		}); err != nil {
		t.Fatal(err)
	}
	b.rdb.HSet(b.ctx, fmt.Sprintf("{u%04d}:ap:%s:%s", account.Shard(idle), idle, c.period), "u", 500)
	var result struct {
		Balanced bool
		Summary  struct{ Accounts, Periods, Differences int }

		Differences []struct {
			Account  string `json:"account_id"`
			Identity string
			Left     struct{ Figure json.Number }
			Right    struct{ Figure json.Number }
		}
	}
	exit, out, errs = run(t, b.env, "ops", "audit", "--json")
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	expect.Equal(t, exit, 1, out)
	expect.NotEqual(t, errs, "", out)
	expect.False(t, result.Balanced, out)
	expect.Equal(t, result.Summary.Accounts, 2, out)
	expect.Equal(t, result.Summary.Periods, 1, out)
	expect.Equal(t, result.Summary.Differences, 1, out)
	d := result.Differences
	require.Len(t, d, 1)
	expect.Equal(t, d[0].Account, idle.String())
	expect.Equal(t, d[0].Identity, "counters")
	expect.Equal(t, d[0].Left.Figure, "0.5")
	expect.Equal(t, d[0].Right.Figure, "0")
	// Usage without an account.
	if _, err := b.db.Exec(b.ctx, "UPDATE usage_hours SET account_id = $1; ", account.NewID().UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec(b.ctx,
		"UPDATE usage_periods SET account_id = (SELECT account_id FROM usage_hours LIMIT 1)"); err != nil {
		t.Fatal(err)
	}
	if exit, out, _ = run(t, b.env, "ops", "audit"); exit != 1 || !strings.Contains(out, ": accounts: ") &&
		!strings.Contains(out, ": packs: ") {
		t.Errorf("usage of nobody: exit code %d, %s", exit, out)
	}
}

func TestAuditCommand_ThatCannotRunIsExitCode2(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	b.customer(t)
	away := environment(t)
	without := func(name, value string) map[string]string {
		env := map[string]string{"DATABASE_URL": b.env["DATABASE_URL"], "REDIS_URL": b.env["REDIS_URL"], name: value}
		return env
	}
	for _, tc := range []struct {
		env  map[string]string
		args string
		want string
	}{
		{
			without("DATABASE_URL", away["DATABASE_URL"]), "",
			"DATABASE_URL: PostgreSQL cannot be used; check that it runs",
		},
		{without("REDIS_URL", away["REDIS_URL"]), "", "REDIS_URL: Redis cannot be used; check that it runs"},
		{without("REDIS_URL", ""), "", "REDIS_URL is not set"},
		{without("DATABASE_URL", ""), "", "DATABASE_URL is not set"},
		{without("DATABASE_URL", "mysql://x"), "", "DATABASE_URL must start with postgres://"},
		{
			b.env, "--account bogus",
			`--account must be the id of an account, like 0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11, not "bogus"`,
		},
		{
			b.env, "--account 0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11",
			"account 0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11: there is no such account",
		},
		{
			b.env, "--period 2026-02-30",
			`--period must be the date on which a period began, like 2026-11-01, not "2026-02-30"`,
		},
		{b.env, "--period 1999-01-01", "no usage was recorded in such a period"},
		{b.env, "--bogus", "unknown flag: --bogus"},
		{b.env, "extra", "extra"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			exit, out, errs := run(t, tc.env, append([]string{"ops", "audit"}, strings.Fields(tc.args)...)...)
			in := expect.In(t, "%q", tc.args)
			expect.Equal(in, exit, 2)
			expect.Equal(in, out, "")
			expect.Equal(in, strings.Count(errs, "\n"), 1, errs)
			expect.Contains(in, errs, tc.want)
			expect.NotContains(in, errs, canary)
		})
	}
	// Redis stops answering during the audit.
	b.redis.Pause(t)
	defer b.redis.Resume(t)
	exit, out, errs := run(t, b.env, "ops", "audit")
	in := expect.In(t, "with a Redis that does not answer")
	expect.Equal(in, exit, 2)
	expect.Equal(in, out, "")
	expect.Contains(in, errs, "REDIS_URL")
}

package statement_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

const testTimeout = 90 * time.Second

// desk is a Compiler over a database of its own, at a time that the test sets.
type desk struct {
	*statement.Compiler
	ctx   context.Context //nolint:containedctx // of one test
	t     *testing.T
	store *store.Store
	conn  *pgx.Conn
	clock *testkit.Clock
	flush int
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func open(t *testing.T, now string) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	url := testkit.Postgres(t)
	s, err := store.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	clock := testkit.NewClock(at(t, now))
	return &desk{
		Compiler: &statement.Compiler{Store: s, Now: clock.Now}, ctx: ctx, t: t, store: s, conn: conn,
		clock: clock,
	}
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) exec(sql string, args ...any) {
	d.t.Helper()
	_, err := d.conn.Exec(d.ctx, sql, args...)
	d.must(err)
}

// owner makes an account that was created at an instant.
func (d *desk) owner(kind accountdb.AccountKind, since string) accountdb.Account {
	d.t.Helper()
	a, err := d.store.CreateAccount(d.ctx, accountdb.NewAccount{ID: account.NewID(), Kind: kind, Plan: plan.Free})
	d.must(err)
	d.exec("UPDATE accounts SET created_at = $2 WHERE id = $1", a.ID.UUID, at(d.t, since))
	return d.load(a.ID)
}

func (d *desk) load(id account.ID) accountdb.Account {
	d.t.Helper()
	a, err := d.store.LoadAccount(d.ctx, id)
	d.must(err)
	return a
}

// key makes a key of an account.
func (d *desk) key(of account.ID, name string) account.KeyID {
	d.t.Helper()
	id := account.NewKeyID()
	digest := make([]byte, 32)
	copy(digest, id.UUID[:])
	_, err := d.store.CreateKey(d.ctx, accountdb.NewKey{
		ID: id, Account: of, Digest: digest, Prefix: "cag_" + id.String()[:8], Name: name, Door: account.DoorAccount,
		Daily: account.Unlimited,
	})
	d.must(err)
	return id
}

// use records usage in a period, in the last slot before an instant.
func (d *desk) use(of account.ID, when string, lines ...account.UsageLine) {
	d.t.Helper()
	d.flush++
	d.must(d.store.CommitUsage(d.ctx, []account.UsageBucket{{
		Shard: account.Shard(of), Slot: at(d.t, when).Truncate(10 * time.Second), Account: of,
		Generation: fmt.Sprint("g", d.flush), Lines: lines,
	}}))
}

// line returns usage of a period. units are thousandths in total.
func line(period string, key account.KeyID, chain, class, outcome, source string, requests int64,
	units plan.Units,
) account.UsageLine {
	return account.UsageLine{
		Period: period, Key: key, Chain: chain, Service: "rpc", Method: "eth_call", Class: class, Outcome: outcome,
		Source: source, Tier: "balanced", Requests: requests, Units: units,
	}
}

// flushed sets the watermark to an instant.
func (d *desk) flushed(until string) {
	d.t.Helper()
	marks := map[int]time.Time{}
	for shard := range account.Shards {
		marks[shard] = at(d.t, until)
	}
	d.must(d.store.SaveWatermarks(d.ctx, marks))
}

// wait moves the clock to an instant, with all usage before it recorded.
func (d *desk) wait(until string) {
	d.t.Helper()
	d.clock.Advance(at(d.t, until).Sub(d.clock.Now()))
	d.flushed(until)
}

func (d *desk) get(a accountdb.Account, period string) statement.Statement {
	d.t.Helper()
	s, err := d.Get(d.ctx, &a, period)
	d.must(err)
	d.addUp(&s)
	return s
}

func (d *desk) close(accounts ...accountdb.Account) statement.Report {
	d.t.Helper()
	r, err := d.Close(d.ctx, accounts, statement.Choice{})
	d.must(err)
	return r
}

func wire(t *testing.T, s any) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// addUp checks that groups add up to the figures above them.
func (d *desk) addUp(s *statement.Statement) {
	d.t.Helper()
	level := func(what string, totals statement.Totals, parts []statement.Totals) {
		d.t.Helper()
		var sum statement.Totals
		for _, p := range parts {
			sum.Requests += p.Requests
			sum.Billable += p.Billable
			sum.Units += p.Units
			sum.PlanUnits += p.PlanUnits
			sum.PackUnits += p.PackUnits
			sum.CacheHits += p.CacheHits
			sum.Refusals += p.Refusals
			sum.Refunded += p.Refunded
		}
		in := expect.In(d.t, "%s of %s", what, s.Period)
		expect.Equal(in, sum, totals)
		expect.Equal(in, totals.Requests, totals.Billable+totals.CacheHits+totals.Refusals)
		expect.Equal(in, totals.Units, totals.PlanUnits+totals.PackUnits)
	}
	group := func(what string, totals statement.Totals, keys []statement.Key) {
		var ofKeys []statement.Totals
		for _, k := range keys {
			var ofChains []statement.Totals
			for _, c := range k.Chains {
				var ofClasses []statement.Totals
				for _, class := range c.Classes {
					ofClasses = append(ofClasses, class.Totals())
				}
				level("chain "+c.Chain, c.Totals, ofClasses)
				ofChains = append(ofChains, c.Totals)
			}
			level("key "+k.ID, k.Totals, ofChains)
			ofKeys = append(ofKeys, k.Totals)
		}
		level(what, totals, ofKeys)
	}
	group("the statement", s.Totals, s.Keys)
	for _, a := range s.Adjustments {
		group("the adjustment of "+a.Period, a.Totals, a.Keys)
	}
}

package statement_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

func TestStatement_ClosedOneNeverChangesAndTheNextShowsLateUsage(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-11-20T12:00:00Z")
	a := d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z")
	first, second := d.key(a.ID, "indexer"), d.key(a.ID, "bot")
	const november, december = "2026-11-01", "2026-12-01"
	d.use(a.ID, "2026-11-20T11:00:00Z", line(november, first, "eth_mainnet", "standard", "ok", "plan", 10, 10_000),
		line(november, first, "eth_mainnet", "heavy", "hit", "", 3, 0),
		line(november, second, "base_mainnet", "standard", "plan_quota", "", 2, 0))
	d.flushed("2026-11-20T11:59:50Z")
	s := d.get(a, november)
	in := expect.In(t, "while it is open")
	expect.Equal(in, s.Status, statement.Open)
	expect.Equal(in, s.Totals.Requests, 15)
	expect.Equal(in, s.ContentHash, "")
	expect.True(in, s.AsOf.Equal(at(t, "2026-11-20T11:59:50Z")))
	// Over, but the watermark has not passed its end by the grace.
	d.wait("2026-12-01T00:04:59Z")
	if r := d.close(a); r != (statement.Report{Waiting: 1}) {
		t.Errorf("before the flush: %+v", r)
	}
	if s := d.get(a, november); s.Status != statement.Closing || s.ContentHash != "" {
		t.Errorf("before the flush it is %s", wire(t, s))
	}
	d.wait("2026-12-01T00:05:00Z")
	if r := d.close(a); r != (statement.Report{Closed: 1}) {
		t.Errorf("after it: %+v", r)
	}
	frozen := wire(t, d.get(a, november))
	var stated []string
	if err := d.conn.QueryRow(d.ctx, "SELECT array_agg(period::text) FROM usage_periods WHERE stated").Scan(
		&stated); err != nil || !slices.Equal(stated, []string{november}) {
		t.Errorf("periods that are marked as stated: %v, %v", stated, err)
	}
	// Late: a call of the first key, and a refund of another of its calls, in two flushes.
	d.use(a.ID, "2026-12-01T00:06:00Z", line(november, first, "eth_mainnet", "standard", "ok", "plan", 2, 2_000))
	d.use(a.ID, "2026-12-01T00:07:00Z", line(november, first, "eth_mainnet", "standard", "refund", "plan", -1, -1_000),
		line(november, first, "eth_mainnet", "standard", "upstream_failed", "", 1, 0),
		line(december, second, "base_mainnet", "standard", "ok", "plan", 4, 2_000))
	if r := d.close(a); r != (statement.Report{}) {
		t.Errorf("again: %+v", r)
	}
	if again := wire(t, d.get(a, november)); again != frozen {
		t.Errorf("the closed statement changed from\n%s to\n%s", frozen, again)
	}
	d.wait("2027-01-01T00:10:00Z")
	if r := d.close(a); r != (statement.Report{Closed: 1, Adjusted: 1}) {
		t.Errorf("the next one: %+v", r)
	}
	s = d.get(a, december)
	want := statement.Totals{Requests: 2, Billable: 1, Units: 1_000, PlanUnits: 1_000, Refusals: 1, Refunded: 1}
	in = expect.In(t, "the next one")
	require.Len(in, s.Adjustments, 1)
	expect.Equal(in, s.Adjustments[0].Period, november)
	expect.Equal(in, s.Adjustments[0].Totals, want)
	require.Len(in, s.Adjustments[0].Keys, 1)
	expect.Equal(in, s.Adjustments[0].Keys[0].Name, "indexer")
	expect.Equal(in, s.Totals.Requests, 4)
	// Stated once: the next statement has only what is new.
	d.use(a.ID, "2027-01-01T00:11:00Z", line(november, second, "base_mainnet", "standard", "plan_quota", "", 5, 0))
	d.wait("2027-02-01T00:10:00Z")
	d.close(a)
	s = d.get(a, "2027-01-01")
	require.Len(t, s.Adjustments, 1)
	expect.Equal(t, s.Adjustments[0].Totals, statement.Totals{Requests: 5, Refusals: 5})
	expect.Equal(t, s.Adjustments[0].Keys[0].AtTheLimit[0].Requests, 5)
	d.wait("2027-03-01T00:10:00Z")
	d.close(a)
	s = d.get(a, "2027-02-01")
	in = expect.In(t, "with nothing to tell")
	expect.Empty(in, s.Adjustments)
	expect.Equal(in, s.Totals, statement.Totals{})
	expect.Equal(in, s.Status, statement.Closed)
	if again := wire(t, d.get(a, november)); again != frozen {
		t.Errorf("the closed statement changed to %s", again)
	}
}

// A client gets exactly the hashed bytes: without the hash, the last member, the statement is the
// frozen content.
func TestStatement_HashIsThatOfItsBytes(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-02T00:00:00Z")
	a := d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z")
	d.use(a.ID, "2026-11-20T11:00:00Z", line("2026-11-01", d.key(a.ID, `<script>"é\u2028=1+1`), "", "toolbox", "ok",
		"plan", 1, 500))
	d.flushed("2026-12-02T00:00:00Z")
	served := wire(t, d.get(a, "2026-11-01"))
	content, hash, ok := strings.Cut(served, `,"content_hash":"sha256:`)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content+"}")))
	if !ok || hash != sum+`"}` {
		t.Errorf("the hash of %s is %s, not %s", content, hash, sum)
	}
	var read map[string]any
	d.must(json.Unmarshal([]byte(served), &read))
	for _, name := range []string{
		"account", "period", "scope", "plan", "invoices", "totals", "at_the_limit", "keys",
		"generated_at", "status", "as_of", "adjustments",
	} {
		if _, there := read[name]; !there {
			t.Errorf("the statement lacks %s", name)
		}
	}
	// The stored content cannot be changed without its hash.
	if _, err := d.conn.Exec(d.ctx, "UPDATE statements SET content = content || ' '"); err == nil {
		t.Error("the record takes a content that is not the hash's")
	}
}

// Concurrent closes close each period once, and state late usage once.
func TestStatement_PeriodClosedConcurrentlyIsClosedOnce(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-02T00:00:00Z")
	var accounts []accountdb.Account
	for range 5 {
		a := d.owner(accountdb.KindOwner, "2026-10-03T09:00:00Z")
		key := d.key(a.ID, "k")
		d.use(a.ID, "2026-10-20T11:00:00Z", line("2026-10-01", key, "eth_mainnet", "standard", "ok", "plan", 7, 7_000))
		d.use(a.ID, "2026-11-20T11:00:00Z", line("2026-11-01", key, "eth_mainnet", "standard", "ok", "plan", 9, 9_000))
		accounts = append(accounts, a)
	}
	d.flushed("2026-11-01T00:05:00Z")
	if r := d.close(accounts...); r.Closed != 5 || r.Waiting != 5 {
		t.Fatalf("October: %+v", r)
	}
	for i := range accounts {
		d.use(accounts[i].ID, "2026-11-20T11:00:00Z", line("2026-10-01", account.NewKeyID(), "eth_mainnet", "standard",
			"ok", "plan", 1, 1_000))
	}
	d.flushed("2026-12-02T00:00:00Z")
	// All run until they want to write, and then continue at once.
	d.exec("BEGIN")
	d.exec("LOCK TABLE statements IN SHARE MODE")
	var all sync.WaitGroup
	var mu sync.Mutex
	var closed, adjusted int
	for i := range 8 {
		all.Go(func() {
			mine := append([]accountdb.Account{}, accounts...)
			rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			which := statement.Choice{}
			if i%2 == 0 {
				which = statement.Only("2026-11-01")
			}
			r, err := d.Close(d.ctx, mine, which)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			closed, adjusted = closed+r.Closed, adjusted+r.Adjusted
		})
	}
	testkit.Eventually(t, testTimeout, func() bool {
		return d.count(
			"SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database WHERE datname = "+
				"current_database() AND NOT granted") >= 3
	}, "three of them wait")
	d.exec("COMMIT")
	all.Wait()
	if closed != 5 || adjusted != 5 {
		t.Errorf("%d periods were closed and %d adjusted, want 5 each", closed, adjusted)
	}
}

// In any order of usage, statements and adjustments together equal the usage, to the unit, for the
// account and for its agent.
func TestStatement_WithAdjustmentsAddsUpToTheUsage(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	d := open(t, "2026-07-01T00:00:00Z")
	a := d.owner(accountdb.KindOwner, "2026-07-01T00:00:00Z")
	agent := account.NewAgentID()
	keys := []account.KeyID{d.key(a.ID, "one"), d.key(a.ID, "two"), account.NewKeyID()}
	months := []string{"2026-07-01", "2026-08-01", "2026-09-01", "2026-10-01"}
	var used, ofAgent, ofKey statement.Totals
	for i, month := range months {
		for range 40 {
			period := months[random.IntN(i+1)]
			k := random.IntN(len(keys))
			requests := int64(1 + random.IntN(9))
			l := line(period, keys[k], []string{"", "eth_mainnet", "solana_mainnet"}[random.IntN(3)],
				[]string{"standard", "heavy", "toolbox"}[random.IntN(3)], "ok", "plan", requests,
				plan.Units(requests)*500)
			count := statement.Totals{Requests: requests}
			switch random.IntN(4) {
			case 0:
				l.Outcome, l.Source, l.Units, count.CacheHits = "hit", "", 0, requests
			case 1:
				l.Outcome, l.Source, l.Units, count.Refusals = "rate_window", "", 0, requests
			case 2:
				l.Source, count.Billable, count.Units, count.PackUnits = "pack:"+account.NewPackID().String(), requests,
					l.Units, l.Units
			default:
				count.Billable, count.Units, count.PlanUnits = requests, l.Units, l.Units
			}
			if k == 0 {
				l.Agent = agent.String()
				add(&ofAgent, count)
			}
			if k == 1 {
				add(&ofKey, count)
			}
			add(&used, count)
			d.use(a.ID, month[:8]+"20T00:00:00Z", l)
		}
		end := plan.AddMonths(at(t, month+"T00:00:00Z"), 1).Format("2006-01-02")
		d.wait(end + "T00:10:00Z")
		d.close(a)
	}
	d.wait("2026-12-01T00:10:00Z")
	d.close(a)
	var told, toldAgent, toldKey statement.Totals
	for _, month := range append(months, "2026-11-01") {
		s := d.get(a, month)
		mine := s.ForAgent(agent)
		d.addUp(&mine)
		if strings.Contains(wire(t, mine), keys[1].String()) || mine.Scope != statement.OfAgent {
			t.Errorf("the agent sees %s", wire(t, mine))
		}
		own := s.ForKey(keys[1])
		d.addUp(&own)
		if strings.Contains(wire(t, own), agent.String()) || own.Scope != statement.OfKey {
			t.Errorf("the key sees %s", wire(t, own))
		}
		add(&toldKey, own.Totals)
		for i := range own.Adjustments {
			add(&toldKey, own.Adjustments[i].Totals)
		}
		add(&told, s.Totals)
		add(&toldAgent, mine.Totals)
		for i := range s.Adjustments {
			add(&told, s.Adjustments[i].Totals)
		}
		for i := range mine.Adjustments {
			add(&toldAgent, mine.Adjustments[i].Totals)
		}
	}
	in := expect.In(t, "seed %d: statements tell", seed)
	expect.Equal(in, told, used)
	expect.Equal(in, toldAgent, ofAgent)
	expect.Equal(in, toldKey, ofKey)
}

func add(sum *statement.Totals, t statement.Totals) {
	sum.Requests += t.Requests
	sum.Billable += t.Billable
	sum.Units += t.Units
	sum.PlanUnits += t.PlanUnits
	sum.PackUnits += t.PackUnits
	sum.CacheHits += t.CacheHits
	sum.Refusals += t.Refusals
	sum.Refunded += t.Refunded
}

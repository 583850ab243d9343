package main

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// january returns an account with usage in January 2026, flushed up to an instant.
func (b *accountsEnv) january(t *testing.T, until string) account.ID {
	t.Helper()
	id := account.NewID()
	if _, err := b.store.CreateAccount(b.ctx, accountdb.NewAccount{
		ID: id, Kind: accountdb.KindOwner, Plan: plan.Pro,
	}); err != nil {
		t.Fatal(err)
	}
	mark, err := time.Parse(time.RFC3339, until)
	if err != nil {
		t.Fatal(err)
	}
	err = b.store.CommitUsage(b.ctx, []account.UsageBucket{{
		Shard: account.Shard(id), Slot: time.Date(2026, time.January, 20, 0, 0, 0, 0, time.UTC), Account: id,
		Generation: "a", Lines: []account.UsageLine{{
			Period: "2026-01-01", Key: account.NewKeyID(), Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
			Class: "standard", Outcome: "ok", Source: "plan", Tier: "balanced", Requests: 1_200, Units: 600 * plan.Unit,
		}},
	}})
	if err == nil {
		err = b.store.SaveWatermarks(b.ctx, map[int]time.Time{account.Shard(id): mark})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestStatementsCommand_ClosesOnceUsageIsRecorded(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	id := b.january(t, "2026-02-01T00:04:00Z").String()
	env := map[string]string{"DATABASE_URL": b.env["DATABASE_URL"]} // nothing else is needed
	ops := func(want int, args ...string) string {
		t.Helper()
		exit, out, errs := run(t, env, append([]string{"ops", "statements"}, args...)...)
		if exit != want {
			t.Fatalf("%v: exit code %d, %q, %q", args, exit, out, errs)
		}
		return out + errs
	}
	if got := ops(1, "close", id, "2026-01-01"); !strings.Contains(got,
		"not closed: period 2026-01-01 ends at 2026-02-01T00:00:00Z, and usage is recorded up to "+
			"2026-02-01T00:04:00Z") {
		t.Errorf("too early: %q", got)
	}
	if got := ops(0, "close", "--all"); !strings.Contains(got,
		"1 account: 0 statements closed, 0 earlier periods adjusted, 1 period over and not recorded yet") {
		t.Errorf("all, too early: %q", got)
	}
	if got := ops(0, "show", id); !strings.Contains(got,
		"2026-01-01  2026-01-01T00:00:00Z  2026-02-01T00:00:00Z  closing") {
		t.Errorf("too early it shows %q", got)
	}
	if _, err := b.db.Exec(b.ctx, "UPDATE usage_watermarks SET watermark = '2026-02-01T00:05:00Z'"); err != nil {
		t.Fatal(err)
	}
	closed := ops(0, "close", id, "2026-01-01")
	_, hash, _ := strings.Cut(closed, "sha256:")
	if !strings.HasPrefix(closed, "closed: account "+id+", period 2026-01-01, sha256:") ||
		ops(0, "close", id, "2026-01-01") != closed {
		t.Errorf("closed: %q", closed)
	}
	if got := ops(0, "show", id, "2026-01-01"); !strings.Contains(got,
		`"content_hash": "sha256:`+strings.TrimSpace(hash)) || !strings.Contains(got, `"units": 600,`) {
		t.Errorf("it shows %q", got)
	}
	if got := ops(0, "show", id); !strings.Contains(got, "closed  1,200     600") {
		t.Errorf("the list is %q", got)
	}
	for _, wrong := range [][]string{
		{"close"},
		{"close", id},
		{"close", id, "2026-13-01"},
		{"close", id, "2026-01-02"},
		{"close", account.NewID().String(), "2026-01-01"},
		{"close", id, "2026-01-01", "--all"},
		{"show"},
		{"show", id, "x"},
		{"show", id, "1999-01-01"},
		{"show", "nobody"},
	} {
		if got := ops(1, wrong...); got == "" {
			t.Errorf("%v is refused without a word", wrong)
		}
	}
}

// allSums adds a call to every rollup of the hours.
const allSums = "d AS (UPDATE usage_days SET requests = requests + 1), h AS (UPDATE account_hours SET requests = " +
	"requests + 1), w AS (UPDATE account_days SET requests = requests + 1)"

// Statements plus adjustments equal the usage, and the audit reports where they do not.
func TestStatementsCommand_AuditsStatementsAgainstUsage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spoil, want string }{
		"nothing": {"", ""},
		"usage that was put in later": {
			"UPDATE usage_periods SET requests = requests + 1, refused = refused + 1", "double entry",
		},
		"usage that was put in both books": {
			"WITH a AS (UPDATE usage_periods SET requests = requests + 1, billable = billable + 1) UPDATE " +
				"usage_hours SET requests = requests + 1",
			"statements: requests: frozen and adjusted 1,200, used 1,201",
		},
		"a statement with other figures": {
			"UPDATE statements SET units = units + 1000",
			"statements: units of the statement: recorded 601, in its content 600",
		},
		"a statement with another content": {
			"UPDATE statements SET content = c.t, content_hash = sha256(c.t) FROM (SELECT " +
				"convert_to(replace(convert_from(content, 'UTF8'), '1200', '1300'), 'UTF8') AS t FROM statements) AS c",
			"statements: requests of the statement: recorded 1,200, in its content 1,300",
		},
		"usage that the next one will tell": {
			"WITH a AS (UPDATE usage_periods SET requests = requests + 1, billable = billable + 1, updated_at = " +
				"now()), " + allSums + " UPDATE usage_hours SET requests = requests + 1", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openAccountsEnv(t)
			id := b.january(t, "2026-03-01T00:00:00Z")
			if exit, out, errs := run(t, b.env, "ops", "statements", "close", "--all"); exit != 0 ||
				!strings.Contains(out, "1 statement closed") {
				t.Fatalf("close: %d %q %q", exit, out, errs)
			}
			if _, err := b.db.Exec(b.ctx,
				"UPDATE usage_periods SET updated_at = now() - interval '10 minutes'"); err != nil {
				t.Fatal(err)
			}
			if c.spoil != "" {
				if _, err := b.db.Exec(b.ctx, c.spoil); err != nil {
					t.Fatal(err)
				}
			}
			exit, out, errs := run(t, b.env, "ops", "audit", "--account", id.String(), "--period", "2026-01-01")
			if (exit == 0) != (c.want == "") || !strings.Contains(out, c.want) {
				t.Errorf("the audit ended with %d, %q, %q", exit, out, errs)
			}
		})
	}
}

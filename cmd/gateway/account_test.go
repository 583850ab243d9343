package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// change runs a change that must be in force and returns what it printed about the account.
func (b *accountsEnv) change(t *testing.T, c *customer, args ...string) string {
	t.Helper()
	all := append([]string{"ops", "account", args[0], c.account.String()}, args[1:]...)
	exit, out, errs := run(t, b.env, append(all, "--reason", "ticket 17")...)
	said, ok := strings.CutPrefix(out, "account "+c.account.String()+" ")
	in := expect.In(t, "%v", args)
	require.Equal(in, exit, 0, out)
	require.Equal(in, errs, "", out)
	require.True(in, ok, out)
	return said
}

// refusal returns the limit that refuses a call; empty when it is admitted.
func (b *accountsEnv) refusal(t *testing.T, c *customer, units plan.Units) string {
	t.Helper()
	_, a := b.call(t, c, &meter.Call{Units: units})
	return a.Refused
}

func TestAccountCommand_ChangesHoldAtOnceAndAreLogged(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	c := b.customer(t)
	for _, step := range []struct {
		args    []string
		said    string
		refused string // for a call of one unit afterwards
	}{
		{[]string{"suspend"}, "is suspended\n", "account_suspended"},
		{[]string{"suspend"}, "is suspended; nothing changed\n", "account_suspended"},
		{[]string{"resume"}, "is active\n", ""},
		{
			[]string{"set-enterprise", "--quota", "5", "--rate", "1000000", "--per", "15m"},
			"is on plan enterprise: 5 units a period, 1,000,000 requests per 15m\n", "",
		},
		{
			[]string{"set-enterprise", "--quota", "unlimited", "--rate", "1000", "--per", "1s"},
			"is on plan enterprise: no quota, 1,000 requests per 1s\n", "",
		},
		{[]string{"set-plan", "builder"}, "is on plan builder\n", ""},
		{[]string{"set-plan", "pro"}, "is on plan pro\n", ""},
		{[]string{"set-plan", "door1"}, "is on plan door1\n", ""},
	} {
		if said := b.change(t, c, step.args...); said != step.said {
			t.Errorf("%v said %q, want %q", step.args, said, step.said)
		}
		if refused := b.refusal(t, c, plan.Unit); refused != step.refused {
			t.Errorf("after %v: refused with %q, want %q", step.args, refused, step.refused)
		}
	}
	said := b.change(t, c, "grant-pack", "--size", "m", "--origin", "invoice 12")
	expires := plan.AddMonths(time.Now(), 12).Format(time.DateOnly)
	if !strings.HasPrefix(said, "was granted pack_m ") ||
		!strings.HasSuffix(said,
			": 7,000,000 units until "+expires+
				", origin invoice 12; it is not used on plan door1, which has no quota\n") {
		t.Errorf("grant-pack said %q", said)
	}
	again := b.change(t, c, "grant-pack", "--size", "l", "--origin", "invoice 12")
	in := expect.In(t, "grant-pack with the origin again")
	expect.HasPrefix(in, again, "has been granted, on ")
	expect.Contains(in, again, " pack_m ")
	expect.HasSuffix(in, again, "; nothing changed\n")
	if fresh := b.change(t, c, "grant-pack", "--size", "s"); !strings.HasPrefix(fresh, "was granted pack_s ") ||
		!strings.Contains(fresh, ", origin ops:") {
		t.Errorf("grant-pack without an origin said %q", fresh)
	}
	lines, err := b.store.ListAudit(b.ctx, c.account, 50)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, l := range lines {
		if l.Origin == "test" {
			continue
		}
		actions = append(actions, l.Action)
		in := expect.In(t, "%s is logged", l.Action)
		expect.Equal(in, l.Actor, operatorName())
		expect.Equal(in, l.Origin, "ops")
		expect.Equal(in, l.Reason, "ticket 17")
		expect.AtMost(in, time.Since(l.At), patience)
	}
	want := []string{
		"grant_pack", "grant_pack", "set_plan", "set_plan", "set_plan", "set_enterprise", "set_enterprise",
		"resume_account", "suspend_account",
	}
	if !slices.Equal(actions, want) {
		t.Errorf("the log has %s, want %s", actions, want)
	}
	if exit, out, errs := run(t, b.env, "ops", "audit"); exit != 0 {
		t.Errorf("the audit afterwards: exit code %d, %s%s", exit, out, errs)
	}
}

func TestAccountCommand_ShowsAllLimits(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	c := b.customer(t)
	b.call(t, c, &meter.Call{Units: plan.Unit}) // not flushed
	if _, err := b.db.Exec(b.ctx,
		"UPDATE keys SET name = E'bot \\x1b[2J one', services_off = '{gas,ens}' WHERE id = $1",
		c.key.UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec(b.ctx,
		"UPDATE packs SET granted_at = granted_at - interval '1 year', expires_at = now() - interval '1 "+
			"minute'"); err != nil {
		t.Fatal(err)
	}
	said := b.change(t, c, "grant-pack", "--size", "l", "--origin", "invoice 13")
	pack := strings.TrimSuffix(strings.Fields(said)[3], ":")
	prefix := "cag_" + c.key.String()[28:]
	for _, subject := range []string{c.account.String(), c.key.String(), prefix} {
		exit, out, errs := run(t, b.env, "ops", "account", "show", subject)
		if exit != 0 || errs != "" {
			t.Fatalf("exit code %d, %s", exit, errs)
		}
		start, end := plan.CalendarMonth(time.Now())
		today := time.Now().UTC().Format(time.DateOnly)
		got := spaces.ReplaceAllString(out, " | ")
		for _, want := range []string{
			"ACCOUNT | " + c.account.String() + " (door), since " + today + "\n",
			"STATUS | active\n",
			"TERMS | plan enterprise, by contract, 5 units a period, 1,000 requests per 1s\n",
			"PERIOD | " + moment(start) + " to " + moment(end) + " (calendar month)\n",
			"REQUESTS | 7: 3 billable, 1 cache hit, 3 refused (1 of them refunded)\n",
			"UNITS | 6: 5 from the plan, 1 from packs\n",
			"COMPLETE UNTIL | 20",
			"SERVICES OFF | -\n",
			"FENCE | USED | LIMIT | REMAINING\n",
			"units drawn from the plan | 5 | 5 | 0\n",
			"units of the account, service rpc | 7 | 1,000 | 993\n",
			"units of key " + c.key.String() + " | 7 | 1,000 | 993\n",
			"units of key " + c.key.String() + ", service rpc | 7 | 1,000 | 993\n",
			"units of key " + c.key.String() + ", day " + today + " | 7 | 1,000 | 993\n",
			"PACK | KIND | GRANTED | USED | REMAINING | EXPIRES | ORIGIN\n",
			c.pack.String() + " | pack_s | 100 | 2 | 0 | " + time.Now().UTC().Format(time.DateOnly) + ", expired | ",
			pack + " | pack_l | 32,000,000 | 0 | 32,000,000 | ",
			" | invoice 13\n",
			c.key.String() + " | " + prefix + " | bot ?[2J one | public | active | 1,000 | gas ens | 20",
			" | somebody | test | test " + c.key.String() + " | a test\n",
			" | " + operatorName() + " | ops | grant_pack | ticket 17\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: what is shown lacks %q:\n%s", subject, want, out)
			}
		}
	}
	var v struct {
		ID    string `json:"account_id"`
		Quota json.Number
		Packs []struct{ Remaining json.Number }
		Keys  []struct{ Prefix string }
	}
	_, out, _ := run(t, b.env, "ops", "account", "show", prefix, "--json")
	err := json.Unmarshal([]byte(out), &v)
	require.NoError(t, err)
	expect.Equal(t, v.ID, c.account.String(), out)
	expect.Equal(t, v.Quota, "5", out)
	expect.Len(t, v.Packs, 2, out)
	expect.Len(t, v.Keys, 1, out)
}

func TestAccountCommand_ChangeWithoutRedisIsSavedAndSaidNotToBeInForce(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(t *testing.T, b *accountsEnv) (back func()){
		"stopped": func(t *testing.T, b *accountsEnv) func() {
			t.Helper()
			b.redis.Stop(t)
			return func() { b.redis.Start(t) }
		},
		"silent": func(t *testing.T, b *accountsEnv) func() {
			t.Helper()
			b.redis.Pause(t)
			return func() { b.redis.Resume(t) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openAccountsEnv(t)
			c := b.customer(t)
			back := away(t, b)
			exit, out, errs := run(t, b.env, "ops", "account", "suspend", c.account.String(), "--reason", "abuse")
			expect.Equal(t, exit, 3)
			expect.Equal(t, out, "")
			expect.Equal(t, strings.Count(errs, "\n"), 1, errs)
			expect.HasPrefix(t, errs, "gateway: saved, but not in force yet: Redis could not be updated (")
			expect.Contains(t, errs, "gateway ops account show "+c.account.String()+" lists changes")
			exit, out, errs = run(t, b.env, "ops", "account", "show", c.account.String())
			expect.Equal(t, exit, 1)
			expect.Contains(t, errs, "REDIS_URL: Redis cannot be used")
			expect.Contains(t, out, "suspended")
			expect.Contains(t, out, "\nNOT IN FORCE YET")
			expect.Contains(t, spaces.ReplaceAllString(out, " | "), "\nthe account | 4 | ")
			back()
			testkit.Eventually(t, patience, func() bool {
				_, err := b.limits.PushDue(b.ctx)
				due, listed := b.store.ListPushesOf(b.ctx, c.account)
				return err == nil && listed == nil && len(due) == 0
			}, "the change is pushed")
			if refused := b.refusal(t, c, plan.Unit); refused != "account_suspended" {
				t.Errorf("once Redis is back: refused with %q", refused)
			}
			if _, out, _ := run(t, b.env, "ops", "account", "show", c.account.String()); strings.Contains(out,
				"NOT IN FORCE") {
				t.Errorf("once it is in force: %s", out)
			}
		})
	}
}

func TestAccountCommand_ImpossibleChangeIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	c, other := b.customer(t), b.customer(t)
	if _, err := b.db.Exec(b.ctx, "UPDATE accounts SET kind = 'owner' WHERE id = $1", other.account.UUID); err != nil {
		t.Fatal(err)
	}
	b.change(t, other, "grant-pack", "--size", "s", "--origin", "taken")
	before, err := b.store.LoadAccount(b.ctx, c.account)
	if err != nil {
		t.Fatal(err)
	}
	nobody := account.NewID().String()
	key, err := account.MintKey(strings.NewReader(strings.Repeat("0123456789abcdef", 8)))
	if err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct{ args, want string }{
		{"suspend %a", "--reason is missing"},
		{"suspend %a --reason=", "--reason is missing"},
		{"suspend %a --reason=" + strings.Repeat("x", 501), "--reason may have at most 500 characters"},
		{"suspend %a --reason=a\tb", "--reason must be one line"},
		{"suspend --reason=x", "1 arg"},
		{"suspend bogus --reason=x", `not "bogus"`},
		{"suspend {%a} --reason=x", "the id of an account is like"},
		{"suspend " + nobody + " --reason=x", "there is no account " + nobody},
		{
			"set-plan %a gold --reason=x",
			`there is no plan "gold"; plans are door1, wallet_bound, free, builder, pro, scale, growth`,
		},
		{"set-plan %a Pro --reason=x", `there is no plan "Pro"`},
		{"set-plan %a enterprise --reason=x", "set-enterprise"},
		{"set-plan " + other.account.String() + " door1 --reason=x", "is for anonymous keys"},
		{"set-plan %a --reason=x", "2 arg"},
		{"grant-pack %a --reason=x", "--size must be s, m or l"},
		{"grant-pack %a --size=xl --reason=x", `not "xl"`},
		{
			"grant-pack %a --size=s --origin=taken --reason=x",
			"granted to another account for this origin; nothing was changed",
		},
		{
			"grant-pack %a --size=s --origin=" + strings.Repeat("x", 201) + " --reason=x",
			"--origin may have at most 200 characters",
		},
		{"set-enterprise %a --rate=1 --per=1s --reason=x", "--quota must be whole units from 0 to 1,000,000,000,000"},
		{"set-enterprise %a --quota=-1 --rate=1 --per=1s --reason=x", `not "-1"`},
		{"set-enterprise %a --quota=1.5 --rate=1 --per=1s --reason=x", `not "1.5"`},
		{"set-enterprise %a --quota=1,000 --rate=1 --per=1s --reason=x", "without commas"},
		{"set-enterprise %a --quota=1e9 --rate=1 --per=1s --reason=x", `not "1e9"`},
		{"set-enterprise %a --quota=1000000000001 --rate=1 --per=1s --reason=x", "--quota must be whole units"},
		{
			"set-enterprise %a --quota=99999999999999999999999 --rate=1 --per=1s --reason=x",
			"--quota must be whole units",
		},
		{"set-enterprise %a --quota=1 --rate=0 --per=1s --reason=x", "--rate must be requests from 1 to 1,000,000,000"},
		{"set-enterprise %a --quota=1 --rate=1000000001 --per=1s --reason=x", "--rate must be requests"},
		{
			"set-enterprise %a --quota=1 --rate=1 --per=soon --reason=x",
			`--per must be a time from 1s to 1h, like 1s, 1m or 15m, not "soon"`,
		},
		{"set-enterprise %a --quota=1 --rate=1 --per=999ms --reason=x", "999ms"},
		{"set-enterprise %a --quota=1 --rate=1 --per=2h --reason=x", "2h0m0s"},
		{"set-enterprise %a --quota=1 --rate=1 --per=-1m --reason=x", "-1m0s"},
		{"show bogus", "give the id of an account or a key"},
		{"show " + nobody, "no account or key has the id"},
		{"show cag_00000000", "no key begins with this"},
		{"show " + key.Reveal(), "a whole key does not belong on a command line"},
		{"bogus", "bogus"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			args := append([]string{"ops", "account"},
				strings.Split(strings.ReplaceAll(tc.args, "%a", c.account.String()),
					" ")...)
			exit, out, errs := run(t, b.env, args...)
			refused(t, tc.args, exit, out, errs, tc.want)
			if strings.Contains(errs, key.Reveal()) {
				t.Errorf("%s shows a key", errs)
			}
		})
	}
	after, err := b.store.LoadAccount(b.ctx, c.account)
	if err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("after refusals the account is %+v, %v; it was %+v", after, err, before)
	}
}

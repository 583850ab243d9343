package main

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestPercentiles_AreByNearestRank(t *testing.T) {
	t.Parallel()
	ms := func(all ...int) []time.Duration {
		var took []time.Duration
		for _, n := range all {
			took = append(took, time.Duration(n)*time.Millisecond)
		}
		return took
	}
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, tc := range []struct {
		took    []time.Duration
		percent int
		want    float64
	}{
		{ms(7), 50, 7},
		{ms(7), 99, 7},
		{ms(3, 1, 2), 50, 2},
		{ms(4, 3, 1, 2), 50, 2},
		{ms(1, 2), 99, 2},
		{ms(hundred...), 50, 50},
		{ms(hundred...), 99, 99},
		{ms(hundred...), 100, 100},
	} {
		t.Run(strconv.Itoa(tc.percent), func(t *testing.T) {
			if got := percentile(tc.took, tc.percent); got != tc.want {
				t.Errorf("p%d of %v is %g, want %g", tc.percent, tc.took, got, tc.want)
			}
		})
	}
	if got := percentile(nil, 99); !math.IsNaN(got) {
		t.Errorf("p99 of nothing is %g", got)
	}
}

func TestScriptTime_IsReadFromTheStatisticsOfRedis(t *testing.T) {
	t.Parallel()
	i := parseInfo(
		"# Commandstats\r\n" +
			"cmdstat_evalsha:calls=20000,usec=301000,usec_per_call=15.05,rejected_calls=0,failed_calls=0\r\n" +
			"cmdstat_hmget:calls=60000,usec=60001,usec_per_call=1.00,rejected_calls=0,failed_calls=0\r\n\r\n# " +
			"Memory\r\nused_memory:1048576\r\n")
	calls, micros, err := i.scripts()
	require.NoError(t, err)
	expect.Equal(t, calls, 20_000)
	expect.Equal(t, micros, 15.05)
	if n, err := i.number("used_memory"); err != nil || n != 1<<20 {
		t.Errorf("used_memory is %g, %v", n, err)
	}
	if _, err := i.number("maxmemory"); err == nil {
		t.Error("a figure that Redis did not tell was read")
	}
	for _, text := range []string{"", "cmdstat_evalsha:calls=1", "cmdstat_evalsha:calls=x,usec=1"} {
		if _, _, err := parseInfo(text).scripts(); err == nil {
			t.Errorf("scripts were read from %q", text)
		}
	}
}

func TestKinds_AskForTheLimitsThatTheyAreNamedAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for k, want := range map[*kind]int{noQuota: 0, quota: 1, doorKey: 1, packKey: 3} {
		h := newHolder(k, now)
		f, key := h.accountLimits(now), h.keyLimits()
		if got := h.counters(now); len(got) != want {
			t.Errorf("%s has counters %+v, want %d", k.name, got, want)
		}
		in := expect.In(t, "%s has quota", k.name)
		expect.Equal(in, f.Current.Quota >= 0, k == quota || k == packKey)
		expect.Equal(in, key.Daily >= 0, k == doorKey)
		if (len(f.Packs) > 0) != (k == packKey) || (key.MonthlyCap > 0) != (k == packKey) {
			t.Errorf("%s has packs %v and a cap of %s", k.name, f.Packs, key.MonthlyCap)
		}
	}
	h := newHolder(packKey, now)
	for _, c := range h.counters(now) {
		if c.Source == account.SourcePlan && c.Units < h.accountLimits(now).Current.Quota {
			t.Errorf("%s of the plan are left, so no pack would be drawn", h.accountLimits(now).Current.Quota-c.Units)
		}
	}
	if plan.Must(packKey.plan).MonthlyQuota() == plan.Unlimited {
		t.Error("packs are drawn only where a quota ends")
	}
}

func TestKeys_AreSharedAmongAccountsEvenly(t *testing.T) {
	t.Parallel()
	l := &ledger{begun: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	for _, tc := range []struct{ accounts, keys int }{{1, 1}, {4, 40}, {7, 7}, {3, 10}} {
		t.Run(strconv.Itoa(tc.accounts), func(t *testing.T) {
			owned, last := map[account.ID]int{}, account.ID{}
			seen := map[account.KeyID]bool{}
			for _, h := range l.newHolders(tc.accounts, tc.keys) {
				if h.account != last && owned[h.account] > 0 {
					t.Error("the keys of an account do not follow one another")
				}
				last = h.account
				owned[h.account]++
				seen[h.key] = true
			}
			if len(owned) != tc.accounts || len(seen) != tc.keys {
				t.Errorf("%d accounts have %d keys, want %d and %d", len(owned), len(seen), tc.accounts, tc.keys)
			}
			for id, n := range owned {
				if n < tc.keys/tc.accounts || n > tc.keys/tc.accounts+1 {
					t.Errorf("account %s has %d of %d keys among %d", id, n, tc.keys, tc.accounts)
				}
			}
		})
	}
}

package account_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

func number(text string) *json.Number {
	n := json.Number(text)
	return &n
}

func capOf(service, units string) account.Settings {
	return account.Settings{Caps: &map[string]json.Number{service: json.Number(units)}}
}

func enabled(services ...string) account.Settings { return account.Settings{Enabled: &services} }

// around is an account with 1,000 units a month, gas switched off and ens capped at 100.
var around = account.Around{
	Allowance: 1000 * plan.Unit,
	Services: account.ServiceLimits{
		Off: []account.Service{account.Gas}, Caps: map[account.Service]plan.Units{account.ENS: 100 * plan.Unit},
	},
}

func TestSettings_ImpossibleOnesAreRefusedWithWhatIsPossible(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		settings account.Settings
		says     string
	}{
		"negative": {
			account.Settings{MonthlyCap: number("-1")}, "whole units from 0 to 1000000000000",
		},
		"not whole":             {account.Settings{MonthlyCap: number("1.5")}, "whole units"},
		"exponent":              {account.Settings{MonthlyCap: number("1e3")}, "whole units"},
		"plus":                  {account.Settings{MonthlyCap: number("+5")}, "whole units"},
		"empty":                 {account.Settings{MonthlyCap: number("")}, "whole units"},
		"above what is counted": {account.Settings{MonthlyCap: number("1000000000001")}, "to 1000000000000"},
		"overflow":              {account.Settings{MonthlyCap: number("18446744073709551616")}, "whole units"},
		"a screen of digits": {
			account.Settings{MonthlyCap: number(strings.Repeat("9", 10_000))}, "99999999999999999999…",
		},
		"wider than the account": {account.Settings{MonthlyCap: number("1001")}, "which has 1000 units a month"},
		"negative cap":           {capOf("rpc", "-7"), "caps.rpc"},
		"fraction of a cap":      {capOf("rpc", "0.25"), "caps.rpc"},
		"cap of 0":               {capOf("rpc", "0"), "Leave rpc out of enabled"},
		"cap of no service": {
			capOf("mail", "5"), "Services are rpc, data, gas, tx_status, ens, prices, contracts, utils",
		},
		"service in another case": {enabled("RPC"), "Services are rpc"},
		"no service":              {enabled("rpc", ""), "no service"},
		"long name":               {enabled(strings.Repeat("x", 10_000)), "xxxxxxxxxxxxxxxxxxxx…"},
		"off for the account":     {enabled("rpc", "gas"), "switched off for the account"},
		"cap above the account's": {capOf("ens", "101"), "account's cap of 100 units"},
		"one bad cap beside a good": {
			account.Settings{MonthlyCap: number("5"), Caps: &map[string]json.Number{"rpc": "5", "gas": "x"}},
			"caps.gas",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := account.ServiceLimits{
				Off: []account.Service{account.Utils}, Caps: map[account.Service]plan.Units{account.RPC: 7},
			}
			limit, after, refusal := row.settings.ForKey(42, before, around)
			require.NotNil(t, refusal)
			require.Equal(t, refusal.Reason, fault.FieldRefused)
			require.Contains(t, refusal.Message, row.says)
			require.AtMost(t, len(refusal.Message), 400, refusal.Message)
			if (row.settings.MonthlyCap == nil && limit != 42) ||
				(row.settings.Caps == nil && row.settings.Enabled == nil && !after.Equal(before)) {
				t.Errorf("a refused change gave cap %s and %+v", limit, after)
			}
		})
	}
}

func TestSettings_ChangeOnlyWhatTheyName(t *testing.T) {
	t.Parallel()
	before := account.ServiceLimits{
		Off: []account.Service{account.Utils}, Caps: map[account.Service]plan.Units{account.RPC: 7},
	}
	for name, row := range map[string]struct {
		settings account.Settings
		limit    plan.Units
		services account.ServiceLimits
	}{
		"nothing": {account.Settings{}, 42, before},
		"the cap": {account.Settings{MonthlyCap: number("1000")}, 1000 * plan.Unit, before},
		"no cap":  {account.Settings{MonthlyCap: number("0")}, 0, before},
		"every service": {
			enabled("rpc", "data", "tx_status", "ens", "prices", "contracts", "utils"), 42,
			account.ServiceLimits{Off: []account.Service{account.Gas}, Caps: before.Caps},
		},
		"no service": {enabled(), 42, account.ServiceLimits{Off: account.Services(), Caps: before.Caps}},
		"named twice": {
			enabled("rpc", "rpc"), 42, account.ServiceLimits{Off: account.Services()[1:], Caps: before.Caps},
		},
		"the account's cap": {
			capOf("ens", "100"), 42, account.ServiceLimits{
				Off: before.Off, Caps: map[account.Service]plan.Units{account.ENS: 100 * plan.Unit},
			},
		},
		"no service's cap": {
			account.Settings{Caps: &map[string]json.Number{}}, 42, account.ServiceLimits{Off: before.Off},
		},
		"the largest of all": {
			capOf("rpc", "1000000000000"), 42, account.ServiceLimits{
				Off: before.Off, Caps: map[account.Service]plan.Units{account.RPC: account.MaxCap},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			limit, services, refusal := row.settings.ForKey(42, before, around)
			in := expect.In(t, "%s", name)
			require.Nil(in, refusal)
			expect.Equal(in, limit, row.limit)
			expect.True(in, services.Equal(row.services), services, row.services)
		})
	}
	if _, refusal := (account.Settings{MonthlyCap: number("1")}).ForAccount(before); refusal == nil {
		t.Error("a key's cap was taken for an account")
	}
	after, refusal := enabled("gas").ForAccount(before)
	require.Nil(t, refusal)
	expect.False(t, after.IsOff(account.Gas), after)
	expect.True(t, after.IsOff(account.RPC), after)
	unbounded := account.Around{Allowance: account.Unlimited}
	if limit, _, refusal := (account.Settings{MonthlyCap: number("1000000000000")}).ForKey(0, before,
		unbounded); refusal != nil || limit != account.MaxCap {
		t.Errorf("where nothing refuses: %s, %v", limit, refusal)
	}
}

func TestContract_FiguresAreBounded(t *testing.T) {
	t.Parallel()
	good := account.Custom{Quota: 5 * plan.Unit, Rate: account.RateWindow{Limit: 100, Per: time.Minute}}
	if refusal := good.Check(); refusal != nil {
		t.Error(refusal)
	}
	unlimited := good
	unlimited.Quota = account.Unlimited
	if refusal := unlimited.Check(); refusal != nil {
		t.Error(refusal)
	}
	for name, spoil := range map[string]func(*account.Custom){
		"negative quota":  func(c *account.Custom) { c.Quota = -2 },
		"huge quota":      func(c *account.Custom) { c.Quota = account.MaxCap + 1 },
		"no rate":         func(c *account.Custom) { c.Rate.Limit = 0 },
		"huge rate":       func(c *account.Custom) { c.Rate.Limit = 1 << 40 },
		"no window":       func(c *account.Custom) { c.Rate.Per = 0 },
		"window of a day": func(c *account.Custom) { c.Rate.Per = 24 * time.Hour },
		"half a ms":       func(c *account.Custom) { c.Rate.Per = time.Second + time.Microsecond },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			spoil(&c)
			if refusal := c.Check(); refusal == nil || refusal.Reason != fault.FieldRefused {
				t.Error(refusal)
			}
		})
	}
}

// A contract's figures replace the plan's, and packs are drawn only where a quota would refuse.
func TestTerms_SayWhatAPeriodIncludes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
	packs := []account.Pack{
		{ID: account.NewPackID(), Units: 1, Expires: at},
		{ID: account.NewPackID(), Units: 2, Expires: at.Add(time.Millisecond)},
	}
	custom := &account.Custom{Quota: 9 * plan.Unit, Rate: account.RateWindow{Limit: 3, Per: time.Hour}}
	for name, row := range map[string]struct {
		terms     account.Terms
		allowance plan.Units
		packs     int
		soft      bool
	}{
		"free":       {account.Terms{Plan: plan.Must(plan.Free)}, 1_000_000 * plan.Unit, 1, false},
		"builder":    {account.Terms{Plan: plan.Must(plan.Builder)}, 20_000_000 * plan.Unit, 0, true},
		"enterprise": {account.Terms{Plan: plan.Must(plan.Enterprise)}, account.Unlimited, 0, false},
		"enterprise with a quota": {
			account.Terms{Plan: plan.Must(plan.Enterprise), Custom: custom}, 9 * plan.Unit, 1, false,
		},
		"door key, counted by day": {account.Terms{Plan: plan.Must(plan.Door1)}, account.Unlimited, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := row.terms.Limits(account.NewID(), 1, account.Active, account.ServiceLimits{}, packs, at)
			in := expect.In(t, "%s", name)
			expect.Equal(in, row.terms.Allowance(), row.allowance)
			expect.Len(in, f.Packs, row.packs)
			expect.Equal(in, f.SoftRate.Limit > 0, row.soft)
			if row.packs == 1 && f.Packs[0].Units != 2 {
				t.Error("the pack that expired is projected")
			}
			if c := row.terms.Custom; c != nil {
				in := expect.In(t, "%s", name)
				expect.Equal(in, f.Rate, c.Rate)
				expect.Equal(in, f.Current.Quota, c.Quota)
				expect.Equal(in, f.Next.Quota, c.Quota)
			}
		})
	}
}

func FuzzCap(f *testing.F) {
	for _, seed := range []string{
		"0", "1", "-1", "1.0", "1e9", "9223372036854775808", "1000000000000", "1000000000001", " 1", "0x10", "०",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limit, _, refusal := account.Settings{MonthlyCap: number(text)}.ForKey(0, account.ServiceLimits{},
			account.Around{Allowance: account.Unlimited})
		if refusal == nil {
			in := expect.In(t, "%q", text)
			expect.Between(in, limit, 0, account.MaxCap)
			expect.Equal(in, limit%plan.Unit, 0)
		}
	})
}

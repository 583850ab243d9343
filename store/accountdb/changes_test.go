package accountdb_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
)

func revoke(k *accountdb.Key, _ accountdb.Account) error {
	k.Status = account.Revoked
	return nil
}

func TestRevoke_RaisesTheVersionOnceAndIsForGood(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a, k := storetest.NewDoorKey(1)
	if _, _, err := s.CreateDoorKey(ctx, a, k); err != nil {
		t.Fatal(err)
	}
	first, owner, err := s.ChangeKey(ctx, k.ID, "revoke_key", storetest.Operator, revoke)
	in := expect.In(t, "revoked key")
	require.NoError(in, err)
	expect.Equal(in, first.Status, account.Revoked)
	expect.Equal(in, first.Version, 2)
	expect.False(in, first.RevokedAt.IsZero())
	expect.Equal(in, owner.ID, a.ID)
	if again, _, err := s.ChangeKey(ctx, k.ID, "revoke_key", storetest.Operator, revoke); err != nil ||
		!reflect.DeepEqual(again, first) {
		t.Errorf("revoking again gives %+v, %v, want %+v", again, err, first)
	}
	if loaded := storetest.Must[accountdb.Key](t)(s.LoadKey(ctx, k.ID)); !reflect.DeepEqual(loaded, first) {
		t.Errorf("loaded key is %+v, want %+v", loaded, first)
	}
	if _, err := s.FindIdentity(ctx, k.Digest); err != nil {
		t.Errorf("identity of a revoked key: %v, want it found", err)
	}
	_, _, err = s.ChangeKey(ctx, k.ID, "resume_key", storetest.Operator,
		func(k *accountdb.Key, _ accountdb.Account) error {
			k.Status = account.Active
			return nil
		})
	if !errors.Is(err, accountdb.ErrRevoked) {
		t.Errorf("bringing a revoked key back gives %v, want %v", err, accountdb.ErrRevoked)
	}
	if _, _, err := s.ChangeKey(ctx, account.NewKeyID(), "revoke_key", storetest.Operator, revoke); !errors.Is(err,
		store.ErrNotFound) {
		t.Errorf("revoking an unknown key gives %v, want ErrNotFound", err)
	}
}

func TestChange_IsWrittenWithItsAuditLineAndItsPush(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := account.NewID()
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx,
		accountdb.NewAccount{ID: id, Kind: accountdb.KindOwner, Plan: plan.Free}))
	set := func(change func(*accountdb.Account)) (accountdb.Account, error) {
		return s.ChangeAccount(ctx, id, "change", storetest.Operator, func(a *accountdb.Account) error {
			change(a)
			return nil
		})
	}
	anchor := time.Date(2026, time.November, 20, 10, 30, 0, 123_456_789, time.UTC)
	want := accountdb.Account{
		ID: id, Kind: accountdb.KindOwner, Plan: plan.Enterprise, Status: account.Suspended,
		Custom: &account.Custom{Quota: 5 * plan.Unit, Rate: account.RateWindow{Limit: 7, Per: time.Minute}},
		Cycle:  plan.Cycle{Anchor: anchor, Ends: anchor.AddDate(1, 0, 0)},
		Services: account.ServiceLimits{
			Off: []account.Service{account.Gas}, Caps: map[account.Service]plan.Units{account.RPC: 3000},
		},
	}
	finer := want.Cycle
	want.Cycle = finer.Truncate(time.Millisecond)
	for version, change := range []func(*accountdb.Account){
		func(a *accountdb.Account) { a.Status = want.Status },
		func(a *accountdb.Account) { a.Plan, a.Custom = want.Plan, want.Custom },
		func(a *accountdb.Account) { a.Cycle = finer },
		func(a *accountdb.Account) { a.Services = want.Services },
	} {
		for range 2 { // the second time nothing changes
			got, err := set(change)
			if err != nil || got.Version != int64(version)+2 {
				t.Fatalf("change %d gives version %d, %v", version, got.Version, err)
			}
		}
	}
	got := storetest.Must[accountdb.Account](t)(s.LoadAccount(ctx, id))
	want.Version, want.CreatedAt = 5, got.CreatedAt
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the account is %+v, want %+v", got, want)
	}
	lines := storetest.Must[[]accountdb.AuditLine](t)(s.ListAudit(ctx, id, 100))
	in := expect.In(t, "the audit log")
	require.Len(in, lines, 4)
	expect.Equal(in, lines[0].Author, storetest.Operator)
	expect.Contains(in, string(lines[0].After), `"service_cap_units": {"rpc": 3}`)
	expect.Contains(in, string(lines[3].Before), `"status": "active"`)
	pushes := storetest.Must[[]accountdb.Push](t)(s.ListPushes(ctx, 0, 100))
	in = expect.In(t, "the last version")
	require.Len(in, pushes, 1)
	expect.Equal(in, pushes[0].Account, id)
	expect.Equal(in, pushes[0].Version, 5)
	expect.True(in, pushes[0].Key.IsZero())
	if later := storetest.Must[[]accountdb.Push](t)(s.ListPushes(ctx, time.Hour, 100)); len(later) != 0 {
		t.Errorf("due for an hour are %+v", later)
	}
	if err := s.DonePush(ctx, id, account.KeyID{}, 4); err != nil {
		t.Fatal(err)
	}
	if pushes := storetest.Must[[]accountdb.Push](t)(s.ListPushes(ctx, 0, 100)); len(pushes) != 1 || pushes[0].InForce {
		t.Errorf("due are %+v after an older version was pushed, want the newest still", pushes)
	}
	if err := s.DonePush(ctx, id, account.KeyID{}, 5); err != nil {
		t.Fatal(err)
	}
	if pushes := storetest.Must[[]accountdb.Push](t)(s.ListPushes(ctx, 0, 100)); len(pushes) != 0 {
		t.Errorf("due are %+v although the newest version was pushed", pushes)
	}
}

// Amounts are stored in thousandths, which readers of the log never see.
func TestAuditLog_ShowsWholeUnits(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a, k := storetest.NewDoorKey(1)
	if _, _, err := s.CreateDoorKey(ctx, a, k); err != nil {
		t.Fatal(err)
	}
	caps := map[account.Service]plan.Units{account.RPC: 5 * plan.Unit, account.Gas: plan.Unit / 2}
	if _, _, err := s.ChangeKey(ctx, k.ID, "configure_key", storetest.Operator,
		func(k *accountdb.Key, _ accountdb.Account) error {
			k.MonthlyCap, k.Services.Caps = 5*plan.Unit, caps
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	for _, quota := range []plan.Units{7 * plan.Unit, plan.Unlimited} {
		storetest.ChangeAccount(ctx, t, s, a.ID, func(a *accountdb.Account) {
			a.Custom = &account.Custom{Quota: quota, Rate: account.RateWindow{Limit: 7, Per: time.Minute}}
			a.Services.Caps = caps
		})
	}
	_, _, _, err := s.GrantPack(ctx, accountdb.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: 9 * plan.Unit, Expires: time.Now().AddDate(1, 0, 0)},
		Account: a.ID, Kind: "pack_s", Origin: "payment", GrantedAt: time.Now(),
	}, storetest.Operator)
	if err != nil {
		t.Fatal(err)
	}
	lines := storetest.Must[[]accountdb.AuditLine](t)(s.ListAudit(ctx, a.ID, 100))
	slices.Reverse(lines)
	for i, want := range []map[string]string{
		{"monthly_cap_units": `5`, "service_cap_units": `{"gas": 0.5, "rpc": 5}`},
		{
			"custom":            `{"rate_per": "1m0s", "rate_limit": 7, "quota_units": 7}`,
			"service_cap_units": `{"gas": 0.5, "rpc": 5}`,
		},
		{"custom": `{"rate_per": "1m0s", "rate_limit": 7, "quota_units": null}`},
		{"pack_units": `9`},
	} {
		var got map[string]json.RawMessage
		if err := json.Unmarshal(lines[i].After, &got); err != nil {
			t.Fatal(err)
		}
		for name, value := range want {
			if string(got[name]) != value {
				t.Errorf("%s: %s is %s, want %s", lines[i].Action, name, got[name], value)
			}
		}
	}
	if before := string(lines[0].Before); !strings.Contains(before, `"monthly_cap_units": null`) ||
		!strings.Contains(before, `"service_cap_units": {}`) {
		t.Errorf("before the first change the log has %s, want no caps", before)
	}
}

func TestChange_ThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := account.NewID()
	storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx,
		accountdb.NewAccount{ID: id, Kind: accountdb.KindOwner, Plan: plan.Free}))
	wanted := errors.New("refused")
	for name, change := range map[string]func(*accountdb.Account) error{
		"refused":         func(a *accountdb.Account) error { a.Status = account.Suspended; return wanted },
		"unknown status":  func(a *accountdb.Account) error { a.Status = "asleep"; return nil },
		"unknown service": func(a *accountdb.Account) error { a.Services.Off = []account.Service{"mail"}; return nil },
		"negative quota": func(a *accountdb.Account) error {
			a.Custom = &account.Custom{Quota: -2, Rate: account.RateWindow{Limit: 1, Per: time.Second}}
			return nil
		},
		"no rate":             func(a *accountdb.Account) error { a.Custom = &account.Custom{Quota: 1}; return nil },
		"end without a begin": func(a *accountdb.Account) error { a.Cycle.Ends = time.Now(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.ChangeAccount(ctx, id, "change", storetest.Operator, change); err == nil {
				t.Error("accepted")
			}
		})
	}
	if a := storetest.Must[accountdb.Account](t)(s.LoadAccount(ctx, id)); a.Version != 1 || a.Status != account.Active {
		t.Errorf("the account is %+v", a)
	}
	if lines, pushes := storetest.Must[[]accountdb.AuditLine](t)(s.ListAudit(ctx, id, 9)),
		storetest.Must[[]accountdb.Push](t)(s.ListPushes(ctx, 0, 9)); len(lines)+len(pushes) > 0 {
		t.Errorf("left behind: %v, %v", lines, pushes)
	}
	if _, err := s.ChangeAccount(ctx, account.NewID(), "change", storetest.Operator, func(*accountdb.Account) error {
		return nil
	}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown account gives %v, want ErrNotFound", err)
	}
}

func TestChange_ConcurrentOnesOfALimitAllCount(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	a, k := storetest.NewDoorKey(1)
	if _, _, err := s.CreateDoorKey(ctx, a, k); err != nil {
		t.Fatal(err)
	}
	const changes = 24
	var wg sync.WaitGroup
	for range changes {
		wg.Go(func() {
			if _, _, err := s.ChangeKey(ctx, k.ID, "configure_key", storetest.Operator,
				func(k *accountdb.Key, _ accountdb.Account) error {
					k.MonthlyCap += plan.Unit
					return nil
				}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := storetest.Must[accountdb.Key](t)(s.LoadKey(ctx, k.ID))
	if got.MonthlyCap != changes*plan.Unit || got.Version != changes+1 {
		t.Errorf("cap %s at version %d, want %d at %d", got.MonthlyCap, got.Version, changes, changes+1)
	}
	if lines := storetest.Must[[]accountdb.AuditLine](t)(s.ListAudit(ctx, a.ID, 100)); len(lines) != changes ||
		lines[0].Key != k.ID {
		t.Errorf("%d audit lines, want %d", len(lines), changes)
	}
}

func TestPack_IsGrantedOnceForItsOrigin(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, other := account.NewID(), account.NewID()
	for _, owner := range []account.ID{id, other} {
		storetest.Must[accountdb.Account](t)(s.CreateAccount(ctx, accountdb.NewAccount{
			ID: owner, Kind: accountdb.KindOwner, Plan: plan.Free,
		}))
	}
	granted := time.Date(2128, time.February, 29, 12, 0, 0, 0, time.UTC)
	pack, _ := plan.FindPack("s")
	grant := func(to account.ID, origin string, at time.Time) (accountdb.Pack, accountdb.Account, bool, error) {
		return s.GrantPack(ctx, accountdb.Pack{
			Pack:    account.Pack{ID: account.NewPackID(), Units: pack.Units, Expires: pack.Expires(at)},
			Account: to, Kind: pack.Key, Origin: origin, GrantedAt: at,
		}, storetest.Operator)
	}
	first, owner, fresh, err := grant(id, "payment 1", granted)
	require.NoError(t, err)
	require.True(t, fresh)
	require.Equal(t, owner.Version, 2)
	require.Len(t, owner.Packs, 1)
	require.True(t, first.Expires.Equal(time.Date(2129, time.February, 28, 12, 0, 0, 0, time.UTC)), first.Expires)
	again, owner, fresh, err := grant(id, "payment 1", granted)
	in := expect.In(t, "granted again")
	require.NoError(in, err)
	expect.False(in, fresh)
	expect.Equal(in, owner.Version, 2)
	expect.Equal(in, again, first)
	if _, _, _, err := grant(other, "payment 1", granted); !errors.Is(err, accountdb.ErrOriginTaken) {
		t.Errorf("the same payment for another account gives %v", err)
	}
	earlier, _, _, err := grant(id, "payment 2", granted.AddDate(0, -1, 0))
	if err != nil {
		t.Fatal(err)
	}
	packs := storetest.Must[[]accountdb.Pack](t)(s.ListPacks(ctx, id))
	require.Len(t, packs, 2)
	expect.Equal(t, packs[0], earlier)
	expect.Equal(t, packs[1], first)
	if _, _, _, err := grant(account.NewID(), "payment 3", granted); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a pack for nobody gives %v", err)
	}
}

func TestPack_ThatNobodyCanHoldIsRefused(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, now := storetest.CreateOwner(ctx, t, s, plan.Free), time.Now()
	good := accountdb.Pack{
		Pack:    account.Pack{Units: account.MaxCap, Expires: now.AddDate(1, 0, 0)},
		Account: id, Kind: "goodwill", GrantedAt: now,
	}
	grant := func(origin string, change func(*accountdb.Pack)) error {
		p := good
		p.ID, p.Origin = account.NewPackID(), origin
		change(&p)
		_, _, _, err := s.GrantPack(ctx, p, storetest.Operator)
		return err
	}
	for name, change := range map[string]func(*accountdb.Pack){
		"no units":                   func(p *accountdb.Pack) { p.Units = 0 },
		"fewer than none":            func(p *accountdb.Pack) { p.Units = -1 },
		"more than the meter counts": func(p *accountdb.Pack) { p.Units = account.MaxCap + 1 },
		"more than any number":       func(p *accountdb.Pack) { p.Units = math.MaxInt64 },
		"no kind":                    func(p *accountdb.Pack) { p.Kind = "" },
		"no origin":                  func(p *accountdb.Pack) { p.Origin = "" },
		"expired when it is granted": func(p *accountdb.Pack) { p.Expires = p.GrantedAt },
		"granted long ago, and it is over": func(p *accountdb.Pack) {
			p.GrantedAt, p.Expires = now.AddDate(-2, 0, 0), now.AddDate(-1, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused, ok := errors.AsType[*fault.Error](grant(name, change))
			in := expect.In(t, "%s", name)
			require.True(in, ok)
			expect.Equal(in, refused.Reason, fault.FieldRefused)
			expect.NotEqual(in, refused.Message, "")
		})
	}
	if packs := storetest.Must[[]accountdb.Pack](t)(s.ListPacks(ctx, id)); len(packs) != 0 {
		t.Errorf("refused packs are there: %+v", packs)
	}
	if err := grant("the largest", func(*accountdb.Pack) {}); err != nil {
		t.Errorf("the largest pack: %v", err)
	}
}

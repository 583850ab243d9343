package chaos_test

import (
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// apiKey is a key of the load. Every key has its own account.
type apiKey struct {
	holder
	id, account string
	accountID   account.ID
	keyID       account.KeyID
	secret      string
}

// holder is a kind of customer. Allowances are in whole units; 0 means none.
type holder struct {
	plan  string
	door  account.Door
	daily int64 // per UTC day
	// quota is the contract's quota per period; packs are used after it. Only with plan.Enterprise.
	quota int64
	packs []int64
	// keyCap and serviceCap are the monthly cap of the key, and that of the service rpc on the
	// account.
	keyCap, serviceCap int64

	connections int // concurrent connections
}

// allowance returns how many whole units the holder can use during the test; 0 for no relevant
// limit.
func (h *holder) allowance() int64 {
	total := h.daily + h.keyCap + h.serviceCap + h.quota
	for _, p := range h.packs {
		total += p
	}
	return total
}

// holders are the customers of the load: wide rate windows carry it; narrow ones and small
// allowances cause refusals.
func holders() []holder {
	return []holder{
		{plan: plan.Scale, door: account.DoorAccount, connections: 3},
		{plan: plan.Scale, door: account.DoorAccount, connections: 2},
		{plan: plan.Growth, door: account.DoorAccount, connections: 2},
		{plan: plan.Enterprise, door: account.DoorAccount, quota: 150, packs: []int64{75, 300}, connections: 1},
		{plan: plan.Pro, door: account.DoorAccount, daily: 40, connections: 1},
		{plan: plan.Free, door: account.DoorAccount, connections: 1}, // 100 calls per 15 minutes
		{plan: plan.Door1, door: account.DoorPublic, daily: 10_000, connections: 1},
	}
}

// openAccounts connects to the servers for creating keys and changing limits, without the gateway's
// processes.
func (r *rig) openAccounts(pepper string) {
	r.t.Helper()
	var err error
	if r.hasher, err = account.NewHasher([]byte(pepper)); err != nil {
		r.t.Fatal(err)
	}
	if r.store, err = store.Open(r.t.Context(), r.url); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.store.Close)
	if r.meter, err = meter.Open(r.t.Context(), r.redis.URL); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = r.meter.Close() })
	r.limits = limits.New(r.store, r.meter, r.hasher, time.Now)
	for _, h := range holders() {
		key := r.newKey(h)
		for range h.connections {
			r.connections = append(r.connections, newConnection(key, r.log, r.urls(), r.random.Uint64()))
		}
	}
}

var harness = accountdb.Author{Actor: "fault harness", Origin: "ops", Reason: "a scenario"}

// newKey creates an account with one key and its limits.
func (r *rig) newKey(h holder) apiKey {
	r.t.Helper()
	must := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
	}
	kind := accountdb.KindOwner
	if h.door == account.DoorPublic {
		kind = accountdb.KindDoor
	}
	ctx := r.t.Context()
	owner, err := r.store.CreateAccount(ctx, accountdb.NewAccount{ID: account.NewID(), Kind: kind, Plan: h.plan})
	must(err)
	minted, err := account.MintKey(rand.Reader)
	must(err)
	digest := minted.Digest(r.hasher)
	daily := account.Unlimited
	if h.daily > 0 {
		daily = plan.Units(h.daily) * plan.Unit
	}
	key, err := r.store.CreateKey(ctx, accountdb.NewKey{
		ID: account.NewKeyID(), Account: owner.ID, Digest: digest[:], Prefix: minted.Prefix(), Door: h.door,
		Daily: daily,
	})
	must(err)
	if h.quota > 0 {
		contract := account.Custom{
			Quota: plan.Units(h.quota) * plan.Unit, Rate: plan.RateWindow{Limit: 10_000, Per: time.Second},
		}
		_, err = r.limits.SetEnterprise(ctx, owner.ID, contract, harness)
		must(err)
	}
	for i, units := range h.packs {
		now := time.Now()
		_, _, err = r.limits.GrantPack(ctx, accountdb.Pack{
			Pack: account.Pack{
				ID: account.NewPackID(), Units: plan.Units(units) * plan.Unit,
				Expires: plan.AddMonths(now, 12).Add(time.Duration(i) * time.Hour),
			},
			Account: owner.ID, Kind: "pack_s", Origin: account.NewPackID().String(), GrantedAt: now,
		}, harness)
		must(err)
	}
	if h.keyCap > 0 {
		limit := json.Number(plan.Units(h.keyCap * int64(plan.Unit)).String())
		_, err = r.limits.ConfigureKey(ctx, key.ID, account.Settings{MonthlyCap: &limit}, harness)
		must(err)
	}
	if h.serviceCap > 0 {
		caps := map[string]json.Number{"rpc": json.Number(plan.Units(h.serviceCap * int64(plan.Unit)).String())}
		_, err = r.limits.ConfigureAccount(ctx, owner.ID, account.Settings{Caps: &caps}, harness)
		must(err)
	}
	made := apiKey{
		holder: h, id: key.ID.String(), account: owner.ID.String(), accountID: owner.ID, keyID: key.ID,
		secret: minted.Reveal(),
	}
	r.keys = append(r.keys, made)
	return made
}

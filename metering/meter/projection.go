package meter

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// PushAccount puts an account's changed limits in force for every process, unless the projection
// there is of a later epoch or a higher version, or of the same version with periods that end no
// earlier. AccountInForce reads what is there then. A negative rate limit means no limit.
func (m *Meter) PushAccount(ctx context.Context, f account.AccountLimits) error {
	_, err := m.pushAccount(ctx, f, "")
	return err
}

// PushLoadedAccount is PushAccount for limits that were loaded because they were missing. It
// reports false when they may be out of date: begin the load again.
func (m *Meter) PushLoadedAccount(ctx context.Context, f account.AccountLimits, l Load) (bool, error) {
	return m.pushAccount(ctx, f, string(l))
}

func (m *Meter) pushAccount(ctx context.Context, f account.AccountLimits, token string) (bool, error) {
	p, err := projectAccount(&f)
	if err != nil {
		return false, err
	}
	t, id := accountTag(f.Account), f.Account.String()
	return m.put(ctx, t, "cfg:"+id, id, p, edition{f.Epoch, f.Version}, f.Current.End.UnixMilli(), token,
		perName(f.Account, f.Current.Key()), perName(f.Account, f.Next.Key()))
}

func projectAccount(f *account.AccountLimits) (*projection, error) {
	for _, g := range []*account.Figures{&f.Figures, f.Following} {
		if g != nil && g.Rate.Limit >= 0 && g.Rate.Per < time.Millisecond {
			return nil, fmt.Errorf("push the fences of account %s: a rate window of %s is too short", f.Account,
				g.Rate.Per)
		}
	}
	p := projection{marker: accountMarker, premium: f.Supply == plan.Premium}
	p.set("st", string(f.Status))
	p.services(f.Services)
	next := projection{more: p.more}
	next.asked.WriteString(p.asked.String())
	p.period("p", "pe", "q", f.Current)
	next.period("np", "ne", "nq", f.Next)
	p.figures("", &f.Figures, f.Packs)
	switch {
	case f.Following != nil:
		// admit.lua reads these from the end of the current period on, if they are there.
		next.premium = f.Following.Supply == plan.Premium
		next.figures("n", f.Following, f.Packs)
		next.set("npl", next.plain())
	case f.SoftRate.Limit > 0:
		next.asks("u")
	}
	p.fields = append(p.fields, next.fields...)
	// Each period keeps the counters that its own figures ask for, or both when the periods share a
	// name.
	if f.Current.Key() == f.Next.Key() {
		p.asked.WriteString(next.asked.String())
	} else {
		p.asked.WriteString(",;" + next.asked.String())
	}
	return &p, nil
}

// PushKey puts a key's changed limits in force for every process, unless a later epoch or a higher
// version is there already. periods are the account's current and next one, by their start dates.
func (m *Meter) PushKey(ctx context.Context, f account.KeyLimits, periods ...string) error {
	_, err := m.pushKey(ctx, f, "", periods)
	return err
}

// PushLoadedKey is PushKey for limits that were loaded because they were missing. It reports false
// when they may be out of date: begin the load again.
func (m *Meter) PushLoadedKey(ctx context.Context, f account.KeyLimits, l Load, periods ...string) (bool, error) {
	return m.pushKey(ctx, f, string(l), periods)
}

func (m *Meter) pushKey(ctx context.Context, f account.KeyLimits, token string, periods []string) (bool, error) {
	now, err := m.NowOf(ctx, f.Account)
	if err != nil {
		return false, fmt.Errorf("push the fences of key %s: %w", f.Key, err)
	}
	counters := []string{dayName(f.Account, f.Key, now)}
	for _, period := range periods {
		counters = append(counters, kpName(f.Account, f.Key, period))
	}
	return m.put(ctx, accountTag(f.Account), "key:"+f.Key.String(), f.Key.String(), projectKey(&f),
		edition{f.Epoch, f.Version}, 0, token, counters...)
}

func projectKey(f *account.KeyLimits) *projection {
	p := projection{marker: keyMarker}
	p.set("st", string(f.Status))
	if f.Daily >= 0 {
		p.set("dy", int64(f.Daily))
		p.asks("day")
	}
	if f.MonthlyCap > 0 {
		p.further("cap", int64(f.MonthlyCap))
		p.asks("u")
	}
	if !f.Expires.IsZero() {
		p.further("xp", f.Expires.UnixMilli())
	}
	if f.Door == account.DoorAdopted || f.Door == account.DoorWallet { // these may move to another account
		p.further("ac", f.Account.String())
	}
	p.services(f.Services)
	return &p
}

// PushMoved marks a key as moved in the account that it left, so that every process loads the
// identity again and admits the call in the new account. It is not for a move within a shard, where
// both accounts share the key's projection, which names its account. The counters stay, for refunds
// of running calls.
func (m *Meter) PushMoved(ctx context.Context, from account.ID, key account.KeyID, epoch, version int64) error {
	_, err := m.put(ctx, accountTag(from), "key:"+key.String(), key.String(), moved(), edition{epoch, version}, 0, "")
	return err
}

func moved() *projection {
	p := projection{marker: keyMarker}
	p.set("st", "moved")
	return &p
}

// figures sets what the plan includes, under names that begin with prefix.
func (p *projection) figures(prefix string, g *account.Figures, packs []account.Pack) {
	if g.Rate.Limit >= 0 {
		p.set(prefix+"rl", g.Rate.Limit)
		p.set(prefix+"rw", g.Rate.Per.Milliseconds())
	}
	if g.SoftRate.Limit > 0 {
		p.further(prefix+"sc", int64(g.SoftCeiling))
		p.further(prefix+"sl", g.SoftRate.Limit)
		p.further(prefix+"sw", g.SoftRate.Per.Milliseconds())
		p.asks("u")
	}
	if g.Data {
		p.set(prefix+"da", 1)
	}
	if g.DrawsPacks && len(packs) > 0 {
		p.further(prefix+"pk", packList(packs))
	}
}

// The field of plain in admit.lua's projections. A projection without it is an older version's and
// is loaded again: accounts had windows of a second. Programs before that read accountMarker's
// value from keyMarker.
const (
	accountMarker = "pw"
	keyMarker     = "pl"
)

// projection collects the fields of a projection and the counters that they ask for.
type projection struct {
	fields []any
	asked  strings.Builder
	more   bool // whether there are fields besides those that every admission reads
	marker string

	premium bool // supply of the account's plan
}

func (p *projection) set(field string, value any) { p.fields = append(p.fields, field, value) }

// further sets a field that most projections lack. A projection with one is not plain; admit.lua
// looks for such fields only then.
func (p *projection) further(field string, value any) {
	p.set(field, value)
	p.more = true
}

// plain returns the field plain of admit.lua: 1, or 2 with premium supply; plus 2 when there are
// further limits.
func (p *projection) plain() int {
	n := 1
	if p.premium {
		n++
	}
	if p.more {
		n += 2
	}
	return n
}

func (p *projection) asks(counter string) { p.asked.WriteString("," + counter) }

func (p *projection) period(start, end, quota string, of account.Period) {
	p.set(start, of.Key())
	p.set(end, of.End.UnixMilli())
	if of.Quota >= 0 {
		p.set(quota, int64(of.Quota))
		p.asks("u")
	}
}

func (p *projection) services(f account.ServiceLimits) {
	if len(f.Off) > 0 {
		var off strings.Builder
		for _, s := range f.Off {
			off.WriteString(serviceField(string(s)) + ",")
		}
		p.further("off", off.String())
	}
	for s, limit := range f.Caps {
		p.further(serviceField(string(s)), int64(limit))
		p.asks(serviceField(string(s)))
	}
}

// serviceField returns the name of a service in projections and counters.
func serviceField(service string) string { return "c:" + service }

// packList writes packs as <id>:<units>:<expires ms>,…
func packList(packs []account.Pack) string {
	var list strings.Builder
	for _, p := range packs {
		fmt.Fprintf(&list, "%s:%d:%d,", p.ID, int64(p.Units), p.Expires.UnixMilli())
	}
	return list.String()
}

// edition is the epoch and version by which projections of the same thing are ordered.
type edition struct{ epoch, version int64 }

// put runs push.lua. It reports false when the token of a load has ended.
func (m *Meter) put(ctx context.Context, tag, name, id string, p *projection, s edition, end int64, token string,
	counters ...string,
) (bool, error) {
	keys := append([]string{tag + name, tag + "ld:" + id}, counters...)
	// the marker first, where it is found soonest
	args := append([]any{s.version, end, token, p.asked.String() + ",", s.epoch, p.marker, p.plain()}, p.fields...)
	if p.marker != keyMarker {
		args = append(args, keyMarker, p.plain())
	}
	n, err := m.run(ctx, m.push, keys, args...).Int()
	if err != nil {
		return false, fmt.Errorf("push the fences %s: %w", name, err)
	}
	return n >= 0, nil
}

// Load is the token of a running load: what the load read is put in force only if nothing changed
// since it began.
type Load string

// BeginLoadAccount begins the load of an account's limits. Read them from PostgreSQL afterwards.
func (m *Meter) BeginLoadAccount(ctx context.Context, id account.ID) (Load, error) {
	return m.beginLoad(ctx, accountTag(id)+"ld:"+id.String())
}

// BeginLoadKey begins the load of a key's limits. Read them from PostgreSQL afterwards.
func (m *Meter) BeginLoadKey(ctx context.Context, id account.ID, key account.KeyID) (Load, error) {
	return m.beginLoad(ctx, accountTag(id)+"ld:"+key.String())
}

func (m *Meter) beginLoad(ctx context.Context, name string) (Load, error) {
	token, err := m.run(ctx, m.load, []string{name}, nonce()).Text()
	if err != nil {
		return "", fmt.Errorf("begin to load fences: %w", err)
	}
	return Load(token), nil
}

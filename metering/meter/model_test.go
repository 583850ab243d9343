package meter_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// model is the meter's specification as plain code: it remembers every charge, and every counter is
// a sum over them.
type model struct {
	random   *rand.Rand
	b        *bundle
	id       account.ID
	terms    account.Terms
	services account.ServiceLimits
	packs    []account.Pack
	version  int64
	account  account.AccountLimits // in force
	keys     []*modelKey
	charges  []*modelCharge
	record   []account.UsageBucket // what was flushed
	hits     int64
	refused  map[string]int64
	stale    []account.AccountLimits // older projections, pushed late
	log      []string
}

type modelKey struct {
	limits  account.KeyLimits
	subject *meter.Subject
}

type modelCharge struct {
	key      *modelKey
	call     *meter.Call
	receipt  meter.Receipt
	day      string
	parts    map[string]plan.Units // by source
	refunded bool
}

// sum returns what is charged and not refunded, over the charges that match the counter.
func (m *model) sum(c account.Counter) plan.Units {
	var total plan.Units
	for _, charge := range m.charges {
		if charge.refunded || (c.Period != "" && charge.receipt.Period != c.Period) ||
			(!c.Key.IsZero() && charge.key.limits.Key != c.Key) ||
			(c.Service != "" && charge.call.Service != c.Service) ||
			(!c.Day.IsZero() && charge.day != c.Day.Format(time.DateOnly)) {
			continue
		}
		for source, units := range charge.parts {
			if c.Source == "" || c.Source == source {
				total += units
			}
		}
	}
	return total
}

// verdict returns what the meter should answer: the limits that refuse, in order, or how much is
// drawn from each source.
func (m *model) verdict(k *modelKey, call *meter.Call,
	now time.Time,
) (refusals []meter.Refusal, parts map[string]plan.Units) {
	service, a := account.Service(call.Service), m.account
	refuse := func(reason string, scope meter.Scope) {
		refusals = append(refusals, meter.Refusal{Reason: reason, Scope: scope})
	}
	switch {
	case k.limits.Status != account.Active:
		return []meter.Refusal{{Reason: "key_invalid"}}, nil
	case a.Status != account.Active:
		return []meter.Refusal{{Reason: "account_suspended"}}, nil
	}
	if a.Services.IsOff(service) {
		refuse("service_off", meter.ScopeAccount)
	}
	if k.limits.Services.IsOff(service) {
		refuse("service_off", meter.ScopeKey)
	}
	data := a.Data
	if a.Following != nil && !now.Before(a.Current.End) {
		data = a.Following.Data
	}
	if service == account.Data && !data {
		refuse("plan_lacks_service", "")
	}
	if call.Mode == meter.Hit {
		return refusals, nil
	}
	period := m.terms.Period(now).Key()
	over := func(limit plan.Units, c account.Counter) bool { return m.sum(c)+call.Units > limit }
	if k.limits.MonthlyCap > 0 && over(k.limits.MonthlyCap, account.Counter{Period: period, Key: k.limits.Key}) {
		refuse("key_budget", meter.ScopeKey)
	}
	if limit, ok := k.limits.Services.Caps[service]; ok &&
		over(limit, account.Counter{Period: period, Key: k.limits.Key, Service: call.Service}) {
		refuse("service_cap", meter.ScopeKey)
	}
	if limit, ok := a.Services.Caps[service]; ok && over(limit, account.Counter{
		Period: period, Service: call.Service,
	}) {
		refuse("service_cap", meter.ScopeAccount)
	}
	if k.limits.Daily >= 0 && over(k.limits.Daily, account.Counter{Day: now, Key: k.limits.Key}) {
		refuse("door_key_day", "")
	}
	rest, parts := call.Units, map[string]plan.Units{}
	if quota := m.terms.At(now).Quota(); quota != account.Unlimited {
		give := min(rest, max(0, quota-m.sum(account.Counter{Period: period, Source: account.SourcePlan})))
		parts[account.SourcePlan], rest = give, rest-give
		for _, p := range a.Packs {
			if now.Before(p.Expires) {
				give := min(rest, max(0, p.Units-m.sum(account.Counter{Source: p.ID.Source()})))
				parts[p.ID.Source()], rest = give, rest-give
			}
		}
		if rest > 0 {
			refuse("plan_quota", "")
		}
	} else {
		parts[account.SourcePlan] = rest
	}
	return refusals, parts
}

// figure returns what the record knows of a counter, computed from the flushed buckets themselves.
func (m *model) figure(c account.Counter) plan.Units {
	var total plan.Units
	for _, bucket := range m.record {
		for _, l := range bucket.Lines {
			if (c.Period == "" || l.Period == c.Period) && (c.Source == "" || l.Source == c.Source) &&
				(c.Key.IsZero() || l.Key == c.Key) &&
				(c.Service == "" || l.Service == c.Service) &&
				(c.Day.IsZero() || bucket.Slot.Format(time.DateOnly) == c.Day.Format(time.DateOnly)) {
				total += l.Units
			}
		}
	}
	return total
}

// load does what package limits does when something is missing.
func (m *model) load(t *testing.T, k *modelKey, service string, a *meter.Admission) {
	t.Helper()
	now := m.b.now(t)
	for _, what := range a.Missing {
		switch what {
		case meter.MissingAccount:
			token, err := m.b.meter.BeginLoadAccount(m.b.ctx, m.id)
			m.must(t, err)
			m.account = m.project(now)
			_, err = m.b.meter.PushLoadedAccount(m.b.ctx, m.account, token)
			m.must(t, err)
		case meter.MissingKey:
			token, err := m.b.meter.BeginLoadKey(m.b.ctx, m.id, k.limits.Key)
			m.must(t, err)
			_, err = m.b.meter.PushLoadedKey(m.b.ctx, k.limits, token, m.periods(now)...)
			m.must(t, err)
		default:
			c, ok := a.CounterOf(what, k.limits.Key, service)
			if !ok {
				m.failf(t, "nobody knows the counter %q", what)
			}
			token, err := m.b.meter.FlushToken(m.b.ctx, m.id)
			m.must(t, err)
			_, err = m.b.meter.Seed(m.b.ctx, m.id, k.limits.Key, []meter.Figure{
				{Counter: c, Units: m.figure(c), Keep: time.Hour},
			},
				meter.Snapshot{FlushToken: token, AccountVersion: m.version, KeyVersion: k.limits.Version})
			m.must(t, err)
		}
	}
}

func (m *model) project(now time.Time) account.AccountLimits {
	f := m.terms.Limits(m.id, m.version, m.status(), m.services, m.packs, now)
	f.Rate = noWindow
	if m.terms.Next == nil || now.Before(m.terms.NextFrom) {
		f.Data = m.version%3 > 0
	}
	if f.Following != nil {
		f.Following.Rate = noWindow
	}
	return f
}

func (m *model) status() account.Status {
	if m.version%11 == 10 {
		return account.Suspended
	}
	return account.Active
}

func (m *model) periods(now time.Time) []string {
	current := m.terms.Period(now)
	return []string{current.Key(), m.terms.Period(current.End).Key()}
}

func (m *model) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		m.failf(t, "%v", err)
	}
}

func (m *model) failf(t *testing.T, format string, args ...any) {
	t.Helper()
	last := m.log[max(0, len(m.log)-25):]
	t.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(last, "\n"))
}

func (m *model) notef(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

var modelServices = []string{"rpc", "gas", "data"}

func (m *model) call(t *testing.T) {
	t.Helper()
	k := m.keys[m.random.IntN(len(m.keys))]
	call := of(modelServices[m.random.IntN(len(modelServices))], plan.Units(1+m.random.IntN(400)))
	if m.random.IntN(5) == 0 {
		call.Mode, call.Units = meter.Hit, 0
	}
	var a meter.Admission
	for range 8 {
		a = m.b.admit(t, &client{Subject: k.subject}, call)
		if len(a.Missing) == 0 {
			break
		}
		m.notef("missing %v", a.Missing)
		m.load(t, k, call.Service, &a)
	}
	now := m.b.now(t)
	refusals, parts := m.verdict(k, call, now)
	m.notef("%s of %s, %d: %+v; model %v %v", call.Service, k.limits.Key, call.Units, a, refusals, parts)
	if len(refusals) > 0 {
		also := slices.Equal(a.Also, refusals[1:])
		if a.Refused == "service_off" || a.Refused == "plan_lacks_service" { // waits for no counter that is missing
			also = subsequence(a.Also, refusals[1:])
		}
		if a.Refused != refusals[0].Reason || a.Scope != refusals[0].Scope || !also {
			m.failf(t, "the meter said %+v, the model %v", a, refusals)
		}
		m.refused[a.Refused]++
		return
	}
	if !a.Admitted {
		m.failf(t, "the meter said %+v, the model admits", a)
	}
	if call.Mode == meter.Hit {
		m.hits++
		return
	}
	for source, units := range parts {
		if units == 0 {
			delete(parts, source)
		}
	}
	if given := partsOf(a.Receipt, call.Units); !reflect.DeepEqual(given, parts) ||
		a.Receipt.Period != m.terms.Period(now).Key() {
		m.failf(t, "drawn %v of period %s, the model says %v of %s", given, a.Receipt.Period, parts,
			m.terms.Period(now).Key())
	}
	m.charges = append(m.charges, &modelCharge{
		key: k, call: call, receipt: a.Receipt, day: now.Format(time.DateOnly), parts: parts,
	})
}

// subsequence reports whether some are in all, in the same order.
func subsequence(some, all []meter.Refusal) bool {
	for _, r := range all {
		if len(some) > 0 && some[0] == r {
			some = some[1:]
		}
	}
	return len(some) == 0
}

// partsOf reads the sources of a receipt.
func partsOf(r meter.Receipt, units plan.Units) map[string]plan.Units {
	if r.Sources == account.SourcePlan {
		return map[string]plan.Units{account.SourcePlan: units}
	}
	parts := map[string]plan.Units{}
	for part := range strings.SplitSeq(r.Sources, ",") {
		source, text, _ := strings.Cut(part, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil
		}
		parts[source] = plan.Units(n)
	}
	return parts
}

func (m *model) refund(t *testing.T) {
	t.Helper()
	if len(m.charges) == 0 {
		return
	}
	i := len(m.charges) - 1 - m.random.IntN(min(len(m.charges), 20))
	c := m.charges[i]
	if c.refunded {
		return
	}
	m.notef("refund %+v", c.receipt)
	for range 1 + m.random.IntN(2) {
		m.must(t, m.b.meter.Refund(m.b.ctx, c.key.subject, c.call, c.receipt, "request:"+strconv.Itoa(i),
			"upstream_failed"))
	}
	c.refunded = true
	m.refused["upstream_failed"]++
}

// change changes a limit of the account or of a key, and sometimes pushes an old projection late.
func (m *model) change(t *testing.T) {
	t.Helper()
	now := m.b.now(t)
	limit := func(limit int) plan.Units { return plan.Units(m.random.IntN(limit)) }
	limits := func() account.ServiceLimits {
		f := account.ServiceLimits{Caps: map[account.Service]plan.Units{}}
		for _, s := range modelServices {
			switch m.random.IntN(8) {
			case 0:
				f.Off = append(f.Off, account.Service(s))
			case 1, 2:
				f.Caps[account.Service(s)] = 1 + limit(6000)
			}
		}
		return f
	}
	if m.random.IntN(2) == 0 {
		k := m.keys[m.random.IntN(len(m.keys))]
		k.limits.Version++
		k.limits.Services, k.limits.MonthlyCap, k.limits.Daily = limits(), 0, account.Unlimited
		if m.random.IntN(2) == 0 {
			k.limits.MonthlyCap = 1 + limit(8000)
		}
		if m.random.IntN(3) == 0 {
			k.limits.Daily = limit(5000)
		}
		m.notef("key %+v", k.limits)
		m.must(t, m.b.meter.PushKey(m.b.ctx, k.limits, m.periods(now)...))
		return
	}
	m.stale = append(m.stale, m.account)
	m.version++
	m.terms = m.terms.At(now)
	m.services, m.terms.Custom = limits(), &account.Custom{
		Quota: limit(12_000), Rate: account.RateWindow{Limit: 1, Per: time.Second},
	}
	if m.random.IntN(3) == 0 {
		m.terms.Custom.Quota = account.Unlimited
	}
	if m.random.IntN(3) == 0 {
		m.packs = append(m.packs, account.Pack{
			ID: account.NewPackID(), Units: 1 + limit(4000),
			Expires: now.Add(time.Duration(1 + m.random.Int64N(int64(60*24*time.Hour)))).Truncate(time.Millisecond),
		})
		slices.SortFunc(m.packs, func(x, y account.Pack) int { return x.Expires.Compare(y.Expires) })
	}
	m.terms.Next = nil
	if m.random.IntN(2) == 0 { // another plan takes over when the period ends
		m.terms.Next = &plan.Plan{
			Key: "next", Included: limit(12_000), Period: plan.Monthly, Rate: noWindow, Data: m.random.IntN(2) == 0,
		}
		m.terms.NextFrom = m.terms.Period(now).End
	}
	m.account = m.project(now)
	m.notef("account %+v", m.account)
	m.must(t, m.b.meter.PushAccount(m.b.ctx, m.account))
	m.must(t, m.b.meter.PushAccount(m.b.ctx, m.stale[m.random.IntN(len(m.stale))]))
}

// pass advances the clock: a little, over midnight, or to the very end of the period.
func (m *model) pass(t *testing.T) {
	t.Helper()
	now := m.b.now(t)
	switch m.random.IntN(12) {
	case 0:
		now = now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	case 1:
		now = m.terms.Period(now).End.Add(-time.Millisecond)
	case 2:
		now = m.terms.Period(now).End
	default:
		now = now.Add(time.Duration(m.random.Int64N(int64(20 * time.Second))))
	}
	m.b.mini.SetTime(now)
	m.notef("it is %s", now)
}

func (m *model) flush(t *testing.T) {
	t.Helper()
	buckets := m.b.buckets(t, &client{Subject: m.keys[0].subject})
	m.record = append(m.record, buckets...)
	m.must(t, m.b.meter.DropBuckets(m.b.ctx, buckets))
	m.notef("flushed %d buckets", len(buckets))
}

// lose deletes a projection or a counter.
func (m *model) lose(t *testing.T) {
	t.Helper()
	kinds := []string{"cfg:", "key:", "ap:", "kp:", "day:", "pk:"}
	kind := kinds[m.random.IntN(len(kinds))]
	for _, name := range m.b.rdb.Keys(m.b.ctx, "*"+kind+"*").Val() {
		m.must(t, m.b.rdb.Del(m.b.ctx, name).Err())
	}
	m.notef("lost every %s", kind)
}

// balance compares all that was charged, hit, refused and refunded with the lines in the record.
func (m *model) balance(t *testing.T) {
	t.Helper()
	m.flush(t)
	var charged, units int64
	for _, c := range m.charges {
		if !c.refunded {
			charged++
			units += int64(c.call.Units)
		}
	}
	refused := map[string]int64{}
	var ok, hits int64
	var sum plan.Units
	for _, bucket := range m.record {
		for _, l := range bucket.Lines {
			sum += l.Units
			switch l.Outcome {
			case meter.OutcomeOK, meter.OutcomeRefund:
				ok += l.Requests
			case meter.OutcomeHit:
				hits += l.Requests
			default:
				refused[l.Outcome] += l.Requests
			}
		}
	}
	if ok != charged || hits != m.hits || int64(sum) != units || !reflect.DeepEqual(refused, m.refused) {
		m.failf(t, "the record has %d charges of %d units, %d hits, refusals %v; the model %d of %d, %d, %v",
			ok, sum, hits, refused, charged, units, m.hits, m.refused)
	}
}

// TestMeter_DoesWhatASimpleModelDoes runs random sequences of calls, refunds, changes of limits,
// period ends, flushes and losses against a model. METER_MODEL_SEED repeats one. It fails when
// admit.lua does not count in a cap's counter, takes more from a pack than it holds, draws an
// expired one, or keeps the old plan when another takes over with the period; when push.lua keeps
// the counter of a lifted cap; and when refund.lua counts a call once per source or returns nothing
// to a pack.
func TestMeter_DoesWhatASimpleModelDoes(t *testing.T) {
	t.Parallel()
	const sequences, steps = 24, 400
	seed := rand.Uint64()
	if text := os.Getenv("METER_MODEL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(sequences) {
		t.Run(fmt.Sprintf("seed %d", seed+i), func(t *testing.T) {
			t.Parallel()
			m := newModel(t, seed+i)
			moves := []struct {
				weight int
				do     func(*testing.T)
			}{{60, m.call}, {6, m.refund}, {6, m.change}, {8, m.pass}, {3, m.flush}, {3, m.lose}}
			total := 0
			for _, move := range moves {
				total += move.weight
			}
			for range steps {
				n := m.random.IntN(total)
				for _, move := range moves {
					if n -= move.weight; n < 0 {
						move.do(t)
						break
					}
				}
			}
			m.balance(t)
		})
	}
}

func newModel(t *testing.T, seed uint64) *model {
	t.Helper()
	b := setupMini(t)
	m := &model{
		random: rand.New(rand.NewPCG(seed, 2)), b: b, id: account.NewID(), version: 1, refused: map[string]int64{},
		terms: account.Terms{Plan: plan.Must(plan.Enterprise)},
	}
	if m.random.IntN(2) == 0 {
		m.terms.Cycle.Anchor = noon.AddDate(0, -2, m.random.IntN(40))
	}
	for range 2 {
		key := account.NewKeyID()
		m.keys = append(m.keys, &modelKey{
			limits: account.KeyLimits{
				Key: key, Account: m.id, Version: 1, Status: account.Active, Daily: account.Unlimited,
			},
			subject: meter.NewSubject(account.Identity{Key: key, Account: m.id}, account.Digest{}),
		})
	}
	m.account = m.project(noon)
	return m
}

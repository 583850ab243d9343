package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Maximum numbers of an account's keys and changes that are shown.
const (
	shownKeys    = 100
	shownChanges = 10
)

// Account returns an account by its id, the id of one of its keys or the prefix of one.
func Account(ctx context.Context, cfg config.Config, subject string) (AccountView, error) {
	var v AccountView
	err := withRecordOnly(ctx, cfg, func(s *store.Store, f *limits.Limits) error {
		a, err := find(ctx, s, subject)
		if err != nil {
			return err
		}
		v, err = view(ctx, s, f, &a)
		return err
	})
	return v, err
}

// prefixLength is how many characters of a key are stored in plaintext.
const prefixLength = 12

// find returns an account by its id, the id of one of its keys, or the prefix of one.
func find(ctx context.Context, s *store.Store, subject string) (accountdb.Account, error) {
	if strings.HasPrefix(subject, "cag_") {
		if len(subject) != prefixLength {
			return accountdb.Account{},
				fmt.Errorf("give only the first %d characters of the key: a whole key does not belong on a "+
					"command line", prefixLength)
		}
		keys, err := s.ListKeysByPrefix(ctx, subject, 2)
		switch {
		case err != nil:
			return accountdb.Account{}, err
		case len(keys) == 0:
			return accountdb.Account{},
				errors.New("no key begins with this; give 12 characters of a key, or the id of an account or a key")
		case len(keys) > 1 && keys[0].Account != keys[1].Account:
			return accountdb.Account{}, errors.New(
				"several accounts have keys that begin with this; give the id of one")
		}
		return s.LoadAccount(ctx, keys[0].Account)
	}
	id, err := account.ParseID(subject)
	if err != nil {
		return accountdb.Account{},
			errors.New("give the id of an account or a key, like 0198c5a2-7c1e-7b3f-9d21-3f0c5b7a9e11, or the first " +
				"12 characters of a key")
	}
	a, err := s.LoadAccount(ctx, id)
	if !errors.Is(err, store.ErrNotFound) {
		return a, err
	}
	k, err := s.LoadKey(ctx, account.KeyID(id))
	if errors.Is(err, store.ErrNotFound) {
		return accountdb.Account{}, fmt.Errorf("no account or key has the id %s", id)
	}
	if err != nil {
		return accountdb.Account{}, err
	}
	return s.LoadAccount(ctx, k.Account)
}

// view collects what is known of an account.
func view(ctx context.Context, s *store.Store, f *limits.Limits, a *accountdb.Account) (AccountView, error) {
	terms, err := a.Terms()
	if err != nil {
		return AccountView{}, err
	}
	terms = terms.At(time.Now())
	v := AccountView{
		ID: a.ID, Kind: string(a.Kind), Status: a.Status, Plan: a.Plan, Contract: a.Custom != nil,
		Quota: orNone(terms.Quota()), RateLimit: terms.Rate().Limit, RatePer: terms.Rate().Per.String(),
		DrawsPacks: terms.DrawsPacks(), Version: a.Version, CreatedAt: a.CreatedAt, ServicesOff: names(a.Services.Off),
	}
	if a.Custom == nil {
		v.SoftCeiling = orNone(terms.Plan.SoftCeiling())
	}
	if !a.Cycle.Anchor.IsZero() {
		v.CycleAnchor = &a.Cycle.Anchor
	}
	keys, err := s.ListKeys(ctx, a.ID)
	if err != nil {
		return v, err
	}
	v.MoreKeys = max(0, len(keys)-shownKeys)
	keys = keys[:len(keys)-v.MoreKeys]
	standings, err := f.CounterStates(ctx, a, keys, true)
	if err != nil {
		v.MeterError = strings.Join(strings.Fields(err.Error()), " ")
		standings.At = time.Now().UTC()
		standings.Period = terms.Period(standings.At)
	}
	v.PeriodStart, v.PeriodEnd = standings.Period.Start, standings.Period.End
	if err := v.record(ctx, s, a.ID, standings.Period.Key()); err != nil {
		return v, err
	}
	if err := v.packs(ctx, s, a.ID, &standings); err != nil {
		return v, err
	}
	if err := v.keys(ctx, s, a.ID, keys); err != nil {
		return v, err
	}
	return v, v.changes(ctx, s, a.ID)
}

// record reads the period's totals from PostgreSQL, and the watermark up to which they are
// complete.
func (v *AccountView) record(ctx context.Context, s *store.Store, id account.ID, period string) error {
	t, err := s.PeriodTotals(ctx, usagedb.UsagePeriod{Account: id, Period: period})
	if err != nil {
		return err
	}
	v.Recorded = RecordedView{
		Requests: t.Requests, Billable: t.Billable, Hits: t.Hits, Refused: t.Refused, Refunded: t.Refunded,
		Units: t.Units, PlanUnits: t.PlanUnits, PackUnits: t.PackUnits,
	}
	switch mark, err := s.AccountWatermark(ctx, id); {
	case err == nil:
		v.CompleteUntil = &mark
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	return nil
}

// packs fills in limits and packs with their usage.
func (v *AccountView) packs(ctx context.Context, s *store.Store, id account.ID, standings *limits.CounterStates) error {
	drawn := map[account.PackID]plan.Units{}
	v.Fences, v.Packs = []LimitView{}, []PackView{}
	for i := range standings.Counters {
		c := &standings.Counters[i]
		used := c.ShouldBe
		if c.Kept {
			used = c.Is
		}
		if pack, ok := account.PackOf(c.Source); ok {
			drawn[pack] = used
			continue
		}
		limit := LimitView{Name: audit.Name(&c.Counter), Used: used, Limit: c.Limit, Remaining: max(0, c.Limit-used)}
		if !c.Key.IsZero() {
			limit.Key = c.Key.String()
		}
		v.Fences = append(v.Fences, limit)
	}
	packs, err := s.ListPacks(ctx, id)
	for _, p := range packs {
		pack := PackView{
			ID: p.ID, Kind: p.Kind, Origin: p.Origin, Granted: p.Units, ExpiresAt: p.Expires,
			Expired: !standings.At.Before(p.Expires),
		}
		if used, ok := drawn[p.ID]; ok {
			left := max(0, p.Units-used)
			if pack.Expired {
				left = 0
			}
			pack.Used, pack.Remaining = &used, &left
		}
		v.Packs = append(v.Packs, pack)
	}
	return err
}

func (v *AccountView) keys(ctx context.Context, s *store.Store, id account.ID, keys []accountdb.Key) error {
	changed, err := s.LastKeyChanges(ctx, id)
	v.Keys = []KeyView{}
	for i := range keys {
		k := &keys[i]
		at, ok := changed[k.ID]
		if !ok {
			at = k.CreatedAt
		}
		v.Keys = append(v.Keys, KeyView{
			ID: k.ID, Prefix: k.Prefix, Name: k.Name, Door: k.Door, Status: k.Status, MonthlyCap: k.MonthlyCap,
			ServicesOff: names(k.Services.Off), ChangedAt: at,
		})
	}
	return err
}

// changes reads the newest lines of the audit log, and changes that are not in force yet.
func (v *AccountView) changes(ctx context.Context, s *store.Store, id account.ID) error {
	lines, err := s.ListAudit(ctx, id, shownChanges)
	if err != nil {
		return err
	}
	name := func(key account.KeyID) string {
		if key.IsZero() {
			return ""
		}
		return key.String()
	}
	v.Changes, v.Due = []ChangeView{}, []DueChangeView{}
	for i := range lines {
		l := &lines[i]
		v.Changes = append(v.Changes, ChangeView{
			At: l.At, Actor: l.Actor, Origin: l.Origin, Action: l.Action, Key: name(l.Key), Reason: l.Reason,
		})
	}
	due, err := s.ListPushesOf(ctx, id)
	for _, p := range due {
		v.Due = append(v.Due, DueChangeView{Key: name(p.Key), Version: p.Version, Since: p.Since})
	}
	return err
}

// orNone returns u, or nil if it is unlimited.
func orNone(u plan.Units) *plan.Units {
	if u == plan.Unlimited {
		return nil
	}
	return &u
}

func names(services []account.Service) []string {
	all := make([]string, len(services))
	for i, s := range services {
		all[i] = string(s)
	}
	return all
}

package statement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Grace is how far past a period's end, and past the cut of one that was cut short, all usage must
// be recorded before the period is closed. It is longer than any call takes, than a change takes to
// be in force, and than the meter's clock may step back. Usage that is recorded later becomes an
// adjustment.
const Grace = 5 * time.Minute

// ErrNoPeriod is returned when an account has no period of that name, or the name is not valid.
var ErrNoPeriod = errors.New("statement: the account has no such period")

// Compiler compiles and stores statements. It is safe for concurrent use.
type Compiler struct {
	Store *store.Store
	Now   func() time.Time
}

// Entry is an entry in the list of an account's periods. Requests and Units are set for closed
// ones.
type Entry struct {
	Period
	Status Status
}

// List returns the periods of an account, newest first. It omits empty ones of accounts that nobody
// signs in to: they are closed only when somebody asks for them.
func (b *Compiler) List(ctx context.Context, of *accountdb.Account) ([]Entry, error) {
	h, err := b.history(ctx, of)
	if err != nil {
		return nil, err
	}
	now := b.Now()
	used := h.usedNames()
	var entries []Entry
	for _, p := range h.periods(now) {
		e := Entry{Period: p, Status: statusOf(&p, now)}
		if e.Status == Closing && !used[p.Name] && !statedWhenEmpty(of) {
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func statusOf(p *Period, now time.Time) Status {
	switch {
	case p.Closed:
		return Closed
	case now.Before(p.End):
		return Open
	}
	return Closing
}

// statedWhenEmpty reports whether periods without usage are closed too: those of accounts that
// people sign in to or that a wallet holds. There are very many others, and most are used for a
// day.
func statedWhenEmpty(a *accountdb.Account) bool {
	return a.Kind == accountdb.KindOwner || a.Kind == accountdb.KindWallet
}

// Current returns the name of the current period.
func (b *Compiler) Current(of *accountdb.Account) string {
	start, _ := of.Cycle.Period(b.Now())
	return account.Period{Start: start}.Key()
}

// Get returns the statement of a period by its name: the frozen one, or a live one. It closes the
// period if that is possible. It returns ErrNoPeriod when the account has no period of that name.
func (b *Compiler) Get(ctx context.Context, of *accountdb.Account, name string) (Statement, error) {
	ref := usagedb.UsagePeriod{Account: of.ID, Period: name}
	if s, err := b.frozen(ctx, ref); err == nil || !errors.Is(err, store.ErrNotFound) {
		return s, err
	}
	h, err := b.history(ctx, of)
	if err != nil {
		return Statement{}, err
	}
	all := h.periods(b.Now())
	at := slices.IndexFunc(all, func(p Period) bool { return p.Name == name })
	if at < 0 {
		return Statement{}, fmt.Errorf("account %s, period %q: %w", of.ID, name, ErrNoPeriod)
	}
	p := all[at]
	if mark, err := b.watermark(ctx, of.ID); err != nil {
		return Statement{}, err
	} else if recorded(&p, mark) {
		if _, err := b.Close(ctx, []accountdb.Account{*of}, Only(name)); err != nil {
			return Statement{}, err
		}
		if s, err := b.frozen(ctx, ref); err == nil || !errors.Is(err, store.ErrNotFound) {
			return s, err
		} // the record changed in between
	}
	return b.live(ctx, of, &p)
}

// recorded reports whether all usage of a period is in PostgreSQL.
func recorded(p *Period, mark time.Time) bool {
	return !mark.IsZero() && !mark.Before(p.due())
}

func (b *Compiler) frozen(ctx context.Context, ref usagedb.UsagePeriod) (Statement, error) {
	kept, err := b.Store.FindStatement(ctx, ref)
	if err != nil {
		return Statement{}, err
	}
	return thaw(kept.Content, kept.Hash)
}

// watermark returns the instant before which all usage of an account is recorded; zero before the
// first flush.
func (b *Compiler) watermark(ctx context.Context, id account.ID) (time.Time, error) {
	mark, err := b.Store.AccountWatermark(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	return mark, err
}

func (b *Compiler) history(ctx context.Context, of *accountdb.Account) (*history, error) {
	var h *history
	err := b.Store.ReadStatements(ctx, func(r *billingdb.StatementTx) error {
		all, err := histories(ctx, r, []accountdb.Account{*of}, b.Now().Add(-maxPeriods*longest))
		if err == nil {
			h = all[0]
		}
		return err
	})
	return h, err
}

func (h *history) usedNames() map[string]bool {
	names := make(map[string]bool, len(h.used))
	for _, u := range h.used {
		names[u.Period] = true
	}
	return names
}

// histories reads what is known of the periods of accounts; of closed periods, those that ended
// after since.
func histories(ctx context.Context, r *billingdb.StatementTx, accounts []accountdb.Account,
	since time.Time,
) ([]*history, error) {
	all, by, ids := make([]*history, len(accounts)), make(map[account.ID]*history, len(accounts)),
		make([]account.ID, len(accounts))
	for i := range accounts {
		all[i] = &history{account: &accounts[i]}
		ids[i], by[accounts[i].ID] = accounts[i].ID, all[i]
	}
	heads, err := r.Heads(ctx, ids, since)
	if err != nil {
		return nil, err
	}
	for i := range heads {
		h := by[heads[i].Account]
		h.heads = append(h.heads, heads[i])
	}
	ended, err := r.Ended(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range ended {
		h := by[ended[i].Account]
		h.ended = append(h.ended, ended[i])
	}
	used, err := r.Unstated(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, u := range used {
		h := by[u.Account]
		h.used = append(h.used, u)
	}
	return all, nil
}

// live compiles a period that is not closed, from one database snapshot.
func (b *Compiler) live(ctx context.Context, of *accountdb.Account, p *Period) (Statement, error) {
	now := b.Now()
	f := facts{
		account: of.ID, period: *p, status: statusOf(p, now), at: now, usage: newTally(),
		plan: planBefore(of, now.Add(time.Nanosecond)),
	}
	if f.status == Closing {
		f.plan = cmp.Or(p.Plan, planBefore(of, p.End))
	}
	ref := usagedb.UsagePeriod{Account: of.ID, Period: p.Name}
	err := b.Store.ReadStatements(ctx, func(r *billingdb.StatementTx) error {
		marks, err := r.Watermarks(ctx)
		if err != nil {
			return err
		}
		f.asOf = marks[account.Shard(of.ID)]
		if f.status == Closing && p.Plan == "" {
			plans, err := r.PlansAt(ctx, []billingdb.Moment{{Account: of.ID, At: p.End}})
			if err != nil {
				return err
			}
			if held, ok := plans[billingdb.Moment{Account: of.ID, At: p.End}]; ok {
				f.plan = held
			}
		}
		lines, err := r.LiveLines(ctx, ref, limitNames())
		if err != nil {
			return err
		}
		for i := range lines {
			f.usage.add(&lines[i])
		}
		if f.keys, err = r.Keys(ctx, keysOf(lines)); err != nil {
			return err
		}
		f.invoices, err = r.Invoices(ctx, []billingdb.Moment{{Account: of.ID, At: p.End}})
		return err
	})
	if err != nil {
		return Statement{}, err
	}
	f.invoices = slices.DeleteFunc(f.invoices, func(i billingdb.StatementInvoice) bool {
		return i.CreatedAt.Before(p.Start)
	})
	return compile(&f), nil
}

// keysOf returns the distinct keys of lines.
func keysOf(lines []billingdb.StatementLine) []account.KeyID {
	seen := map[account.KeyID]bool{}
	var keys []account.KeyID
	for i := range lines {
		if !seen[lines[i].Key] {
			seen[lines[i].Key] = true
			keys = append(keys, lines[i].Key)
		}
	}
	return keys
}

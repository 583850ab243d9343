package audit

import (
	"bytes"
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/usagedb"
)

// page is how many accounts or periods one query reads.
const page = 500

// walk visits every account that is recorded or has usage, in the order of ids, with its periods to
// audit. It holds one page of each in memory.
func (a *auditor) walk(ctx context.Context, visit func(account.ID, []string) error) error {
	accounts := &pages[account.ID]{next: func(last account.ID) ([]account.ID, error) {
		found, err := a.record.ListAccounts(ctx, last, page)
		ids := make([]account.ID, len(found))
		for i := range found {
			ids[i] = found[i].ID
		}
		return ids, err
	}}
	periods := &pages[usagedb.UsagePeriod]{next: func(last usagedb.UsagePeriod) ([]usagedb.UsagePeriod, error) {
		return a.record.ListUsagePeriods(ctx, last, page)
	}}
	for {
		nextAccount, more, err := accounts.peek()
		if err != nil {
			return err
		}
		nextPeriod, used, err := periods.peek()
		if err != nil {
			return err
		}
		id := nextAccount
		switch {
		case !more && !used:
			return nil
		case !more, used && bytes.Compare(nextPeriod.Account.UUID[:], id.UUID[:]) < 0:
			id = nextPeriod.Account
		}
		if more && id == nextAccount {
			accounts.take()
		}
		var of []string
		for used && nextPeriod.Account == id {
			if a.o.Period == "" || a.o.Period == nextPeriod.Period {
				of = append(of, nextPeriod.Period)
			}
			periods.take()
			if nextPeriod, used, err = periods.peek(); err != nil {
				return err
			}
		}
		if len(of) == 0 && a.o.Period != "" {
			continue
		}
		if err := visit(id, of); err != nil {
			return err
		}
	}
}

// periodsOf returns the periods of one account to audit.
func (a *auditor) periodsOf(ctx context.Context, id account.ID) ([]string, error) {
	var of []string
	last := usagedb.UsagePeriod{Account: id}
	for {
		found, err := a.record.ListUsagePeriods(ctx, last, page)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if p.Account != id {
				return of, nil
			}
			if a.o.Period == "" || a.o.Period == p.Period {
				of = append(of, p.Period)
			}
		}
		if len(found) < page {
			return of, nil
		}
		last = found[len(found)-1]
	}
}

// pages iterates over the items of successive pages.
type pages[T any] struct {
	next func(last T) ([]T, error) // the page after item last; shorter than page at the end
	held []T
	last T
	end  bool
}

// peek returns the next item without taking it, and false when there is none.
func (p *pages[T]) peek() (T, bool, error) {
	if len(p.held) == 0 && !p.end {
		found, err := p.next(p.last)
		if err != nil {
			return p.last, false, err
		}
		p.held, p.end = found, len(found) < page
		if len(found) > 0 {
			p.last = found[len(found)-1]
		}
	}
	if len(p.held) == 0 {
		var none T
		return none, false, nil
	}
	return p.held[0], true, nil
}

func (p *pages[T]) take() { p.held = p.held[1:] }

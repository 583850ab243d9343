package statement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/store"
)

// Outcome is what became of closing one period.
type Outcome struct {
	Known  bool      // whether the account has such a period, that began by now
	Closed bool      // now or before
	Hash   string    // of what was frozen, as statements show it
	Ends   time.Time // of the period, as the record has it: a change of the cycle may have moved it
	Due    time.Time // up to where all usage must be recorded; zero of a closed one
}

// CloseOne closes a period, empty or not, once all its usage is recorded. ended is zero when only
// the record knows it. It may be repeated.
func (b *Book) CloseOne(ctx context.Context, ref store.UsagePeriod, ended Ended) (Outcome, error) {
	of, err := b.Store.LoadAccount(ctx, ref.Account)
	if errors.Is(err, store.ErrNotFound) {
		return Outcome{}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	if _, err := b.Close(ctx, []store.Account{of}, Choice{ref.Period, ended}); err != nil {
		return Outcome{}, err
	}
	s, err := b.frozen(ctx, ref)
	if err == nil {
		return Outcome{Known: true, Closed: true, Hash: s.ContentHash, Ends: s.EndsAt}, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return Outcome{}, err
	}
	h, err := b.history(ctx, &of)
	if err != nil {
		return Outcome{}, err
	}
	for _, p := range h.periods(b.Now()) {
		if p.Name == ref.Period {
			return Outcome{Known: true, Ends: p.End, Due: p.due()}, nil
		}
	}
	return Outcome{}, nil
}

// How much of a sweep is done at once.
const (
	SweepPage  = 2_000 // accounts between two places where a sweep may go on
	sweepBatch = 250   // accounts in a transaction
	sweepLanes = 2     // transactions at a time
)

// Swept is what a page of a sweep did.
type Swept struct {
	Report
	Accounts int
	Failed   int        // accounts that could not be closed, which the log names
	Last     account.ID // where to go on
	End      bool       // whether there are no more accounts
}

// Sweep closes what is over and recorded of the next page of accounts. One account that cannot be
// closed does not keep the others from it; many of them are an error, after which it is worth to
// try the page again. beat is called now and then.
func (b *Book) Sweep(ctx context.Context, after account.ID, page int, beat func(), log *slog.Logger) (Swept, error) {
	return b.sweep(ctx, after, page, maxFailed, beat, log)
}

// SweepOn is Sweep that goes on however many accounts cannot be closed, for a page that was tried
// in vain: the accounts behind it shall not wait.
func (b *Book) SweepOn(ctx context.Context, after account.ID, page int, beat func(), log *slog.Logger) (Swept, error) {
	return b.sweep(ctx, after, page, sweepBatch+1, beat, log)
}

func (b *Book) sweep(ctx context.Context, after account.ID, page, limit int, beat func(),
	log *slog.Logger,
) (Swept, error) {
	accounts, err := b.Store.ListAccounts(ctx, after, page)
	if err != nil {
		return Swept{}, err
	}
	swept := Swept{Accounts: len(accounts), Last: after, End: len(accounts) < page}
	if len(accounts) > 0 {
		swept.Last = accounts[len(accounts)-1].ID
	}
	var mu sync.Mutex // guards swept
	group, ctx := parallel.WithContext(ctx)
	group.SetLimit(sweepLanes)
	for from := 0; from < len(accounts); from += sweepBatch {
		batch := accounts[from:min(from+sweepBatch, len(accounts))]
		group.Go(func() error {
			report, failed, err := b.closeBatch(ctx, batch, limit, log)
			beat()
			mu.Lock()
			defer mu.Unlock()
			swept.plus(report)
			swept.Failed += failed
			return err
		})
	}
	return swept, group.Wait()
}

// closeBatch closes accounts together, and one by one when that fails. When most of them cannot be
// closed, it is not the accounts' fault.
func (b *Book) closeBatch(ctx context.Context, batch []store.Account, limit int,
	log *slog.Logger,
) (report Report, failed int, err error) {
	if report, err = b.Close(ctx, batch, Choice{}); err == nil || ctx.Err() != nil {
		return report, 0, err
	}
	report = Report{}
	for i := range batch {
		one, err := b.Close(ctx, batch[i:i+1], Choice{})
		if ctx.Err() != nil {
			return report, failed, ctx.Err()
		}
		if err != nil {
			failed++
			log.Error("statement not closed; the next sweep retries it", "account_id", batch[i].ID,
				"error", err)
			if failed >= limit {
				return report, failed, fmt.Errorf("%d accounts of a batch could not be closed, the last: %w",
					failed, err)
			}
			continue
		}
		report.plus(one)
	}
	return report, failed, nil
}

// maxFailed is how many accounts of a batch may fail before the failure is not theirs.
const maxFailed = 20

// Add counts the next page, after which it goes on.
func (s *Swept) Add(next *Swept) {
	s.plus(next.Report)
	s.Accounts += next.Accounts
	s.Failed += next.Failed
	s.Last, s.End = next.Last, next.End
}

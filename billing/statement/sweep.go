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
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Outcome is the result of closing one period.
type Outcome struct {
	Known  bool      // the account has such a period that has begun
	Closed bool      // closed now or earlier
	Hash   string    // content hash of the frozen statement
	Ends   time.Time // end of the period as recorded; a change of the cycle may have moved it
	Due    time.Time // instant before which all usage must be recorded; zero for a closed one
}

// CloseOne closes a period, empty or not, once all its usage is recorded. ended is zero when the
// caller does not know how the period ended. It is idempotent.
func (b *Compiler) CloseOne(ctx context.Context, ref usagedb.UsagePeriod, ended Ended) (Outcome, error) {
	of, err := b.Store.LoadAccount(ctx, ref.Account)
	if errors.Is(err, store.ErrNotFound) {
		return Outcome{}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	if _, err := b.Close(ctx, []accountdb.Account{of}, Choice{ref.Period, ended}); err != nil {
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

// Sizes of a sweep.
const (
	SweepPage  = 2_000 // accounts per page; a sweep can resume after each page
	sweepBatch = 250   // accounts per transaction
	sweepLanes = 2     // concurrent transactions
)

// Swept is the result of a page of a sweep.
type Swept struct {
	Report
	Accounts int
	Failed   int        // accounts that could not be closed; the log names them
	Last     account.ID // the last account of the page
	End      bool       // there are no more accounts
}

// Sweep closes the ended and fully recorded periods of the next page of accounts. An account that
// fails does not stop the others. Many failures are an error, after which the page is worth a
// retry. beat is called from time to time, as a heartbeat.
func (b *Compiler) Sweep(ctx context.Context, after account.ID, page int, beat func(),
	log *slog.Logger,
) (Swept, error) {
	return b.sweep(ctx, after, page, maxFailed, beat, log)
}

// SweepOn is Sweep without a limit of failures, for a page whose retries failed: the accounts after
// it must not wait.
func (b *Compiler) SweepOn(ctx context.Context, after account.ID, page int, beat func(),
	log *slog.Logger,
) (Swept, error) {
	return b.sweep(ctx, after, page, sweepBatch+1, beat, log)
}

func (b *Compiler) sweep(ctx context.Context, after account.ID, page, limit int, beat func(),
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

// closeBatch closes accounts in one transaction, or one by one when that fails. limit failures are
// an error: the cause is then not the accounts.
func (b *Compiler) closeBatch(ctx context.Context, batch []accountdb.Account, limit int,
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

// maxFailed is how many accounts of a batch may fail before the cause is taken to be elsewhere.
const maxFailed = 20

// Add adds the result of the next page.
func (s *Swept) Add(next *Swept) {
	s.plus(next.Report)
	s.Accounts += next.Accounts
	s.Failed += next.Failed
	s.Last, s.End = next.Last, next.End
}

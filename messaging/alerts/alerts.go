// Package alerts notifies users by mail of what neither a call nor a person causes: packs that are
// about to expire, and chains that are down. It finds the facts, records them and queues the mails
// in the same transaction, deduplicated by reason and user. It also records the state of chains for
// the status page. It sends nothing (package outbox does) and needs no Temporal. Any number of
// workers may run it concurrently.
package alerts

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/chaindb"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// Record is the database of facts (store.Store).
type Record interface {
	ListExpiringPacks(ctx context.Context, at time.Time, after *accountdb.Pack, limit int) ([]accountdb.Pack, error)
	NotePackNotice(ctx context.Context, of accountdb.Pack, days int, result billingdb.PackResult,
		mails ...maildb.NewMail) error
	LoadAccount(ctx context.Context, id account.ID) (accountdb.Account, error)
	LoadSettings(ctx context.Context, id account.ID) (accountdb.Settings, error)
	ListMembers(ctx context.Context, id account.ID) ([]peopledb.Member, error)
	ListMemberships(ctx context.Context, id account.UserID) ([]peopledb.Membership, error)
	ListOptedOut(ctx context.Context, id account.ID, topic account.Topic) ([]account.UserID, error)

	ObserveChain(ctx context.Context, chain string, down bool, at time.Time,
		p chaindb.Patience) (*chaindb.Incident, error)
	EndUnservedIncidents(ctx context.Context, served []chain.ID, since time.Time) ([]chaindb.Incident, error)
	RecordChain(ctx context.Context, r *chaindb.ChainReport, gap time.Duration) error
	ListUntoldIncidents(ctx context.Context, limit int) ([]chaindb.Incident, error)
	ListReaders(ctx context.Context, i *chaindb.Incident, since time.Time, limit int) ([]chaindb.Reader, error)
	TellIncident(ctx context.Context, i *chaindb.Incident, last *chaindb.Reader, mails ...maildb.NewMail) error
}

// Board holds the newest measurements of chains (upstream.Board).
type Board interface {
	ReadAll(ctx context.Context, ids ...chain.ID) (map[chain.ID]upstream.Posted, error)
	ReadSlots(ctx context.Context, ids ...chain.ID) (map[chain.ID][]upstream.Slot, error)
}

// Sealer prepares mails for the database (outbox.Outbox).
type Sealer interface {
	Prepare(l outbox.Mail) (maildb.NewMail, error)
}

// Options configures a Watcher. Fields without a default are required.
type Options struct {
	Record    Record
	Board     Board
	Chains    func() []chain.ID // the served chains; called on every pass
	Known     *chain.Set        // every chain that the gateway knows
	Mails     Sealer
	PublicURL string // without a trailing slash
	Now       func() time.Time
	Logger    *slog.Logger // slog.Default()

	ChainInterval time.Duration // between reads of the board; 10 s
	PackInterval  time.Duration // between checks of packs; 10 minutes
}

// Watcher finds what users are to be notified of, and queues the mails.
type Watcher struct{ Options }

// New returns a watcher. Run starts it.
func New(o Options) *Watcher { //nolint:gocritic // a copy at the start does no harm
	for value, byDefault := range map[*time.Duration]time.Duration{
		&o.ChainInterval: 10 * time.Second, &o.PackInterval: 10 * time.Minute,
	} {
		if *value <= 0 {
			*value = byDefault
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Watcher{o}
}

const (
	page         = 100
	sweepTimeout = time.Minute // timeout of one pass; the next one does the rest
)

// Run checks periodically until ctx is done. Failures are logged and retried by the next pass,
// which continues from the database's state.
func (s *Watcher) Run(ctx context.Context) {
	chains, packs := time.NewTicker(s.ChainInterval), time.NewTicker(s.PackInterval)
	defer chains.Stop()
	defer packs.Stop()
	s.try(ctx, "packs that are about to expire", s.CheckPacks)
	for {
		s.try(ctx, "incidents of chains", s.CheckChains)
		select {
		case <-ctx.Done():
			return
		case <-packs.C:
			s.try(ctx, "packs that are about to expire", s.CheckPacks)
		case <-chains.C:
		}
	}
}

func (s *Watcher) try(ctx context.Context, what string, sweep func(context.Context) error) {
	within, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	if err := sweep(within); err != nil && ctx.Err() == nil {
		s.Logger.Error("users not notified; will retry", "of", what, "error", err)
	}
}

// nameOf returns an account's name for its users, or the address of first, the member who joined
// first.
func (s *Watcher) nameOf(ctx context.Context, id account.ID, first *peopledb.Member) (string, error) {
	of, err := s.Record.ListMemberships(ctx, first.User)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(of, func(m peopledb.Membership) bool { return m.Account == id && m.Name != "" }); i >= 0 {
		return of[i].Name, nil
	}
	return first.Email.Address(), nil
}

// Package alerts owns what users are told by mail that no call and no person brings about: packs
// that are about to expire, and chains that are down. It looks for the facts, records them, and
// queues the mails in the same transaction, one for each reason and user for ever. What it sees of
// chains it records besides, as the history that the page of status shows. It sends nothing
// (package outbox does) and needs no Temporal; any number of workers may run it beside each other.
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
	"github.com/chainaccess/gateway/store"
)

// Record is where the facts are (store.Store).
type Record interface {
	ListExpiringPacks(ctx context.Context, at time.Time, after *store.Pack, limit int) ([]store.Pack, error)
	NotePackNotice(ctx context.Context, of store.Pack, days int, result store.PackResult, mails ...store.NewMail) error
	LoadAccount(ctx context.Context, id account.ID) (store.Account, error)
	LoadSettings(ctx context.Context, id account.ID) (store.Settings, error)
	ListMembers(ctx context.Context, id account.ID) ([]store.Member, error)
	ListMemberships(ctx context.Context, id account.UserID) ([]store.Membership, error)
	ListOptedOut(ctx context.Context, id account.ID, topic account.Topic) ([]account.UserID, error)

	ObserveChain(ctx context.Context, chain string, down bool, at time.Time, p store.Patience) (*store.Incident, error)
	EndUnservedIncidents(ctx context.Context, served []chain.ID, since time.Time) ([]store.Incident, error)
	RecordChain(ctx context.Context, r *store.ChainReport, gap time.Duration) error
	ListUntoldIncidents(ctx context.Context, limit int) ([]store.Incident, error)
	ListReaders(ctx context.Context, i *store.Incident, since time.Time, limit int) ([]store.Reader, error)
	TellIncident(ctx context.Context, i *store.Incident, last *store.Reader, mails ...store.NewMail) error
}

// Board is where the newest measurements of chains stand (upstream.Board).
type Board interface {
	ReadAll(ctx context.Context, ids ...chain.ID) (map[chain.ID]upstream.Posted, error)
	ReadSlots(ctx context.Context, ids ...chain.ID) (map[chain.ID][]upstream.Slot, error)
}

// Sealer prepares letters for the record (outbox.Outbox).
type Sealer interface {
	Prepare(l outbox.Mail) (store.NewMail, error)
}

// Options are what a Watcher works with. Those without a default are required.
type Options struct {
	Record    Record
	Board     Board
	Chains    func() []chain.ID // that are served, asked each time
	Mails     Sealer
	PublicURL string // without a slash at its end
	Now       func() time.Time
	Logger    *slog.Logger // slog.Default()

	ChainInterval time.Duration // between looks at the board; ten seconds
	PackInterval  time.Duration // between looks for packs; ten minutes
}

// Watcher looks for what is to be told, and tells it.
type Watcher struct{ Options }

// New makes a watcher, which does nothing before Run.
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
	sweepTimeout = time.Minute // of one look; what it did not come to is found by the next one
)

// Run looks again and again until ctx ends. Failures are logged, and the next look begins where the
// record says.
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
		s.Logger.Error("users are not told; it is tried again", "of", what, "error", err)
	}
}

// nameOf is what an account is called towards its users: its name, or the address of the one who
// joined first.
func (s *Watcher) nameOf(ctx context.Context, id account.ID, first *store.Member) (string, error) {
	of, err := s.Record.ListMemberships(ctx, first.User)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(of, func(m store.Membership) bool { return m.Account == id && m.Name != "" }); i >= 0 {
		return of[i].Name, nil
	}
	return first.Email.Address(), nil
}

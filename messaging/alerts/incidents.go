package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store/chaindb"
	"github.com/chainaccess/gateway/store/maildb"
)

// patience is how long a chain must be down, or up again, before that counts: five minutes in which
// measurements were at most two minutes apart.
var patience = chaindb.Patience{After: 5 * time.Minute, Gap: 2 * time.Minute}

const (
	// usedWithin is how recently an account must have called a chain to be notified.
	usedWithin = 30 * 24 * time.Hour
	// statusPage is the page that mails about incidents link to.
	statusPage = "/status"
)

// CheckChains records the state of every chain once, and queues mails about incidents that began or
// ended.
func (s *Watcher) CheckChains(ctx context.Context) error {
	err := errors.Join(s.observe(ctx), s.endUnserved(ctx))
	untold, listErr := s.Record.ListUntoldIncidents(ctx, page)
	err = errors.Join(err, listErr)
	for i := range untold {
		err = errors.Join(err, s.tellIncident(ctx, &untold[i]))
	}
	return err
}

// observe records the newest measurement of every chain and the counts of its calls. The store
// ignores measurements that it already has.
func (s *Watcher) observe(ctx context.Context) error {
	all, err := s.Board.ReadAll(ctx, s.Chains()...)
	slots, slotsErr := s.Board.ReadSlots(ctx, s.Chains()...)
	err = errors.Join(err, slotsErr)
	for id, posted := range all {
		if !posted.Known {
			continue
		}
		state, why := posted.State(s.Known, slots[id])
		at := posted.Snapshot.MeasuredAt
		report := &chaindb.ChainReport{
			Chain: id, State: state, Why: why, MeasuredAt: at, Calls: callsOf(slots[id], s.Now()),
		}
		err = errors.Join(err, s.Record.RecordChain(ctx, report, patience.Gap))
		news, failed := s.Record.ObserveChain(ctx, string(id), state == chain.Down, at, patience)
		err = errors.Join(err, failed)
		switch {
		case news == nil:
		case news.Over():
			s.Logger.Info("chain is up again", "chain", id, "incident_id", news.ID.String(), "began_at",
				news.BeganAt, "ended_at", news.EndedAt)
		default:
			s.Logger.Error("chain is down; users are notified", "chain", id, "incident_id", news.ID.String(),
				"began_at", news.BeganAt)
		}
	}
	return err
}

// endUnserved ends incidents of chains that are no longer served: nobody measures these, so nobody
// would see them recover. While another worker still measures such a chain, because it has not yet
// read the new upstreams, the incident stays open.
func (s *Watcher) endUnserved(ctx context.Context) error {
	served := s.Chains()
	if len(served) == 0 {
		return nil // upstreams that are not read yet do not mean that no chain is served
	}
	ended, err := s.Record.EndUnservedIncidents(ctx, served, s.Now().Add(-patience.Gap))
	for i := range ended {
		over := &ended[i]
		s.Logger.Info("chain that was down is no longer served", "chain", over.Chain, "incident_id", over.ID.String(),
			"began_at", over.BeganAt, "ended_at", over.EndedAt)
	}
	return err
}

// slotStands is the largest offset of a process's clock for which its slots count.
const slotStands = 3 * upstream.SlotLength

// callsOf converts slots for the store. It omits slots without calls, and slots of processes whose
// clock is wrong.
func callsOf(slots []upstream.Slot, now time.Time) []chaindb.ChainCalls {
	var all []chaindb.ChainCalls
	for i := range slots {
		s := &slots[i]
		if s.Calls == 0 && s.Attempts == 0 || now.Sub(s.Start).Abs() > slotStands {
			continue
		}
		c := chaindb.ChainCalls{Slot: s.Start, ChainTraffic: chaindb.ChainTraffic{
			Calls: s.Calls, Rerouted: s.Rerouted, Lost: s.Lost, Attempts: s.Attempts, Failed: s.Failed,
		}}
		for bucket, n := range s.Latencies {
			if bucket >= 0 && bucket < account.LatencyBuckets {
				c.Latency[bucket] += n
			}
		}
		all = append(all, c)
	}
	return all
}

// tellIncident queues the mails of an incident page by page. After a crash, the next pass continues
// after the last page that was queued.
func (s *Watcher) tellIncident(ctx context.Context, i *chaindb.Incident) error {
	for {
		readers, err := s.Record.ListReaders(ctx, i, i.BeganAt.Add(-usedWithin), page)
		if err != nil {
			return err
		}
		mails := make([]maildb.NewMail, 0, len(readers))
		for n := range readers {
			mail, err := s.Mails.Prepare(s.incidentLetter(i, &readers[n]))
			if errors.Is(err, outbox.ErrAddress) {
				s.Logger.Warn("cannot notify a user of an incident: no mail can be sent to the address", "user_id",
					readers[n].User.String())
				continue
			}
			if err != nil {
				return fmt.Errorf("tell of incident %s: %w", i.ID, err)
			}
			mails = append(mails, mail)
		}
		var last *chaindb.Reader
		if len(readers) == page {
			last = &readers[page-1]
		}
		if err := s.Record.TellIncident(ctx, i, last, mails...); err != nil || last == nil {
			return err
		}
	}
}

func (s *Watcher) incidentLetter(i *chaindb.Incident, r *chaindb.Reader) outbox.Mail {
	name, link := r.Name, s.PublicURL+statusPage
	if name == "" {
		name = r.Email.Address()
	}
	title := s.Known.Title(i.Chain)
	l := outbox.Mail{
		To: r.Email.Address(), Account: r.Account, Zone: r.Zone, Topic: account.TopicIncidents, User: r.User,
		Reason: i.Reason(r.User.String()), Mail: notify.IncidentBegan{
			Account: name, Chain: title, Began: i.BeganAt, Link: link,
		},
	}
	if i.Over() {
		l.Reason = i.OverReason(r.User.String())
		l.Mail = notify.IncidentOver{Account: name, Chain: title, Began: i.BeganAt, Ended: i.EndedAt, Link: link}
	}
	return l
}

package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/maildb"
)

// billingPage is the page that mails about packs link to.
const billingPage = "/billing"

// CheckPacks notifies holders of packs that expire within 30 days, and again of packs that expire
// within seven. A pack that fails is retried by the next pass and does not hold up the others.
func (s *Watcher) CheckPacks(ctx context.Context) error {
	var failed error
	for last := (*accountdb.Pack)(nil); ; {
		packs, err := s.Record.ListExpiringPacks(ctx, s.Now(), last, page)
		if err != nil {
			return errors.Join(failed, err)
		}
		for i := range packs {
			if err := s.tellPack(ctx, &packs[i]); err != nil {
				failed = errors.Join(failed, fmt.Errorf("tell of pack %s: %w", packs[i].ID, err))
			}
			if ctx.Err() != nil {
				return failed
			}
		}
		if len(packs) < page {
			return failed
		}
		last = &packs[len(packs)-1]
	}
}

// tellPack records the notice that is due for a pack, and queues its mails.
func (s *Watcher) tellPack(ctx context.Context, p *accountdb.Pack) error {
	days := billingdb.PackDays(p.Expires, s.Now())
	if days == 0 {
		return nil // expired meanwhile
	}
	left, err := s.leftIn(ctx, p)
	if err != nil {
		return err
	}
	if left <= 0 {
		return s.Record.NotePackNotice(ctx, *p, days, billingdb.PackUsedUp)
	}
	letters, result, err := s.packLetters(ctx, p, days, left)
	if err != nil {
		return err
	}
	mails := make([]maildb.NewMail, len(letters))
	for i := range letters {
		if mails[i], err = s.Mails.Prepare(letters[i]); err != nil {
			return err
		}
	}
	return s.Record.NotePackNotice(ctx, *p, days, result, mails...)
}

// leftIn returns the unused units of a pack, as far as usage is flushed.
func (s *Watcher) leftIn(ctx context.Context, p *accountdb.Pack) (plan.Units, error) {
	holder, err := s.Record.LoadAccount(ctx, p.Account)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(holder.Packs, func(q account.Pack) bool { return q.ID == p.ID })
	if i < 0 {
		return 0, fmt.Errorf("account %s does not hold it", p.Account)
	}
	return holder.Packs[i].Units - holder.Packs[i].Used, nil
}

func (s *Watcher) packLetters(ctx context.Context, p *accountdb.Pack, days int,
	left plan.Units,
) ([]outbox.Mail, billingdb.PackResult, error) {
	members, err := s.Record.ListMembers(ctx, p.Account)
	if err != nil {
		return nil, "", err
	}
	if len(members) == 0 {
		return nil, billingdb.PackNoRecipient, nil
	}
	out, err := s.Record.ListOptedOut(ctx, p.Account, account.TopicPacks)
	if err != nil {
		return nil, "", err
	}
	settings, err := s.Record.LoadSettings(ctx, p.Account)
	if err != nil {
		return nil, "", err
	}
	said := notify.PackExpiring{
		Pack: titleOf(p.Kind), Left: left, Units: p.Units, Expires: p.Expires, Days: days,
		Link: s.PublicURL + billingPage,
	}
	if said.Account, err = s.nameOf(ctx, p.Account, &members[0]); err != nil {
		return nil, "", err
	}
	letters := make([]outbox.Mail, 0, len(members))
	for i := range members {
		if slices.Contains(out, members[i].User) {
			continue
		}
		letters = append(letters, outbox.Mail{
			Reason: fmt.Sprintf("pack/%s/%d/%s", p.ID, days, members[i].User), To: members[i].Email.Address(),
			Account: p.Account, Zone: settings.TimeZone, Mail: said, Topic: account.TopicPacks, User: members[i].User,
			Expires: p.Expires,
		})
	}
	if len(letters) == 0 {
		return nil, billingdb.PackDeclined, nil
	}
	return letters, billingdb.PackQueued, nil
}

// titleOf returns a pack's title: the ladder's, or the name under which it was granted.
func titleOf(kind string) string {
	for _, p := range plan.Packs() {
		if p.Key == kind {
			return p.Title
		}
	}
	return kind
}

package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// People reads the users of an account and their settings for mails.
type People interface {
	ListMembers(ctx context.Context, id account.ID) ([]peopledb.Member, error)
	ListMemberships(ctx context.Context, id account.UserID) ([]peopledb.Membership, error)
	LoadSettings(ctx context.Context, id account.ID) (accountdb.Settings, error)
	ListOptedOut(ctx context.Context, id account.ID, topic account.Topic) ([]account.UserID, error)
}

// Letterbox queues mails, all or none, deduplicated by their reason (outbox.Outbox).
type Letterbox interface {
	Queue(ctx context.Context, letters ...outbox.Mail) error
}

// UsageMails reports used allowances by mail: one to each user of the account, unless the settings
// of the account or the user say no.
type UsageMails struct {
	People    People
	Letters   Letterbox
	PublicURL string
	Now       func() time.Time
}

var _ Messenger = (*UsageMails)(nil)

// usagePage is the page that mails about usage link to.
const usagePage = "/overview"

// UsageReached queues the mails. It returns ErrNoRecipient if the account has no users, ErrDeclined
// if the account's settings or all users decline, and ErrOutdated if there is no allowance any
// more.
func (u *UsageMails) UsageReached(ctx context.Context, m UsageMessage) error {
	members, err := u.People.ListMembers(ctx, m.Account.ID)
	if err != nil {
		return err
	}
	if len(members) == 0 {
		return ErrNoRecipient
	}
	settings, err := u.People.LoadSettings(ctx, m.Account.ID)
	if err != nil {
		return err
	}
	if wanted := settings.NotifyUsage80; m.Notice.Percent < wholeAllowance && !wanted {
		return ErrDeclined
	}
	if wanted := settings.NotifyUsage100; m.Notice.Percent >= wholeAllowance && !wanted {
		return ErrDeclined
	}
	if m.Allowance == account.Unlimited {
		return ErrOutdated
	}
	out, err := u.People.ListOptedOut(ctx, m.Account.ID, account.TopicUsage)
	if err != nil {
		return err
	}
	said, err := u.said(ctx, &m, members[0])
	if err != nil {
		return err
	}
	letters := make([]outbox.Mail, 0, len(members))
	for i := range members {
		if slices.Contains(out, members[i].User) {
			continue
		}
		letters = append(letters, outbox.Mail{
			Reason: fmt.Sprintf("usage/%s/%s/%d/%s", m.Account.ID, m.Notice.Period, m.Notice.Percent, members[i].User),
			To:     members[i].Email.Address(), Account: m.Account.ID, Zone: settings.TimeZone, Mail: said,
			Topic: account.TopicUsage, User: members[i].User,
		})
	}
	if len(letters) == 0 {
		return ErrDeclined
	}
	return u.Letters.Queue(ctx, letters...)
}

// said returns the text for all users. first is any of them; its address names an account without a
// name.
//
//nolint:gocritic // a copy does no harm
func (u *UsageMails) said(ctx context.Context, m *UsageMessage, first peopledb.Member) (notify.UsageReached, error) {
	terms, err := m.Account.Terms()
	if err != nil {
		return notify.UsageReached{}, err
	}
	said := notify.UsageReached{
		Percent: m.Notice.Percent, Used: m.Totals.PlanUnits, Allowance: m.Allowance,
		Next: notify.NextRefused, Link: u.PublicURL + usagePage,
	}
	if said.Start, said.End, err = bounds(terms, m.Notice.Period); err != nil {
		return notify.UsageReached{}, err
	}
	switch left := u.left(m.Account.Packs); {
	case !terms.DrawsPacks():
		said.Next, said.SlowRate = notify.NextSlower, fmt.Sprintf("%d requests per %s", terms.Plan.SoftRate.Limit,
			unitOf(terms.Plan.SoftRate.Per))
	case left > 0:
		said.Next, said.Packs = notify.NextPacks, left
	}
	if said.Account, err = calledBy(ctx, u.People, m.Account.ID, &first); err != nil {
		return notify.UsageReached{}, err
	}
	return said, nil
}

// left returns the unused units of packs that have not expired.
func (u *UsageMails) left(packs []account.Pack) plan.Units {
	var left plan.Units
	for _, p := range packs {
		if u.Now().Before(p.Expires) && p.Used < p.Units {
			left += p.Units - p.Used
		}
	}
	return left
}

// bounds returns the start and end of the period that begins on a day. If the account's cycle has
// changed since, it is the month from that day on.
//
//nolint:gocritic // a copy does no harm
func bounds(terms account.Terms, day string) (start, end time.Time, err error) {
	begun, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("period %q is no date: %w", day, err)
	}
	if p := terms.Period(begun.AddDate(0, 0, 1).Add(-time.Millisecond)); p.Key() == day {
		return p.Start, p.End, nil
	}
	return begun, plan.AddMonths(begun, 1), nil
}

// unitOf returns a duration in words.
func unitOf(d time.Duration) string {
	if word, known := map[time.Duration]string{time.Second: "second", time.Minute: "minute"}[d]; known {
		return word
	}
	return d.String()
}

var (
	// ErrDeclined means that the settings decline the message.
	ErrDeclined = errors.New("activities: the account does not want to be told")
	// ErrOutdated means that the message is no longer true.
	ErrOutdated = errors.New("activities: what is told is not so any more")
)

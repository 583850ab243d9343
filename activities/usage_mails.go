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
	"github.com/chainaccess/gateway/store"
)

// People tells who belongs to an account, and how they want to be told things.
type People interface {
	ListMembers(ctx context.Context, id account.ID) ([]store.Member, error)
	ListMemberships(ctx context.Context, id account.UserID) ([]store.Membership, error)
	LoadSettings(ctx context.Context, id account.ID) (store.Settings, error)
	ListOptedOut(ctx context.Context, id account.ID, topic account.Topic) ([]account.UserID, error)
}

// Letterbox takes letters, all or none, each reason once (outbox.Outbox).
type Letterbox interface {
	Queue(ctx context.Context, letters ...outbox.Mail) error
}

// UsageMails tells of used allowances by mail: one to each user of the account, unless its settings
// or the user say no.
type UsageMails struct {
	People    People
	Letters   Letterbox
	PublicURL string
	Now       func() time.Time
}

var _ Messenger = (*UsageMails)(nil)

// usagePage is where mails about usage lead: the overview shows it.
const usagePage = "/overview"

// UsageReached queues the mails. ErrNoRecipient without users, ErrDeclined when the settings or all
// of them say no, ErrOutdated when there is no allowance any more that could be used up.
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

// said is what all users are told. first is any of them, and stands for an account without a name.
//
//nolint:gocritic // a copy does no harm
func (u *UsageMails) said(ctx context.Context, m *UsageMessage, first store.Member) (notify.UsageReached, error) {
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

// left is what packs hold that are drawn still.
func (u *UsageMails) left(packs []account.Pack) plan.Units {
	var left plan.Units
	for _, p := range packs {
		if u.Now().Before(p.Expires) && p.Used < p.Units {
			left += p.Units - p.Used
		}
	}
	return left
}

// bounds are those of the period that begins on a day. When the account's cycle is another by now,
// it is the month from that day on.
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

// unitOf says a length of time in words.
func unitOf(d time.Duration) string {
	if word, known := map[time.Duration]string{time.Second: "second", time.Minute: "minute"}[d]; known {
		return word
	}
	return d.String()
}

var (
	// ErrDeclined says that the account's settings do not want the message.
	ErrDeclined = errors.New("activities: the account does not want to be told")
	// ErrOutdated says that the message is no news any more.
	ErrOutdated = errors.New("activities: what is told is not so any more")
)

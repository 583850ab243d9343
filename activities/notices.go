package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// NoticeStore stores the notices of used allowances and what they report.
type NoticeStore interface {
	OpenNotices(ctx context.Context, stale time.Duration, limit int) ([]usagedb.UsageNotice, error)
	FindNotice(ctx context.Context, id usagedb.NoticeID) (usagedb.UsageNotice, error)
	StartNotice(ctx context.Context, id usagedb.NoticeID) error
	EndNotice(ctx context.Context, id usagedb.NoticeID, result string, delivered bool) (string, error)
	LoadAccount(ctx context.Context, id account.ID) (accountdb.Account, error)
	PeriodTotals(ctx context.Context, of usagedb.UsagePeriod) (usagedb.PeriodTotals, error)
}

// ErrNoRecipient means that an account has no users to write to.
var ErrNoRecipient = errors.New("activities: the account has nobody to write to")

// UsageMessage reports that a share of an allowance was used.
type UsageMessage struct {
	Notice    usagedb.NoticeID
	Account   accountdb.Account // with its packs, which are used after the quota
	Totals    usagedb.PeriodTotals
	Allowance plan.Units // of the current terms; Unlimited when they have no quota
}

// Messenger tells the owner of an account. It must be idempotent per notice. ErrNoRecipient,
// ErrDeclined and ErrOutdated end the notice; any other error is retried.
type Messenger interface {
	UsageReached(ctx context.Context, m UsageMessage) error
}

// NoRecipients is the messenger of a service that stores no addresses.
type NoRecipients struct{}

var _ Messenger = NoRecipients{}

// UsageReached always returns ErrNoRecipient.
func (NoRecipients) UsageReached(context.Context, UsageMessage) error { return ErrNoRecipient }

// Results of notices, as stored in their rows.
const (
	NoticeDelivered   = "delivered"
	NoticeNoRecipient = "no_recipient"
	NoticeDeclined    = "declined" // by the settings of the account or its users
	// NoticeSuperseded means that a notice of the whole allowance exists, or that there is no
	// allowance any more.
	NoticeSuperseded = "superseded"
	NoticeFailed     = "failed"    // after three days of retries
	NoticeCancelled  = "cancelled" // by an operator
)

// ErrNoticeUndelivered and ErrNoticeMissing are the types of the application errors of Notices; the
// second is not retried.
const (
	ErrNoticeUndelivered = "notice_undelivered"
	ErrNoticeMissing     = "notice_missing"
)

// wholeAllowance is the highest share that is noticed, in percent.
const wholeAllowance = 100

// NoticeRef names a notice in histories.
type NoticeRef struct {
	Account account.ID `json:"account"`
	Period  string     `json:"period"` // start date
	Percent int        `json:"percent"`
}

// RefOf returns the reference of a notice.
func RefOf(n usagedb.UsageNotice) NoticeRef { //nolint:gocritic // a copy does no harm
	return NoticeRef{Account: n.Account, Period: n.Period, Percent: n.Percent}
}

func (r NoticeRef) id() usagedb.NoticeID {
	return usagedb.NoticeID{UsagePeriod: usagedb.UsagePeriod{Account: r.Account, Period: r.Period}, Percent: r.Percent}
}

// NoticeEnd is the result of a notice that was not delivered.
type NoticeEnd struct {
	NoticeRef
	Result string `json:"result"`
}

// Notices delivers notices of used allowances.
type Notices struct {
	Store     NoticeStore
	Messenger Messenger
	Logger    *slog.Logger
}

// DeliverNotice tells the owner of the account, and records and returns the result. It does nothing
// for a notice that has a result. Causes of failures stay out of the history.
func (n *Notices) DeliverNotice(ctx context.Context, ref NoticeRef) (string, error) {
	result, err := n.deliver(ctx, ref.id())
	if err == nil {
		result, err = n.Store.EndNotice(ctx, ref.id(), result, result == NoticeDelivered)
	}
	return result, n.forHistory(ref, err)
}

// EndNotice records the end of a notice whose delivery was given up. It returns the result in the
// row, which is the first one recorded.
func (n *Notices) EndNotice(ctx context.Context, end NoticeEnd) (string, error) {
	result, err := n.Store.EndNotice(ctx, end.id(), end.Result, false)
	return result, n.forHistory(end.NoticeRef, err)
}

// deliver returns the result of a delivery, which the caller records.
func (n *Notices) deliver(ctx context.Context, id usagedb.NoticeID) (string, error) {
	notice, err := n.Store.FindNotice(ctx, id)
	if err != nil || notice.Result != "" {
		return notice.Result, err
	}
	if id.Percent < wholeAllowance {
		_, err := n.Store.FindNotice(ctx, usagedb.NoticeID{UsagePeriod: id.UsagePeriod, Percent: wholeAllowance})
		if err == nil {
			return NoticeSuperseded, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
	}
	message := UsageMessage{Notice: id}
	message.Account, err = n.Store.LoadAccount(ctx, id.Account)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return NoticeNoRecipient, nil
	case err != nil:
		return "", err
	}
	terms, err := message.Account.Terms()
	if err != nil {
		return "", err
	}
	message.Allowance = terms.Allowance()
	if message.Totals, err = n.Store.PeriodTotals(ctx, id.UsagePeriod); err != nil {
		return "", err
	}
	err = n.Messenger.UsageReached(ctx, message)
	switch {
	case errors.Is(err, ErrNoRecipient):
		return NoticeNoRecipient, nil
	case errors.Is(err, ErrDeclined):
		return NoticeDeclined, nil
	case errors.Is(err, ErrOutdated):
		return NoticeSuperseded, nil
	case err != nil:
		return "", err
	}
	return NoticeDelivered, nil
}

// forHistory logs the cause and returns the error for the history.
func (n *Notices) forHistory(ref NoticeRef, err error) error {
	if err == nil {
		return nil
	}
	n.Logger.Error("usage notice not delivered", "account_id", ref.Account, "period", ref.Period, "percent",
		ref.Percent, "error", err)
	if errors.Is(err, store.ErrNotFound) {
		return temporal.NewNonRetryableApplicationError("there is no such notice", ErrNoticeMissing, nil)
	}
	return temporal.NewApplicationError("notice not delivered; the worker's log names the cause", ErrNoticeUndelivered)
}

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// WaitingView is an address on the waitlist as operators see it.
type WaitingView struct {
	Email          string    `json:"email"`
	Status         string    `json:"status"` // waiting, confirmed or invited
	Qualifier      string    `json:"qualifier"`
	Source         string    `json:"source"`
	ProductUpdates bool      `json:"product_updates"` // requested; in effect once the address is confirmed
	Channel        string    `json:"channel"`
	JoinedAt       time.Time `json:"joined_at"`
	ConfirmedAt    time.Time `json:"confirmed_at,omitzero"`
	InvitedAt      time.Time `json:"invited_at,omitzero"`
}

// Waitlist returns addresses on the waitlist with one of some statuses, newest first; only those
// that joined before the given one unless that is nil.
func Waitlist(ctx context.Context, cfg config.Config, statuses []string, before *account.Email,
	limit int,
) ([]WaitingView, error) {
	views := []WaitingView{}
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		var last *supportdb.Waiting
		if before != nil {
			w, err := s.FindWaiting(ctx, *before)
			if errors.Is(err, store.ErrNotFound) {
				return errors.New("--before: the address is not on the waitlist; take another one from the list")
			}
			if err != nil {
				return err
			}
			last = &w
		}
		all, err := s.ListWaitlist(ctx, statuses, last, limit)
		for i := range all {
			w := &all[i]
			views = append(views, WaitingView{
				w.Email.Address(), w.Status, w.Qualifier, w.Source, w.ProductUpdates, w.Channel, w.At, w.ConfirmedAt,
				w.InvitedAt,
			})
		}
		return err
	})
	return views, err
}

// InviteWaiting invites addresses of the waitlist, each once, and calls say with the result of
// each. It continues after an address that cannot be invited; its error names all of those.
func InviteWaiting(ctx context.Context, cfg config.Config, emails []account.Email, by accountdb.Author,
	say func(account.Email, string),
) error {
	return withDesk(ctx, cfg, func(d *support.Service) error {
		var missed []error
		for _, email := range emails {
			already, err := d.InviteWaiting(ctx, email, by, time.Now())
			switch {
			case errors.Is(err, store.ErrNotFound):
				missed = append(missed, fmt.Errorf("%s is not on the waitlist", email.Address()))
			case errors.Is(err, supportdb.ErrUnconfirmed):
				missed = append(missed, fmt.Errorf("%s is not confirmed and gets no mail: it may be somebody else's",
					email.Address()))
			case err != nil:
				return err
			case already:
				say(email, "was already invited; nothing changed")
			default:
				say(email, "is invited")
			}
		}
		return errors.Join(missed...)
	})
}

// LeaveWaitlist removes an address from the waitlist permanently and reports whether it was on
// it.
func LeaveWaitlist(ctx context.Context, cfg config.Config, email account.Email) (was bool, err error) {
	err = withDesk(ctx, cfg, func(d *support.Service) error {
		was, err = d.LeaveWaitlist(ctx, email, time.Now())
		return err
	})
	return was, err
}

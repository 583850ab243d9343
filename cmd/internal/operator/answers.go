package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// FeedbackView is feedback as operators see it.
type FeedbackView struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	Chain     chain.ID  `json:"chain"`
	Status    string    `json:"status"`
	Reply     string    `json:"reply"`
	Answers   int       `json:"answers"`
	AccountID string    `json:"account_id"`
	Account   string    `json:"account"`
	Plan      string    `json:"plan"`
	CreatedAt time.Time `json:"created_at"`
}

// Feedback returns feedback of all accounts, newest first; only older than before unless that is
// zero.
func Feedback(ctx context.Context, cfg config.Config, statuses []string, before supportdb.FeedbackID,
	limit int,
) ([]FeedbackView, error) {
	views := []FeedbackView{}
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		all, err := s.ListDeskFeedback(ctx, statuses, before, limit)
		for i := range all {
			f := &all[i]
			views = append(views, FeedbackView{
				f.ID.String(), f.Kind, f.Title, f.Body, f.Chain, f.Status, f.Reply, f.Answers, f.Account.String(),
				f.AccountName, f.Plan, f.CreatedAt,
			})
		}
		return err
	})
	return views, err
}

// WishView is a request for an enterprise agreement as operators see it.
type WishView struct {
	ID        string    `json:"id"`
	Items     string    `json:"items"`
	Email     string    `json:"email"`
	Channel   string    `json:"channel"`
	Status    string    `json:"status"`
	Reply     string    `json:"reply"`
	Answers   int       `json:"answers"`
	CreatedAt time.Time `json:"created_at"`
}

// Wishes returns wishes, newest first; only older than before unless that is zero.
func Wishes(ctx context.Context, cfg config.Config, statuses []string, before supportdb.WishID,
	limit int,
) ([]WishView, error) {
	views := []WishView{}
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		all, err := s.ListWishes(ctx, statuses, before, limit)
		for i := range all {
			w := &all[i]
			views = append(views, WishView{
				w.ID.String(), w.Items, w.Email.Address(), w.Channel, w.Status, w.Reply, w.Answers, w.At,
			})
		}
		return err
	})
	return views, err
}

// AnswerFeedback sets the status of feedback and mails the reply to its author.
//
//nolint:gocritic // once for a command
func AnswerFeedback(ctx context.Context, cfg config.Config, id supportdb.FeedbackID, a supportdb.Answer) error {
	return withDesk(ctx, cfg, func(d *support.Service) error {
		f, err := d.AnswerFeedback(ctx, id, a)
		return answered("feedback", id.String(), f.Answers, &a, err)
	})
}

// AnswerWish sets the status of a wish and mails the reply to the address that was given with
// it.
//
//nolint:gocritic // once for a command
func AnswerWish(ctx context.Context, cfg config.Config, id supportdb.WishID, a supportdb.Answer) error {
	return withDesk(ctx, cfg, func(d *support.Service) error {
		w, err := d.AnswerWish(ctx, id, a)
		return answered("wishlist", id.String(), w.Answers, &a, err)
	})
}

func answered(list, id string, answers int, a *supportdb.Answer, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("there is no %s; gateway ops %s list --status all lists what there is", id, list)
	case errors.Is(err, supportdb.ErrWithdrawn):
		return fmt.Errorf("%s was withdrawn and its address deleted: there is nobody to answer",
			id)
	case errors.Is(err, supportdb.ErrUnread):
		return fmt.Errorf(
			"%s has %d answers and --seen is %d: read them with gateway ops %s list --status all, then "+
				"send yours with --seen %d",
			id, answers, *a.Seen, list, answers)
	}
	return err
}

// StaffView is a user with the staff role.
type StaffView struct {
	UserID       string    `json:"user_id"`
	Email        string    `json:"email"`
	Since        time.Time `json:"since"`
	AddedBy      string    `json:"added_by"`
	LastSignedIn time.Time `json:"last_signed_in_at"`
}

// Staff returns the users with the staff role.
func Staff(ctx context.Context, cfg config.Config) ([]StaffView, error) {
	views := []StaffView{}
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		all, err := s.ListStaff(ctx)
		for i := range all {
			m := &all[i]
			views = append(views, StaffView{m.User.String(), m.Email.Address(), m.Since, m.AddedBy, m.LastSignedIn})
		}
		return err
	})
	return views, err
}

// ChangeStaff grants or revokes the staff role of the user with an e-mail address, and reports
// whether that changed anything.
func ChangeStaff(ctx context.Context, cfg config.Config, email account.Email, add bool,
	by accountdb.Author,
) (changed bool, err error) {
	err = withPayments(ctx, cfg, func(s *store.Store) (err error) {
		if add {
			changed, err = s.AddStaff(ctx, email, time.Now(), by)
		} else {
			changed, err = s.RemoveStaff(ctx, email, time.Now(), by)
		}
		if errors.Is(err, store.ErrNotFound) {
			return errors.New("nobody has signed in with this address: ask them to sign in once, then retry")
		}
		return err
	})
	return changed, err
}

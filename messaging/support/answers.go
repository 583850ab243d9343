package support

import (
	"cmp"
	"context"
	"fmt"

	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// SubmitFeedback is store.SubmitFeedback with a mail to the operator.
//
//nolint:gocritic // copies do no harm
func (d *Service) SubmitFeedback(ctx context.Context, by supportdb.Writer,
	f supportdb.Feedback,
) (supportdb.Feedback, error) {
	return d.Store.SubmitFeedback(ctx, by, f,
		func(f *supportdb.Feedback, accountName string) ([]maildb.NewMail, error) {
			said := notify.FeedbackNews{
				Kinds: f.Kind, Title: f.Title, Body: notify.Prose(f.Body),
				Account: cmp.Or(accountName, f.Account.String()),
				Link:    d.PublicURL + "/staff/feedback",
			}
			return d.prepared([]outbox.Mail{
				{Reason: f.ID.Subject() + "/given", To: d.Contact, Account: f.Account, Mail: said},
			})
		})
}

// AnswerFeedback is store.AnswerFeedback with mails to the author of the feedback.
//
//nolint:gocritic // a copy does no harm
func (d *Service) AnswerFeedback(ctx context.Context, id supportdb.FeedbackID,
	a supportdb.Answer,
) (supportdb.Feedback, error) {
	return d.Store.AnswerFeedback(ctx, id, a,
		func(f *supportdb.Feedback, readers []supportdb.TicketReader) ([]maildb.NewMail, error) {
			said := notify.FeedbackAnswered{
				Title: f.Title, Status: f.Status, Reply: notify.Prose(f.Reply), Link: d.PublicURL + "/feedback",
			}
			letters := make([]outbox.Mail, len(readers))
			for i, r := range readers {
				letters[i] = outbox.Mail{
					Reason: fmt.Sprintf("feedback/%s/%d/%s", f.ID, f.Answers, r.User), To: r.Email.Address(),
					Account: f.Account, Zone: r.Zone, Mail: said,
				}
			}
			return d.prepared(letters)
		})
}

// AnswerWish is store.AnswerWish with a mail to the wish's address when there is a reply.
//
//nolint:gocritic // a copy does no harm
func (d *Service) AnswerWish(ctx context.Context, id supportdb.WishID, a supportdb.Answer) (supportdb.Wish, error) {
	return d.Store.AnswerWish(ctx, id, a, func(w *supportdb.Wish) ([]maildb.NewMail, error) {
		if w.Reply == "" {
			return nil, nil
		}
		if d.Mails == nil { // without it no link can be made
			return nil, nil
		}
		link, err := d.entryLink(entry{About: Wishlist, Email: w.Email.Address()}, a.At)
		if err != nil {
			return nil, err
		}
		return d.prepared([]outbox.Mail{{
			Reason: fmt.Sprintf("wish/%s/%d", w.ID, w.Answers), To: w.Email.Address(),
			Mail: notify.WishAnswered{
				At: w.At, Status: w.Status, Reply: notify.Prose(w.Reply), Days: LinkDays, Link: link,
			},
		}})
	})
}

// JoinWishlist inserts a wish, reports it to the operator, and confirms it to the address, at most
// once. sent reports whether the operator's mail waits to be sent.
//
//nolint:gocritic // a copy does no harm
func (d *Service) JoinWishlist(ctx context.Context, w supportdb.Wish) (sent bool, err error) {
	mails, err := d.prepared([]outbox.Mail{{
		Reason: "wish/" + w.ID.String(), To: d.Contact,
		Mail: notify.EnterpriseWish{
			Wanted: notify.Passage(w.Items), ID: w.ID.String(), At: w.At, Link: d.PublicURL + "/",
		},
	}})
	if err != nil {
		return false, err
	}
	c, err := d.confirmation(entry{About: Wishlist, Email: w.Email.Address()}, w.Email, w.At)
	if err != nil {
		return false, err
	}
	return d.Store.JoinWishlist(ctx, w, mails, c)
}

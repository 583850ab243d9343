package tickets

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/service/operation"
)

// Operations for the owner of an address that was entered on a list, by the link in the
// confirmation mail. They have no route: pages call them in process.

// EntryInput is the link of a confirmation mail.
type EntryInput struct {
	Token string `json:"token" maxLength:"1024" doc:"the token of the link, all of it"`
}

// ConfirmEntryInput confirms an entry of the waitlist.
type ConfirmEntryInput struct {
	Token          string `json:"token" maxLength:"1024" doc:"the token of the link, all of it"`
	ProductUpdates bool   `json:"product_updates,omitempty" default:"false" doc:"true wants news of the product as well; false (default) word of the opening alone"`
}

// ShownEntry is what an address was entered for.
type ShownEntry struct {
	About          string    `json:"about" enum:"waitlist,wishlist"`
	Email          string    `json:"email"`
	Status         string    `json:"status" enum:"waiting,confirmed,invited,left,asked,withdrawn" doc:"of the waitlist, or of wishes: asked or withdrawn"`
	ProductUpdates bool      `json:"product_updates" doc:"whether news of the product were asked for"`
	EnteredAt      time.Time `json:"entered_at,omitzero" doc:"when the address came on the waitlist"`
	Wishes         int       `json:"wishes" doc:"requests for an enterprise agreement that stand"`
}

func (h *handlers) showEntry() *operation.Operation[EntryInput, ShownEntry] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "show_entry", Title: "Look at what an address was entered for", Access: operation.Everybody, Reads: true,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Says what the link of a confirming mail is about, and changes nothing: programs that look at " +
			"mails follow links.",
	}, func(ctx context.Context, _ *operation.Call, in EntryInput) (ShownEntry, error) {
		return h.shownEntry(h.support.ShowEntry(ctx, in.Token))
	})
}

func (h *handlers) confirmEntry() *operation.Operation[ConfirmEntryInput, ShownEntry] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "confirm_entry", Title: "Confirm a place on the waitlist", Access: operation.Everybody,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Confirms the address of a link, with news of the product or without, and puts it back on the " +
			"waitlist when it was taken off. A repeat changes nothing more.",
	}, func(ctx context.Context, c *operation.Call, in ConfirmEntryInput) (ShownEntry, error) {
		return h.shownEntry(h.support.ConfirmEntry(ctx, in.Token, in.ProductUpdates, c.Door, h.Now()))
	})
}

func (h *handlers) leaveEntry() *operation.Operation[EntryInput, ShownEntry] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "leave_entry", Title: "Leave the waitlist, or withdraw a request", Access: operation.Everybody,
		Fails: []fault.Reason{fault.DurableUnavailable},
		Description: "Deletes the address of a link where it was entered: from the waitlist, or with its requests " +
			"for an enterprise agreement. A repeat changes nothing more.",
	}, func(ctx context.Context, _ *operation.Call, in EntryInput) (ShownEntry, error) {
		return h.shownEntry(h.support.LeaveEntry(ctx, in.Token, h.Now()))
	})
}

//nolint:gocritic // the results of a call
func (h *handlers) shownEntry(e support.Entry, err error) (ShownEntry, error) {
	switch {
	case errors.Is(err, outbox.ErrLink):
		return ShownEntry{}, fault.New(fault.FieldRefused,
			"This link is not complete. Copy all of it from the mail.").With("field", "token")
	case errors.Is(err, outbox.ErrLinkOver):
		return ShownEntry{}, fault.New(fault.FieldRefused,
			"This link is over: it worked for %d days. Write to %s to have the address taken off.", support.LinkDays,
			h.Contact).
			With("field", "token")
	case err != nil:
		return ShownEntry{}, operation.ToFault(err, "entry")
	}
	shown := ShownEntry{About: e.About, Email: e.Email.Address(), Status: "left", Wishes: e.Wishes}
	switch {
	case e.Waiting != nil:
		shown.Status, shown.ProductUpdates, shown.EnteredAt = e.Waiting.Status, e.Waiting.ProductUpdates, e.Waiting.At
	case e.About == support.Wishlist && e.Wishes > 0:
		shown.Status = "asked"
	case e.About == support.Wishlist:
		shown.Status = "withdrawn"
	}
	return shown, nil
}

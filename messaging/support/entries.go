package support

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// What an address may be entered for.
const (
	Waitlist = "waitlist"
	Wishlist = "wishlist"
)

// EntryPath is the path of links in confirming mails; they add the token. GET changes nothing
// there, because programs that scan mails follow links.
const EntryPath = "/entries"

// LinkDays is how many days such a link is valid.
const LinkDays = 90

// entry is the content of such a link. Having the link proves that one reads the address's mails.
type entry struct {
	About     string `json:"about"`
	Email     string `json:"email"`
	Qualifier string `json:"qualifier,omitempty"` // of the waitlist, for an address that returns
}

const entryUse = "what an address was entered for"

// entryLink returns the link of the mail that confirms an entry.
func (d *Service) entryLink(e entry, at time.Time) (string, error) {
	content, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("make the link of an entry: %w", err)
	}
	token := d.Mails.SealLink(entryUse, content, at.AddDate(0, 0, LinkDays))
	return d.PublicURL + EntryPath + "?token=" + url.QueryEscape(token), nil
}

// openEntry opens a link's token. It returns outbox.ErrLink, or outbox.ErrLinkOver.
func (d *Service) openEntry(token string) (entry, account.Email, error) {
	if d.Mails == nil { // no link was ever sent
		return entry{}, account.Email{}, outbox.ErrLink
	}
	content, err := d.Mails.OpenLink(entryUse, token)
	if err != nil {
		return entry{}, account.Email{}, err
	}
	var e entry
	if err := json.Unmarshal(content, &e); err != nil {
		return entry{}, account.Email{}, fmt.Errorf("read the link of an entry: %w", err)
	}
	email, refusal := account.ParseEmail(e.Email)
	if refusal != nil {
		return entry{}, account.Email{}, errors.New("read the link of an entry: it holds no address")
	}
	return e, email, nil
}

// confirmation returns the mail to an unproven address; nil when mails are off.
func (d *Service) confirmation(e entry, to account.Email, at time.Time) (*supportdb.Confirmation, error) {
	if d.Mails == nil {
		return nil, nil //nolint:nilnil // mails are off, which is not an error
	}
	link, err := d.entryLink(e, at)
	if err != nil {
		return nil, err
	}
	said := notify.Mail(notify.WaitlistJoined{At: at, Days: LinkDays, Link: link})
	if e.About == Wishlist {
		said = notify.WishReceived{At: at, Days: LinkDays, Link: link}
	}
	digest := to.Digest(d.Hasher)
	mail, err := d.Mails.Prepare(outbox.Mail{
		Reason: "confirm/" + e.About + "/" + digest.String() + "/" + maildb.NewMailID().String(), To: to.Address(),
		Mail: said,
	})
	if err != nil {
		return nil, err
	}
	return &supportdb.Confirmation{Email: digest, About: e.About, Mail: mail}, nil
}

// Entry is what an address is entered for, as its owner sees it.
type Entry struct {
	About   string // waitlist or wishlist
	Email   account.Email
	Waiting *supportdb.Waiting // its place on the waitlist; nil when it is not on it
	Wishes  int                // wishes that are not withdrawn
}

// ShowEntry returns what the link of a mail is about, and changes nothing. It returns
// outbox.ErrLink, or outbox.ErrLinkOver.
func (d *Service) ShowEntry(ctx context.Context, token string) (Entry, error) {
	e, email, err := d.openEntry(token)
	if err != nil {
		return Entry{}, err
	}
	return d.showEntry(ctx, e, email)
}

func (d *Service) showEntry(ctx context.Context, e entry, email account.Email) (Entry, error) {
	shown := Entry{About: e.About, Email: email}
	if e.About == Wishlist {
		n, err := d.Store.CountWishes(ctx, email)
		shown.Wishes = n
		return shown, err
	}
	w, err := d.Store.FindWaiting(ctx, email)
	if errors.Is(err, store.ErrNotFound) {
		return shown, nil
	}
	shown.Waiting = &w
	return shown, err
}

// ConfirmEntry confirms an address on the waitlist, and adds it again when it had left. Wishes need
// no confirmation: for those it returns outbox.ErrLink.
func (d *Service) ConfirmEntry(ctx context.Context, token string, productUpdates bool, channel string,
	at time.Time,
) (Entry, error) {
	e, email, err := d.openEntry(token)
	if err != nil {
		return Entry{}, err
	}
	if e.About != Waitlist {
		return Entry{}, outbox.ErrLink
	}
	w, err := d.Store.ConfirmWaiting(ctx, supportdb.Waiting{
		Email: email, Qualifier: e.Qualifier, ProductUpdates: productUpdates, Channel: channel, At: at,
	}, email.Digest(d.Hasher))
	return Entry{About: e.About, Email: email, Waiting: &w}, err
}

// byLink is the author of a withdrawal by link.
var byLink = accountdb.Author{Actor: "whoever reads the address", Origin: "link"}

// LeaveEntry removes an address from the waitlist, or withdraws its wishes. It is idempotent.
func (d *Service) LeaveEntry(ctx context.Context, token string, at time.Time) (Entry, error) {
	e, email, err := d.openEntry(token)
	switch {
	case err != nil:
		return Entry{}, err
	case e.About == Wishlist:
		_, err = d.Store.WithdrawWishes(ctx, email, byLink, at)
	default:
		_, err = d.Store.LeaveWaitlist(ctx, email, email.Digest(d.Hasher), at)
	}
	return Entry{About: e.About, Email: email}, err
}

// JoinWaitlist adds an address to the waitlist, confirms that to the address at most once, and
// returns the outcome.
//
//nolint:gocritic // a copy does no harm
func (d *Service) JoinWaitlist(ctx context.Context, w supportdb.Waiting) (supportdb.Joining, error) {
	c, err := d.confirmation(entry{About: Waitlist, Email: w.Email.Address(), Qualifier: w.Qualifier}, w.Email, w.At)
	if err != nil {
		return 0, err
	}
	return d.Store.JoinWaitlist(ctx, w, w.Email.Digest(d.Hasher), c)
}

// LeaveWaitlist removes an address from the waitlist at its owner's request to an operator. It
// reports whether the address was on the list.
func (d *Service) LeaveWaitlist(ctx context.Context, email account.Email, at time.Time) (was bool, err error) {
	return d.Store.LeaveWaitlist(ctx, email, email.Digest(d.Hasher), at)
}

// InviteWaiting invites an address on the waitlist, once. It reports whether the address was
// invited before. It returns store.ErrNotFound, or supportdb.ErrUnconfirmed.
func (d *Service) InviteWaiting(ctx context.Context, email account.Email, by accountdb.Author,
	at time.Time,
) (already bool, err error) {
	digest := email.Digest(d.Hasher)
	return d.Store.InviteWaiting(ctx, email, digest, by, at, func() ([]maildb.NewMail, error) {
		return d.prepared([]outbox.Mail{{
			// The store invites each place on the list once. An address that left and returned is
			// invited for its new place, so the reason must differ.
			Reason: "waitlist/invited/" + digest.String() + "/" + maildb.NewMailID().String(), To: email.Address(),
			Mail: notify.WaitlistInvited{Link: d.PublicURL + "/sign-in"},
		}})
	})
}

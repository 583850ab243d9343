// Package people signs persons up and in by mail, and manages sessions and the members of accounts.
// It rate-limits, mints tokens, queues mails and words the refusals. Package store records each
// step in one transaction, and package notify words the mails. It knows no cookies and no pages.
package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// How long the links and codes of mails can be used.
const (
	SignInValid     = 15 * time.Minute
	InvitationValid = 7 * 24 * time.Hour
)

// Rate limits per e-mail address and per account of what anybody can do without signing in. Those
// of networks are in package netlimit.
var (
	// mailsPerAddress limits sign-in mails.
	mailsPerAddress = account.RateWindow{Limit: 5, Per: time.Hour}
	// codesPerAddress makes guessing hopeless for any number of mails: 20 of a million codes a day.
	// Links still work beyond it.
	codesPerAddress = account.RateWindow{Limit: 20, Per: 24 * time.Hour}
	// invitationsPerAccount and invitationsPerAddress prevent sending mails to strangers through
	// invitations.
	invitationsPerAccount = account.RateWindow{Limit: 50, Per: 24 * time.Hour}
	invitationsPerAddress = account.RateWindow{Limit: 5, Per: 24 * time.Hour}
)

// Limiter counts rate limits; *meter.Meter implements it.
type Limiter interface {
	netlimit.Counter
	Limit(ctx context.Context, name string, w account.RateWindow) (meter.Limited, error)
}

// Outbox seals mails for PostgreSQL and parses their unsubscribe links; *outbox.Outbox implements
// it.
type Outbox interface {
	Prepare(l outbox.Mail) (maildb.NewMail, error)
	ReadUnsubscribe(token string) (user account.UserID, topic account.Topic, ok bool)
}

// Options are the dependencies of the package. It owns none of them.
type Options struct {
	Store     *store.Store
	Limiter   Limiter
	Networks  *netlimit.Limits // limits of networks; nil for the defaults, over Limiter
	Outbox    Outbox
	Hasher    *account.Hasher
	PublicURL string // without a trailing slash
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader
}

// People is the package's service. It is safe for concurrent use.
type People struct{ o Options }

// New returns the service.
func New(o Options) *People { //nolint:gocritic // a copy at the start does no harm
	if o.Networks == nil {
		o.Networks = netlimit.New(o.Limiter, netlimit.Defaults(), o.Now)
	}
	return &People{o}
}

// Visitor is the browser of a request. Nothing of it is trusted.
type Visitor struct {
	Network   netip.Prefix // that limits apply to, from netlimit.NetworkOf
	UserAgent string
	Session   string // value of its session cookie; empty for none
}

// browser returns what is recorded of a visitor, truncated to its bounds.
func (v *Visitor) browser() peopledb.Browser {
	return peopledb.Browser{Network: shownNetwork(v.Network), UserAgent: shortLine(v.UserAgent, maxUserAgent)}
}

const maxUserAgent = 200

// shownNetwork returns the network to show: the first 24 bits of an IPv4 address, 64 of an IPv6
// one.
func shownNetwork(n netip.Prefix) string {
	const shown4 = 24
	if !n.IsValid() {
		return ""
	}
	if n.Addr().Is4() {
		n, _ = n.Addr().Prefix(shown4) // 24 bits fit
	}
	return n.Masked().String()
}

// shortLine returns text as one printable line of at most limit characters.
func shortLine(text string, limit int) string {
	if len(text) > utf8.UTFMax*limit {
		text = text[:utf8.UTFMax*limit]
	}
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if letters := []rune(text); len(letters) > limit {
		text = string(letters[:limit])
	}
	return text
}

// limit takes one from a rate limit, or returns the refusal.
func (p *People) limit(ctx context.Context, name string, w account.RateWindow, what string) error {
	taken, err := p.o.Limiter.Limit(ctx, name, w)
	switch {
	case err != nil:
		return meterAway(err)
	case taken.OK:
		return nil
	}
	return tooMany(what, taken.Wait, fault.Window{Limit: w.Limit, Reset: taken.Reset})
}

// limitNetwork takes an action from the limits of a visitor's address, its area and all networks
// together, or returns the refusal.
func (p *People) limitNetwork(ctx context.Context, action netlimit.Action, network netip.Prefix, what string) error {
	taken, err := p.o.Networks.Take(ctx, action, network)
	switch {
	case err != nil:
		return meterAway(err)
	case taken.OK():
		return nil
	}
	return tooMany(what+" from "+taken.Whose(), taken.Wait, fault.Window{Limit: taken.Limit, Reset: taken.Reset})
}

func tooMany(what string, wait time.Duration, window fault.Window) *fault.Error {
	f := fault.New(fault.RateWindow, "Too many %s. Try again in %s.", what, inWords(wait))
	f.RetryAfter, f.Window = wait, &window
	return f
}

const retryMeter = 2 * time.Second

func meterAway(err error) *fault.Error {
	f := fault.New(fault.MeterUnreachable,
		"Signing in is not possible right now, because limits cannot be kept. Try again in a few seconds.")
	f.RetryAfter = retryMeter
	return f.Wrap(err)
}

// limitAddress is limit for an e-mail address. It uses a digest, because operators read the names
// of limits.
func (p *People) limitAddress(ctx context.Context, purpose string, e account.Email, w account.RateWindow,
	what string,
) error {
	return p.limit(ctx, purpose+":address:"+e.Digest(p.o.Hasher).String(), w, what+" for this address")
}

// inWords formats a wait for people, rounded up.
func inWords(d time.Duration) string {
	if d <= time.Minute {
		return fmt.Sprintf("%d seconds", max(1, (d+time.Second-1)/time.Second))
	}
	return fmt.Sprintf("%d minutes", (d+time.Minute-1)/time.Minute)
}

const retryRecord = time.Minute

// toFault converts an error of package store to a fault; missing is the fault for
// store.ErrNotFound.
func toFault(err error, missing *fault.Error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal
	}
	switch {
	case errors.Is(err, store.ErrNotFound) && missing != nil:
		return missing
	case errors.Is(err, peopledb.ErrNotOwner):
		return fault.New(fault.WrongKindOfKey,
			"Only owners of the account may do this. Ask one of them: they are listed under members.")
	case errors.Is(err, peopledb.ErrLastOwner):
		return fault.New(fault.FieldRefused,
			"The account would have no owner left. Make another member an owner first.").With("field", "user")
	case errors.Is(err, peopledb.ErrMemberExists):
		return fault.New(fault.FieldRefused,
			"This address belongs to a member already. Change the member's role instead.").With("field", "email")
	case errors.Is(err, peopledb.ErrTooManyPeople):
		return fault.New(fault.FieldRefused,
			"The account has as many people as it can have: %d members and %d open invitations. Remove some first.",
			peopledb.MaxMembers, peopledb.MaxInvitations).With("field", "email")
	}
	f := fault.New(fault.DurableUnavailable,
		"The record does not answer right now, so nothing was done. Try again in a minute.").Wrap(err)
	f.RetryAfter = retryRecord
	return f
}

// notFound is the fault for an id that is not the caller's. It does not reveal whether it is
// somebody else's.
func notFound(what string) *fault.Error {
	return fault.New(fault.NotYours, "No %s of yours has this id. List them to see what there is.", what)
}

package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/peopledb"
)

// Paths of links in mails.
const (
	pathSignInLink = "/sign-in/link?token="
	pathInvitation = "/invitations/accept?token="
	pathOverview   = "/overview"
	pathMembers    = "/settings/members"
)

// Started is a sign-in whose mail is queued. Browser is for a cookie of the browser that asked,
// until ExpiresAt: the code of the mail works only with it.
type Started struct {
	Browser   account.BrowserToken
	ExpiresAt time.Time
}

// Shown is what a person sees before signing in by a link.
type Shown struct {
	Email     account.Email
	ExpiresAt time.Time
}

// Entered is a completed sign-in. Session is for the browser's cookie; the session that the browser
// had is ended.
type Entered struct {
	peopledb.Arrival
	Session  account.SessionToken
	ReturnTo string // a local path, or empty
}

// StartSignIn queues a mail with a link and a code. It neither checks nor reveals whether the
// address is known. A back path that is not local is dropped.
func (p *People) StartSignIn(ctx context.Context, address, back string, v Visitor) (Started, error) {
	if err := p.limitNetwork(ctx, netlimit.SignInMails, v.Network, "sign-in mails"); err != nil {
		return Started{}, err
	}
	email, refusal := account.ParseEmail(address)
	if refusal != nil {
		return Started{}, refusal
	}
	if err := p.limitAddress(ctx, "sign-in-mail", email, mailsPerAddress, "sign-in mails"); err != nil {
		return Started{}, err
	}
	link, err := account.MintLinkToken(p.o.Random)
	if err != nil {
		return Started{}, fault.Internal(err)
	}
	browser, err := account.MintBrowserToken(p.o.Random)
	if err != nil {
		return Started{}, fault.Internal(err)
	}
	code, err := account.MintCode(p.o.Random)
	if err != nil {
		return Started{}, fault.Internal(err)
	}
	now := p.o.Now()
	id := peopledb.SignInID{UUID: uuid.Must(uuid.NewV7())}
	sealed, err := p.seal(id, returnTo(back))
	if err != nil {
		return Started{}, fault.Internal(err)
	}
	n := peopledb.NewSignIn{
		ID: id, Email: email, Link: link.Digest(p.o.Hasher), Code: code.DigestFor(browser, p.o.Hasher),
		Browser: browser.Digest(p.o.Hasher), ReturnTo: sealed, Network: shownNetwork(v.Network), At: now,
		ExpiresAt: now.Add(SignInValid),
	}
	mail, err := p.o.Outbox.Prepare(outbox.Mail{
		Reason: "sign_in/" + n.ID.String(), To: email.Address(), Expires: n.ExpiresAt, Mail: notify.SignIn{
			Link: p.o.PublicURL + pathSignInLink + link.Reveal(), Code: code.Reveal(),
			Minutes: int(SignInValid / time.Minute), Origin: orUnknown(n.Network), At: now,
		},
	})
	if err != nil {
		return Started{}, fault.Internal(fmt.Errorf("write the mail of a sign-in: %w", err))
	}
	if err := p.o.Store.StartSignIn(ctx, n, mail); err != nil {
		return Started{}, toFault(err, nil)
	}
	return Started{Browser: browser, ExpiresAt: n.ExpiresAt}, nil
}

func orUnknown(network string) string {
	if network == "" {
		return "an unknown network"
	}
	return "the network " + network
}

// ShowLink returns the address that a link signs in. It does not use up the link, because mail
// scanners follow links.
func (p *People) ShowLink(ctx context.Context, token string, v Visitor) (Shown, error) {
	link, err := p.link(ctx, token, &v)
	if err != nil {
		return Shown{}, err
	}
	open, err := p.o.Store.FindSignInByLink(ctx, link.Digest(p.o.Hasher), p.o.Now())
	if err != nil {
		return Shown{}, toFault(err, linkOver())
	}
	return Shown{open.Email, open.ExpiresAt}, nil
}

// FinishByLink signs in by a link, once, in any browser.
func (p *People) FinishByLink(ctx context.Context, token string, v Visitor) (Entered, error) {
	link, err := p.link(ctx, token, &v)
	if err != nil {
		return Entered{}, err
	}
	return p.enter(v, func(b peopledb.Browser) (peopledb.Arrival, error) {
		arrival, err := p.o.Store.FinishByLink(ctx, link.Digest(p.o.Hasher), b, p.o.Now(), p.tell)
		return arrival, toFault(err, linkOver())
	})
}

// FinishByCode signs in by the code of the mail, once, in the browser that asked: browser is the
// cookie of StartSignIn.
func (p *People) FinishByCode(ctx context.Context, browser, code string, v Visitor) (Entered, error) {
	if err := p.limitNetwork(ctx, netlimit.SignIns, v.Network, "attempts to sign in"); err != nil {
		return Entered{}, err
	}
	asked, ok := account.ParseBrowserToken(browser)
	if !ok {
		return Entered{}, codeOver()
	}
	typed, ok := account.ParseCode(code)
	if !ok {
		return Entered{}, fault.New(fault.FieldRefused,
			"The code has six digits. Type it as it stands in the mail.").With("field", "code")
	}
	open, err := p.o.Store.FindSignInOfBrowser(ctx, asked.Digest(p.o.Hasher), p.o.Now())
	if err != nil {
		return Entered{}, toFault(err, codeOver())
	}
	if err := p.limitAddress(ctx, "sign-in-code", open.Email, codesPerAddress, "codes tried"); err != nil {
		return Entered{}, err
	}
	return p.enter(v, func(b peopledb.Browser) (peopledb.Arrival, error) {
		arrival, err := p.o.Store.FinishByCode(ctx, asked.Digest(p.o.Hasher), typed.DigestFor(asked, p.o.Hasher), b,
			p.o.Now(), p.tell)
		if errors.Is(err, peopledb.ErrWrongCode) {
			return arrival, fault.New(fault.FieldRefused,
				"This is not the code of the newest mail that this browser asked for. Check it; the fifth wrong code "+
					"ends the sign-in.").With("field", "code")
		}
		return arrival, toFault(err, codeOver())
	})
}

// enter mints the new session and finishes the sign-in, which ends the visitor's old session.
func (p *People) enter(v Visitor, finish func(peopledb.Browser) (peopledb.Arrival, error)) (Entered, error) {
	session, err := account.MintSessionToken(p.o.Random)
	if err != nil {
		return Entered{}, fault.Internal(err)
	}
	b := v.browser()
	b.Session = session.Digest(p.o.Hasher)
	if old, ok := account.ParseSessionToken(v.Session); ok {
		b.Replaces = old.Digest(p.o.Hasher)
	}
	arrival, err := finish(b)
	if err != nil {
		return Entered{}, err
	}
	return Entered{arrival, session, p.open(arrival.SignIn, arrival.ReturnTo)}, nil
}

// link rate-limits, then parses the token of a sign-in link.
func (p *People) link(ctx context.Context, token string, v *Visitor) (account.LinkToken, error) {
	if err := p.limitNetwork(ctx, netlimit.SignIns, v.Network, "attempts to sign in"); err != nil {
		return account.LinkToken{}, err
	}
	link, ok := account.ParseLinkToken(token)
	if !ok {
		return link, fault.New(fault.FieldRefused,
			"This link is not complete. Copy all of it from the mail, or ask for a new one by signing in again.").With(
			"field", "token")
	}
	return link, nil
}

// linkOver refuses used, expired and unknown links in the same words.
func linkOver() *fault.Error {
	return fault.New(fault.FieldRefused,
		"This link was used already, or is older than 15 minutes. Ask for a new one by signing in again.").With("field",
		"token")
}

func codeOver() *fault.Error {
	return fault.New(fault.FieldRefused,
		"No code is waited for in this browser: it was used, is older than 15 minutes, or was mistyped five times. "+
			"Ask for a new one by signing in again.").With("field", "code")
}

// tell returns the mails about an arrival.
func (p *People) tell(a peopledb.Arrival) ([]maildb.NewMail, error) { //nolint:gocritic // the signature is the record's
	var letters []outbox.Mail
	if a.NewAccount {
		free, _ := plan.Lookup(plan.Free) // a test checks that it exists
		letters = append(letters, outbox.Mail{
			Reason: "welcome/" + a.Account.String(), To: a.Email.Address(), Account: a.Account,
			Mail: notify.Welcome{Plan: free.Title, Included: free.Included, Link: p.o.PublicURL + pathOverview},
		})
	}
	if j := a.Joined; j != nil {
		for _, owner := range j.Owners {
			letters = append(letters, outbox.Mail{
				Reason: "joined/" + j.By.ID.String() + "/" + owner.User.String(), To: owner.Email.Address(),
				Account: a.Account,
				Mail: notify.MemberJoined{
					Member: a.Email.Address(), InvitedBy: j.By.InvitedBy,
					Account: called(j.By.AccountName, j.By.InvitedBy), At: p.o.Now(), Link: p.o.PublicURL + pathMembers,
				},
			})
		}
	}
	return p.prepare(letters...)
}

func (p *People) prepare(letters ...outbox.Mail) ([]maildb.NewMail, error) {
	mails := make([]maildb.NewMail, 0, len(letters))
	for i := range letters {
		m, err := p.o.Outbox.Prepare(letters[i])
		if err != nil {
			return nil, fault.Internal(fmt.Errorf("write a mail: %w", err))
		}
		mails = append(mails, m)
	}
	return mails, nil
}

// called returns what an account is called in mails: its name, or whose it is.
func called(name, owner string) string {
	if name != "" {
		return name
	}
	return "of " + owner
}

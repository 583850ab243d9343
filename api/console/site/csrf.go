package site

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/service/accounts"
)

// Every change is protected three times against cross-site request forgery. Cookies are
// SameSite=Lax. The request's Origin and Sec-Fetch-Site must be this site's where the browser sends
// them. The form carries a token that is derived from a cookie (the session's, or a random one
// before sign-in) and from the account that the page was for. A page that was left open while the
// session switched to another account can therefore change nothing in that account.

const (
	// TokenField is the hidden field of every form.
	TokenField = "csrf"
	// MaxFormBytes limits a form. The largest, the settings, needs a tenth of it.
	MaxFormBytes  = 64 << 10
	visitorBytes  = 32
	forgeryDomain = "csrf"
)

const (
	forgedText = "This form did not come from a page of this site, so nothing was done. Open the page here and send " +
		"the form again."
	filesText = "Files cannot be uploaded here, so nothing was done. Go back and paste the relevant part into the " +
		"message, up to 5,000 characters; for calls, their request ids are enough."
	movedText = "You have switched to another account since you opened it, so nothing was done. Switch back, or open " +
		"the page again in this account and send the form again."
	staleText = "Its session has ended, or your browser blocks cookies, so nothing was done. Reload the page and " +
		"send the form again."
)

// CSRFToken returns the token of a cookie and an account ("" for none). It holds a digest, so
// reading a page does not disclose the cookie. The digest is masked. The mask differs on every page
// and is part of the token: pages are compressed, and a constant secret could be guessed from their
// sizes (BREACH).
func CSRFToken(cookie, account string, mask [sha256.Size]byte) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte(forgeryDomain + account))
	masked := make([]byte, sha256.Size)
	subtle.XORBytes(masked, mask[:], mac.Sum(nil))
	return account + "." + base64.RawURLEncoding.EncodeToString(append(mask[:], masked...))
}

// isToken reports whether a form's token belongs to the cookie, and returns the account of its
// page.
func isToken(token, cookie string) (account string, ok bool) {
	account, given, formed := unmasked(token)
	if !formed || cookie == "" {
		return account, false
	}
	return account, hmac.Equal([]byte(token), []byte(CSRFToken(cookie, account, [sha256.Size]byte(given))))
}

// unmasked splits a form's token into the account and the mask with the masked digest. It returns
// false when the token is malformed.
func unmasked(token string) (account string, digest []byte, ok bool) {
	account, text, _ := strings.Cut(token, ".")
	digest, err := base64.RawURLEncoding.DecodeString(text)
	return account, digest, err == nil && len(digest) == 2*sha256.Size
}

// newVisitor returns a random value for a visitor's cookie.
func newVisitor(random io.Reader) (string, error) {
	value := make([]byte, visitorBytes)
	if _, err := io.ReadFull(random, value); err != nil {
		return "", fmt.Errorf("make a visitor's cookie: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(value), nil
}

// csrfCookie returns the cookie from which this browser's tokens are derived, or "" when it has
// none.
func (j jar) csrfCookie(r *http.Request) string {
	if session := j.get(r, SessionCookie); session != "" {
		return session
	}
	return j.get(r, VisitorCookie)
}

// checkChange refuses a change unless it comes from a page of this site, and returns the account of
// that page. It reads the form, up to maxFormBytes.
func (p *Site) checkChange(w http.ResponseWriter, r *http.Request) (account string, err error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return "", nil
	}
	if err := p.readForm(w, r); err != nil {
		return "", err
	}
	account, ok := isToken(r.PostForm.Get(TokenField), p.jar.csrfCookie(r))
	if !ok {
		return "", errStaleForm
	}
	return account, nil
}

// readForm reads a form of this site, up to maxFormBytes, and refuses those of other sites.
func (p *Site) readForm(w http.ResponseWriter, r *http.Request) error {
	if err := p.foreign.Check(r); err != nil {
		return &PageError{Status: http.StatusForbidden, Heading: "Not sent from here", Text: forgedText, Cause: err}
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return &PageError{Status: http.StatusUnsupportedMediaType, Heading: "Files are not accepted", Text: filesText}
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxFormBytes)
	if err := r.ParseForm(); err != nil {
		return &PageError{
			Status: http.StatusBadRequest, Heading: "The form could not be read",
			Text: "Reload the page and send the form again.", Cause: err,
		}
	}
	return nil
}

// errStaleForm means that the form's token does not belong to the browser's cookie.
var errStaleForm = errors.New("the form's token is of another cookie")

// sentAgain answers a stale form. A person who presses a sign-in button twice is redirected to the
// overview: the first press changed the cookie, so the second form is stale although the sign-in
// succeeded. If the link still works, it was not used, and its form is refused like any other.
// sentAgain changes nothing.
func (v *Request) sentAgain() error {
	stale := &PageError{
		Status: http.StatusForbidden, Heading: "This page is too old", Text: staleText, Cause: errStaleForm,
	}
	_, _, formed := unmasked(v.R.PostForm.Get(TokenField))
	if !formed || v.R.URL.Path != paths.SignInLink && v.R.URL.Path != paths.Accept {
		return stale
	}
	known, err := v.enter()
	switch {
	case err != nil:
		return err
	case !known || MistakesOf(v.linkNow(), "token") == nil:
		return stale
	}
	return v.Redirect(paths.Overview)
}

// linkNow returns why the link in a form does not work any more, or nil while it does.
func (v *Request) linkNow() (err error) {
	token := v.R.PostForm.Get("token")
	if v.R.URL.Path == paths.Accept {
		_, err = Ask(v, v.Calls.ShowInvitation, accounts.InvitationLinkInput{Token: token})
	} else {
		_, err = Ask(v, v.Calls.ShowLink, accounts.SignInLinkInput{Token: token})
	}
	return err
}
